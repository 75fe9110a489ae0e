"""Common parts of every control of the window: a theme, a gesture, and a disabled state with its reason."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QHideEvent, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import QApplication, QStyle, QWidget

from attnviz.gui.look.theme import LIGHT, MOTION_MS, MOTION_PROPERTY, RADIUS, THEME_PROPERTY, THEMES, Theme
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.window_keys import is_windows

BURST_MS = 400
"""Wheel notches and key presses closer together than this are one gesture."""


RING_PX = 2.0
"""Width of the ring around the control with the keyboard focus."""

MOUSE_ONLY = "attnviz_mouse_only"
"""Property of a part that a picture of its panel omits: a hint, a button."""


def active_theme() -> Theme:
    """The theme that `style.apply_style` set last on the application; light before that."""
    app = QApplication.instance()
    name = app.property(THEME_PROPERTY) if app is not None else None
    return next((theme for theme in THEMES if theme.name == name), LIGHT)


def transition_ms(widget: QWidget) -> int:
    """Duration of a transition of `widget`: 0 if the user or the system disables transitions."""
    app = QApplication.instance()
    if app is not None and app.property(MOTION_PROPERTY) is False:
        return 0
    usual = widget.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration, None, widget)
    return min(MOTION_MS, usual)


def draw_focus_ring(painter: QPainter, rect: QRectF, theme: Theme, radius: float = RADIUS - 1) -> None:
    """Draw the keyboard-focus ring just inside `rect`."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(theme.accent), RING_PX))
    painter.drawRoundedRect(rect.adjusted(1, 1, -1, -1), radius, radius)
    painter.restore()


class Gesture(QObject):
    """Brackets many live changes so that the store merges them into one undo entry.

    `begin` and `end` bracket a drag or typing; `touch` opens a burst (wheel, repeated keys) that
    closes by itself `BURST_MS` after the last touch.
    """

    started = Signal()
    finished = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._is_active = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(BURST_MS)
        self._timer.timeout.connect(self.end)

    @property
    def is_active(self) -> bool:
        return self._is_active

    def begin(self) -> None:
        self._timer.stop()
        if not self._is_active:
            self._is_active = True
            self.started.emit()

    def touch(self) -> None:
        self.begin()
        self._timer.start()

    def end(self) -> None:
        self._timer.stop()
        if self._is_active:
            self._is_active = False
            self.finished.emit()


class Availability:
    """Mixin for QWidgets: disabled with the reason in the tooltip, and first in line for its own keys."""

    _usual_tooltip = ""
    _error = ""
    _reason: str | None = None
    _owner_reason: str | None = None

    def set_tooltip(self, text: str) -> None:
        """The tooltip shown while the control is available; plain text."""
        if text != self._usual_tooltip:
            self._usual_tooltip = text
            self._say_tooltip()

    def set_unavailable(self, reason: str | None) -> None:
        """Disable the control with the reason in its tooltip; `None` enables it.

        Called after every edit; a comparison with the last tooltip costs less than a new one.
        """
        if reason != self._reason:
            self._reason = reason
            self.setEnabled(reason is None)  # type: ignore[attr-defined]
            self._say_tooltip()

    def set_owner_unavailable(self, reason: str | None) -> None:
        """Set the reason why the control that contains this one is unavailable."""
        if reason != self._owner_reason:
            self._owner_reason = reason
            self._say_tooltip()

    def set_error(self, sentence: str) -> None:
        """Mark the last entered value as wrong, with the reason; an empty sentence removes the mark."""
        if sentence != self._error:
            self._error = sentence
            self._say_tooltip()

    def takes_key(self, event: QKeyEvent) -> bool:
        """True if a key is for this control while it has the focus, before any shortcut of the window."""
        return False

    def event(self, event: QEvent) -> bool:
        # The class first: ten thousand events reach the controls while a window opens, and few are keys.
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            if self.takes_key(event) and not is_windows(event):
                event.accept()
                return True
        return bool(super().event(event))  # type: ignore[misc]

    def _say_tooltip(self) -> None:
        text = self._error or self._owner_reason or self._reason or self._usual_tooltip
        self.setToolTip(plain_tooltip(text))  # type: ignore[attr-defined]


class Control(Availability, QWidget):
    """Base of the window's own controls.

    `gesture_started` and `gesture_finished` bracket the live `changed` emissions of one user action.
    """

    gesture_started = Signal()
    gesture_finished = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = active_theme()
        self.gesture = Gesture(self)
        self.gesture.started.connect(self.gesture_started)
        self.gesture.finished.connect(self.gesture_finished)

    def apply_theme(self, theme: Theme) -> None:
        """Paint with `theme` from now on."""
        self._theme = theme
        self.update()

    def hideEvent(self, event: QHideEvent) -> None:
        self.gesture.end()
        super().hideEvent(event)
