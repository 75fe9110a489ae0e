"""Every colour of text is legible on every ground of text, and masked cells differ from zeros."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter, QPalette
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from attnviz.core.color_maps import Kind
from attnviz.gui.look.colors import LEVELS, cell_colors
from attnviz.gui.look.style import palette
from attnviz.gui.look.theme import GROUNDS, OTHER_TEXTS, TEXTS, THEMES, Theme
from attnviz.gui.panels.positions import LINE, Entry
from attnviz.gui.widgets.heat.hatch import draw_blocked

LEAST = 4.5
"""Contrast of text by WCAG 2.2, criterion 1.4.3."""

PAIRS = (*product(TEXTS, GROUNDS), *OTHER_TEXTS)


def luminance(name: str) -> float:
    """Relative luminance of WCAG 2.2."""
    channels = [channel / 255 for channel in QColor(name).getRgb()[:3]]  # type: ignore[index]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    lighter, darker = sorted((luminance(first), luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_the_formula_is_that_of_the_standard() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # the standard's own example


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
@pytest.mark.parametrize(("text", "ground"), PAIRS)
def test_text_is_legible(theme: Theme, text: str, ground: str) -> None:
    assert contrast(getattr(theme, text), getattr(theme, ground)) >= LEAST


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_text_of_plain_widgets_is_legible(theme: Theme) -> None:
    role, made = QPalette.ColorRole, palette(theme)
    for text, ground in (
        (role.WindowText, role.Window),
        (role.Text, role.Base),
        (role.PlaceholderText, role.Base),
        (role.ButtonText, role.Button),
        (role.ToolTipText, role.ToolTipBase),
        (role.HighlightedText, role.Highlight),
        (role.Link, role.Base),
    ):
        assert contrast(made.color(text).name(), made.color(ground).name()) >= LEAST, text


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_the_marks_of_keys_and_values_stand_out(theme: Theme) -> None:
    for mark in (theme.accent, theme.query, theme.key_mark, theme.value_mark):
        assert contrast(mark, theme.panel) >= 3


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
@pytest.mark.parametrize("kind", ["sequential", "diverging"])
def test_a_masked_cell_is_told_from_zero(qapp: QApplication, theme: Theme, kind: Kind) -> None:
    """A masked cell has lines that stand out from its ground; a cell of value 0 is one flat colour."""
    image = QImage(24, 24, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    draw_blocked(painter, QRectF(0, 0, 24, 24), theme)
    painter.end()
    names = {image.pixelColor(x, y).name() for x in range(24) for y in range(24)}
    zero = cell_colors(kind, theme)[0 if kind == "sequential" else (LEVELS - 1) // 2]
    darkest, lightest = min(names, key=luminance), max(names, key=luminance)
    assert contrast(lightest, darkest) >= 1.5
    flat = QColor(*np.asarray(zero).tolist()).name()
    assert max(contrast(name, flat) for name in names) >= 1.5


def test_the_name_of_a_hidden_curve_is_as_legible_as_that_of_a_drawn_one(qtbot: QtBot) -> None:
    entry = Entry("alibi")
    qtbot.addWidget(entry)
    entry.resize(entry.sizeHint())
    name = entry.rect().adjusted(LINE + 4, 0, 0, 0)
    drawn = entry.grab().toImage()
    entry.setChecked(False)
    hidden = entry.grab().toImage()
    assert drawn.copy(name) == hidden.copy(name) and drawn != hidden


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_zero_of_signed_data_is_near_the_card(theme: Theme) -> None:
    zero = QColor(*cell_colors("diverging", theme)[(LEVELS - 1) // 2].tolist()).name()
    assert contrast(zero, theme.panel) <= 1.25
