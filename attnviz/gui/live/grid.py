"""The tiles of the grid of heads: computed in the worker, one attention after the other, the newest wins.

Each attention is a job of its own, so that an edit never waits for the whole grid, and rows appear as they
are computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.gui.failure import is_expected
from attnviz.model.heads.search import Found, Wanted, search
from attnviz.model.heads.tiles import Tile, tiles

if TYPE_CHECKING:
    from attnviz.gui.panels.grid.panel import GridPanel
    from attnviz.model.trace import Trace

KEY, SEARCH_KEY = "grid", "search"


@dataclass(frozen=True, eq=False)
class GridAsked:
    """A requested grid: the trace, the stage of each site, and the largest side of a tile in cells."""

    trace: Trace
    stages: dict[str, str]
    side: int


@dataclass(frozen=True, eq=False)
class SearchAsked:
    """A requested search through all heads of a trace."""

    trace: Trace
    wanted: Wanted


class GridLive(QObject):
    """Answers the panel's requests site by site, and its searches."""

    def __init__(self, panel: GridPanel, scheduler: Scheduler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._panel, self._scheduler = panel, scheduler
        self._asked: GridAsked | None = None
        self._left: list[str] = []
        panel.asked.connect(self._on_asked)
        panel.search_asked.connect(self._on_search)
        panel.store.opened.connect(self._on_opened)

    @Slot(object)
    def _on_asked(self, asked: GridAsked | None) -> None:
        """Begin another grid after the attention that is computed now; None: the panel is hidden."""
        self._asked, self._left = asked, [] if asked is None else list(asked.stages)
        if not self._scheduler.is_busy(KEY):
            self._begin()

    @Slot()
    def _on_opened(self) -> None:
        """Release the trace of the previous document."""
        self._on_asked(None)

    def _begin(self) -> None:
        asked = self._asked
        if asked is None or not self._left:
            self._asked = None
            return
        name = self._left.pop(0)
        site, stage = asked.trace.site(name), asked.stages[name]

        def job(token: CancelToken) -> tuple[GridAsked, tuple[Tile, ...]]:
            return asked, tiles(site, stage, asked.side)

        self._scheduler.submit(job, self._on_done, self._on_failed, key=KEY)

    def _on_done(self, answered: tuple[GridAsked, tuple[Tile, ...]]) -> None:
        asked, found = answered
        if asked is self._asked:
            self._panel.show_tiles(found)
        self._begin()

    @Slot(object)
    def _on_search(self, asked: SearchAsked) -> None:
        def job(token: CancelToken) -> tuple[SearchAsked, tuple[Found, ...]]:
            found = list[Found]()
            for name in asked.trace.sites:
                token.check()
                found += search(asked.trace.site(name), asked.wanted)
            return asked, tuple(found)

        self._scheduler.submit(job, self._on_found, self._on_failed, key=SEARCH_KEY)

    def _on_found(self, answered: tuple[SearchAsked, tuple[Found, ...]]) -> None:
        self._panel.show_found(*answered)

    def _on_failed(self, error: BaseException) -> None:
        self._asked, self._left = None, []
        if not is_expected(error):
            raise error
