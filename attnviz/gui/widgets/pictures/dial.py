"""One RoPE pair as a dial: the query's arm, the key's arm, and the pair's frequency, adjusted by hand."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.errors import Message
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import TEXT_PX
from attnviz.gui.look.words import says
from attnviz.gui.widgets.control import Control, draw_focus_ring
from attnviz.gui.widgets.numbers.drag import DRAG_THRESHOLD_PX, NumberRange, modifier_factor, wheel_notches
from attnviz.gui.widgets.window_keys import typed
from attnviz.i18n import _

_CIRCLE = 58
_CAPTION = 18
_LEAST_ANGLE = 3.0
_HUB = 5
_LEAST_FACTOR = 0.05
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_STEPS = {
    Qt.Key.Key_Up: 1,
    Qt.Key.Key_Right: 1,
    Qt.Key.Key_Down: -1,
    Qt.Key.Key_Left: -1,
    Qt.Key.Key_PageUp: 10,
    Qt.Key.Key_PageDown: -10,
}


def frequency_text(frequency: float) -> str:
    """A frequency in radians per position with three significant digits: 1.0, 0.01, 3.2e−4."""
    if frequency == 0 or not math.isfinite(frequency):
        return str(frequency)
    if 1e-3 <= abs(frequency) < 1e4:
        text = f"{frequency:.3g}"
        return text if "." in text or "e" in text else text + ".0"
    mantissa, exponent = f"{frequency:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}".replace("-", "\N{MINUS SIGN}")


def _turn(angle: float) -> float:
    """The angle between −π and π of the same direction."""
    return math.remainder(angle, math.tau)


class Dial(Control):
    """A RoPE pair; `changed` carries the new frequency multiplier (1 leaves the base's frequency).

    A drag round the centre takes the nearer arm along, so that the frequency is the one whose arm points
    there; the arm of an angle below `_LEAST_ANGLE` lags behind, since a slow pair would leave the range at
    once. The wheel and the keys change the multiplier by two per cent a step; Shift is fine, Ctrl coarse;
    Home, 0 or a double-click goes back to 1. Angles are radians, counter-clockwise from the right.
    """

    changed = Signal(object)

    def __init__(
        self,
        pair: int = 0,
        *,
        minimum: float = 0.0625,
        maximum: float = 16.0,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._pair = pair
        self._range = NumberRange(minimum, maximum, logarithmic=True, step=0.02)
        self._frequency, self._multiplier = 1.0, 1.0
        self._angles = (0.0, 0.0)
        self._press: QPointF | None = None
        self._arm = 0
        """The arm that the hand has: 0 the query's, 1 the key's."""
        self.setFont(number_font(TEXT_PX - 1))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        says(self, name=Message("Rotation frequency of pair {pair}", pair=pair))
        self._say()

    def multiplier(self) -> float:
        return self._multiplier

    def set_state(self, frequency: float, multiplier: float, query_angle: float, key_angle: float) -> None:
        """Show the pair without emitting.

        `frequency` is the effective one, multiplier included, in radians per position.
        """
        state = (frequency, multiplier, (query_angle, key_angle))
        if state != (self._frequency, self._multiplier, self._angles):
            self._frequency, self._multiplier, self._angles = state
            self._say()
            self.update()

    def caption(self) -> str:
        return f"θ{str(self._pair).translate(_SUBSCRIPTS)} {frequency_text(self._frequency)}"

    def retranslate(self) -> None:
        self._say()

    def _say(self) -> None:
        self.setAccessibleDescription(self.caption())
        sentence = _(
            "Pair {pair}: {frequency} rad per position (× {multiplier}); query at {query} rad, key "
            "at {key} rad. Drag round the centre to rotate an arm, double-click for × 1."
        )
        query, key = (f"{angle:.3f}" for angle in self._angles)
        shown, factor = frequency_text(self._frequency), f"{self._multiplier:.3g}"
        self.set_tooltip(
            sentence.format(pair=self._pair, frequency=shown, multiplier=factor, query=query, key=key)
        )

    def sizeHint(self) -> QSize:
        return QSize(_CIRCLE + 12, _CIRCLE + _CAPTION + 6)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setOpacity(1.0 if self.isEnabled() else 0.4)
        theme, center, radius = self._theme, self.center(), _CIRCLE / 2
        is_hot = self.isEnabled() and (self.underMouse() or self._press is not None)
        painter.setPen(QPen(QColor(theme.muted if is_hot else theme.line), 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawEllipse(center, radius, radius)
        # The key's arm is shorter, so that both show where they point the same way.
        for angle, color, share in zip(self._angles, (theme.query, theme.key_mark), (1.0, 0.75), strict=True):
            painter.setPen(QPen(QColor(color), 2, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
            painter.drawLine(center, center + (self.arm_tip(angle) - center) * share)
        painter.setPen(QColor(theme.muted if self._multiplier == 1 else theme.ink))
        caption = QRectF(0, center.y() + radius + 2, self.width(), _CAPTION)
        painter.drawText(caption, Qt.AlignmentFlag.AlignCenter, self.caption())
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), theme)

    def center(self) -> QPointF:
        """The circle's centre."""
        return QPointF(self.width() / 2, _CIRCLE / 2 + 3)

    def arm_tip(self, angle: float) -> QPointF:
        """End of an arm at `angle`."""
        reach = _CIRCLE / 2 - 3
        return self.center() + QPointF(math.cos(angle), -math.sin(angle)) * reach

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._press = event.position()
            hand = self._direction(event.position())
            self._arm = min((0, 1), key=lambda arm: abs(_turn(hand - self._angles[arm])))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._press is None:
            return
        here, last = event.position(), self._press
        if not self.gesture.is_active:
            if (here - last).manhattanLength() < DRAG_THRESHOLD_PX:
                return
            self.gesture.begin()
        self._press = here
        if min((one - self.center()).manhattanLength() for one in (here, last)) < _HUB:
            return  # no direction to speak of
        turned = _turn(self._direction(here) - self._direction(last)) * modifier_factor(event.modifiers())
        angle = self._angles[self._arm]
        reach = math.copysign(max(abs(angle), _LEAST_ANGLE), angle)
        factor = max(1 + turned / reach, _LEAST_FACTOR)
        self._enter(self._range.moved(self._multiplier, math.log(factor) / math.log1p(self._range.step)))

    def _direction(self, point: QPointF) -> float:
        """Angle of a point seen from the centre."""
        away = point - self.center()
        return math.atan2(-away.y(), away.x())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._press = None
        self.gesture.end()
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._press = None
        self._reset()

    def wheelEvent(self, event: QWheelEvent) -> None:
        if not (self.hasFocus() or event.modifiers() & Qt.KeyboardModifier.ControlModifier):
            event.ignore()
            return
        event.accept()
        self._step(wheel_notches(event) * modifier_factor(event.modifiers()))

    def takes_key(self, event: QKeyEvent) -> bool:
        return Qt.Key(event.key()) in _STEPS or event.key() == Qt.Key.Key_Home or typed(event) == "0"

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = _STEPS.get(Qt.Key(event.key()))
        if step is not None:
            self._step(step * modifier_factor(event.modifiers()))
        elif event.key() == Qt.Key.Key_Home or typed(event) == "0":
            self._reset()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        if self._press is None:
            self.gesture.end()
        super().focusOutEvent(event)

    def _step(self, steps: float) -> None:
        self.gesture.touch()
        self._enter(self._range.moved(self._multiplier, steps))

    def _reset(self) -> None:
        self.gesture.begin()
        self._enter(1.0)
        self.gesture.end()

    def _enter(self, multiplier: float) -> None:
        """A multiplier from the user: show its frequency at once and emit it where it is new."""
        if multiplier == self._multiplier:
            return
        # From a pair that stands still the base's frequency is not known here; the owner sets it next.
        factor = multiplier / self._multiplier if self._multiplier else 0.0
        query, key = (angle * factor for angle in self._angles)
        self.set_state(self._frequency * factor, multiplier, query, key)
        self.changed.emit(multiplier)
