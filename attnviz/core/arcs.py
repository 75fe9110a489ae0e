"""A sentence in one line and arcs from one of its words to the others: places, in any unit, y downwards.

The window, the figures and the thumbnails share them. A second sequence has a line of its own below the
first, and what does not fit into one line has two; of a longer sentence, the words around one of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from attnviz.core.text import elide, visible

LETTERS = 90
"""Letters of a sentence that may have two lines; of a longer one, those around the chosen word have one."""
LONGEST = 24
LEAST_THICKNESS = 0.05
"""Thickness of the thinnest arc, as a part of the thickest one."""
STRONG = 0.1
"""Weight from which an arc has the hue of its head."""
_SPACES = " \u2581\u0120"
"""A space, and the signs that vocabularies write for it."""
_APART = 0.3
"""Space between letters without spaces, as a part of the widest one between words."""
_STEPS = 24
"""Points of a curve among which the nearest to the pointer is searched."""

Points = NDArray[np.float64]


def marked_key(weights: Points, hidden: NDArray[np.bool_], *, is_first_off: bool) -> int:
    """The key whose word has a frame and whose arc has its number, of `weights` (heads, keys).

    It is the one with the largest mean weight of those that are not `hidden` (keys,). A first key that is
    left out of the colours has it only if it receives more than all others together: these say little then.
    """
    means = np.where(hidden, -1.0, weights.mean(axis=0))
    if is_first_off and len(means) > 1 and means[0] <= means[1:][~hidden[1:]].sum():
        means[0] = -1.0
    return int(means.argmax())


@dataclass(frozen=True)
class Word:
    """A token as part of a sentence: its text, and whether a space stands before it."""

    text: str
    is_apart: bool

    @property
    def is_sign(self) -> bool:
        """True for a token such as <s>, which no text contains: it is written smaller."""
        return len(self.text) > 2 and self.text[0] == "<" and self.text[-1] == ">"


def sentence(tokens: Sequence[str]) -> tuple[Word, ...]:
    """The tokens as words; where none of them has a space, each is a word of its own.

    Characters that are written without spaces, as Chinese ones, follow each other.
    """
    has_spaces = any(token[:1] in _SPACES for token in tokens if token)
    words: list[Word] = []
    for token in tokens:
        bare = token.lstrip(_SPACES)
        is_apart = token != bare if has_spaces else not bare[:1] > "\u2e80"
        is_apart = is_apart or bool(words and words[-1].is_sign)
        words.append(Word(elide(visible(bare or token), LONGEST), is_apart))
    return tuple(words)


@dataclass(frozen=True)
class Measures:
    """Sizes: height of a line of words, space between words, height of the highest arc, thickness of a weight
    of 1, room for the sign of words that are left out, and the widest space that fills a line.
    """

    line: float
    space: float
    rise: float
    thick: float
    cut: float
    widest_space: float
    join: float = 2.0


@dataclass(frozen=True)
class Place:
    """Place of a word: its ends along the line, and the number of the line."""

    left: float
    right: float
    row: int

    @property
    def middle(self) -> float:
        """The point of the word where arcs end."""
        return (self.left + self.right) / 2


@dataclass(frozen=True)
class Row:
    """The places of the shown words of one sequence, from the word `first` on; `after` are left out."""

    first: int
    places: tuple[Place, ...]
    after: int

    def at(self, word: int) -> Place | None:
        """The place of a word; None for one that is left out."""
        index = word - self.first
        return self.places[index] if 0 <= index < len(self.places) else None


@dataclass(frozen=True)
class Arcs:
    """The whole picture: the words of queries and of keys, which are the same in one sequence.

    `tops` are the upper ends of the lines of words.
    """

    queries: Row
    keys: Row
    tops: tuple[float, ...]
    measures: Measures
    width: float

    @property
    def height(self) -> float:
        """Lower end of the last line."""
        return self.tops[-1] + self.measures.line

    @property
    def is_one(self) -> bool:
        """True if queries are keys: one sentence."""
        return self.queries is self.keys

    @property
    def is_whole(self) -> bool:
        """True if every sequence has one line, with all of its words."""
        rows = (self.queries,) if self.is_one else (self.queries, self.keys)
        return len(self.tops) == len(rows) and not any(row.first or row.after for row in rows)

    @cached_property
    def longest(self) -> float:
        """Largest distance of two words of a line."""
        places = (*self.queries.places, *self.keys.places)
        return max(1.0, *(place.middle for place in places)) - min(
            (place.middle for place in places), default=0.0
        )

    def curve(self, query: int, key: int) -> Points | None:
        """Four points of the Bézier curve of an arc; None if one of its words is left out.

        It rises above its line; between two lines it runs from the lower end of the upper word to the upper
        end of the lower one.
        """
        start, end = self.queries.at(query), self.keys.at(key)
        if start is None or end is None:
            return None
        x, to = start.middle, end.middle
        if start.row == end.row:
            y = self.tops[start.row]
            rise = self._rise(start.row) * math.sqrt(min(1.0, abs(x - to) / max(1.0, self.longest)))
            if query == key:  # a loop over the word itself
                x, to = x - 0.3 * (start.right - start.left), x + 0.3 * (start.right - start.left)
                rise = 0.28 * self._rise(start.row)
            top = y - rise * 4 / 3
            return np.array([(x, y), (x, top), (to, top), (to, y)])
        is_down = start.row < end.row
        y = self.tops[start.row] + (self.measures.line if is_down else 0.0)
        below = self.tops[end.row] + (0.0 if is_down else self.measures.line)
        middle = (y + below) / 2
        return np.array([(x, y), (x, middle), (to, middle), (to, below)])

    def peak(self, query: int, key: int) -> tuple[float, float] | None:
        """The middle of an arc, where its number stands."""
        curve = self.curve(query, key)
        return None if curve is None else tuple((curve[0] + 3 * curve[1] + 3 * curve[2] + curve[3]) / 8)

    def thickness(self, weight: float) -> float:
        """Thickness of the arc of a weight: proportional to it, and never less than a thin line."""
        return self.measures.thick * min(max(weight, LEAST_THICKNESS), 1.5)

    def word_at(self, x: float, y: float) -> tuple[int, int]:
        """(query, key) of the word under a point, both in one sentence; −1 for none."""
        found = tuple(self._under(row, x, y) for row in (self.queries, self.keys))
        return found[0], found[1]

    def arc_at(self, x: float, y: float, query: int, keys: Sequence[int], reach: float) -> int:
        """The key of the arc nearest to a point, at most `reach` away; −1 without one."""
        best, nearest = -1, reach
        part = np.linspace(0.0, 1.0, _STEPS)[:, None]
        shares = (1 - part) ** 3, 3 * part * (1 - part) ** 2, 3 * part**2 * (1 - part), part**3
        for key in keys:
            curve = self.curve(query, key)
            if curve is None:
                continue
            points = sum(share * point for share, point in zip(shares, curve, strict=True))
            away = _distance(points, x, y)
            if away < nearest:
                best, nearest = key, away
        return best

    def _rise(self, row: int) -> float:
        """Height of the highest arc over a line: the room above it."""
        above = 0.0 if row == 0 else self.tops[row - 1] + self.measures.line
        return min(self.measures.rise, 0.9 * (self.tops[row] - above))

    def _under(self, row: Row, x: float, y: float) -> int:
        pad = self.measures.space / 2
        for index, place in enumerate(row.places):
            top = self.tops[place.row]
            if top <= y <= top + self.measures.line and place.left - pad <= x <= place.right + pad:
                return row.first + index
        return -1


def _distance(points: Points, x: float, y: float) -> float:
    """Distance of a point from a line through `points`."""
    starts, steps = points[:-1], np.diff(points, axis=0)
    along = ((np.array([x, y]) - starts) * steps).sum(axis=1) / np.maximum((steps**2).sum(axis=1), 1e-9)
    feet = starts + np.clip(along, 0.0, 1.0)[:, None] * steps
    return float(np.hypot(*(feet - np.array([x, y])).T).min())


def arrange(
    queries: Sequence[Word],
    keys: Sequence[Word] | None,
    widths: tuple[Sequence[float], Sequence[float]],
    chosen: tuple[int, int],
    left: float,
    room: float,
    measures: Measures,
) -> Arcs:
    """Place the words in lines of `room` that begin at `left`. `keys` None: one sentence.

    `widths` are those of the words of both; `chosen` are the (query, key) that stay in sight.
    """
    above = _row(queries, widths[0], chosen[0], left, room, measures, 0)
    lines = 1 + max((place.row for place in above.places), default=0)
    if keys is None:
        below = above
    else:
        below = _row(keys, widths[1], chosen[1], left, room, measures, lines)
        lines = 1 + max((place.row for place in below.places), default=0)
    asks = above.at(chosen[0])
    first = measures.rise if keys is None and (asks is None or asks.row == 0) else 0.0
    apart = measures.line + 0.8 * measures.rise
    return Arcs(above, below, tuple(first + line * apart for line in range(lines)), measures, room)


def _row(
    words: Sequence[Word],
    widths: Sequence[float],
    chosen: int,
    left: float,
    room: float,
    measures: Measures,
    line: int,
) -> Row:
    """One sequence in one line or two, or the words around the chosen one."""
    taken = [width + gap for width, gap in zip(widths, _gaps(words, measures), strict=True)]
    whole = sum(taken)
    is_long = sum(len(word.text) for word in words) > LETTERS
    n_lines = 1 if whole <= room or is_long else 2
    first, end = 0, len(words)
    if whole > n_lines * room or (n_lines == 2 and _half(taken, room) is None):
        n_lines = 1
        first, end = _around(taken, chosen, room - 2 * measures.cut)
    breaks = [first, end]
    if n_lines == 2:
        breaks.insert(1, _half(taken, room) or end)
    places: list[Place] = []
    for number, (start, stop) in enumerate(zip(breaks, breaks[1:], strict=False)):
        places += _line(words[start:stop], widths[start:stop], left, room, measures, line + number)
    return Row(first, tuple(places), len(words) - end)


def _gaps(words: Sequence[Word], measures: Measures) -> list[float]:
    """The space before each word."""
    return [measures.space if word.is_apart else measures.join for word in words]


def _half(taken: Sequence[float], room: float) -> int | None:
    """First word of the second line, so that both are about as long; None if no break makes both fit."""
    ends = np.cumsum(taken)
    longer = np.maximum(ends, ends[-1] - ends)
    best = int(longer.argmin())
    return best + 1 if longer[best] <= room and best + 1 < len(taken) else None


def _around(taken: Sequence[float], chosen: int, room: float) -> tuple[int, int]:
    """The words around the chosen one that fit: as many on both sides as both have."""
    chosen = min(max(chosen, 0), len(taken) - 1)
    first, end, used = chosen, chosen + 1, taken[chosen]
    while True:
        before = first > 0 and used + taken[first - 1] <= room
        after = end < len(taken) and used + taken[end] <= room
        if not before and not after:
            return first, end
        if before and (not after or chosen - first <= end - 1 - chosen):
            first -= 1
            used += taken[first]
        else:
            used += taken[end]
            end += 1


def _line(
    words: Sequence[Word],
    widths: Sequence[float],
    left: float,
    room: float,
    measures: Measures,
    number: int,
) -> list[Place]:
    """One line, its spaces widened to fill the room and, where they are as wide as they may be, centred."""
    gaps = _gaps(words, measures)
    gaps[:1] = [0.0]
    free = room - sum(widths) - sum(gaps) - 2 * measures.cut
    n_spaces = sum(word.is_apart for word in words[1:])
    has_few = 4 * n_spaces < len(words) - 1  # as in Chinese: letters move apart, not one word from the others
    n_gaps = len(words) - 1 if has_few else n_spaces
    most = _APART * measures.widest_space if has_few else measures.widest_space - measures.space
    more = min(most, max(0.0, free) / n_gaps) if n_gaps else 0.0
    gaps[1:] = [
        gap + more if word.is_apart or has_few else gap for gap, word in zip(gaps[1:], words[1:], strict=True)
    ]
    x = left + max(0.0, room - sum(widths) - sum(gaps)) / 2
    places = []
    for width, gap in zip(widths, gaps, strict=True):
        x += gap
        places.append(Place(x, x + width, number))
        x += width
    return places
