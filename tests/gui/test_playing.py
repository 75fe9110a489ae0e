"""Space plays, whatever lies over the player and however early it comes."""

from __future__ import annotations

import pytest
from desk import Desk, MakeDesk
from PySide6.QtCore import Qt

from attnviz.gui.panels.decoding import DecodingPanel

pytestmark = pytest.mark.qt_log_ignore("propagateSizeHints")


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    made = make_desk("causal-decode")
    made.settle_decoding()
    return made


def player(desk: Desk) -> DecodingPanel:
    panel = desk.window.panels["decoding"]
    assert isinstance(panel, DecodingPanel)
    return panel


def is_on_top(desk: Desk) -> bool:
    return not desk.window.docks["decoding"].visibleRegion().isEmpty()


def test_space_brings_the_player_to_the_front(desk: Desk) -> None:
    desk.window.docks["block"].raise_()
    desk.qtbot.waitUntil(lambda: not is_on_top(desk))
    desk.press_key(Qt.Key.Key_Space)
    desk.qtbot.waitUntil(lambda: is_on_top(desk))
    assert player(desk).is_playing
    desk.press_key(Qt.Key.Key_Space)
    assert not player(desk).is_playing


def test_a_player_that_was_closed_comes_back(desk: Desk) -> None:
    desk.window.docks["decoding"].close()
    desk.press_key(Qt.Key.Key_Space)
    desk.qtbot.waitUntil(lambda: is_on_top(desk))


def test_space_before_there_is_a_decoding_plays_it_when_it_comes(desk: Desk) -> None:
    decoded = desk.store.decoded_now
    desk.store.set_decoded(None)
    desk.press_key(Qt.Key.Key_Space)
    assert not player(desk).is_playing
    desk.store.set_decoded(decoded)
    assert player(desk).is_playing
    player(desk).toggle_play()
    desk.store.set_decoded(decoded)  # only once
    assert not player(desk).is_playing


def test_a_second_space_takes_the_first_one_back(desk: Desk) -> None:
    decoded = desk.store.decoded_now
    desk.store.set_decoded(None)
    desk.press_key(Qt.Key.Key_Space)
    desk.press_key(Qt.Key.Key_Space)
    desk.store.set_decoded(decoded)
    assert not player(desk).is_playing
