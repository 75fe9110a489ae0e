"""Lines of a text with marked words: broken at a width, the last one elided, painted by their owner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QTextCharFormat, QTextLayout, QTextOption

ENDLESS = 1e6


@dataclass(frozen=True)
class Line:
    """One line: the position of its first character in the whole text, and its text."""

    start: int
    text: str


@dataclass(frozen=True)
class Mark:
    """Characters first to last (exclusive) of the whole text in a colour, underlined or not."""

    first: int
    last: int
    color: str
    is_underlined: bool = True


def broken(text: str, font: QFont, width: float, most: int) -> tuple[Line, ...]:
    """At most `most` lines of `text`; what does not fit ends in dots."""
    starts = _starts(text, font, max(1.0, width), most + 1)
    lines = []
    for index, start in enumerate(starts[:most]):
        if index == most - 1 and len(starts) > most:
            rest = text[start:].replace("\n", " ")
            part = QFontMetricsF(font).elidedText(rest, Qt.TextElideMode.ElideRight, width)
        else:
            part = text[start : starts[index + 1] if index + 1 < len(starts) else len(text)].rstrip(" \n")
        lines.append(Line(start, part))
    return tuple(lines)


def laid_out(line: Line, font: QFont, marks: Sequence[Mark]) -> QTextLayout:
    """One line, ready to be painted and measured."""
    layout = QTextLayout(line.text, font)
    layout.setFormats([row for row in (_format(line, mark) for mark in marks) if row.length > 0])
    layout.beginLayout()
    row = layout.createLine()
    if row.isValid():
        row.setLineWidth(ENDLESS)
    layout.endLayout()
    return layout


def _format(line: Line, mark: Mark) -> QTextLayout.FormatRange:
    """A mark as far as it is on a line."""
    stretch = QTextLayout.FormatRange()
    stretch.start = max(0, mark.first - line.start)
    stretch.length = min(mark.last - line.start, len(line.text)) - stretch.start
    style = QTextCharFormat()
    style.setForeground(QColor(mark.color))
    style.setFontUnderline(mark.is_underlined)
    stretch.format = style
    return stretch


def _starts(text: str, font: QFont, width: float, most: int) -> list[int]:
    """Position of the first character of each of at most `most` lines, broken at `width`."""
    layout = QTextLayout(text, font)
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    starts: list[int] = []
    layout.beginLayout()
    while len(starts) < most:
        line = layout.createLine()
        if not line.isValid():
            break
        line.setLineWidth(width)
        starts.append(line.textStart())
    layout.endLayout()
    return starts
