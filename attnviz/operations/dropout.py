"""`Dropout`: numbers of which a random share is set to 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnviz.core.dims import Array
from attnviz.core.dropout import keep
from attnviz.i18n import N_, _
from attnviz.operations.operation import (
    Arrays,
    At,
    Block,
    Floats,
    Forward,
    Ints,
    Numbers,
    Pointwise,
    Pulled,
    Reads,
    Use,
    Writer,
)
from attnviz.operations.terms import Line, Pieces, Text, constant, digits, words

AS_TORCH = N_("torch.nn.functional.dropout, with the numbers that this seed drops")


@dataclass(frozen=True)
class Dropout(Pointwise):
    """x · 0 with probability p, else x ÷ (1 − p), or x itself if not `rescale`.

    A number is dropped by a hash of the seed and its place. `place` stands for the head of numbers of tokens;
    None: numbers of queries and keys, with heads of their own. Srivastava et al. 2014, "Dropout: A Simple Way
    to Prevent Neural Networks from Overfitting".
    """

    p: float
    seed: int
    rescale: bool
    place: int | None = None

    cites = "dropout"

    @property
    def goes_on(self) -> bool:  # type: ignore[override]
        """The product that makes the number of a token has its own lines; a weight's go on."""
        return self.place is None

    @property
    def label(self) -> str:
        return f"p = {self.p:g}"

    def factors(self, heads: Ints, rows: Ints, columns: Ints) -> Floats:
        """The factor of each number of these heads (...): (..., row, column)."""
        heads = heads if self.place is None else np.array(self.place)
        survives = keep(self.seed, self.p, heads, rows, columns)
        return survives.astype(np.float64) * (1.0 / (1.0 - self.p) if self.rescale else 1.0)

    def factor(self, cell: At) -> float:
        """The factor of one number."""
        return float(self.factors(np.array(cell.head), np.array([cell.row]), np.array([cell.column]))[0, 0])

    def shape_(self, arrays: Arrays, scores: Array, block: Block) -> None:
        arrays.multiply_(scores, self.factors(block.heads, block.q_positions, block.k_positions))

    def of(self, arrays: Arrays, x: Array, positions: Ints) -> Array:
        return x * arrays.asarray(self.factors(np.array(0), positions, np.arange(x.shape[-1])))

    def result(self, forward: Forward) -> Array:
        return self.of(forward.arrays, forward.input(), forward.token_positions())

    def pull(self, g: Any, pulled: Pulled) -> None:
        """Dropped numbers pass nothing, the others by their factor."""
        if self.place is not None:
            pulled.add(self.of(pulled.arrays, g, pulled.token_positions()))
            return
        made = pulled.arrays.xp.asarray(g.part(), copy=True)
        self.shape_(pulled.arrays, made, pulled.block())
        pulled.add(made)

    def derivatives(self, use: Use, reads: Reads) -> Floats:
        return np.full(use.shape, self.factor(use.at(0)))

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        """The number times 0, or times 1/(1 − p)."""
        number, letter, p = numbers.term(), numbers.letter(), constant(self.p, "p")
        names = {"p": digits(self.p), "seed": self.seed}
        pieces: Pieces
        if self.factor(numbers.cell) == 0.0:
            pieces, letters, result = (number, Text(" × 0")), f"{letter} × 0", number.value * 0.0
            note = _("dropped: seed {seed}, p = {p}").format(**names)
        elif self.rescale:
            pieces, letters = (number, Text(" ÷ (1 − "), p, Text(")")), f"{letter} ÷ (1 − p)"
            result = number.value / (1 - self.p)
            note = _("kept: seed {seed}, p = {p}").format(**names)
        else:
            pieces, letters, result = (number, Text(" × 1")), f"{letter} × 1", number.value
            note = _("kept, without 1/(1 − p): seed {seed}, p = {p}").format(**names)
        return (numbers.line((words(letters), pieces), result, words(note)),)

    def code(self, writer: Writer) -> Sequence[str]:
        """The numbers times those that the same hash keeps."""
        stage, (read,) = writer.stage, writer.reads
        keeps, first, cell = "keep", "head", "head, query, key"
        if self.place is not None:
            keeps, first, cell = (
                f"keep_{stage.partition('_')[0]}",
                f"np.uint64({self.place})",
                "token, feature",
            )
        row, column = cell.split(", ")[-2:]
        writer.define("mix", *_MIX)
        kept = f"((state >> np.uint64(11)).astype(float) * 2.0**-53 >= {self.p!r})"
        writer.define(
            keeps,
            f"{cell} = np.indices({writer.shape}, dtype=np.uint64)",
            f"state = mix(np.array([{self.seed}], dtype=np.uint64))",
            f"state = mix(mix(mix(state ^ {first}) ^ {row}) ^ {column})",
            f"{keeps} = {writer.of_numpy(kept)}",
        )
        survivors = f" / (1 - {self.p!r})" if self.rescale else ""
        named = writer.note(AS_TORCH) if self.rescale and not writer.is_numpy else ""
        return (f"{stage} = {read} * {keeps}{survivors}{named}",)


_MIX = (
    "def mix(z):  # SplitMix64: 64-bit numbers that wrap around by design",
    "    z = z + np.uint64(0x9E3779B97F4A7C15)",
    "    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)",
    "    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)",
    "    return z ^ (z >> np.uint64(31))",
    "",
)
