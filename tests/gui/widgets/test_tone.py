"""Tones of labels are painted in the colours of the theme, and follow it."""

from __future__ import annotations

from typing import get_args

import pytest
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from attnviz.gui.look.style import style_sheet
from attnviz.gui.look.theme import DARK, LIGHT, Theme
from attnviz.gui.widgets.tone import Tone, set_tone

COLORS = {"muted", "accent", "error", "warning", "query", "key", "value"}
"""The tones that are colours of the theme by name."""


def painted(label: QLabel) -> set[str]:
    image = label.grab().toImage()
    return {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("tone", get_args(Tone))
def test_a_tone_is_painted_before_and_after_the_label_is_shown(
    qtbot: QtBot, qapp: QApplication, tone: Tone, theme: Theme
) -> None:
    before = qapp.styleSheet()
    early, late = QLabel("\u2588" * 8), QLabel("\u2588" * 8)
    try:
        qapp.setStyleSheet(style_sheet(theme))
        set_tone(tone, early)
        for label in (early, late):
            qtbot.addWidget(label)
            label.show()
        set_tone("error", late)
        set_tone(tone, late)
        for label in (early, late):
            if tone in COLORS or tone == "right":
                color = getattr(theme, "value" if tone == "right" else tone)
                assert QColor(color).name() in painted(label)
            assert (label.font().weight() >= 600) == (tone == "title")
    finally:
        qapp.setStyleSheet(before)
