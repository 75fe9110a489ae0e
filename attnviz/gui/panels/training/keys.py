"""The plain keys of a training: `asked` says what one asks for."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

KEYS = {
    Qt.Key.Key_Left: "step_back",
    Qt.Key.Key_Right: "step_forward",
    Qt.Key.Key_Home: "first",
    Qt.Key.Key_End: "last",
    Qt.Key.Key_Period: "step",
    Qt.Key.Key_B: "swap",
    Qt.Key.Key_Delete: "switch",
}
"""Buttons of the row, one step, A and B change places, the chosen head off or on."""


def asked(event: QKeyEvent) -> str:
    """The value in `KEYS` of a key without another one; empty for a key that is none of them."""
    is_plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
    return KEYS.get(Qt.Key(event.key()), "") if is_plain else ""
