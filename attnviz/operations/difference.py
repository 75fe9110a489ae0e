"""`Difference`: the weights of one head minus λ times those of another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnviz.core.dims import Array
from attnviz.i18n import N_, _
from attnviz.operations.operation import (
    Arrays,
    Block,
    Floats,
    Indices,
    Numbers,
    Pointwise,
    Pulled,
    Reads,
    Use,
    Writer,
)
from attnviz.operations.terms import Line, Pieces, Series, Text, constant, guarded, product, words

PARTNERS = N_("the partner of head j is head j + {n}")


def halves(arrays: Arrays, array: Array) -> tuple[Array, Array]:
    """The first heads of (..., g, r, row, column) and their partners, (..., head, row, column) each."""
    *leading, n_groups, group_size, rows, columns = array.shape
    flat = arrays.xp.reshape(array, (*leading, n_groups * group_size, rows, columns))
    middle = flat.shape[-3] // 2
    return flat[..., :middle, :, :], flat[..., middle:, :, :]


def rejoined(arrays: Arrays, first: Array, other: Array, shape: tuple[int, ...]) -> Array:
    """`halves`, backwards."""
    return arrays.xp.reshape(arrays.xp.concat((first, other), axis=-3), shape)


@dataclass(frozen=True, eq=False)
class Difference(Pointwise):
    """w₁ − λ w₂ of two partner heads, j and j + `half`, which both have it.

    λ, `share`, is exp(λ_Q1 · λ_K1) − exp(λ_Q2 · λ_K2) + λ₀ with λ₀ = `initial`. `vectors` are those four by
    name, `slopes` the derivatives of λ by them. Ye et al. 2024, "Differential Transformer", arXiv:2410.05258.
    """

    share: float
    half: int
    initial: float
    vectors: Mapping[str, Floats]
    slopes: Mapping[str, Floats]

    cites = "differential"
    pattern = "partners"
    letters = "1, −λ"

    def with_numbers(self, numbers: Mapping[str, Floats]) -> None:
        """λ and its slopes are functions of the document."""

    def heads_with(self, head: int) -> Indices:
        return head % self.half, head % self.half + self.half

    def window(self, arrays: Arrays, parts: Sequence[Array], block: Block) -> Array:
        first, other = parts
        return first - self.share * other

    def of_heads(self, arrays: Arrays, numbers: Array, block: Block) -> Array:
        """The weights (..., g, r, q, k) of each head minus λ times its partner's, the same for both."""
        made = self.window(arrays, halves(arrays, numbers), block)
        return rejoined(arrays, made, made, tuple(numbers.shape))

    def pull(self, g: Any, pulled: Pulled) -> None:
        """By w₁ the sum of both partners' gradients, by w₂ −λ times it, by λ −Σ sum · w₂.

        Of λ with its dot products a and b: by each vector its factor times the other one.
        """
        arrays, weights = pulled.arrays, pulled.input()
        first, other = halves(arrays, g.part())
        total = first + other
        pulled.add(rejoined(arrays, total, -self.share * total, tuple(weights.shape)))
        taken = total * halves(arrays, weights)[1]
        by_share = -arrays.xp.sum(arrays.xp.where(total == 0, 0.0, taken))  # 0 × NaN is NaN
        for name, slope in self.slopes.items():
            pulled.add_parameter(f"differential.{name}", by_share * arrays.asarray(slope))

    def flops(self, shape: tuple[int, ...], *inputs: tuple[int, ...]) -> int:
        return math.prod(shape)  # two for each two heads

    def derivatives(self, use: Use, reads: Reads) -> Floats:
        """1 by the weight that is kept, −λ by the one that is subtracted."""
        return np.full(use.shape, 1.0 if use.cell.head < self.half else -self.share)

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        """w₁ − λ w₂ of two partner heads; then λ."""
        one = numbers.cell.head % self.half
        first, other = (numbers.term_of(head) for head in (one, one + self.half))
        share = constant(self.share, "λ")
        result = first.value - share.value * other.value
        steps = (words("w₁ − λ w₂"), (first, Text(" − "), *guarded(share), Text(" × "), other))
        says = _("heads {first} and {other} are partners").format(first=one + 1, other=one + self.half + 1)
        return numbers.line(steps, result, words(says)), self._share_line()

    def _share_line(self) -> Line:
        """exp(λ_Q1 · λ_K1) − exp(λ_Q2 · λ_K2) + λ₀."""

        def power(index: int) -> Pieces:
            q, k = self.vectors[f"query_{index}"], self.vectors[f"key_{index}"]

            def item(at: int) -> Pieces:
                return product(
                    constant(q[at], f"λ_Q{index}[{at}]", "query"), constant(k[at], f"λ_K{index}[{at}]", "key")
                )

            return Text("exp("), Series(len(q), item), Text(")")

        letters = words("exp(λ_Q1 · λ_K1) − exp(λ_Q2 · λ_K2) + λ₀")
        pieces = (*power(1), Text(" − "), *power(2), Text(" + "), *guarded(constant(self.initial, "λ₀")))
        return Line(words("λ"), (letters, pieces), self.share, self.share)

    def code(self, writer: Writer) -> Sequence[str]:
        (read,), half = writer.reads, self.half
        rows = {name: writer.given(f"differential.{name}", f"lambda_{name}") for name in self.vectors}
        powers = [f"{writer.xp}.exp({rows[f'query_{index}']} @ {rows[f'key_{index}']})" for index in (1, 2)]
        both = writer.heads_of(("difference", "difference"))
        return (
            f"lambda_ = {powers[0]} - {powers[1]} + {self.initial!r}",
            f"difference = {read}[:{half}] - lambda_ * {read}[{half}:]",
            f"{writer.stage} = {both}{writer.note(PARTNERS, n=half)}",
        )
