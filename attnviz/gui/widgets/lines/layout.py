"""Places of two columns of words: a pure function of sizes."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QSizeF

LEAST_ROW, MOST_ROW = 18.0, 44.0
HEADING = 24.0
MOST_GAP = 420.0
"""Largest distance of the two columns."""
PAD = 8.0
_NUMBER = 52.0
_MOST_WORD = 180.0


@dataclass(frozen=True)
class Columns:
    """The right end of the left words, the left end of the right ones, the height of a row, room for a word.

    `number` is the right end of the numbers behind the right words.
    """

    left: float
    right: float
    row: float
    word: float
    number: float

    def y(self, index: int) -> float:
        """The middle of a row."""
        return HEADING + (index + 0.5) * self.row

    def word_at(self, at: QPointF, n_left: int, n_right: int) -> tuple[int, int]:
        """(left, right) word under a point, −1 for the other side; (−1, −1) between the words."""
        index = int((at.y() - HEADING) // self.row)
        if index >= 0 and at.x() <= self.left + PAD:
            return (index, -1) if index < n_left else (-1, -1)
        if index >= 0 and at.x() >= self.right - PAD:
            return (-1, index) if index < n_right else (-1, -1)
        return -1, -1


def columns(size: QSizeF, n_rows: int, widest: float) -> Columns:
    """Lay out `n_rows` words a column, centred, with lines of at most `MOST_GAP` pixels between them.

    `widest` is the width of the widest word: the numbers stand close behind the right ones.
    """
    row = min(MOST_ROW, max(LEAST_ROW, (size.height() - HEADING) / max(1, n_rows)))
    gap = min(MOST_GAP, 0.46 * size.width())
    word = min(_MOST_WORD, max(40.0, (size.width() - gap - _NUMBER) / 2 - 2 * PAD))
    middle = (size.width() - _NUMBER) / 2
    right = middle + gap / 2
    end = min(size.width() - PAD, right + min(word, widest) + _NUMBER)
    return Columns(middle - gap / 2, right, row, word, end)


def least_height(n_rows: int) -> int:
    """Height in pixels that keeps the words apart."""
    return int(HEADING + LEAST_ROW * n_rows)
