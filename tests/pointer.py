"""Mouse and wheel events for tests of widgets, sent with the modifiers that QTest's moves lack."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

NO_MODIFIER = Qt.KeyboardModifier.NoModifier
_LEFT = Qt.MouseButton.LeftButton
_NONE = Qt.MouseButton.NoButton


def _send(
    widget: QWidget,
    kind: QEvent.Type,
    at: QPoint,
    modifier: Qt.KeyboardModifier,
    *,
    changed: bool,
    held: bool,
) -> None:
    button, buttons = (_LEFT if changed else _NONE), (_LEFT if held else _NONE)
    at_global = QPointF(widget.mapToGlobal(at))
    QApplication.sendEvent(widget, QMouseEvent(kind, QPointF(at), at_global, button, buttons, modifier))


def press(widget: QWidget, at: QPoint, modifier: Qt.KeyboardModifier = NO_MODIFIER) -> None:
    _send(widget, QEvent.Type.MouseButtonPress, at, modifier, changed=True, held=True)


def move(
    widget: QWidget, to: QPoint, modifier: Qt.KeyboardModifier = NO_MODIFIER, *, held: bool = True
) -> None:
    _send(widget, QEvent.Type.MouseMove, to, modifier, changed=False, held=held)


def release(widget: QWidget, at: QPoint, modifier: Qt.KeyboardModifier = NO_MODIFIER) -> None:
    _send(widget, QEvent.Type.MouseButtonRelease, at, modifier, changed=True, held=False)


def drag(
    widget: QWidget, start: QPoint, by: QPoint, modifier: Qt.KeyboardModifier = NO_MODIFIER, steps: int = 4
) -> None:
    """Press, move in `steps` moves, release."""
    press(widget, start, modifier)
    for step in range(1, steps + 1):
        move(widget, start + QPoint(by.x() * step // steps, by.y() * step // steps), modifier)
    release(widget, start + by, modifier)


def wheel(widget: QWidget, at: QPoint, notches: float, modifier: Qt.KeyboardModifier = NO_MODIFIER) -> bool:
    """Turn the wheel; True where the widget took the event."""
    event = QWheelEvent(
        QPointF(at),
        QPointF(widget.mapToGlobal(at)),
        QPoint(0, 0),
        QPoint(0, round(120 * notches)),
        _NONE,
        modifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    event.ignore()
    QApplication.sendEvent(widget, event)
    return event.isAccepted()


class Log:
    """Signals of a control, in order: values, and the names of its other signals."""

    def __init__(self, control: QObject, *signals: str) -> None:
        self.events: list[object] = []
        for name in signals:
            getattr(control, name).connect(self._recorder(name))

    def _recorder(self, name: str):  # type: ignore[no-untyped-def]
        def record(*values: object) -> None:
            self.events.append((name, *values) if values else name)

        return record

    def values(self, name: str) -> list[object]:
        """The arguments of every emission of one signal; a lone argument is unwrapped."""
        found = [event[1:] for event in self.events if isinstance(event, tuple) and event[0] == name]
        return [arguments[0] if len(arguments) == 1 else arguments for arguments in found]


def show_active(qtbot: QtBot, widget: QWidget) -> None:
    """Show `widget` as the active window, so that it can have the keyboard focus."""
    widget.show()
    widget.activateWindow()
    qtbot.waitUntil(widget.isActiveWindow, timeout=3000)
