"""The tiles of the grid of heads: computed in the worker, one attention after the other, the newest wins.

Each attention is a job of its own, so that an edit never waits for the whole grid, and rows appear as they
are computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.gui.failure import failure_message, is_expected
from attnviz.study.heads.search import Found, Wanted, search
from attnviz.study.heads.tiles import Facts, Tile, facts_of, tiles

if TYPE_CHECKING:
    from attnviz.gui.panels.grid.panel import GridPanel
    from attnviz.model.trace import Trace
    from attnviz.study.ablation import Effects

KEY, FACTS_KEY, SEARCH_KEY, EFFECTS_KEY = "grid", "facts", "search", "effects"


@dataclass(frozen=True, eq=False)
class GridAsked:
    """A requested grid: the trace, the stage of each site, and the largest side of a tile in cells.

    `with_facts`: the frames show a score of each head.
    """

    trace: Trace
    stages: dict[str, str]
    side: int
    with_facts: bool


@dataclass(frozen=True, eq=False)
class FactsAsked:
    """The requested facts of one head."""

    trace: Trace
    site: str
    head: int


@dataclass(frozen=True, eq=False)
class SearchAsked:
    """A requested search through all heads of a trace."""

    trace: Trace
    wanted: Wanted


@dataclass(frozen=True, eq=False)
class EffectsAsked:
    """The effect of each head's ablation on a logit; an empty token is the most probable next one."""

    trace: Trace
    token: str
    by: str


class GridLive(QObject):
    """Answers the panel's requests: the tiles site by site, the facts of a head, searches and ablations."""

    def __init__(self, panel: GridPanel, scheduler: Scheduler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._panel, self._scheduler = panel, scheduler
        self._asked: GridAsked | None = None
        self._left: list[str] = []
        panel.asked.connect(self._on_asked)
        panel.facts_asked.connect(self._on_facts)
        panel.search_asked.connect(self._on_search)
        panel.effects_asked.connect(self._on_effects)
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
            return asked, tiles(site, stage, asked.side, asked.with_facts)

        self._scheduler.submit(job, self._on_done, self._on_failed, key=KEY)

    def _on_done(self, answered: tuple[GridAsked, tuple[Tile, ...]]) -> None:
        asked, found = answered
        if asked is self._asked:
            self._panel.show_tiles(found)
        self._begin()

    @Slot(object)
    def _on_facts(self, asked: FactsAsked) -> None:
        def job(token: CancelToken) -> tuple[FactsAsked, Facts]:
            return asked, facts_of(asked.trace.site(asked.site), asked.head)

        self._scheduler.submit(job, self._on_told, self._on_failed, key=FACTS_KEY)

    def _on_told(self, answered: tuple[FactsAsked, Facts]) -> None:
        self._panel.show_facts(*answered)

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

    @Slot(object)
    def _on_effects(self, asked: EffectsAsked | None) -> None:
        """Ablate every head of another run; None stops."""
        if asked is None:
            self._scheduler.stop(EFFECTS_KEY)
            return

        def job(token: CancelToken) -> tuple[EffectsAsked, Effects]:
            from attnviz.study.ablation import ablate
            from attnviz.study.target import Target, likeliest

            trace = asked.trace
            found = ablate(
                trace.experiment,
                Target(asked.token or likeliest(trace.site(trace.sites[-1]))),
                "heads",
                asked.by,
                engine=trace.engine,
                device=trace.device,
                check=token.progress,
            )
            return asked, found

        def failed(error: BaseException) -> None:
            self._panel.show_no_effects(asked, failure_message(error))
            self._on_failed(error)

        self._scheduler.submit(job, self._on_ablated, failed, key=EFFECTS_KEY)

    def _on_ablated(self, answered: tuple[EffectsAsked, Effects]) -> None:
        self._panel.show_effects(*answered)

    def _on_failed(self, error: BaseException) -> None:
        self._asked, self._left = None, []
        if not is_expected(error):
            raise error
