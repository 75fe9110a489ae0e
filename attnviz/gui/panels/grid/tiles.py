"""The tiles that the grid shows, asked attention by attention: rows appear as they are computed.

Each attention is a question of its own, so that an edit never waits for the whole grid.
"""

from __future__ import annotations

from weakref import ref

from PySide6.QtCore import QObject, Signal, Slot

from attnviz.core.head_scores import HEAD_SCORE_BY_ID
from attnviz.gui.live.answer import Answer
from attnviz.gui.panels.grid.canvas import Place
from attnviz.gui.panels.grid.heads import Heads
from attnviz.gui.panels.grid.questions import TilesAsked
from attnviz.model.spec.view import View
from attnviz.model.trace import Trace
from attnviz.study.heads.tiles import Facts, Tile, grid_stage

FEW_HEADS = 64
"""Up to this number of heads tiles are large, and have more cells."""
LARGE_SIDE, SMALL_SIDE = 256, 128
"""Most cells along a side of a tile."""


class Tiles(QObject):
    """Tiles of earlier numbers stay until the new ones replace them, if the shape is the same."""

    arrived = Signal(object)
    """The places of new tiles."""

    def __init__(self, answer: Answer[TilesAsked, tuple[Tile, ...]], parent: QObject) -> None:
        super().__init__(parent)
        self._answer = answer
        answer.answered.connect(self._on_answered)
        self.heads = Heads()
        self.shown: dict[Place, Tile] = {}
        self.facts: dict[Place, Facts] = {}
        """Facts of heads; older ones until the frames show the new ones."""
        self._left: list[TilesAsked] = []
        self._drawn: tuple[object, ...] = ()
        """Trace, weakly, and look of the tiles of `_new`: hidden and shown again, they still apply."""
        self._new: set[Place] = set()

    def become(self, trace: Trace, view: View) -> None:
        """Be those of a run in a look: tiles that no longer apply wait for new ones, or go."""
        before, self.heads = self.heads, Heads.of(trace)
        if self.heads.blocks != before.blocks:
            self.shown, self.facts = {}, {}
        drawn = ref(trace), view.stage, view.ranges, view.orientation
        if self._drawn[:1] != drawn[:1] and not shows_scores(view):
            self.facts = {}
        if drawn != self._drawn:
            self._drawn, self._new = drawn, set()

    def complete(self, trace: Trace, view: View) -> None:
        """Ask for all heads, if one of them is missing."""
        if len(self._new) < self.heads.count or self.lacks_facts(view):
            self.ask(trace, view)

    def lacks_facts(self, view: View) -> bool:
        """True if the frames show a score of which some head has no facts."""
        return shows_scores(view) and len(self.facts) < self.heads.count

    def ask(self, trace: Trace, view: View) -> None:
        """Ask for all tiles, after the attention that is computed now."""
        side = LARGE_SIDE if self.heads.count <= FEW_HEADS else SMALL_SIDE
        self._left = [
            TilesAsked(trace, name, grid_stage(trace.site(name), view.stage), side, shows_scores(view))
            for name in trace.sites
        ]
        self._ask_next()

    def stop(self) -> None:
        """Ask for no more, and hold no trace."""
        self._left = []
        self._answer.clear()

    def clear(self) -> None:
        """Hold nothing."""
        self.stop()
        self.heads, self.shown, self.facts = Heads(), {}, {}
        self._drawn, self._new = (), set()

    def _ask_next(self) -> None:
        if self._left:
            self._answer.ask(self._left.pop(0))

    @Slot()
    def _on_answered(self) -> None:
        tiles = self._answer.result
        if tiles is None:
            self._left = []
        elif not self._answer.is_stale:
            places = self.heads.placed((tile.site, tile.head, tile) for tile in tiles)
            self.shown.update(places)
            self.facts.update({at: tile.facts for at, tile in places.items() if tile.facts is not None})
            self._new.update(places)
            self.arrived.emit(list(places))
            self._ask_next()


def shows_scores(view: View) -> bool:
    """True if the frames show a score, so that the facts of all heads are needed."""
    return view.grid.frames in HEAD_SCORE_BY_ID
