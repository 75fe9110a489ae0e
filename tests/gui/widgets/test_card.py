"""Frames, sections, switches and empty states."""

from __future__ import annotations

from pointer import Log, show_active
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from attnviz.gui.look.theme import DARK, LIGHT, MOTION_PROPERTY
from attnviz.gui.widgets.card import Card
from attnviz.gui.widgets.control import active_theme, transition_ms
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.gui.widgets.toggle import Toggle


def test_a_card_frames_its_body_in_the_colours_of_the_theme(qtbot: QtBot) -> None:
    card = Card("Vectors x", "drag a cell")
    qtbot.addWidget(card)
    card.resize(200, 100)
    for theme in (LIGHT, DARK):
        card.apply_theme(theme)
        image = card.grab().toImage()
        assert image.pixelColor(100, 80).name() == theme.panel
        assert image.pixelColor(0, 50).name() == theme.line
    assert card.accessibleName() == "Vectors x"


def test_titles_are_capitals_but_tokens_and_symbols_are_not(qtbot: QtBot) -> None:
    card = Card("Vectors x")
    qtbot.addWidget(card)
    label = card.findChild(QLabel, "card_title")
    assert label.text() == "VECTORS x"
    card.set_title("Row of “<b>it</b>”")
    assert label.text() == "ROW OF “<b>it</b>”"
    assert label.textFormat() == Qt.TextFormat.PlainText
    card.set_title("注意力")
    assert label.text() == "注意力"


def test_a_toggle_tells_only_what_the_user_did(qtbot: QtBot) -> None:
    toggle = Toggle("causal", True)
    qtbot.addWidget(toggle)
    toggle.apply_theme(LIGHT)
    show_active(qtbot, toggle)
    log = Log(toggle, "changed")
    toggle.set_value(False)
    assert log.events == []
    off = toggle.grab().toImage()
    QTest.keyClick(toggle, Qt.Key.Key_Space)
    assert log.values("changed") == [True]
    assert toggle.value()
    left, right = toggle.track_rect().left() + 6, toggle.track_rect().right() - 6
    row = off.height() // 2

    def is_on() -> bool:
        on = toggle.grab().toImage()
        handle, track = on.pixelColor(int(right), row), on.pixelColor(int(left), row)
        return handle.name() == LIGHT.panel and track.name() == LIGHT.accent

    qtbot.waitUntil(is_on)  # the handle slides there
    assert off.pixelColor(int(left), row).name() == LIGHT.panel
    assert off.pixelColor(int(right), row).name() == LIGHT.muted
    toggle.set_unavailable("Nothing to mask")
    QTest.mouseClick(toggle, Qt.MouseButton.LeftButton)
    assert log.values("changed") == [True]
    assert "Nothing to mask" in toggle.toolTip()


def test_a_toggle_does_not_slide_where_transitions_are_off(qtbot: QtBot, qapp: QApplication) -> None:
    toggle = Toggle("causal", False)
    qtbot.addWidget(toggle)
    show_active(qtbot, toggle)
    qapp.setProperty(MOTION_PROPERTY, True)  # a window of another test may have turned it off
    assert transition_ms(toggle) > 0
    qapp.setProperty(MOTION_PROPERTY, False)
    try:
        assert transition_ms(toggle) == 0
        QTest.keyClick(toggle, Qt.Key.Key_Space)
        track = toggle.track_rect()
        handle = toggle.grab().toImage().pixelColor(int(track.right()) - 6, toggle.height() // 2)
        assert handle.name() == active_theme().panel
    finally:
        qapp.setProperty(MOTION_PROPERTY, None)


def test_an_empty_state_offers_one_way_out(qtbot: QtBot) -> None:
    empty = EmptyState("Nothing yet.", "Play")
    qtbot.addWidget(empty)
    empty.show()
    log = Log(empty, "triggered")
    button = empty.findChild(QPushButton, "empty_state_action")
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert log.events == ["triggered"] or log.events == [("triggered", False)]
    empty.set_action("")
    assert not button.isVisible()
