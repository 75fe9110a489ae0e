"""The documents that were open last: name, folder and day, as a list of buttons."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

from PySide6.QtCore import QDate, QLocale, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.core.text import visible
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, RADIUS
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.button import PaintedButton
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.i18n import _, current_language

_HEIGHT = 44
_MARGIN = 8
_WEEK = timedelta(days=6)


class RecentRow(PaintedButton):
    """One document. `day` is that of its last change; None until it is known."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.day: date | None = None
        self.setObjectName("recent_row")
        self.setFixedHeight(_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(visible(path.name))
        self.setToolTip(plain_tooltip(visible(str(path))))

    def set_day(self, day: date | None) -> None:
        """Show the day of the last change; a file that is gone has none, and cannot be opened."""
        self.day = day
        self.setEnabled(day is not None)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.underMouse() and self.isEnabled():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self._theme.hover))
            painter.drawRoundedRect(QRectF(self.rect()), RADIUS, RADIUS)
        room = QRectF(self.rect()).adjusted(_MARGIN, 4, -_MARGIN, -5)
        ink = self._theme.ink if self.isEnabled() else self._theme.muted
        day = day_in_words(self.day, date.today()) if self.day else ""
        taken = self._draw(painter, day, room, 12, self._theme.muted, Qt.AlignmentFlag.AlignRight, top=True)
        name = room.adjusted(0, 0, -taken - GRID, 0)
        bold = QFont.Weight.DemiBold
        self._draw(
            painter, visible(self.path.name), name, 13, ink, Qt.AlignmentFlag.AlignLeft, bold, top=True
        )
        folder = visible(str(self.path.parent)) if self.isEnabled() else _("missing")
        self._draw(painter, folder, room, 12, self._theme.muted, Qt.AlignmentFlag.AlignLeft)
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), self._theme)

    def _draw(
        self,
        painter: QPainter,
        text: str,
        room: QRectF,
        px: int,
        color: str,
        side: Qt.AlignmentFlag,
        weight: QFont.Weight = QFont.Weight.Normal,
        *,
        top: bool = False,
    ) -> float:
        """Draw one line in the upper or lower half of `room`; returns its width."""
        font = ui_font(px, weight)
        metrics = QFontMetricsF(font)
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, room.width())
        painter.setFont(font)
        painter.setPen(QColor(color))
        edge = Qt.AlignmentFlag.AlignTop if top else Qt.AlignmentFlag.AlignBottom
        painter.drawText(room, side | edge, shown)
        return metrics.horizontalAdvance(shown)


class RecentList(QWidget):
    """The rows. `chosen` carries the path of one."""

    chosen = Signal(Path)

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[RecentRow] = []
        self._column = in_column(self, spacing=0)
        self._column.addStretch(1)

    def set_paths(self, paths: tuple[Path, ...]) -> None:
        """Show these documents."""
        for row in self.rows:
            self._column.removeWidget(row)
            row.deleteLater()
        self.rows = [RecentRow(path) for path in paths]
        for index, row in enumerate(self.rows):
            row.clicked.connect(self._on_row)
            self._column.insertWidget(index, row)

    def set_days(self, days: dict[Path, date | None]) -> None:
        """Show when the documents were changed last."""
        for row in self.rows:
            if row.path in days:
                row.set_day(days[row.path])

    @Slot()
    def _on_row(self) -> None:
        row = self.sender()
        assert isinstance(row, RecentRow)
        self.chosen.emit(row.path)


def days_of(paths: tuple[Path, ...]) -> dict[Path, date | None]:
    """The day of the last change of each file; None for one that is gone."""
    return {path: _day(path) for path in paths}


def _day(path: Path) -> date | None:
    try:
        return date.fromtimestamp(path.stat().st_mtime)
    except (OSError, ValueError, OverflowError):
        return None


def day_in_words(day: date, today: date) -> str:
    """`today`, the day of the week within the last seven days, else day and month, and another year."""
    if day == today:
        return _("today")
    locale = QLocale(current_language())
    shown = QDate(day.year, day.month, day.day)
    if timedelta(0) < today - day <= _WEEK:
        return locale.dayName(day.isoweekday(), QLocale.FormatType.ShortFormat)
    if day.year == today.year:
        return locale.toString(shown, _("d MMM"))
    return locale.toString(shown, _("d MMM yyyy"))
