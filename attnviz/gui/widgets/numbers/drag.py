"""A number shown as text and changed in place: by drag, wheel, keys, or typing."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFontMetrics,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.core.text import number
from attnviz.errors import InputError, Message
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import RADIUS, TEXT_PX
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.widgets.control import Control, draw_focus_ring
from attnviz.gui.widgets.numbers.editor import NumberEditor
from attnviz.gui.widgets.numbers.text import full_precision
from attnviz.gui.widgets.window_keys import typed
from attnviz.i18n import N_

DRAG_THRESHOLD_PX = 3
INTEGER_PX = 6
"""Pixels of drag per whole number."""

_HEIGHT = 22
_NOTCH = 120
STARTS_TYPING = frozenset("0123456789.,-+\N{MINUS SIGN}")
"""Characters that open the editor when typed on a focused number."""


_KEYS = frozenset(
    (
        Qt.Key.Key_Up,
        Qt.Key.Key_Down,
        Qt.Key.Key_PageUp,
        Qt.Key.Key_PageDown,
        Qt.Key.Key_Home,
        Qt.Key.Key_End,
        Qt.Key.Key_Return,
        Qt.Key.Key_Enter,
        Qt.Key.Key_F2,
    )
)


@dataclass(frozen=True)
class NumberRange:
    """The valid values of a number and the size of a step.

    `step` is added per pixel, notch or key; with `logarithmic` it is the factor minus one, so 0.02
    means two per cent. `is_integer` rounds to whole numbers and makes a step of a drag 6 pixels long.
    """

    minimum: float = -math.inf
    maximum: float = math.inf
    is_integer: bool = False
    logarithmic: bool = False
    step: float = 0.01

    def clamp(self, value: float) -> float:
        value = min(max(value, self.minimum), self.maximum)
        return float(round(value)) if self.is_integer else value

    def moved(self, value: float, steps: float) -> float:
        """`value` after `steps` steps (or a fraction of a step), inside the range."""
        if self.logarithmic:
            smallest = self.minimum if self.minimum > 0 else 1e-12
            grown = math.log(max(value, smallest)) + steps * math.log1p(self.step)
            grown_value = self.clamp(float(f"{math.exp(min(grown, 700.0)):.6g}"))
            is_stuck = self.is_integer and abs(steps) >= 1 and grown_value == value
            return self.clamp(value + math.copysign(1.0, steps)) if is_stuck else grown_value
        return self.clamp(round(value + steps * self.step, 10))

    def check(self, value: float) -> float:
        """`value` itself. Raises `InputError` for one outside the range."""
        shown = full_precision(value)
        if self.is_integer and value != round(value):
            raise InputError(Message("The value must be a whole number; got {value}.", value=shown))
        if value < self.minimum:
            least = full_precision(self.minimum)
            raise InputError(
                Message("The value must be at least {least}; got {value}.", least=least, value=shown)
            )
        if value > self.maximum:
            most = full_precision(self.maximum)
            raise InputError(
                Message("The value must be at most {most}; got {value}.", most=most, value=shown)
            )
        return value


def modifier_factor(modifiers: Qt.KeyboardModifier) -> float:
    """Multiplier of a step: a tenth with Shift, tenfold with Ctrl."""
    if modifiers & Qt.KeyboardModifier.ShiftModifier:
        return 0.1
    return 10.0 if modifiers & Qt.KeyboardModifier.ControlModifier else 1.0


def wheel_notches(event: QWheelEvent) -> float:
    """Notches of a wheel event, upwards positive (some platforms turn the axis with Alt or Shift)."""
    delta = event.angleDelta()
    return (delta.y() or delta.x()) / _NOTCH


class DragNumber(Control):
    """A number as text; `changed` carries a float, or an int with `integer`.

    Vertical drag (Shift fine, Ctrl coarse), wheel while focused or with Ctrl, up and down keys, Home and End
    for the limits, and typing after a click, Enter, F2 or a digit. Text that is no valid number keeps the
    value, draws a red outline and emits `rejected` with one sentence; None follows once a valid value is
    committed, the text is abandoned, or another value is set.
    """

    changed = Signal(object)
    rejected = Signal(object)

    def __init__(
        self,
        value: float = 0.0,
        *,
        minimum: float = -math.inf,
        maximum: float = math.inf,
        decimals: int = 2,
        step: float | None = None,
        integer: bool = False,
        logarithmic: bool = False,
        name: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        usual_step = 0.02 if logarithmic else 1.0 if integer else 10.0**-decimals
        self._range = NumberRange(
            minimum, maximum, integer, logarithmic, usual_step if step is None else step
        )
        self._decimals = 0 if integer else decimals
        self._value = value
        self._complaint = ""
        self._press: tuple[QPointF, float] | None = None
        self._travel = 0.0
        self._is_dragging = False
        self._editor: NumberEditor | None = None
        self.setFont(number_font(TEXT_PX))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.SizeVerCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(name)
        self.setAccessibleDescription(self.text())
        says(self, tip=N_("Drag up or down, or type; Shift is fine, Ctrl is coarse."))

    def value(self) -> float | int:
        return int(self._value) if self._range.is_integer else self._value

    def set_value(self, value: float) -> None:
        """Show `value` without emitting `changed`; a text being typed is left alone."""
        if value != self._value:
            room = self.sizeHint()
            self._value = value
            self._mend()
            self.setAccessibleDescription(self.text())
            if self.sizeHint() != room:  # a new layout of everything below costs more than the number
                self.updateGeometry()
            self.update()

    def set_range(self, minimum: float, maximum: float) -> None:
        """New limits for later input; the shown value stays as it is."""
        old = self._range
        self._range = NumberRange(minimum, maximum, old.is_integer, old.logarithmic, old.step)

    def text(self) -> str:
        """The number as painted; a whole number, such as a seed, with all its digits."""
        if self._range.is_integer and self._value == round(self._value):
            return f"{self._value:.0f}".replace("-", "\N{MINUS SIGN}")
        return number(self._value, self._shown_decimals())

    def _shown_decimals(self) -> int:
        """On a logarithmic scale, as many decimals as three significant digits need."""
        short = f"{self._value:.3g}"
        if not self._range.logarithmic or "e" in short:
            return self._decimals
        return max(self._decimals, len(short.partition(".")[2]))

    def sizeHint(self) -> QSize:
        width = QFontMetrics(self.font()).horizontalAdvance(self.text())
        return QSize(max(44, width + 12), _HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme, rect = self._theme, QRectF(self.rect())
        if self.isEnabled() and (self.underMouse() or self._is_dragging):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.hover))
            painter.drawRoundedRect(rect, RADIUS - 2, RADIUS - 2)
        painter.setPen(QColor(theme.ink if self.isEnabled() else theme.muted))
        painter.setOpacity(1.0 if self.isEnabled() else 0.5)
        alignment = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(rect.adjusted(4, 0, -4, 0), alignment, self.text())
        if self._complaint:
            painter.setPen(QPen(QColor(theme.error), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(rect.adjusted(1, 1, -1, -1), RADIUS - 2, RADIUS - 2)
        elif self.hasFocus():
            draw_focus_ring(painter, rect, theme, RADIUS - 2)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._press = (event.globalPosition(), self._value)
            self._travel = 0.0

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._press is None:
            return
        last, start = self._press
        pixels = self._pixels(event.globalPosition() - last)
        if not self._is_dragging and abs(pixels) < DRAG_THRESHOLD_PX:
            return
        if not self._is_dragging:
            self._is_dragging = True
            self.gesture.begin()
        pixels_per_step = INTEGER_PX if self._range.is_integer else 1
        self._travel += pixels * modifier_factor(event.modifiers()) / pixels_per_step
        self._press = (event.globalPosition(), start)
        self._enter(self._range.moved(start, self._travel))

    @staticmethod
    def _pixels(way: QPointF) -> float:
        """The pixels of a drag along `way` that change the number."""
        return -way.y()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._press is None or event.button() != Qt.MouseButton.LeftButton:
            return
        self._press = None
        if self._is_dragging:
            self._is_dragging = False
            self.gesture.end()
            self.update()
        else:
            self.open_editor()

    def wheelEvent(self, event: QWheelEvent) -> None:
        wanted = self.hasFocus() or bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if not wanted:
            event.ignore()
            return
        self.gesture.touch()
        self._enter(self._range.moved(self._value, self._stride(event.modifiers()) * wheel_notches(event)))
        event.accept()

    def takes_key(self, event: QKeyEvent) -> bool:
        return Qt.Key(event.key()) in _KEYS or typed(event) in STARTS_TYPING

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, limits = event.key(), self._range
        stride = self._stride(event.modifiers())
        targets = {
            Qt.Key.Key_Up: limits.moved(self._value, stride),
            Qt.Key.Key_Down: limits.moved(self._value, -stride),
            Qt.Key.Key_PageUp: limits.moved(self._value, 10 * stride),
            Qt.Key.Key_PageDown: limits.moved(self._value, -10 * stride),
            Qt.Key.Key_Home: limits.minimum,
            Qt.Key.Key_End: limits.maximum,
        }
        target = targets.get(Qt.Key(key))
        if target is not None:
            if math.isfinite(target):
                self.gesture.touch()
                self._enter(target)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_F2):
            self.open_editor()
        elif typed(event) in STARTS_TYPING:
            self.open_editor(typed(event))
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        if not self._is_dragging:
            self.gesture.end()
        super().focusOutEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        """A number out of sight, whose field may have gone, is no longer dragged."""
        self._press, self._is_dragging = None, False
        super().hideEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        if self._editor is not None:
            self._editor.setGeometry(self.rect())

    def open_editor(self, text: str | None = None) -> None:
        """Lay a line edit over the number; `text` replaces the present digits."""
        if self._editor is None:
            self._editor = NumberEditor(self._range_check, self)
            self._editor.committed.connect(self._on_committed)
            self._editor.refused.connect(self._on_refused)
            self._editor.closed.connect(self._on_closed)
        self._editor.setAccessibleName(self.accessibleName())
        shown = full_precision(self._value) if text is None else text
        self._editor.open(shown, self.rect(), select=text is None)

    def _stride(self, modifiers: Qt.KeyboardModifier) -> float:
        """Steps per key press or notch; a whole number cannot move by less than one."""
        factor = modifier_factor(modifiers)
        return max(factor, 1.0) if self._range.is_integer else factor

    def _range_check(self, value: float) -> float:
        return self._range.check(value)

    def _on_committed(self, value: float) -> None:
        self.gesture.begin()
        self._enter(value)
        self.gesture.end()

    def _on_refused(self, error: InputError | None) -> None:
        self._set_complaint("" if error is None else error.message.text())
        self.rejected.emit(error)

    def _on_closed(self, move: int) -> None:
        editor = self._editor
        if editor is None or editor.is_leaving:
            return
        self.setFocus()
        if move:
            self.focusNextPrevChild(move > 0)

    def _enter(self, value: float) -> None:
        """A value from the user: show it and emit it if it is new."""
        self._mend()
        if value == self._value:
            return
        self.set_value(value)
        self.changed.emit(self.value())

    def _mend(self) -> None:
        """Tell that the last refusal is over."""
        if self._complaint:
            self._on_refused(None)

    def _set_complaint(self, sentence: str) -> None:
        if sentence == self._complaint:
            return
        self._complaint = sentence
        self._say_tooltip()
        if sentence:
            self.setToolTip(plain_tooltip(sentence))
        self.update()
