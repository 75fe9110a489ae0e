"""A stage `state` of four axes, (head, token, d_k, d_v): the sum of kᵀ v over the tokens so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from new_stage import add, judge

from attnviz.core.dims import Array
from attnviz.i18n import N_
from attnviz.model.stages import Stage
from attnviz.operations.operation import (
    Arrays,
    At,
    Cells,
    Floats,
    Numbers,
    Operation,
    Pulled,
    Writer,
    in_groups,
)
from attnviz.operations.terms import Line, Pieces, Series, Text, product


@dataclass(frozen=True)
class State(Operation):
    """S of token t: Σ k_iᵀ v_i over i ≤ t; `group_size` query heads share k and v."""

    n_tokens: int
    group_size: int

    help = "Each number is a sum over the tokens so far."

    def at_token(self, arrays: Arrays, inputs: tuple[Array, ...], token: int) -> Array:
        k, v = (rows[..., : token + 1, :] for rows in inputs)
        return k.mT @ v

    def pull(self, g: Any, pulled: Pulled) -> None:
        """By k_i, v_i times the gradients of all later states; by v_i, k_i times their transposes."""
        xp, (k, v) = pulled.arrays.xp, (pulled.input(place) for place in (0, 1))
        later = xp.flip(xp.cumulative_sum(xp.flip(xp.sum(g, axis=-4), axis=-3), axis=-3), axis=-3)
        pulled.add((later @ v[..., None])[..., 0], 0)
        pulled.add((later.mT @ k[..., None])[..., 0], 1)

    def made_of(self, place: int, cell: At) -> Cells:
        until = tuple(range(cell.head % self.n_tokens + 1))
        return until, (cell.row if place == 0 else cell.column,)

    def read_by(self, place: int, cell: At) -> Cells:
        return ((cell.column,), None) if place == 0 else (None, (cell.column,))

    def made_of_heads(self, place: int, cell: At) -> tuple[int, ...]:
        return (cell.head // self.n_tokens // self.group_size,)

    def read_by_heads(self, place: int, cell: At) -> tuple[int, ...]:
        heads = in_groups(cell.head, self.group_size)
        return tuple(
            head * self.n_tokens + token for head in heads for token in range(cell.row, self.n_tokens)
        )

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        head, token = divmod(numbers.cell.head, self.n_tokens)
        columns, head = (numbers.cell.row, numbers.cell.column), head // self.group_size
        k, v = (numbers.column_of(place, head, column)[: token + 1] for place, column in enumerate(columns))

        def item(index: int) -> Pieces:
            return product(
                numbers.number_of(0, head, index, columns[0], k[index]),
                numbers.number_of(1, head, index, columns[1], v[index]),
            )

        letters = (Text("Σ k · v"),)
        return (numbers.line((letters, (Series(token + 1, item),)), float(np.sum(k * v))),)

    def code(self, writer: Writer) -> tuple[str, ...]:
        k, v = map(writer.in_groups, writer.reads)
        return (f"{writer.stage} = {writer.xp}.cumsum({k}[..., None] * {v}[..., None, :], -3)",)

    def derivatives(self, use: Any, reads: Any) -> Floats:
        raise NotImplementedError


STATE = Stage(
    "state",
    "state",
    ("head", "token", "key_feature", "feature"),
    N_("state"),
    "S = Σ kᵀ v",
    "Σ kᵀ v",
    (("k_rotated", "k_normed", "k"), ("v_rotated", "v")),
    width=lambda site: site.heads.d_head,
    symbols=("k", "v"),
    symbol="S",
    fold=9,
    made_by=State,
    operands="n_queries and group_size",
)

if __name__ == "__main__":
    from state import STATE as row  # the module that the checks import

    add(row, "combined")

    from attnviz.model.binding import _COMPUTED

    _COMPUTED[row.operands] = lambda site: (site.n_queries, site.heads.group_size)
    judge("checks_of_state.py")
