"""The preview of a file: its picture, its text, or its pictures in turn."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QSlider,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from attnviz.gui.export.source import Leaves, Shown
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.icons import icon
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.control import active_theme, transition_ms
from attnviz.i18n import _

HELD = 3
"""Times as long the last of the moving pictures is shown."""


class Preview(QWidget):
    """Shows what a file will show; several pictures play at their pace, or are turned by hand.

    A picture that is not drawn yet is `missing`, and shown once `arrive` brings it.
    """

    missing = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._leaves, self._pixels = Leaves.of(()), QPixmap()
        self._label, self._text = QLabel(), QPlainTextEdit()
        self._play, self._slider, self._count = QToolButton(), QSlider(Qt.Orientation.Horizontal), QLabel()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._on_time)
        self._lay_out()
        self._slider.valueChanged.connect(self._on_turned)
        self._play.toggled.connect(self._on_play)

    @property
    def picture(self) -> bytes:
        """The picture in sight (PNG); empty before it is drawn."""
        return self._leaves.drawn.get(self.index, b"")

    @property
    def index(self) -> int:
        """The number of the picture in sight."""
        return self._slider.value()

    def show_file(self, shown: Shown) -> None:
        """Show the content of a file; another one of several pictures goes on at the same picture."""
        plays = self._play.isChecked() if self._leaves.count > 1 else transition_ms(self) > 0
        at = self.index
        self.clear()
        if isinstance(shown, str):
            wrap = QPlainTextEdit.LineWrapMode  # a sentence breaks, the lines of a file do not
            self._text.setLineWrapMode(wrap.NoWrap if "\n" in shown else wrap.WidgetWidth)
            self._text.setPlainText(shown)
            self._side.setCurrentWidget(self._text)
            return
        self._leaves = shown if isinstance(shown, Leaves) else Leaves.of((shown,))
        has_many = self._leaves.count > 1
        self._turner.setVisible(has_many)
        self._play.setVisible(self._leaves.fps > 0)
        self._slider.setRange(0, self._leaves.count - 1)
        self._show(min(at, self._leaves.count - 1))
        self._play.setChecked(has_many and self._leaves.fps > 0 and plays)

    def arrive(self, leaves: Leaves, index: int) -> None:
        """Show a picture that was missing, if it is still in sight."""
        if leaves is self._leaves and index == self.index:
            self._show(index)
            if self._play.isChecked():
                self._wait()

    def pause(self) -> None:
        """Stay at the picture in sight."""
        self._play.setChecked(False)

    def clear(self) -> None:
        """Show nothing."""
        self._play.setChecked(False)
        self._leaves, self._pixels = Leaves.of(()), QPixmap()
        self._turner.hide()
        self._label.clear()
        self._slider.blockSignals(True)
        self._slider.setValue(0)
        self._slider.blockSignals(False)
        self._side.setCurrentWidget(self._label)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the picture."""
        super().resizeEvent(event)
        self._fit()

    def _lay_out(self) -> None:
        self._label.setObjectName("export_preview")
        self._label.setAccessibleName(_("Preview"))
        self._label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._label.setMinimumSize(240, 200)
        self._text.setObjectName("export_text")
        self._text.setAccessibleName(_("Preview"))
        self._text.setReadOnly(True)
        self._text.setTabChangesFocus(True)
        self._text.setFont(number_font(TEXT_PX))
        self._side, self._turner = QStackedWidget(), QWidget()
        self._side.addWidget(self._label)
        self._side.addWidget(self._text)
        self._play.setObjectName("export_play_button")
        self._play.setCheckable(True)
        self._play.setAccessibleName(_("Play or pause"))
        self._play.setToolTip(plain_tooltip(_("Play or pause")))
        self._slider.setObjectName("export_slider")
        self._slider.setAccessibleName(_("Picture number"))
        self._count.setFont(number_font(TEXT_PX))
        row = QHBoxLayout(self._turner)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        row.addWidget(self._play)
        row.addWidget(self._slider, 1)
        row.addWidget(self._count)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID)
        column.addWidget(self._side, 1)
        column.addWidget(self._turner)
        self._turner.hide()
        self._show_play()

    def _show(self, index: int) -> None:
        """Show one of the pictures, or ask for it; the one before stays meanwhile."""
        self._slider.blockSignals(True)
        self._slider.setValue(index)
        self._slider.blockSignals(False)
        self._count.setText(f"{index + 1} / {self._leaves.count}")
        if not self.picture:
            self.missing.emit(index)
            return
        self._pixels = QPixmap()
        self._pixels.loadFromData(self.picture)
        self._fit()

    def _fit(self) -> None:
        """Scale the picture down to the room; a smaller one keeps its size."""
        if self._pixels.isNull():
            return
        ratio, shown = self.devicePixelRatioF(), self._pixels
        room = self._side.size() * ratio
        if shown.width() > room.width() or shown.height() > room.height():
            mode = Qt.TransformationMode.SmoothTransformation
            shown = shown.scaled(room, Qt.AspectRatioMode.KeepAspectRatio, mode)
        shown.setDevicePixelRatio(ratio)
        self._label.setPixmap(shown)

    @Slot(int)
    def _on_turned(self, index: int) -> None:
        """Turn to a picture by hand, and stay there."""
        if self._leaves.count:
            self._play.setChecked(False)
            self._show(index)

    @Slot(bool)
    def _on_play(self, is_playing: bool) -> None:
        self._show_play()
        if is_playing:
            self._wait()
        else:
            self._timer.stop()

    @Slot()
    def _on_time(self) -> None:
        """Show the next picture, and after the last the first."""
        self._show((self.index + 1) % self._leaves.count)
        if self.picture:  # else it goes on when the picture arrives
            self._wait()

    def _wait(self) -> None:
        is_last = self.index == self._slider.maximum()
        self._timer.start(round((HELD if is_last else 1) * 1000 / self._leaves.fps))

    def _show_play(self) -> None:
        self._play.setIcon(icon("pause" if self._play.isChecked() else "play", active_theme()))
