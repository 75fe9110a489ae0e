"""Space plays, whatever lies over the player and however early it comes."""

from __future__ import annotations

import pytest
from desk import WAIT_MS, Desk, MakeDesk
from player_hands import player
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from attnviz.gui.settings import Settings
from attnviz.gui.window.window import Window
from attnviz.model.io.presets import load_preset


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    made = make_desk("causal-decode")
    made.settle_decoding()
    return made


def is_on_top(desk: Desk) -> bool:
    return not desk.window.docks["text"].visibleRegion().isEmpty()


def test_space_brings_the_player_to_the_front(desk: Desk) -> None:
    desk.bring("block")
    desk.qtbot.waitUntil(lambda: not is_on_top(desk))
    desk.press_key(Qt.Key.Key_Space)
    desk.qtbot.waitUntil(lambda: is_on_top(desk))
    assert player(desk).is_playing
    desk.press_key(Qt.Key.Key_Space)
    assert not player(desk).is_playing


def test_a_player_that_was_closed_comes_back(desk: Desk) -> None:
    desk.window.docks["text"].close()
    desk.press_key(Qt.Key.Key_Space)
    desk.qtbot.waitUntil(lambda: is_on_top(desk))


def test_space_before_there_is_a_decoding_plays_it_when_it_comes(desk: Desk) -> None:
    decoded = desk.store.player.decoded
    desk.store.set_decoded(None)
    desk.press_key(Qt.Key.Key_Space)
    assert not player(desk).is_playing
    desk.store.set_decoded(decoded)
    assert player(desk).is_playing
    player(desk).toggle_play()
    desk.store.set_decoded(decoded)  # only once
    assert not player(desk).is_playing


def test_a_second_space_takes_the_first_one_back(desk: Desk) -> None:
    decoded = desk.store.player.decoded
    desk.store.set_decoded(None)
    desk.press_key(Qt.Key.Key_Space)
    desk.press_key(Qt.Key.Key_Space)
    desk.store.set_decoded(decoded)
    assert not player(desk).is_playing


def test_keys_that_come_before_the_panels_do_no_harm(
    make_desk: MakeDesk, qtbot: QtBot, settings: Settings
) -> None:
    """A window is on the screen before its panels are made, while the shipped model is read."""
    window = Window(load_preset("causal-decode"), settings, inline=True)
    desk = Desk(qtbot, window)
    try:
        window.show()
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow, timeout=WAIT_MS)
        for command in ("step_forward", "step_back", "first_step", "last_step", "export_panel", "free"):
            window.commands[command].trigger()
        desk.press_key(Qt.Key.Key_Space)
        window.start()
        qtbot.waitUntil(lambda: player(desk).is_playing, timeout=WAIT_MS)
        player(desk).toggle_play()
    finally:
        desk.leave()
