"""The legend of the position curves: a line and a name for each, which also shows and hides it."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QGridLayout, QSizePolicy, QWidget

from attnviz.explain.position_curves import CURVE_ROWS
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, LIGHT, Theme
from attnviz.gui.look.words import says
from attnviz.gui.panels.positions.plot import curve_pen
from attnviz.gui.widgets.control import draw_focus_ring

HEIGHT, LINE, TEXT = 17, 20, 11
COLUMNS = 2


class Entry(QAbstractButton):
    """One curve: checked while it is drawn, bold while it is the present encoding."""

    def __init__(self, id_: str) -> None:
        super().__init__()
        self.id, self._theme = id_, LIGHT
        self._is_present = False
        row = CURVE_ROWS[id_]
        says(self, row.title, id=f"curve_{id_}", name=row.title, tip=row.description)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setChecked(True)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def set_present(self, is_present: bool) -> None:
        if is_present != self._is_present:
            self._is_present = is_present
            self.update()

    @property
    def is_present(self) -> bool:
        """True if the experiment uses this encoding; its curve is always drawn."""
        return self._is_present

    def apply_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(LINE + 6 + QFontMetrics(self._font()).horizontalAdvance(self.text()) + 4, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(LINE + 20, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        is_drawn = self.isChecked() or self._is_present
        painter.setOpacity(1.0 if is_drawn else 0.35)
        painter.setPen(curve_pen(self.id, self._is_present, self._theme))
        middle = self.height() / 2
        painter.drawLine(QPointF(1, middle), QPointF(LINE, middle))
        painter.setOpacity(1.0)  # the name stays legible
        painter.setFont(self._font())
        is_strong = self._is_present or self.underMouse()
        painter.setPen(QColor(self._theme.ink if is_strong else self._theme.muted))
        room = QRectF(LINE + 6, 0, self.width() - LINE - 6, self.height())
        metrics = QFontMetrics(self._font())
        text = metrics.elidedText(self.text(), Qt.TextElideMode.ElideRight, int(room.width()))
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), self._theme, 3)
        painter.end()

    def _font(self) -> QFont:
        return ui_font(TEXT, QFont.Weight.DemiBold if self._is_present else QFont.Weight.Normal)


class Legend(QWidget):
    """All curves, in two columns at first; `changed` after one was shown or hidden."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.entries = {id_: Entry(id_) for id_ in CURVE_ROWS}
        self._grid = grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(GRID)
        grid.setVerticalSpacing(0)
        for entry in self.entries.values():
            entry.toggled.connect(self.changed)
        self._columns = 0
        self.set_columns(COLUMNS)

    def set_columns(self, columns: int) -> None:
        """Arrange the curves in columns, from the top to the bottom."""
        if columns == self._columns:
            return
        rows = -(-len(self.entries) // columns)
        for row in range(self._grid.rowCount()):
            self._grid.setRowStretch(row, 0)
        for index, entry in enumerate(self.entries.values()):
            self._grid.removeWidget(entry)
            self._grid.addWidget(entry, index % rows, index // rows)
        self._grid.setRowStretch(rows, 1)
        self._columns = columns

    def columns_in(self, width: int) -> int:
        """Number of columns that show whole names in a width in pixels."""
        widest = max(entry.sizeHint().width() for entry in self.entries.values())
        return max(1, (width + GRID) // (widest + GRID))

    def shown(self) -> tuple[str, ...]:
        """The ids of the curves to draw."""
        return tuple(id_ for id_, entry in self.entries.items() if entry.isChecked() or entry.is_present)

    def set_present(self, present: str, possible: tuple[str, ...]) -> None:
        """Set the experiment's curve, and the curves that can be drawn."""
        for id_, entry in self.entries.items():
            entry.set_present(id_ == present)
            entry.setEnabled(id_ in possible)
