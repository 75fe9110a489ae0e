"""A person's acts with the player of a window, wherever its controls stand."""

from __future__ import annotations

from desk import Desk
from PySide6.QtWidgets import QApplication, QPushButton

from attnviz.gui.live.playback import Playback
from attnviz.gui.panels.decoding.story.story import TextPanel
from attnviz.gui.player import END, GoTo, Toggle


class Player:
    """The store's player, and the playback of the window's text."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def go_to(self, step: int) -> None:
        self._desk.store.play(GoTo(step))

    def go_to_end(self) -> None:
        self._desk.store.play(GoTo(END))

    def toggle_play(self) -> None:
        self._desk.store.play(Toggle())

    @property
    def is_playing(self) -> bool:
        return self._desk.store.player.is_playing

    @property
    def playback(self) -> Playback:
        panel = self._desk.window.panels["text"]
        assert isinstance(panel, TextPanel)
        return panel.playback


def player(desk: Desk) -> Player:
    return Player(desk)


def open_counters(desk: Desk) -> None:
    """Show the counters, which are closed until a person asks for them."""
    assert desk.window.docks["counters"].isHidden()
    desk.click(desk.find(QPushButton, "decode_details"))
    QApplication.processEvents()
    assert desk.window.panels["counters"].is_seen
