"""Tones of labels: what a text is in a panel. The style sheet of the theme has their colours."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

Tone = Literal["", "title", "said", "muted", "accent", "error", "warning", "right", "query", "key", "value"]
"""Ordinary text, a heavy title, a sentence of the status line, captions, formulas, what is wrong, in doubt or
right, and what belongs to queries, keys or values."""


def set_tone(tone: Tone, *labels: QLabel) -> None:
    """Give labels a tone; it follows the theme from then on."""
    for label in labels:
        if label.property("tone") != tone:
            label.setProperty("tone", tone)
            if label.testAttribute(Qt.WidgetAttribute.WA_WState_Polished):
                label.style().unpolish(label)
                label.style().polish(label)
