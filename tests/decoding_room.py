"""All panels of the decoding in one place, as a workspace shows them, without a window."""

from __future__ import annotations

from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from attnviz.gui.panels.decoding.cache import CachePanel
from attnviz.gui.panels.decoding.caches.caches import CachesPanel
from attnviz.gui.panels.decoding.counters import CountersPanel
from attnviz.gui.panels.decoding.next.next import NextPanel
from attnviz.gui.panels.decoding.sampling import SamplingPanel
from attnviz.gui.panels.decoding.story.story import TextPanel
from attnviz.gui.panels.panel import Panel
from attnviz.gui.player import END, GoTo, Toggle
from attnviz.gui.services.services import Services
from attnviz.gui.store import Store

PLACES = {
    TextPanel: (0, 0, 1, 2),
    SamplingPanel: (1, 0, 1, 1),
    NextPanel: (1, 1, 1, 1),
    CachePanel: (2, 0, 1, 1),
    CachesPanel: (2, 1, 1, 1),
    CountersPanel: (3, 0, 1, 2),
}


class DecodingRoom(Panel):
    """Hosts one panel of each kind, each with its header above it."""

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        grid = QGridLayout(self)
        self.parts: list[Panel] = [kind(store) for kind in PLACES]
        for part, place in zip(self.parts, PLACES.values(), strict=True):
            column = QVBoxLayout()
            header = part.header()
            if header is not None:
                column.addWidget(header)
            column.addWidget(part, 1)
            grid.addLayout(column, *place)

    def serve(self, services: Services) -> None:
        super().serve(services)
        for part in self.parts:
            part.serve(services)

    def start(self) -> None:
        for part in self.parts:
            part.start()

    def set_seen(self, is_seen: bool) -> None:
        for part in self.parts:
            part.set_seen(is_seen)

    # --- hands

    def go_to(self, step: int) -> None:
        self.store.play(GoTo(step))

    def go_to_end(self) -> None:
        self.store.play(GoTo(END))

    def toggle_play(self) -> None:
        self.store.play(Toggle())

    @property
    def is_playing(self) -> bool:
        return self.store.player.is_playing
