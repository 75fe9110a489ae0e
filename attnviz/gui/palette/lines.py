"""The list of the palette: kind, text with the letters that the query named, shortcut."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from attnviz.core.phrases import phrased
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.palette.match import Found
from attnviz.gui.widgets.control import active_theme

LINE = 32
"""Height of a line in pixels."""
KIND = 88
"""Width of the kinds."""

Index = QModelIndex | QPersistentModelIndex


class Lines(QAbstractListModel):
    """The entries found, the closest first."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._found: list[Found] = []

    def show(self, matches: list[Found]) -> None:
        """Replace all lines."""
        self.beginResetModel()
        self._found = matches
        self.endResetModel()

    def at(self, row: int) -> Found:
        """The entry of a line."""
        return self._found[row]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's signature)
        return 0 if parent.isValid() else len(self._found)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        entry = self._found[index.row()].entry
        if role == Qt.ItemDataRole.DisplayRole:
            return entry.text
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return phrased(part for part in (entry.kind, entry.text, entry.shortcut) if part)
        return None


class LinePainter(QStyledItemDelegate):
    """Paints one line."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, LINE)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        lines = index.model()
        assert isinstance(lines, Lines)
        match, theme = lines.at(index.row()), active_theme()
        rect = QRectF(option.rect)  # type: ignore[attr-defined]
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:  # type: ignore[attr-defined]
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.hover))
            painter.drawRoundedRect(rect.adjusted(GRID / 2, 1, -GRID / 2, -1), 4, 4)
            painter.setBrush(QColor(theme.accent))
            painter.drawRoundedRect(QRectF(rect.left() + GRID / 2, rect.top() + 7, 3, LINE - 14), 1.5, 1.5)
        middle = Qt.AlignmentFlag.AlignVCenter
        inside = rect.adjusted(2 * GRID, 0, -2 * GRID, 0)
        painter.setFont(ui_font(TEXT_PX))
        painter.setPen(QColor(theme.muted))
        painter.drawText(QRectF(inside.left(), inside.top(), KIND - GRID, LINE), middle, match.entry.kind)
        painter.setFont(number_font(TEXT_PX - 1))
        painter.drawText(inside, middle | Qt.AlignmentFlag.AlignRight, match.entry.shortcut)
        taken = QFontMetricsF(painter.font()).horizontalAdvance(match.entry.shortcut)
        _paint_text(painter, inside.adjusted(KIND, 0, -taken - 2 * GRID, 0), match)
        painter.restore()


def _paint_text(painter: QPainter, room: QRectF, match: Found) -> None:
    """Paint the text, elided, its named letters heavy and in the accent."""
    theme, text = active_theme(), match.entry.text
    plain, heavy = ui_font(TEXT_PX + 1), ui_font(TEXT_PX + 1, QFont.Weight.DemiBold)
    shown = QFontMetricsF(plain).elidedText(text, Qt.TextElideMode.ElideRight, room.width())
    x, base = room.left(), room.center().y() + QFontMetricsF(plain).ascent() / 2 - 1
    for is_named, part in _parts(shown, match.places):
        painter.setFont(heavy if is_named else plain)
        painter.setPen(QColor(theme.accent if is_named else theme.ink))
        painter.drawText(QPointF(x, base), part)
        x += QFontMetricsF(painter.font()).horizontalAdvance(part)


def _parts(text: str, places: frozenset[int]) -> list[tuple[bool, str]]:
    """The text in pieces: whether the query named them, and their letters."""
    parts: list[tuple[bool, str]] = []
    for place, letter in enumerate(text):
        is_named = place in places
        if parts and parts[-1][0] == is_named:
            parts[-1] = is_named, parts[-1][1] + letter
        else:
            parts.append((is_named, letter))
    return parts
