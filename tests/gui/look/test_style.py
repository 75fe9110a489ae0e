"""The style sheet and palette give plain Qt widgets and our own the colours of the theme."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyqtgraph as pg
import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QLineEdit,
    QMessageBox,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from attnviz.gui.look.style import apply_style, mixtures, style_sheet
from attnviz.gui.look.theme import DARK, LIGHT, THEMES, Theme
from attnviz.gui.widgets.card import Card
from attnviz.gui.widgets.control import active_theme


@pytest.fixture(autouse=True)
def _restore(qapp: QApplication) -> Iterator[None]:
    palette, font = qapp.palette(), qapp.font()
    yield
    qapp.setStyleSheet("")
    qapp.setPalette(palette)
    qapp.setFont(font)
    qapp.setProperty("attnviz_theme", None)


@pytest.mark.parametrize("theme", THEMES)
def test_widgets_are_painted_in_the_theme(qtbot: QtBot, qapp: QApplication, theme: Theme) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    layout = QVBoxLayout(window)
    layout.addWidget(QPushButton("Button"))
    card = Card("Title")
    layout.addWidget(card)
    window.resize(200, 160)
    apply_style(qapp, theme)
    window.show()
    image = window.grab().toImage()
    assert image.pixelColor(2, 2).name() == theme.ground
    assert image.pixelColor(card.geometry().center()).name() == theme.panel
    assert active_theme() is theme
    assert pg.getConfigOption("background") == theme.panel
    qapp.setStyleSheet("")
    assert qapp.style().name() == "fusion"


class _Counted(QWidget):
    """Counts how often Qt says that its style has changed."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.changes = 0

    def changeEvent(self, event: QEvent) -> None:
        self.changes += event.type() is QEvent.Type.StyleChange
        super().changeEvent(event)


def test_a_change_of_the_theme_reaches_a_widget_as_often_however_deep_it_lies(
    qtbot: QtBot, qapp: QApplication
) -> None:
    """Restyling a widget once for each of its ancestors froze the window for a second."""
    window = QWidget()
    qtbot.addWidget(window)
    chain = [_Counted(window)]
    for _depth in range(9):
        chain.append(_Counted(chain[-1]))
    apply_style(qapp, LIGHT)
    window.show()
    for counted in chain:
        counted.changes = 0
    apply_style(qapp, DARK)
    assert chain[0].changes > 0
    assert {counted.changes for counted in chain} == {chain[0].changes}


def test_a_widget_made_later_has_the_theme(qtbot: QtBot, qapp: QApplication) -> None:
    apply_style(qapp, DARK)
    card = Card("Title")
    qtbot.addWidget(card)
    card.resize(100, 60)
    assert card.grab().toImage().pixelColor(50, 50).name() == DARK.panel


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("is_compact", [False, True])
def test_only_the_line_with_the_focus_has_the_accent(
    qtbot: QtBot, qapp: QApplication, theme: Theme, is_compact: bool
) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    layout = QVBoxLayout(window)
    first, second = QLineEdit(), QLineEdit()
    for line in (first, second):
        line.setProperty("compact", is_compact)
        layout.addWidget(line)
    apply_style(qapp, theme)
    window.show()
    window.activateWindow()
    for focused, other in ((first, second), (second, first)):
        focused.setFocus()
        qtbot.waitUntil(focused.hasFocus)
        for line, border in ((focused, theme.accent), (other, theme.line)):
            image = line.grab().toImage()
            assert image.pixelColor(0, line.height() // 2).name() == border


@pytest.mark.parametrize("theme", THEMES)
def test_the_sheet_names_no_colour_of_its_own(theme: Theme) -> None:
    sheet = style_sheet(theme)
    assert "@" not in sheet
    foreign = set(re.findall(r"#[0-9a-f]{6}", sheet)) - set(vars(theme).values())
    assert foreign == set(mixtures(theme).values())


def test_themes_differ(qapp: QApplication) -> None:
    assert style_sheet(LIGHT) != style_sheet(DARK)


def test_buttons_of_dialogs_are_words_without_the_pictures_of_another_age(
    qtbot: QtBot, qapp: QApplication
) -> None:
    apply_style(qapp, LIGHT)
    box = QMessageBox()
    qtbot.addWidget(box)
    box.setStandardButtons(QMessageBox.StandardButton.Save | QMessageBox.StandardButton.Discard)
    box.ensurePolished()
    assert [button.icon().isNull() for button in box.buttons()] == [True, True]


@pytest.mark.parametrize("theme", THEMES)
def test_a_check_box_that_is_on_has_a_tick(qtbot: QtBot, qapp: QApplication, theme: Theme) -> None:
    apply_style(qapp, theme)
    box = QCheckBox()
    qtbot.addWidget(box)
    box.setChecked(True)
    box.resize(30, 24)
    image = box.grab().toImage()
    names = [image.pixelColor(x, y).name() for x in range(2, 14) for y in range(24)]
    assert names.count(theme.filled) > 40 and names.count(theme.on_filled) > 3
