"""An on/off switch with its label: superqt's switch in the window's colours."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSignalBlocker, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QStyle, QWidget
from superqt import QToggleSwitch

from attnviz.gui.theme import MOTION_MS, Theme
from attnviz.gui.widgets.control import Availability, active_theme, draw_focus_ring


class Toggle(Availability, QToggleSwitch):  # type: ignore[misc]
    """A labelled switch; `changed` carries the state the user chose."""

    changed = Signal(bool)

    def __init__(self, label: str, value: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(label, parent)
        self._theme = active_theme()
        self.setAnimationDuration(0)
        self.set_value(value)
        usual = self.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration, None, self)
        self.setAnimationDuration(min(MOTION_MS, usual))
        self.switchWidth, self.switchHeight, self.handleSize = 24, 14, 10
        self.setAccessibleName(label)
        self.toggled.connect(self.changed)
        self.apply_theme(self._theme)

    def value(self) -> bool:
        return bool(self.isChecked())

    def set_value(self, value: bool) -> None:
        """Show `value` without emitting."""
        if value != self.isChecked():
            with QSignalBlocker(self):
                self.setChecked(value)
            self._sync_handle_position()

    def set_label(self, label: str) -> None:
        self.setText(label)
        self.setAccessibleName(label)
        self.updateGeometry()

    def apply_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.onColor, self.offColor = QColor(theme.accent), QColor(theme.muted)
        self.handleColor = QColor(theme.panel)
        palette = self.palette()
        palette.setColor(QPalette.ColorRole.WindowText, QColor(theme.ink))
        palette.setColor(QPalette.ColorGroup.Disabled, QPalette.ColorRole.WindowText, QColor(theme.muted))
        self.setPalette(palette)
        self.setForegroundRole(QPalette.ColorRole.WindowText)
        self.update()

    def paintEvent(self, a0: QPaintEvent | None) -> None:
        super().paintEvent(a0)
        if self.hasFocus():
            draw_focus_ring(QPainter(self), QRectF(self.rect()), self._theme, 4)
