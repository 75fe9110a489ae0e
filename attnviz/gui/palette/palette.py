"""The command palette: type a few letters, Enter runs the line that they name."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Slot,
)
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLabel,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from attnviz.core.phrases import phrased
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import says
from attnviz.gui.palette.entry import Entry
from attnviz.gui.palette.match import Found, search
from attnviz.gui.palette.overlay import SHADOW, Overlay
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_

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


WIDTH, MOST_LINES = 640, 10
TOP = 56
"""Distance from the window's upper edge."""
MOST_RECENT = 5
"""Lines run last that come first while nothing is typed."""
AT_ONCE_S, IN_A_PAUSE_S = 0.1, 0.01
"""Time to make entries before the palette shows, and in each pause after it."""
_STEPS = {
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_Down: 1,
    Qt.Key.Key_PageUp: -MOST_LINES,
    Qt.Key.Key_PageDown: MOST_LINES,
}


class Palette(Overlay):
    """Lies over its window, at the top. `entries` is called when it opens.

    The entries that take long to make follow in pauses; Enter waits for them.
    """

    def __init__(self, window: QWidget, entries: Callable[[], Iterator[Entry]]) -> None:
        super().__init__(window)
        self._make_entries, self._entries = entries, list[Entry]()
        self._coming: Iterator[Entry] = iter(())
        self._pause = QTimer(self)
        self._pause.setInterval(0)
        self._pause.timeout.connect(self._make_some)
        self._recent: list[str] = []
        self.setObjectName("palette")
        self.list, self._empty = QListView(), QLabel()
        self._lines = Lines(self.list)
        says(
            self.line,
            id="palette_line",
            name=N_("Command palette"),
            placeholder=N_("Search commands, exports, presets, lessons, stages, heads, panels, settings"),
        )
        self.line.setProperty("bare", True)
        self.line.textChanged.connect(self._on_typed)
        says(self.list, id="palette_list", name=N_("Results"))
        self.list.setProperty("bare", True)
        self.list.setModel(self._lines)
        self.list.setItemDelegate(LinePainter(self.list))
        self.list.setUniformItemSizes(True)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setMouseTracking(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.entered.connect(self.list.setCurrentIndex)
        self.list.clicked.connect(self._on_clicked)
        says(self._empty, N_("No entry has these words"), id="palette_empty")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setFixedHeight(2 * LINE)
        self.list.viewport().setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._column = column = QVBoxLayout(self)
        column.setContentsMargins(SHADOW, SHADOW + GRID, SHADOW, SHADOW + GRID)
        column.setSpacing(GRID)
        for widget in (self.line, self.list, self._empty):
            column.addWidget(widget)
        set_tone("muted", self._empty)

    def open(self) -> None:
        """Show the palette with an empty line, or close it where it is open."""
        if self.isVisible():
            self.vanish()
            return
        self.appear()
        self.retranslate()

    def retranslate(self) -> None:
        """Make the entries of an open palette again, in the present language."""
        if not self.isHidden():
            self._coming, self._entries = self._make_entries(), []
            self._make(AT_ONCE_S)
            self._on_typed(self.line.text())

    def vanish(self) -> None:
        """Hide the palette, and hold no entries."""
        super().vanish()
        self._coming, self._entries = iter(()), []
        self._pause.stop()
        self._lines.show([])

    def found(self) -> list[Entry]:
        """The entries that show, in their order."""
        return [self._lines.at(row).entry for row in range(self._lines.rowCount())]

    @property
    def is_complete(self) -> bool:
        """True once all entries are made."""
        return not self._pause.isActive()

    # --- entries

    def _make(self, seconds: float) -> None:
        """Make entries for some time, and the others in pauses."""
        until = time.perf_counter() + seconds
        for entry in self._coming:
            self._entries.append(entry)
            if time.perf_counter() >= until:
                self._pause.start()
                return
        self._pause.stop()

    @Slot()
    def _make_some(self) -> None:
        self._make(IN_A_PAUSE_S)
        self._show_more()

    def _show_more(self) -> None:
        """Find among more entries; the chosen line stays chosen unless it is the first."""
        row = self.list.currentIndex().row()
        chosen = self._lines.at(row).entry.key if row > 0 else ""
        self._on_typed(self.line.text())
        shown = [entry.key for entry in self.found()]
        if chosen in shown:
            self.list.setCurrentIndex(self._lines.index(shown.index(chosen), 0))

    # --- what is typed

    @Slot(str)
    def _on_typed(self, text: str) -> None:
        matches = search(text, self._entries) if text.strip() else self._unsearched()
        self._lines.show(matches)
        self.list.setVisible(bool(matches))
        self._empty.setVisible(not matches and self.is_complete)
        if matches:
            self.list.setCurrentIndex(self._lines.index(0, 0))
        self.place()

    def _unsearched(self) -> list[Found]:
        """All entries, those that ran last before the others."""
        by_key = {entry.key: entry for entry in self._entries}
        recent = [by_key[key] for key in self._recent if key in by_key]
        others = [entry for entry in self._entries if entry.key not in self._recent]
        return [Found(entry, 0, frozenset()) for entry in (*recent, *others)]

    def press(self, key: Qt.Key) -> bool:
        """Enter runs the chosen line, arrows choose another."""
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if not self.is_complete:
                self._make(math.inf)
                self._show_more()
            self._run(self.list.currentIndex().row())
            return True
        if key in _STEPS:
            self._step(_STEPS[key])
        return key in _STEPS

    def _step(self, step: int) -> None:
        """Go on in the list, from its end to its beginning with single steps."""
        count, row = self._lines.rowCount(), self.list.currentIndex().row() + step
        if count:
            row = row % count if abs(step) == 1 else min(max(row, 0), count - 1)
            self.list.setCurrentIndex(self._lines.index(row, 0))

    @Slot(QModelIndex)
    def _on_clicked(self, index: QModelIndex) -> None:
        self._run(index.row())

    def _run(self, row: int) -> None:
        if not 0 <= row < self._lines.rowCount():
            return
        entry = self._lines.at(row).entry
        self._recent = [entry.key, *(key for key in self._recent if key != entry.key)][:MOST_RECENT]
        self.vanish()
        entry.run()

    # --- place and paint

    def place(self) -> None:
        """Centre the palette below the window's upper edge, as high as its lines."""
        window = self.window()
        shown = min(self._lines.rowCount(), MOST_LINES, (window.height() - TOP - 3 * LINE) // LINE)
        self.list.setFixedHeight(max(shown, 1) * LINE + 2)
        self.list.scrollTo(self.list.currentIndex(), QAbstractItemView.ScrollHint.EnsureVisible)
        width = min(WIDTH, window.width() - 4 * GRID) + 2 * SHADOW
        height = self._column.totalSizeHint().height()
        self.setGeometry(QRect((window.width() - width) // 2, TOP - SHADOW, width, height))
