"""A label, a slider and a number in one row, linear or logarithmic."""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QWheelEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QSlider, QWidget

from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.boxes import in_row
from attnviz.gui.widgets.control import Availability, Control, active_theme, draw_focus_ring
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.i18n import _

_TICKS = 1000
_HANDLE = 12
_KEYS = frozenset(
    (
        Qt.Key.Key_Left,
        Qt.Key.Key_Right,
        Qt.Key.Key_Up,
        Qt.Key.Key_Down,
        Qt.Key.Key_PageUp,
        Qt.Key.Key_PageDown,
        Qt.Key.Key_Home,
        Qt.Key.Key_End,
    )
)


class Track(Availability, QSlider):
    """A slider that goes where it is pressed and is painted in the window's own manner."""

    reset_wanted = Signal()
    """A double-click asks for the default."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.theme = active_theme()
        self.setMinimumWidth(48)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self.theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(96, 22)

    def takes_key(self, event: QKeyEvent) -> bool:
        return Qt.Key(event.key()) in _KEYS

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.setSliderDown(True)
            self.setSliderPosition(self._tick_at(event.position()))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.reset_wanted.emit()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.isSliderDown():
            self.setSliderPosition(self._tick_at(event.position()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.setSliderDown(False)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus() or event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            super().wheelEvent(event)
        else:
            event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setOpacity(1.0 if self.isEnabled() else 0.45)
        theme, middle, at = self.theme, self.height() / 2, self.handle_x()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.line))
        painter.drawRoundedRect(QRectF(0, middle - 2, self.width(), 4), 2, 2)
        painter.setBrush(QColor(theme.panel))
        painter.setPen(QPen(QColor(theme.accent if self.isEnabled() else theme.muted), 1.75))
        painter.drawEllipse(QPointF(at, middle), _HANDLE / 2 - 0.5, _HANDLE / 2 - 0.5)
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), theme)

    def handle_x(self) -> float:
        """The x of the handle's centre, in pixels from the left."""
        span = max(self.maximum() - self.minimum(), 1)
        fraction = (self.sliderPosition() - self.minimum()) / span
        return _HANDLE / 2 + 3 + fraction * self._room()

    def _room(self) -> float:
        return max(self.width() - _HANDLE - 6.0, 1.0)

    def _tick_at(self, position: QPointF) -> int:
        fraction = min(max((position.x() - _HANDLE / 2 - 3) / self._room(), 0.0), 1.0)
        return round(self.minimum() + fraction * (self.maximum() - self.minimum()))


class SliderField(Control):
    """Label, slider and number for one value; `changed` carries a float, or an int with `integer`.

    The slider spans `minimum` to `maximum`; typing may reach `lowest` and `highest`, if these are set. A
    double-click on the label or the slider resets to `default`.
    """

    changed = Signal(object)
    rejected = Signal(object)

    def __init__(
        self,
        label: str,
        value: float,
        minimum: float,
        maximum: float,
        *,
        default: float | None = None,
        decimals: int = 2,
        integer: bool = False,
        logarithmic: bool = False,
        step: float | None = None,
        lowest: float | None = None,
        highest: float | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._minimum, self._maximum = float(minimum), float(maximum)
        self._default, self._integer, self._logarithmic = default, integer, logarithmic
        self._label = QLabel()
        self._label.setObjectName("slider_label")
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.installEventFilter(self)
        self.track = Track()
        self.track.setObjectName("slider_track")
        self.number = DragNumber(
            value,
            minimum=minimum if lowest is None else lowest,
            maximum=maximum if highest is None else highest,
            decimals=decimals,
            integer=integer,
            logarithmic=logarithmic,
            step=step,
        )
        self.number.setObjectName("slider_number")
        row = in_row(self, self._label, spacing=GRID)
        row.addWidget(self.track, 1)
        row.addWidget(self.number)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setFocusProxy(self.track)
        self._connect()
        self.set_label(label)
        self.set_slider_range(minimum, maximum)
        self.set_value(value)

    def _connect(self) -> None:
        self.track.sliderPressed.connect(self.gesture.begin)
        self.track.sliderReleased.connect(self.gesture.end)
        self.track.valueChanged.connect(self._on_track)
        self.track.reset_wanted.connect(self.reset)
        self.number.changed.connect(self._on_number)
        self.number.rejected.connect(self.rejected)
        self.number.gesture_started.connect(self.gesture.begin)
        self.number.gesture_finished.connect(self.gesture.end)

    def value(self) -> float | int:
        return self.number.value()

    def set_value(self, value: float) -> None:
        """Show `value` without emitting; beyond the slider's span the handle is at its end."""
        self.number.set_value(value)
        tick = self._tick(value)
        if tick != self.track.value():
            self.track.blockSignals(True)
            self.track.setValue(tick)
            self.track.blockSignals(False)
            self.track.update()

    def set_label(self, label: str) -> None:
        self._label.setText(label)
        for widget in (self, self.track, self.number):
            widget.setAccessibleName(label)
        self.retranslate()

    def set_slider_range(self, minimum: float, maximum: float) -> None:
        """A new span of the slider; the limits of typing are set with `number.set_range`."""
        value = self.value()
        self._minimum, self._maximum = float(minimum), float(maximum)
        self.track.blockSignals(True)
        is_counted = self._integer and not self._logarithmic
        self.track.setRange(0, max(int(maximum - minimum), 1) if is_counted else _TICKS)
        self.track.setSingleStep(1 if is_counted else _TICKS // 100)
        self.track.setPageStep(max(self.track.maximum() // 10, 1))
        self.track.blockSignals(False)
        self.set_value(value)

    def set_unavailable(self, reason: str | None) -> None:
        if reason != self._reason:
            super().set_unavailable(reason)
            self.number.set_owner_unavailable(reason)
            self.retranslate()

    def retranslate(self) -> None:
        can_reset = self._default is not None and self._reason is None
        hint = _("Double-click to reset.") if can_reset else ""
        self._label.setToolTip(plain_tooltip(hint))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._label and event.type() == QEvent.Type.MouseButtonDblClick and self.isEnabled():
            self.reset()
        return super().eventFilter(watched, event)

    def reset(self) -> None:
        """Go back to the default as one user action; nothing without a default."""
        if self._default is None or self._default == self.value():
            return
        self.gesture.begin()
        self.set_value(self._default)
        self.changed.emit(self.value())
        self.gesture.end()

    def _tick(self, value: float) -> int:
        if self._logarithmic:
            low, high = math.log(self._minimum), math.log(self._maximum)
            value = math.log(max(value, self._minimum))
        else:
            low, high = self._minimum, self._maximum
        fraction = (value - low) / (high - low) if high > low else 0.0
        return round(min(max(fraction, 0.0), 1.0) * self.track.maximum())

    def _value_at(self, tick: int) -> float:
        """The value at a tick: three digits where the scale is logarithmic, else a clean decimal."""
        fraction = tick / self.track.maximum()
        if self._logarithmic:
            ratio = self._maximum / self._minimum
            value = self._maximum if fraction == 1 else float(f"{self._minimum * ratio**fraction:.3g}")
        else:
            value = float(f"{self._minimum + fraction * (self._maximum - self._minimum):.6g}")
        return float(round(value)) if self._integer else value

    def _on_track(self, tick: int) -> None:
        value = self._value_at(tick)
        if value == self.number.value():
            return
        if not self.track.isSliderDown():
            self.gesture.touch()
        self.number.set_value(value)
        self.changed.emit(self.value())

    def _on_number(self, value: float) -> None:
        self.set_value(value)
        self.changed.emit(self.value())
