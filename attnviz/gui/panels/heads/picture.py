"""A head as a picture with lines of text beside it, or below it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.heat.thumbnail import Thumbnail

LEAST_TEXT, MOST_TEXT = 54, 120
"""Room of the lines beside the picture, in pixels."""
WIDE_TEXT = 100
"""Room from which query and key stand on one line."""
LEAST_BELOW = 66
"""Width of a picture with its lines below it."""
_LINE = 14
LINES = 4
"""Lines beside a picture: the name, and the key that the head attends to."""
_FRAME, _SCROLL_BAR = 4, 10
_LEAST_SIDE = 24
"""Side of a picture in the lowest strip."""

Line = tuple[tuple[str, str], ...]
"""Texts and their colours; tokens stand at even places."""


class HeadPicture(Thumbnail):
    """The caption is the head's name; `look` says which key its row attends to, `note` what orders it."""

    def __init__(self, side: int) -> None:
        super().__init__(side)
        self._look: tuple[str, str, str] = ("", "", "")
        self._note = self._short = ""
        self._further = ""
        self._text, self._below = LEAST_TEXT, 2

    @property
    def _is_beside(self) -> bool:
        return self._text > 0

    @property
    def look(self) -> str:
        """The painted sentence: "she → Lily 0.949"; empty without a row."""
        query, key, value = self._look
        return f"{query} → {key} {value}" if query else ""

    @property
    def note(self) -> str:
        """The number that orders the head; may be empty."""
        return self._note

    def set_look(self, query: str, key: str, value: str) -> None:
        """Say that the row of `query` attends to `key` most, with its weight; empty texts say nothing."""
        if (query, key, value) != self._look:
            self._look = query, key, value
            self._describe()
            self.update()

    def set_short(self, short: str) -> None:
        """The name where the caption has no room."""
        self._short = short

    def set_note(self, note: str) -> None:
        """Another number beside the name."""
        if note != self._note:
            self._note = note
            self._describe()
            self.update()

    def set_caption(self, text: str, tooltip: str = "") -> None:
        super().set_caption(text, tooltip)
        self._further = tooltip
        self._describe()  # another caption takes its own tooltip as the description

    def _describe(self) -> None:
        said = " ".join(part for part in (self.look, self._note, self._further) if part)
        if said != self.accessibleDescription():
            self.setAccessibleDescription(said)

    def set_fit(self, fit: Fit) -> None:
        """Take the layout of the strip."""
        self.set_side(fit.side)
        if (fit.text, fit.below) != (self._text, self._below):
            self._text, self._below = fit.text, fit.below
            self.updateGeometry()
            self.update()

    def event(self, event: QEvent) -> bool:
        """Say in the tooltip what is painted, and what has no room."""
        if event.type() == QEvent.Type.ToolTip:
            said = (self._caption, self.look, self._note, self._further)
            self.setToolTip(plain_tooltip(" · ".join(part for part in said if part)))
        return super().event(event)

    def sizeHint(self) -> QSize:
        whole = self._side + 2 * _FRAME
        if self._is_beside:
            return QSize(whole + GRID // 2 + self._text, max(whole, LINES * _LINE + 2))
        return QSize(max(whole, LEAST_BELOW), whole + self._below * _LINE)

    def picture_rect(self) -> QRectF:
        picture = super().picture_rect()
        return picture.translated(self._shift(), 0.0)

    def _shift(self) -> float:
        """Pixels from the middle of the widget to that of the picture."""
        return -float(math.floor((self.width() - self._side) / 2 - _FRAME)) if self._is_beside else 0.0

    def caption_rect(self) -> QRectF:
        """Rectangle of the lines."""
        whole = self._side + 2 * _FRAME
        if self._is_beside:
            return QRectF(whole + GRID / 2, 2, self.width() - whole - GRID / 2, LINES * _LINE)
        return QRectF(0, whole, self.width(), self._below * _LINE)

    def _paint_caption(self, painter: QPainter) -> None:
        theme, room = self._theme, self.caption_rect()
        is_marked = self.isChecked() or self._is_pointed
        font = ui_font(TEXT_PX - 1, QFont.Weight.DemiBold if self.isChecked() else QFont.Weight.Normal)
        font.setStrikeOut(self._is_struck)
        painter.setFont(font)
        painter.setPen(QColor(theme.accent if is_marked else theme.ink))
        fits = painter.fontMetrics().horizontalAdvance(self._caption) <= room.width()
        self._write(painter, room, 0, self._caption if fits else self._short)
        painter.setFont(ui_font(TEXT_PX - 1))
        query, key, value = self._look
        if not query or (not self._text and self._below == 1):
            lines: tuple[Line, ...] = ()
        elif not self._text:
            lines = (((key, theme.key), (f" {value}", theme.muted)),)
        elif self._text >= WIDE_TEXT:
            lines = (
                ((query, theme.query), (" → ", theme.muted), (key, theme.key)),
                (("", ""), (value, theme.ink)),
            )
        else:
            lines = (
                ((query, theme.query), (" →", theme.muted)),
                ((key, theme.key),),
                (
                    ("", ""),
                    (value, theme.ink),
                    ("", ""),
                    (f" · {self._note}" if self._note else "", theme.muted),
                ),
            )
        for place, line in enumerate(lines, 1):
            self._write_parts(painter, room, place, line)
        if self._text and len(lines) < LINES - 1:
            painter.setPen(QColor(theme.muted))
            self._write(painter, room, len(lines) + 1, self._note)

    def _write_parts(self, painter: QPainter, room: QRectF, line: int, parts: Line) -> None:
        """Texts of several colours on one line; every other one, the tokens, is elided if it must be."""
        metrics = QFontMetricsF(painter.font())
        fixed = sum(metrics.horizontalAdvance(text) for text, _color in parts[1::2])
        each = (room.width() - fixed) / max(len(parts[0::2]), 1)
        spare = sum(max(each - metrics.horizontalAdvance(text), 0.0) for text, _color in parts[0::2])
        shown = [
            (
                metrics.elidedText(text, Qt.TextElideMode.ElideRight, each + spare)
                if place % 2 == 0
                else text,
                color,
            )
            for place, (text, color) in enumerate(parts)
        ]
        whole = sum(metrics.horizontalAdvance(text) for text, _color in shown)
        x = room.left() if self._is_beside else room.left() + max((room.width() - whole) / 2, 0)
        for text, color in shown:
            if text:
                painter.setPen(QColor(color))
                painter.drawText(QPointF(x, room.top() + line * _LINE + metrics.ascent()), text)
                x += metrics.horizontalAdvance(text)

    def _write(self, painter: QPainter, room: QRectF, line: int, text: str) -> None:
        align = Qt.AlignmentFlag.AlignLeft if self._is_beside else Qt.AlignmentFlag.AlignHCenter
        row = QRectF(room.left(), room.top() + line * _LINE, room.width(), _LINE)
        painter.drawText(row, align | Qt.AlignmentFlag.AlignTop, text)


@dataclass(frozen=True)
class Fit:
    """Layout of the strip: side of the pictures, and the room of their lines; 0 puts them below.

    A strip too low for two lines below a picture has the name alone (`below` = 1); the tooltip says the rest.
    """

    side: int
    text: int
    below: int = 2

    @classmethod
    def of(cls, count: int, width: int, height: int, largest: int, smallest: int) -> Fit:
        """The layout of `count` heads in a strip of that size: the one with the larger pictures."""
        below = max(smallest, min(largest, height - 2 * _FRAME - 2 * _LINE))
        room = (width + GRID) // max(count, 1) - GRID - 2 * _FRAME - GRID // 2
        beside = min(max(smallest, min(largest, height - 2 * _FRAME)), room - LEAST_TEXT)
        if beside >= below:
            return cls(beside, min(room - beside, MOST_TEXT))
        scrolls = count * (max(below + 2 * _FRAME, LEAST_BELOW) + GRID) - GRID > width
        room = height - 2 * _FRAME - (_SCROLL_BAR if scrolls else 0)
        lines = 2 if room >= smallest + 2 * _LINE else 1
        least = smallest if lines > 1 else min(smallest, _LEAST_SIDE)  # the name is whole above a scroll bar
        return cls(max(least, min(largest, room - lines * _LINE)), 0, lines)


def tall_fit(count: int, width: int, height: int, most: int) -> tuple[Fit, int]:
    """The layout of a tall panel, pictures in rows with their lines below, and the pictures in a row.

    As large as all of them fit, at most `most` pixels; if they do not fit at their least size, they scroll.
    """
    room = width - _SCROLL_BAR

    def side(columns: int) -> int:
        rows = -(-count // columns)
        wide = (room - (columns - 1) * GRID) // columns
        high = (height - (rows - 1) * GRID) // rows - 2 * _LINE
        return min(wide, high) - 2 * _FRAME

    columns = max(range(1, max(1, (room + GRID) // (LEAST_BELOW + GRID)) + 1), key=side)
    least = LEAST_BELOW - 2 * _FRAME
    if side(columns) < least:
        columns = max(1, (room + GRID) // (LEAST_BELOW + GRID))
    return Fit(max(least, min(side(columns), most)), 0), columns
