"""Elements of an explanation: words, numbers with their source, sums, lines.

Values only; `explain/arithmetic/cell.py` creates them and a panel draws them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from attnviz.core.text import number
from attnviz.i18n import _

Hue = Literal["", "query", "key", "value"]

TERM_DIGITS = 4
VALUE_DIGITS = 6
MOST_ITEMS = 8
"""Items of a sum that are all shown; of a longer one, the first `FIRST_ITEMS` and the last."""
FIRST_ITEMS = 5

_SMALLEST, _LARGEST = 1e-4, 1e6
"""Sizes between which a number is written without an exponent."""


@dataclass(frozen=True, slots=True)
class Text:
    """Words or signs; `hue` colours the name of a query, key or value."""

    text: str
    hue: Hue = ""


@dataclass(frozen=True, slots=True)
class Term:
    """A number: its value, the shown digits, its name, and the cell of its origin.

    `source` is None for numbers outside the stages: weights, angles, slopes. Else it is the reader's own
    record of a cell, which nothing here opens.
    """

    value: float
    text: str
    name: str
    source: Any = None
    hue: Hue = ""


@dataclass(frozen=True, slots=True)
class Gap:
    """Items of a sum that are left out of the picture."""

    count: int

    @property
    def text(self) -> str:
        return _("… ({count} more) …").format(count=self.count)


@dataclass(frozen=True, slots=True)
class Series:
    """A sum of `length` items, each created on demand: a row may have thousands."""

    length: int
    item: Callable[[int], Pieces] = field(compare=False)

    def pieces(self, is_whole: bool = False) -> Iterator[Text | Term | Gap]:
        """The items with plus signs between them; a `Gap` for those left out unless `is_whole`."""
        left_out = 0 if is_whole or self.length <= MOST_ITEMS else self.length - FIRST_ITEMS - 1
        for index in range(self.length):
            if left_out and FIRST_ITEMS <= index < self.length - 1:
                if index == FIRST_ITEMS:
                    yield Text(" + ")
                    yield Gap(left_out)
                continue
            if index:
                yield Text(" + ")
            yield from flat(self.item(index), is_whole)


Piece = Text | Term | Series
Pieces = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """`name = step = step = value`, and notes in words.

    Every step with a `Term` or a `Series` evaluates to `recomputed`. `value` is the trace's own number (of an
    angle or a frequency: the program's formula). A line without a name continues the one above and has the
    same value; without steps, it is its notes alone.
    """

    name: Pieces
    steps: tuple[Pieces, ...]
    value: float
    recomputed: float
    notes: tuple[Pieces, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """The arithmetic of one cell: its own line first, then the steps below it."""

    cell: Any
    title: str
    lines: tuple[Line, ...]

    @property
    def value(self) -> float:
        """The trace's own number."""
        return self.lines[0].value

    @property
    def recomputed(self) -> float:
        """Value of the first line's terms in float64."""
        return self.lines[0].recomputed


def flat(pieces: Pieces, is_whole: bool = False) -> Iterator[Text | Term | Gap]:
    """The pieces one after the other, sums expanded."""
    for piece in pieces:
        if isinstance(piece, Series):
            yield from piece.pieces(is_whole)
        else:
            yield piece


def plain(pieces: Pieces, is_whole: bool = False) -> str:
    """The pieces as text."""
    return "".join(piece.text for piece in flat(pieces, is_whole))


def digits(value: float, significant: int = TERM_DIGITS) -> str:
    """`value` with `significant` decimals, or significant digits if it is below one.

    A number that is exact in fewer digits is written with those (`2`, `0.25`), very small and very large ones
    with an exponent.
    """
    value = float(value)
    if not math.isfinite(value):
        return number(value)
    size = abs(value)
    exact = repr(value).removesuffix(".0")
    is_short = value.is_integer() or len(exact.lstrip("-0.")) <= significant
    if size == 0:
        return "0"
    if _SMALLEST <= size < _LARGEST and is_short:
        return exact.replace("-", "\u2212")
    if not _SMALLEST <= size < _LARGEST:
        mantissa, exponent = f"{value:.{significant - 1}e}".split("e")
        return f"{mantissa}e{int(exponent)}".replace("-", "\u2212")
    return number(value, max(significant, significant - 1 - math.floor(math.log10(size))))


def constant(value: float, name: str, hue: Hue = "") -> Term:
    """A number outside the stages."""
    return Term(float(value), digits(value), name, None, hue)


def guarded(term: Term) -> Pieces:
    """The term after a sign: in brackets if it is negative."""
    return (Text("("), term, Text(")")) if term.text.startswith("\u2212") else (term,)


def product(first: Term, second: Term) -> Pieces:
    """(first)(second)."""
    return Text("("), first, Text(")("), second, Text(")")


def words(text: str) -> Pieces:
    """A note that is nothing but words."""
    return (Text(text),)
