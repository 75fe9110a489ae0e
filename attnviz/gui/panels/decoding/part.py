"""Base of the panels that show the decoding: each stands by itself and shares the store's player."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from attnviz.compute.decoding import Decoded
from attnviz.gui.panels.panel import Panel
from attnviz.gui.player import Player, Watch
from attnviz.gui.store import Store
from attnviz.i18n import _
from attnviz.model.errors.titles import in_words
from attnviz.model.spec.document import Document


class DecodingPart(Panel):
    """Shows one step of the store's decoding; while it is in sight, the document is decoded."""

    follows = ("step", "head", "site")
    measures: ClassVar[bool] = False
    """Whether it shows the step without a cache, which is then computed where the player rests."""

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._met = Player()
        """The player as the panel shows it."""

    @property
    def decoded(self) -> Decoded | None:
        """The decoding that is shown; a panel behind another tab keeps nothing of any."""
        return self.store.player.decoded if self.is_seen else None

    @property
    def step(self) -> int:
        """The step that is shown; 0 without one."""
        return self.store.player.nearest(self.store.document.view.step)

    @property
    def why_empty(self) -> str:
        """The sentence of a panel without a decoding."""
        player = self.store.player
        if player.problem is not None:
            return in_words(player.problem)
        return _("Decoding…") if player.is_due else _("No tokens have been generated yet.")

    def start(self) -> None:
        super().start()
        self.store.player_changed.connect(self._player_changed)
        self._watch()
        self._meet()

    def on_document(self, old: Document | None, new: Document) -> None:
        if old is None or old.experiment != new.experiment:
            self.refresh()
        if old is None or any(getattr(old.view, name) != getattr(new.view, name) for name in self.follows):
            self.show_step()

    def refresh(self) -> None:
        """The experiment changed: show its settings."""

    def show_step(self) -> None:
        """Another step, head, site or decoding is to be shown, or none, and `why_empty`."""

    def on_player(self, old: Player, new: Player) -> None:
        """The player changed in something other than its decoding."""

    @Slot(bool)
    def set_seen(self, is_seen: bool) -> None:
        was_seen = self.is_seen
        super().set_seen(is_seen)
        if self._is_started and was_seen != is_seen:
            self._watch()
            if is_seen:
                self.show_step()
            self._meet()

    def _watch(self) -> None:
        self.store.play(Watch(type(self).__name__, self.is_seen, self.measures))

    @Slot(object, object)
    def _player_changed(self, old: Player, new: Player) -> None:
        self._meet()

    def _meet(self) -> None:
        """Show what the player changed since the last time; a panel behind another tab waits.

        That panel lets go of a decoding that the player has no more.
        """
        player = self.store.player
        if not self.is_seen:
            if self._met.decoded not in (None, player.decoded):
                self._met = Player()
                self.show_step()
            return
        if self._met == player:
            return
        old, self._met = self._met, player
        if old.decoded is not self._met.decoded or (old.is_due, old.problem) != (
            player.is_due,
            player.problem,
        ):
            self.show_step()
        self.on_player(old, self._met)
