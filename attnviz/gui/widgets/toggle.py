"""An on/off switch with its label.

Painted here and not taken from a library: importing one for a single switch was a tenth of the time to
the first frame.
"""

from __future__ import annotations

from PySide6.QtCore import QEasingCurve, QRectF, QSignalBlocker, QSize, Qt, QVariantAnimation, Signal, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.widgets.control import Availability, active_theme, draw_focus_ring, transition_ms

TRACK = QSize(24, 14)
HANDLE = 10


class Toggle(Availability, QAbstractButton):
    """A labelled switch; `changed` carries the state the user chose."""

    changed = Signal(bool)

    def __init__(self, label: str, value: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = active_theme()
        self.setCheckable(True)
        self.setChecked(value)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._place = float(value)
        self._slide = QVariantAnimation(self)
        self._slide.setEasingCurve(QEasingCurve.Type.OutCubic)
        self._slide.valueChanged.connect(self._on_slid)
        self.set_label(label)
        self.toggled.connect(self._on_toggled)

    def value(self) -> bool:
        return self.isChecked()

    def set_value(self, value: bool) -> None:
        """Show `value` without emitting."""
        if value != self.isChecked():
            with QSignalBlocker(self):
                self.setChecked(value)
            self._slide.stop()
            self._on_slid(float(value))

    def set_label(self, label: str) -> None:
        self.setText(label)
        self.setAccessibleName(label)
        self.updateGeometry()

    def apply_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        width = TRACK.width() + GRID + metrics.horizontalAdvance(self.text())
        return QSize(width + 4, max(TRACK.height(), metrics.height()) + 6)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def track_rect(self) -> QRectF:
        """Rectangle of the switch itself on the widget."""
        return QRectF(2, (self.height() - TRACK.height()) / 2, TRACK.width(), TRACK.height())

    @Slot(bool)
    def _on_toggled(self, value: bool) -> None:
        self._slide.stop()
        self._slide.setDuration(transition_ms(self))
        self._slide.setStartValue(self._place)
        self._slide.setEndValue(float(value))
        self._slide.start()
        self.changed.emit(value)

    @Slot(object)
    def _on_slid(self, place: float) -> None:
        self._place = float(place)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setOpacity(1.0 if self.isEnabled() else 0.5)
        track = self.track_rect()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.accent if self.isChecked() else self._theme.muted))
        painter.drawRoundedRect(track, track.height() / 2, track.height() / 2)
        gap = (track.height() - HANDLE) / 2
        left = track.left() + gap + self._place * (track.width() - HANDLE - 2 * gap)
        painter.setBrush(QColor(self._theme.panel))
        painter.drawEllipse(QRectF(left, track.top() + gap, HANDLE, HANDLE))
        painter.setPen(QColor(self._theme.ink if self.isEnabled() else self._theme.muted))
        words = QRectF(self.rect()).adjusted(track.right() + GRID, 0, 0, 0)
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self.text())
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), self._theme, 4)
        painter.end()
