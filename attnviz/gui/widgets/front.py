"""The window over which a question stands, for whoever asks without knowing a window."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication, QMainWindow, QWidget


def front_window() -> QWidget | None:
    """The main window of the active window; without an active one, the first main window on the screen."""
    active = QApplication.activeWindow()
    while active is not None and (above := active.parentWidget()) is not None:
        active = above
    if active is not None:
        return active
    shown = (widget for widget in QApplication.topLevelWidgets() if isinstance(widget, QMainWindow))
    return next((widget for widget in shown if widget.isVisible()), None)
