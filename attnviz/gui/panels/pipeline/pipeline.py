"""The pipeline strip: a thumbnail for every stage of the trace, in data-flow order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from weakref import ref

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QWidget

from attnviz.explain.formulas.stages import stage_axes, stage_formula, stage_operation
from attnviz.gui.look.words import says
from attnviz.gui.panels.panel import Panel
from attnviz.gui.panels.pipeline.strip import WIDTH as TILE_WIDTH
from attnviz.gui.panels.pipeline.strip import FoldTile, Gap, Place, Step, Strip, captioned, least_width
from attnviz.gui.store import Store
from attnviz.gui.widgets.button import rove
from attnviz.gui.widgets.heat.stages import highlight
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.i18n import N_, _
from attnviz.model.binding import bind
from attnviz.model.sites.stages import raw_map_of
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.view import Cell, shown_head
from attnviz.model.stages import STAGE_BY_ID, STAGES
from attnviz.model.trace import MASKED_STAGES, SiteTrace, Trace

MAY_BE_LAST = 14
"""Groups from this number on fold in a very narrow strip, also to a tile with one stage behind it."""


def folds() -> dict[int, frozenset[str]]:
    """Groups of stages by their numbers, the first to fold first; those of no group always stand."""
    numbers = sorted({stage.fold for stage in STAGES} - {0})
    return {number: frozenset(stage.id for stage in STAGES if stage.fold == number) for number in numbers}


Run = tuple[str, ...]
"""One place of the strip: a stage alone, or the stages behind a tile."""


def runs(stages: Sequence[str], folded: Iterable[str]) -> tuple[Run, ...]:
    """The places of the strip: neighbours that are folded share one."""
    hidden, parted, is_open = set(folded), list[Run](), False
    for stage in stages:
        if stage in hidden and is_open:
            parted[-1] = (*parted[-1], stage)
        else:
            parted.append((stage,))
        is_open = stage in hidden
    return tuple(parted)


def fold(
    stages: Sequence[str], measure: Callable[[frozenset[str]], int], room: int, kept: Iterable[str]
) -> frozenset[str]:
    """The stages to fold so that the strip fits into `room` pixels; `kept` ones stay.

    `measure` returns the width of the strip with some stages folded. A group folds as a whole; a stage alone
    behind a tile saves little, so that comes last.
    """
    folded: frozenset[str] = frozenset()
    groups = folds()
    early, late = ([n for n in groups if (n >= MAY_BE_LAST) == is_late] for is_late in (False, True))
    for number, may_be_alone in (*((n, False) for n in early), *((n, True) for n in (*early, *late))):
        width = measure(folded)
        if width <= room:
            return folded
        more = folded | (groups[number] & frozenset(stages)) - frozenset(kept)
        if not may_be_alone:
            more -= {run[0] for run in runs(stages, more) if len(run) == 1}
        if measure(more) < width:
            folded = more
    return folded


SIDE = 28
CAPTION = 60
"""Room of a caption, in pixels; a longer one is elided and in the tooltip."""


class PipelinePanel(Panel):
    """Clicking a thumbnail opens its stage; the stages of the hovered cell's sources are outlined."""

    follows = ("stage", "head", "orientation", "locked")
    follows_player = True
    draws_gradients = True

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._thumbnails: dict[str, Thumbnail] = {}
        self._steps: dict[str, Step] = {}
        self._tiles: list[FoldTile] = []
        self._tile_steps: list[Step] = []
        self._stages: tuple[str, ...] = ()
        self._runs: tuple[Run, ...] = ()
        self._shown: tuple[str, ...] = ()
        """The stages with a thumbnail; the others of `_stages` are behind tiles."""
        self._unfolded: frozenset[str] = frozenset()
        self._said: tuple[ref[Experiment] | None, tuple[str, str]] = (None, ("", ""))
        self._fitted: tuple[object, ...] = ()
        """State that the strip was last arranged for."""
        says(self, name=N_("Pipeline"))
        self._strip = Strip()
        self._tile_to_measure, self._step_to_measure = FoldTile(SIDE, self._strip), Step(SIDE, self._strip)
        self._gap, self._gap_step = Gap(SIDE, self._strip), Step(SIDE, self._strip)
        self._tile_to_measure.hide()
        self._step_to_measure.hide()
        self._measured = Thumbnail(SIDE, self._strip, widest=CAPTION)
        self._measured.hide()
        self._gap.hide()
        self._gap_step.hide()
        self._scroll = clear_scroll(self._strip, sideways=True)
        self._scroll.setObjectName("pipeline_scroll")
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        # From the first layout on: a window shares the height out before the first trace.
        self._scroll.setFixedHeight(Thumbnail(SIDE).sizeHint().height())
        # Where a thumbnail stands is known once the strip has been laid out, which Qt does later.
        self._laid_out = QTimer(self)
        self._laid_out.setSingleShot(True)
        self._laid_out.setInterval(0)
        self._laid_out.timeout.connect(self._bring_into_sight)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._scroll, 1)

    def set_seen(self, is_seen: bool) -> None:
        super().set_seen(is_seen)
        self._declare()

    def on_document(self, old: Document | None, new: Document) -> None:
        if old is None or self.store.trace is None:
            return
        if old.view.stage != new.view.stage:
            self._fold_anew()
            self._select()
        if old.view.locked != new.view.locked:
            self._light(self.store.drawn_site)
        if (old.view.head, old.view.orientation) != (new.view.head, new.view.orientation):
            self._paint(self.store.drawn_site)

    def on_trace(self, trace: Trace) -> None:
        self._paint(self.store.drawn_site)

    def on_hover(self, cell: Cell | None) -> None:
        if self.store.trace is not None:
            self._light(self.store.drawn_site)

    def on_stage_hover(self, stage: str) -> None:
        for name, thumbnail in self._thumbnails.items():
            thumbnail.set_pointed(name == stage)
        for tile in self._tiles:
            tile.set_pointed(stage in tile.stages and tile.isVisible())

    def retranslate(self) -> None:
        if self.store.trace is not None and self._stages:
            self._paint(self.store.drawn_site)  # shorter captions leave room for other stages

    def _arrange(self) -> bool:
        """Fold what has no room, and show the thumbnails and tiles in order; True if they are others."""
        chosen = self.store.document.view.stage
        captions = tuple((self._thumbnails[s].caption, self._steps[s].text) for s in self._stages)
        fitted = (self._stages, captions, self._scroll.width(), chosen, self._unfolded)
        if fitted == self._fitted:
            return False
        self._fitted, before = fitted, self._shown
        folded = self._folded()
        self._runs = runs(self._stages, folded)
        self._shown = tuple(run[0] for run in self._runs if run[0] not in folded)
        behind = [run for run in self._runs if run[0] in folded]
        tiles = iter(enumerate(behind))
        for spare in self._tiles[len(behind) :]:
            spare.clear()
        places = [
            self._place(run[0]) if run[0] not in folded else self._tile(*next(tiles)) for run in self._runs
        ]
        self._strip.set_places(self._with_gap(places))
        self._select()
        self._declare()
        return self._shown != before

    def _declare(self) -> None:
        """Name the thumbnails in sight, which the next run computes: before the first numbers, all stages."""
        self.store.pictured = (frozenset(self._shown) or None) if self.is_seen else frozenset()

    def _folded(self) -> frozenset[str]:
        """The stages behind tiles: never the first, the chosen one, and those that were unfolded last."""
        kept = {self.store.document.view.stage, *self._stages[:1], *self._unfolded}

        shown = {stage: self._place(stage) for stage in self._stages}
        tile = Place.of(self._tile_to_measure, self._step_to_measure, TILE_WIDTH, TILE_WIDTH)

        def measure(folded: frozenset[str]) -> int:
            places = runs(self._stages, folded)
            return least_width([tile if run[0] in folded else shown[run[0]] for run in places])

        return fold(self._stages, measure, self._scroll.width(), kept)

    def _place(self, stage: str) -> Place:
        thumbnail = self._thumbnails[stage]
        return Place.of(thumbnail, self._steps[stage], SIDE + 8, thumbnail.whole_width())

    def _with_gap(self, places: list[Place]) -> list[Place]:
        """The places with the one of the masks kept free, if these are absent and neither a folded stage nor
        a caption needs the room.

        A mask that is switched then moves no thumbnail.
        """
        raw_map, mask = raw_map_of(self._stages) if self._stages else "", MASKED_STAGES[0]
        before = next((at for at, run in enumerate(self._runs) if run[0] == raw_map), 0)
        if mask in self._stages or before == 0 or self._shown != self._stages:
            return places
        self._measured.set_caption(_(STAGE_BY_ID[mask].title), "")
        self._step_to_measure.set_text(stage_operation(self.store.attention, mask))
        as_mask = Place.of(self._measured, self._step_to_measure, SIDE + 8, self._measured.whole_width())
        gap = replace(as_mask, picture=self._gap, step=self._gap_step)
        widened = [*places[:before], gap, *places[before:]]
        return widened if least_width(captioned(widened)) <= self._scroll.width() else places

    def _tile(self, index: int, run: Run) -> Place:
        if index == len(self._tiles):
            tile, step = FoldTile(SIDE, self._strip), Step(SIDE, self._strip)
            tile.clicked.connect(self._on_unfold)
            tile.apply_theme(self.theme)
            step.apply_theme(self.theme)
            self._tiles.append(tile)
            self._tile_steps.append(step)
        self._tiles[index].set_stages(run)
        return Place.of(self._tiles[index], self._tile_steps[index], TILE_WIDTH, TILE_WIDTH)

    def _add_thumbnail(self, stage: str) -> None:
        thumbnail = Thumbnail(SIDE, self._strip, widest=CAPTION)
        thumbnail.setObjectName(f"stage_{stage}")
        thumbnail.setProperty("stage", stage)
        thumbnail.apply_theme(self.theme)
        thumbnail.clicked.connect(self._on_clicked)
        thumbnail.walked.connect(self._on_walked)
        thumbnail.pointed.connect(self._on_pointed)
        thumbnail.hide()
        self._thumbnails[stage] = thumbnail
        self._steps[stage] = Step(SIDE, self._strip)
        self._steps[stage].apply_theme(self.theme)
        self._steps[stage].hide()

    def _paint(self, site: SiteTrace) -> None:
        view = self.store.document.view
        transposed = view.orientation == "queries_as_columns"
        if site.stages != self._stages:  # also where site and head change in one look
            self._stages, self._unfolded = site.stages, frozenset()
            for stage in site.stages:
                if stage not in self._thumbnails:
                    self._add_thumbnail(stage)
        self._say_changed(site)
        self._arrange()
        for stage in self._shown:
            values, hidden = site.overview(stage, shown_head(site.experiment, view, stage))
            shape = site.shape(stage)[-2:]
            self._thumbnails[stage].set_values(
                values, site.is_signed(stage), hidden, transposed=transposed, shape=shape
            )
        self._light(site)

    def _say_changed(self, site: SiteTrace) -> None:
        """Write the captions, unless they are those of the last numbers, as in every frame of a drag."""
        assert self.store.drawn_trace is not None
        experiment, (before, was_of) = self.store.drawn_trace.experiment, self._said
        own = (site.name, site.quantity)
        self._said = ref(experiment), own
        last = None if before is None else before()
        is_alike = last is not None and own == was_of and experiment.differs_in_vectors(last)
        if not is_alike or site.quantity != "value":  # a gradient is named after its target
            self._say(site)

    def _say(self, site: SiteTrace) -> None:
        """Write the captions and the operations."""
        for stage in self._stages:
            if stage in site.stages:
                self._caption(stage, site)
                self._steps[stage].set_text(operation(site, stage))
        for tile in self._tiles:
            tile.retranslate()

    def _light(self, site: SiteTrace) -> None:
        view, focus = self.store.document.view, self.store.focus
        for stage in self._shown:
            self._thumbnails[stage].set_lit(highlight(site, view, stage, focus))

    def _caption(self, stage: str, site: SiteTrace) -> None:
        title = _(STAGE_BY_ID[stage].title)
        shape = " × ".join(map(str, site.shape(stage)))
        formula = stage_formula(site.experiment, stage)
        self._thumbnails[stage].set_caption(
            title, f"{site.called(stage)}\n{formula}\n{stage_axes(stage)} = {shape}"
        )

    def _select(self) -> None:
        chosen = self.store.document.view.stage
        for stage, thumbnail in self._thumbnails.items():
            thumbnail.set_selected(stage == chosen)
        shown = [self._thumbnails[stage] for stage in self._shown]
        rove(shown, self._shown.index(chosen) if chosen in self._shown else -1)
        self._laid_out.start()

    @Slot()
    def _bring_into_sight(self) -> None:
        chosen = self.store.document.view.stage
        if chosen in self._shown:
            self._scroll.ensureWidgetVisible(self._thumbnails[chosen], 60, 0)

    def _fold_anew(self) -> None:
        """Another width, or another chosen stage: thumbnails that come into sight are painted."""
        if self._stages and self.store.trace is not None and self._arrange():
            self._paint(self.store.drawn_site)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fold_anew()
        self._laid_out.start()

    @Slot()
    def _on_unfold(self) -> None:
        """Show the stages behind a tile; others fold for them."""
        tile = self.sender()
        assert isinstance(tile, FoldTile)
        self._unfolded = frozenset(tile.stages)
        self._fold_anew()

    @Slot(bool)
    def _on_pointed(self, is_pointed: bool) -> None:
        self.store.set_stage_hover(self.sender().property("stage") if is_pointed else "")

    @Slot(int)
    def _on_walked(self, step: int) -> None:
        """An arrow key: open the next stage of the strip; none from a thumbnail that has just left it."""
        stage = self.sender().property("stage")
        place = self._shown.index(stage) + step if stage in self._shown else -1
        if 0 <= place < len(self._shown):
            self.store.look(stage=self._shown[place])

    @Slot()
    def _on_clicked(self) -> None:
        self.store.look(stage=self.sender().property("stage"))


def operation(site: SiteTrace, stage: str) -> str:
    """The step that leads to a stage, with this experiment's numbers in it."""
    experiment = site.experiment
    if stage == "scaled":
        sign, _number, written = experiment.scale.step(experiment.d_qk)
        heat = "" if experiment.temperature == 1.0 else f"÷{experiment.temperature:.3g}"
        return " ".join(part for part in (sign + written, heat) if part)
    return bind(experiment, stage).label or stage_operation(experiment, stage)
