"""The foot of a lesson: a dot for each step, and the buttons to the step before and after."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.control import Control
from attnviz.i18n import N_, _

_DOT, _LONG, _GAP = 8.0, 20.0, 6.0


class Dots(Control):
    """A dot for each step: seen ones in the accent, the present one long. A click goes to its step."""

    chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("lesson_dots")
        self.setFont(ui_font(11))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(40)
        self._count, self._at, self._seen = 0, 0, 0

    def set_place(self, count: int, at: int, seen: int) -> None:
        """Show `count` steps, the present one, and how many were seen."""
        self._count, self._at, self._seen = count, at, seen
        self.setAccessibleName(self._said())
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(120, 40)

    def dot_rect(self, index: int) -> QRectF:
        """The rectangle of a dot."""
        whole = _LONG + (self._count - 1) * (_DOT + _GAP)
        left = (self.width() - whole) / 2 + index * (_DOT + _GAP) + (_LONG - _DOT) * (index > self._at)
        return QRectF(left, 8, _LONG if index == self._at else _DOT, _DOT)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        for index in range(self._count):
            if self.dot_rect(index).adjusted(-3, -8, 3, 8).contains(QPointF(event.position())):
                self.chosen.emit(index)
                return

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        for index in range(self._count):
            color = QColor(self._theme.accent if index <= self._seen else self._theme.line)
            if index < self._at or (index > self._at and index <= self._seen):
                color.setAlphaF(0.55)
            painter.setBrush(color)
            painter.drawRoundedRect(self.dot_rect(index), _DOT / 2, _DOT / 2)
        painter.setPen(QColor(self._theme.muted))
        painter.drawText(QRectF(0, 20, self.width(), 18), Qt.AlignmentFlag.AlignCenter, self._said())

    def _said(self) -> str:
        return _("step {step} of {count}").format(step=self._at + 1, count=self._count)


class StepButton(Button):
    """A button that leaves Left and Right to the lesson."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            event.ignore()
        else:
            super().keyPressEvent(event)


class Footer(QWidget):
    """`stepped` carries −1 or 1, `chosen` a step."""

    stepped = Signal(int)
    chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        tip = N_("Go to the previous step (←)")
        self.back = says(StepButton(), N_("Back"), id="lesson_back", tip=tip)
        self.next = says(StepButton(), id="lesson_next", tip=N_("Go to the next step (→)"))
        self._dots = says(Dots(), tip=N_("Click a step to go to it"))
        self.next.setProperty("primary", True)
        self.back.clicked.connect(self._on_back)
        self.next.clicked.connect(self._on_next)
        self._dots.chosen.connect(self.chosen)
        self._is_last = False
        row = QHBoxLayout(self)
        row.setContentsMargins(0, GRID, 0, 0)
        row.setSpacing(GRID)
        for button in (self.back, self.next):
            button.setFont(ui_font(13))
            button.setMinimumSize(88, 32)
        row.addWidget(self.back)
        row.addWidget(self._dots, 1)
        row.addWidget(self.next)

    def set_place(self, count: int, at: int, seen: int) -> None:
        """Show the present step among `count`; `seen` were shown."""
        self._is_last = at == count - 1
        self._dots.set_place(count, at, seen)
        self.back.setEnabled(at > 0)
        self.retranslate()

    def retranslate(self) -> None:
        self.next.setText(_("All lessons") if self._is_last else _("Next"))

    def _on_back(self) -> None:
        self.stepped.emit(-1)

    def _on_next(self) -> None:
        self.stepped.emit(1)
