"""`Rotation`: pairs of features, each rotated by an angle that grows with the position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from attnviz.core.dims import Array
from attnviz.core.positions import pair_of, rotate
from attnviz.i18n import N_, _
from attnviz.operations.operation import (
    Arrays,
    At,
    Cells,
    Floats,
    Ints,
    Numbers,
    Operation,
    Pulled,
    Reads,
    Use,
    Writer,
)
from attnviz.operations.terms import Line, Pieces, Text, constant, guarded, words


class Turning(Protocol):
    """The cosines and sines of positions from 0 on, (position, rotated feature)."""

    def up_to(self, end: int) -> tuple[Floats, Floats]: ...


@dataclass(frozen=True, eq=False)
class Rotation(Operation):
    """(a, b) becomes `length` · (a cos θ − b sin θ, a sin θ + b cos θ), θ = position × frequency of the pair.

    The `features` are rotated, in pairs by their `pairing`; position of row m is m + `offset` + `start`.
    `turning` has the cosines and sines of all rows, times `length`. `why(number, frequency)` are the lines of
    the frequency of a pair. Su et al. 2021, "RoFormer", arXiv:2104.09864.
    """

    turning: Turning
    features: range
    pairing: str
    offset: int
    start: int
    length: float
    frequencies: Floats
    why: Callable[[int, float], Sequence[Line]]

    help = N_("Each pair of features is rotated by an angle that grows with the position.")
    cites = "rope"
    pattern = "pair"
    letters = "(cos θ, ± sin θ)"

    def of(self, arrays: Arrays, x: Array, positions: Ints) -> Array:
        return rotate(arrays.xp, x, self._turned(arrays, positions), self.pairing, self.features.start)

    def _turned(self, arrays: Arrays, positions: Ints) -> tuple[Array, Array]:
        """The cosines and sines of positions (..., token), which have no gaps along the tokens."""
        cos, sin = self.turning.up_to(int(positions.max()) + 1)
        if positions.ndim > 1:
            return arrays.asarray(cos[positions]), arrays.asarray(sin[positions])
        along = slice(int(positions[0]), int(positions[-1]) + 1)
        return arrays.asarray(cos)[along], arrays.asarray(sin)[along]

    def pull(self, g: Any, pulled: Pulled) -> None:
        """A rotation backwards is one by the opposite angle, by the same factor."""
        cos, sin = self._turned(pulled.arrays, pulled.token_positions())
        pulled.add(rotate(pulled.arrays.xp, g, (cos, -sin), self.pairing, self.features.start))

    def _pair(self, column: int) -> tuple[int, int] | None:
        return pair_of(column, len(self.features), self.pairing, self.features.start)

    def _angle(self, row: int, pair: tuple[int, int]) -> tuple[int, float, float]:
        """The number of a pair, its frequency, and its angle in a row."""
        place = pair[0] - self.features.start
        number = place // 2 if self.pairing == "interleaved" else place
        frequency = float(self.frequencies[number])
        return number, frequency, (row + self.offset + self.start) * frequency

    def made_of(self, place: int, cell: At) -> Cells:
        return (cell.row,), self._pair(cell.column) or (cell.column,)

    def read_by(self, place: int, cell: At) -> Cells:
        return self.made_of(place, cell)

    def derivatives(self, use: Use, reads: Reads) -> Floats:
        """cos θ of its own feature, ± sin θ of the other one of its pair, times the attention factor."""
        cell, pair = use.cell, self._pair(use.cell.column)
        if pair is None:
            return np.ones(use.shape)
        _number, _frequency, angle = self._angle(cell.row, pair)
        cos, sin = np.cos(angle), np.sin(angle)
        is_first = cell.column == pair[0]
        by_column = {cell.column: cos, pair[1]: sin} if is_first else {pair[0]: -sin, cell.column: cos}
        return self.length * np.array([by_column[c] for c in use.columns]).reshape(use.shape)

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        """One feature of a pair, rotated by position × frequency."""
        cell = numbers.cell
        pair = self._pair(cell.column)
        if pair is None:
            return (self._unturned(numbers),)
        number, frequency, angle = self._angle(cell.row, pair)
        at = cell.row + self.offset
        return (
            self._turned_line(numbers, pair, angle),
            angle_line(at, self.start, angle, frequency),
            *self.why(number, frequency),
        )

    def _unturned(self, numbers: Numbers) -> Line:
        origin, features = numbers.same(), self.features
        is_before = numbers.cell.column < features.start
        says = (
            _("features before {n} are not rotated")
            if is_before
            else _("features from {n} on are not rotated")
        )
        note = words(says.format(n=features.start if is_before else features.stop))
        return numbers.line(((origin,),), origin.value, note)

    def _turned_line(self, numbers: Numbers, columns: tuple[int, int], angle: float) -> Line:
        cell = numbers.cell
        row = numbers.row_of(0, cell.head, cell.row)
        a, b = (numbers.number_of(0, cell.head, cell.row, at, row[at]) for at in columns)
        theta, symbol = constant(angle, "θ"), numbers.symbol()
        names = tuple(Text(f"{symbol}[{column}]", a.hue) for column in columns)
        cos, sin = float(np.cos(angle)), float(np.sin(angle))
        if cell.column == columns[0]:
            first, sign, second, result = "cos", "−", "sin", a.value * cos - b.value * sin
        else:
            first, sign, second, result = "sin", "+", "cos", a.value * sin + b.value * cos
        letters: Pieces = (names[0], Text(f" {first} θ {sign} "), names[1], Text(f" {second} θ"))
        before, between = (a, Text(f" × {first}("), theta), (Text(f") {sign} "), *guarded(b))
        pieces: Pieces = (*before, *between, Text(f" × {second}("), theta, Text(")"))
        if self.length == 1.0:
            return numbers.line((letters, pieces), result)
        letters = (Text("t ("), *letters, Text(")"))
        pieces = (constant(self.length, _("attention factor")), Text(" × ("), *pieces, Text(")"))
        note = words(_("t, the attention factor, multiplies q and k; scores grow by its square"))
        return numbers.line((letters, pieces), self.length * result, note)

    def code(self, writer: Writer) -> Sequence[str]:
        """(a, b) -> (a cos − b sin, a sin + b cos)."""
        (read,), stage = writer.reads, writer.stage
        writer.angles(self.offset)
        first, second = self._halves()
        return (
            f"a, b = {read}[{first}], {read}[{second}]",
            f"{stage} = {writer.copy(read)}",
            f"{stage}[{first}] = a * cos - b * sin",
            f"{stage}[{second}] = a * sin + b * cos",
        )

    def _halves(self) -> tuple[str, str]:
        """The first and the second features of all pairs, as slices."""
        start, end, half = self.features.start, self.features.stop, len(self.features) // 2
        if self.pairing == "interleaved":
            return f"..., {start}:{end}:2", f"..., {start + 1}:{end}:2"
        return f"..., {start}:{start + half}", f"..., {start + half}:{end}"


def angle_line(row: int, start: int, angle: float, frequency: float) -> Line:
    """θ = position × frequency."""
    position = f"({row} + {start})" if start else f"{row}"
    pieces = (Text(f"{position} × "), *guarded(constant(frequency, _("frequency"))))
    steps = (words(_("position × frequency")), pieces)
    return Line(words("θ"), steps, angle, (row + start) * frequency, (words(_("in radians")),))
