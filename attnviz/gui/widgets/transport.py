"""The row of buttons that plays, pauses and steps."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QSizePolicy, QToolButton, QWidget

from attnviz.gui.look.icons import icon
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.look.words import says
from attnviz.gui.widgets.boxes import in_row
from attnviz.gui.widgets.control import active_theme
from attnviz.i18n import N_

BUTTONS = (
    ("first", N_("First step")),
    ("step_back", N_("Step back")),
    ("play", N_("Play or pause")),
    ("step_forward", N_("Step forward")),
    ("last", N_("Last step")),
)


class Transport(QWidget):
    """`pressed` carries the id of a button of `BUTTONS`; the object names of all begin with `prefix`."""

    pressed = Signal(str)

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._theme, self._is_playing = active_theme(), False
        self._buttons = {
            id_: says(QToolButton(), id=f"{prefix}_{id_}", name=title, tip=True) for id_, title in BUTTONS
        }
        for name, button in self._buttons.items():
            button.setProperty("primary" if name == "play" else "framed", "true")
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.setIconSize(QSize(16, 16))
            button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            button.setMinimumWidth(72 if name == "play" else 32)
            button.clicked.connect(self._on_button)
        in_row(self, *self._buttons.values(), spacing=GRID // 2)

    def set_playing(self, is_playing: bool) -> None:
        """Show whether steps follow by themselves."""
        self._is_playing = is_playing
        for name, button in self._buttons.items():
            is_pause = name == "play" and is_playing
            ink = self._theme.on_filled if name == "play" else self._theme.ink
            button.setIcon(icon("pause" if is_pause else name, replace(self._theme, ink=ink)))

    def set_usable(self, is_usable: bool, *names: str) -> None:
        """Enable or disable some buttons, or all."""
        for name in names or self._buttons:
            self._buttons[name].setEnabled(is_usable)

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        self.set_playing(self._is_playing)

    @Slot()
    def _on_button(self) -> None:
        sender = self.sender()
        self.pressed.emit(next(name for name, button in self._buttons.items() if button is sender))
