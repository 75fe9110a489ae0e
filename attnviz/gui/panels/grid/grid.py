"""The grid of heads: every head of every layer as a small map, clicked to go there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Slot
from PySide6.QtWidgets import QWidget

from attnviz.core.head_scores import HEAD_SCORE_BY_ID
from attnviz.core.levels import levels
from attnviz.core.phrases import enumerated
from attnviz.core.text import isolated, number, signed, visible
from attnviz.gui.live.answer import Answer
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import says
from attnviz.gui.panels.grid import questions
from attnviz.gui.panels.grid.canvas import GridCanvas, Picture, Place
from attnviz.gui.panels.grid.controls import BY_SCORE, GridControls
from attnviz.gui.panels.grid.frames import EFFECT, NO_SCORE
from attnviz.gui.panels.grid.heads import Heads
from attnviz.gui.panels.grid.questions import EffectsAsked, FactsAsked, SearchAsked
from attnviz.gui.panels.grid.tiles import Tiles, shows_scores
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.elided_label import ElidedLabel, WholeLabel
from attnviz.gui.widgets.heat.content import cell_indices, color_kind
from attnviz.gui.widgets.linked_text import LinkedText, head_link, head_of, line
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _, ngettext
from attnviz.model.sites.sites import at
from attnviz.model.sites.stages import raw_map_of, score_stages
from attnviz.model.sites.titles import layer_label, site_label
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell, HeadGrid
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.text import shown_token
from attnviz.model.trace import Trace
from attnviz.study.heads.orders import ordered
from attnviz.study.heads.search import Found, wanted
from attnviz.study.heads.tiles import Facts, Tile, grid_stage

if TYPE_CHECKING:
    from attnviz.study.ablation import Effects

MOST_NAMED = 3
"""Heads that are named by their score or their effect."""

Named = Callable[[str, int], str]
"""The title of a head, by its site and its number."""


def words_of_facts(facts: Facts | None, first: str) -> list[str]:
    """The key that gets most weight, and the scores; nothing before they arrive.

    `first` is the score that stands before all others, since the end of the line may be cut.
    """
    if facts is None:
        return []
    scores = {
        id_: f"{_(HEAD_SCORE_BY_ID[id_].title)} {number(score, 2)}"
        for id_, score in facts.scores.items()
        if not math.isnan(score)
    }
    parts = [scores.pop(first)] if first in scores else []
    if facts.look is not None:
        attends = _("attends most to “{key}”: {weight} on average")
        key = isolated(visible(facts.look.key))
        parts.append(attends.format(key=key, weight=number(facts.look.weight, 3)))
    return parts + list(scores.values())


def links_of_best(score: str, heads: Sequence[tuple[str, int, float]], named: Named) -> str:
    """The heads with the largest values of a score, as links."""
    best = sorted(heads, key=lambda one: -one[2])[:MOST_NAMED]
    titles = [f"{head_link(site, head, named(site, head))} {number(value, 3)}" for site, head, value in best]
    title = escape(_(HEAD_SCORE_BY_ID[score].title))
    said = _("Largest {score}: {heads}").format(score=title, heads=enumerated(titles))
    return line(said, "white-space: nowrap")


def words_of_effects(effects: Effects, trace: Trace, only: tuple[str, int] | None, named: Named) -> str:
    """The change of the logit without one head, else without those that change it most."""
    changes = [
        (float(change), site, head)
        for site, values in effects.values.items()
        for head, change in enumerate(values)
        if only in (None, (site, head))
    ]
    changes.sort(key=lambda one: -abs(one[0]))
    titles = [f"{named(site, head)} {signed(change)}" for change, site, head in changes[:MOST_NAMED]]
    return _("The logit of “{token}” is {base}; without the head: {changes}").format(
        token=isolated(shown_token(trace.experiment.vocabulary, effects.target.token)),
        base=number(effects.base, 3),
        changes=enumerated(titles),
    )


def words_of_found(hit: Found, trace: Trace, named: Named) -> str:
    """The head, the two words and the weight between them."""
    site = trace.site(hit.site)
    query, key = site.names("query")[hit.query], site.names("key")[hit.key]
    words = f"{isolated(visible(query))} → {isolated(visible(key))} {number(hit.weight, 3)}"
    return f"{named(hit.site, hit.head)} · {words}"


class GridPanel(Panel):
    """Asks for the tiles while it is seen, and draws each attention as its tiles arrive.

    While two words are searched, the frames are the greatest weight from one to the other.
    """

    follows = ("stage", "head", "site", "ranges", "orientation", "grid")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._trace: Trace | None = None
        self._tiles = Tiles(self.asks(Answer("grid", questions.tiles, self, in_turn=True)), self)
        self._tiles.arrived.connect(self._on_tiles)
        self._facts = self.asks(Answer("facts", questions.facts, self))
        self._facts.answered.connect(self._on_facts)
        self._search = self.asks(Answer("search", questions.search, self))
        self._search.answered.connect(self._show_frames)
        self._effects = self.asks(Answer("effects", questions.effects, self, keeps=False))
        self._effects.changed.connect(self._on_effects)
        says(self, name=N_("All heads"))
        self.canvas = says(GridCanvas(), name=N_("All heads"))
        self.canvas.hovered.connect(self._say)
        self.canvas.chosen.connect(self._on_chosen)
        self.controls = GridControls()
        self.controls.looked.connect(self._on_look)
        self.controls.searched.connect(self._on_search)
        self.controls.entered.connect(self._on_best)
        self.controls.effect.again.connect(self._effects.again)
        store.head_names.changed.connect(self._on_named)
        store.opened.connect(self._on_opened)
        self._said, self._scale = ElidedLabel(), WholeLabel()
        self._said.setObjectName("grid_said")
        self._said.setFont(ui_font(TEXT_PX))
        self._scale.setObjectName("grid_scale")
        self._best = LinkedText("grid_best", TEXT_PX)
        self._best.chosen.connect(self._on_best_head)
        column = in_column(self, self.controls, spacing=GRID // 2)
        column.addWidget(self.canvas, 1)
        below = in_row(None, spacing=GRID)  # in the rows above, a small window would cut the number
        below.addWidget(self._said, 1)
        below.addWidget(self._best, 1)
        below.addWidget(self._scale)
        column.addLayout(below)
        set_tone("muted", self._said, self._scale)

    @property
    def tiles(self) -> dict[Place, Tile]:
        """The tiles that arrived."""
        return self._tiles.shown

    @property
    def heads(self) -> Heads:
        """The heads of the shown run."""
        return self._tiles.heads

    def sizeHint(self) -> QSize:
        return QSize(720, 320)

    def minimumSizeHint(self) -> QSize:
        return QSize(320, 96)

    def on_document(self, old: Document | None, new: Document) -> None:
        if old is None or old.view.grid != new.view.grid:
            self._take(new.view.grid)
        if old is None or self._trace is None:
            return
        before, after = old.view, new.view
        if before.stage != after.stage:
            self._ask(self._trace)
        elif before.ranges != after.ranges or before.orientation != after.orientation:
            self._paint(list(self.tiles))
        self._show_chosen()

    def _take(self, grid: HeadGrid) -> None:
        """Show what the view says of the frames and of the order."""
        self.controls.take(grid)
        if self._trace is not None and self._tiles.lacks_facts(self.store.document.view):
            self._tiles.ask(self._trace, self.store.document.view)
        self._ask_effects()
        self._show_frames()

    def on_trace(self, trace: Trace) -> None:
        if trace is not self._trace:
            self._ask(trace)
        self._show_chosen()

    def set_seen(self, is_seen: bool) -> None:
        """Behind another tab the panel holds no trace."""
        if not is_seen and self.is_seen:
            self._trace = None
            self._tiles.stop()
            for answer in self.answers:
                answer.clear()
        super().set_seen(is_seen)
        if is_seen and self._trace is None and self.store.trace is not None:
            self.on_trace(self.store.trace)

    def retranslate(self) -> None:
        self._show_frames()

    # --- asking and painting

    def _ask(self, trace: Trace) -> None:
        """Request every head that is not drawn; old tiles stay until new ones replace them, if the shape is
        the same.
        """
        self._search.clear()
        if trace is not self._trace:  # of an earlier run nothing is held
            self._effects.clear()
            self._facts.clear()
        view, self._trace = self.store.document.view, trace
        self._tiles.become(trace, view)
        self.canvas.set_off(self.heads.off)
        self._show_shape(trace)
        self._tiles.complete(trace, view)
        self._on_search(self.controls.sought)
        self._ask_effects()

    def _ask_effects(self) -> None:
        """Request the effects of the present trace while they frame the heads; else stop."""
        trace, grid = self._trace, self.store.document.view.grid
        is_shown = trace is not None and grid.frames == EFFECT
        self._effects.ask(
            EffectsAsked(trace, grid.token, grid.replaced_by) if trace is not None and is_shown else None
        )

    @Slot(object)
    def _on_tiles(self, places: list[Place]) -> None:
        self._paint(places)
        self._show_frames()

    @Slot()
    def _on_facts(self) -> None:
        """State the facts of a head, unless the trace is another one by now."""
        of, facts = self._facts.of, self._facts.result
        place = None if of is None or of.trace is not self._trace else self.heads.place(of.site, of.head)
        if place is not None and facts is not None:
            self._tiles.facts[place] = facts
            self._say(self.canvas.current)

    @Slot()
    def _on_effects(self) -> None:
        self.controls.effect.offer_again(self._effects.problem is not None)
        effects = self._effects.result
        if effects is not None:
            vocabulary = self.store.experiment.vocabulary
            self.controls.effect.show_likeliest(shown_token(vocabulary, effects.target.token))
        self._show_frames()

    def _show_shape(self, trace: Trace) -> None:
        """The groups with their layers and heads, and the line that counts them."""
        stage, heads = self.store.document.view.stage, self.heads
        across = _("Rank") if self._is_by_score() else _("Heads")
        self.canvas.set_shape(heads.blocks, heads.titles, (across, _("Layers")))
        stages = dict.fromkeys(grid_stage(trace.site(name), stage) for name in trace.sites)
        shown = enumerated(_(STAGE_BY_ID[stage].title) for stage in stages)
        n_heads, n_tokens = heads.count, trace.experiment.n_queries
        counts = (
            ngettext("{n} head", "{n} heads", n_heads).format(n=n_heads),
            ngettext("{n} token", "{n} tokens", n_tokens).format(n=n_tokens),
        )
        self.controls.title.setText(" · ".join((*counts, shown)))

    def _paint(self, places: list[Place]) -> None:
        self.canvas.set_pictures({place: self._picture(self.tiles[place]) for place in places})

    def _picture(self, tile: Tile) -> Picture:
        """Colours of a tile in the view's range and orientation."""
        view = self.store.document.view
        if self._trace is None:
            stage = raw_map_of(score_stages(at(self.store.experiment, tile.site)))
        else:
            stage = grid_stage(self._trace.site(tile.site), view.stage)
        is_signed, range_id = STAGE_BY_ID[stage].signed, view.range_of(stage)
        ends = self._ends(is_signed) if range_id == "global" else None
        indices, _used = cell_indices(tile.values, is_signed, range_id, ends, tile.hidden)
        is_turned = view.orientation == "queries_as_columns"
        return Picture(indices.T if is_turned else indices, color_kind(is_signed, range_id))

    def _ends(self, is_signed: bool) -> tuple[float, float]:
        """One range over all tiles that arrived."""
        ends = [levels(tile.values, "global", is_signed, tile.hidden) for tile in self.tiles.values()]
        return min(low for low, _high in ends), max(high for _low, high in ends)

    @Slot()
    def _show_frames(self) -> None:
        """Frame the heads by their numbers, put those of each layer in the chosen order, and say them."""
        has_references = bool(self.store.experiment.references)
        self.controls.enable(has_numbers=self._has_numbers(), has_references=has_references)
        matching = self._matching()
        scores = self._scores_of_frames(matching)
        self.canvas.set_scores(scores, has_numbers=bool(scores) and not matching)
        is_plain = not matching and not self.controls.sought
        self.canvas.set_struck(self._scores(are_off=True) if is_plain else {})
        most = self.canvas.largest_score
        is_scaled = bool(most) and not matching
        self._scale.setText(_("full frame: {score}").format(score=number(most, 3)) if is_scaled else "")
        self.canvas.set_orders(self._orders_by(scores) if self._is_by_score() else {})
        if self._trace is not None:
            self._show_shape(self._trace)
        self._say(self.canvas.current)

    def _scores_of_frames(self, matching: dict[Place, tuple[str, int]]) -> dict[Place, float]:
        if matching:
            return dict.fromkeys(matching, 1.0)
        if self.controls.sought:
            return {place: max(one.weight, 0.0) for place, one in self._best_of_heads().items()}
        if self.store.document.view.grid.frames == EFFECT:
            return self._supports()
        return self._scores()

    def _scores(self, *, are_off: bool = False) -> dict[Place, float]:
        """The shown score of each head that has one and is on, or `are_off`."""
        view = self.store.document.view
        if not shows_scores(view):
            return {}
        facts = {place: of for place, of in self._tiles.facts.items() if (place in self.heads.off) == are_off}
        scores = {place: of.scores[view.grid.frames] for place, of in facts.items()}
        return {place: score for place, score in scores.items() if not math.isnan(score)}

    def _has_numbers(self) -> bool:
        """True if the heads have numbers, of a score or of a search."""
        return self.store.document.view.grid.frames != NO_SCORE or bool(self.controls.sought)

    def _is_by_score(self) -> bool:
        return self.store.document.view.grid.order == BY_SCORE.id and self._has_numbers()

    def _orders_by(self, scores: dict[Place, float]) -> dict[tuple[int, int], tuple[int, ...]]:
        """The heads of each layer, those with the largest scores first."""
        orders = {}
        for group, layer, n_heads in self.heads.sites.values():
            values = tuple(scores.get((group, layer, head), math.nan) for head in range(n_heads))
            orders[group, layer] = ordered(values, BY_SCORE, n_heads)
        return orders

    def _supports(self) -> dict[Place, float]:
        """Support of the logit by each head; a negative one works against it."""
        effects = self._effects.result
        if effects is None:
            return {}
        changes = effects.values.items()
        return self.heads.placed(
            (site, head, -float(change)) for site, values in changes for head, change in enumerate(values)
        )

    def _best_of_heads(self) -> dict[Place, Found]:
        """The findings of the latest search that has any."""
        return self.heads.placed((one.site, one.head, one) for one in self._search.result or ())

    def _show_chosen(self) -> None:
        document = self.store.document
        self.canvas.set_chosen(self.heads.place(document.site, document.view.head))

    # --- hovering and choosing

    @Slot(object)
    def _on_chosen(self, place: Place) -> None:
        """Go to the layer and the head."""
        tile = self.tiles.get(place)
        if tile is not None:
            self.store.look(site=tile.site, head=tile.head)

    @Slot(object)
    def _say(self, place: Place | None) -> None:
        """The place, the key with most of the weight and the score of one head, or what the grid does."""
        tile, trace = None if place is None else self.tiles.get(place), self._trace
        if self.controls.sought:
            sentence = self._said_found(place)
        elif trace is not None and self.store.document.view.grid.frames == EFFECT:
            sentence = self._said_effect(trace, tile)
        elif tile is not None and trace is not None:
            sentence = self._said_head(trace, tile)
        else:
            self._show_best()
            return
        self._show_line(sentence)

    def _show_line(self, sentence: str) -> None:
        self._best.hide()
        self._said.show()
        self._said.set_line(sentence)
        self.canvas.setAccessibleDescription(sentence)

    def _said_head(self, trace: Trace, tile: Tile) -> str:
        place = self.heads.place(tile.site, tile.head)
        if place not in self._tiles.facts:
            self._facts.ask(FactsAsked(trace, tile.site, tile.head))
        facts = None if place is None else self._tiles.facts.get(place)
        off = [_("switched off")] if place in self.heads.off else []
        parts = words_of_facts(facts, self.store.document.view.grid.frames)
        return " · ".join([self._title(tile.site, tile.head), *off, *parts])

    def _show_best(self) -> None:
        """The heads with the largest of the shown scores, each a link; else what the grid does."""
        scores, view = self._scores(), self.store.document.view
        if self._trace is None or not scores or self._tiles.lacks_facts(view):
            self._show_line(_("Click a head to select it; hover it to see the key that gets most weight."))
            return
        heads = [(self.heads.site_at(place), place[2], score) for place, score in scores.items()]
        self._best.set_body(links_of_best(view.grid.frames, heads, self._short_title))
        self._best.show()
        self._said.hide()
        self.canvas.setAccessibleDescription(self._best.toPlainText())

    @Slot(str)
    def _on_best_head(self, address: str) -> None:
        site, head = head_of(address)
        self.store.look(site=site, head=head)

    def _said_effect(self, trace: Trace, tile: Tile | None) -> str:
        effects, problem = self._effects.result, self._effects.problem
        if effects is None:
            return _("Computing the effect of each head…") if problem is None else problem.text()
        only = None if tile is None else (tile.site, tile.head)
        return words_of_effects(effects, trace, only, self._short_title)

    def _said_found(self, place: Place | None) -> str:
        """The searched weight of one head, else the greatest of all; or the heads of the searched name."""
        matching, best_of = self._matching(), self._best_of_heads()
        if matching:
            chosen = [matching[place]] if place in matching else list(matching.values())
            return enumerated([self._title(*one) for one in chosen[:MOST_NAMED]])
        best = max(best_of, key=lambda one: best_of[one].weight, default=None)
        place = place if place in best_of else best
        if place is None or self._trace is None:
            return _("The text has no such tokens.")
        return words_of_found(best_of[place], self._trace, self._title)

    def _title(self, site: str, head: int) -> str:
        experiment = self.store.experiment if self._trace is None else self._trace.experiment
        return f"{site_label(experiment, site)} · {self.store.head_names.title(experiment, site, head)}"

    def _short_title(self, site: str, head: int) -> str:
        """The head in few words, for a line of several heads."""
        experiment = self.store.experiment if self._trace is None else self._trace.experiment
        return f"{layer_label(experiment, site)} · {self.store.head_names.title(experiment, site, head)}"

    def _matching(self) -> dict[Place, tuple[str, int]]:
        """The named heads whose name has the searched text, by their places."""
        words = self.controls.sought.casefold()
        if not words or self._trace is None:
            return {}
        named = self.store.head_names.named(self._trace.experiment)
        return self.heads.placed((*at, at) for at, name in named.items() if words in name.casefold())

    @Slot()
    def _on_named(self) -> None:
        self._on_search(self.controls.sought)

    @Slot(str)
    def _on_search(self, text: str) -> None:
        sought = None if self._matching() else wanted(text)
        if sought is not None and self._trace is not None:
            self._search.ask(SearchAsked(self._trace, sought))
        else:
            self._search.clear()
        self._show_frames()

    @Slot()
    def _on_best(self) -> None:
        """Go to the head with the greatest weight, and lock its cell."""
        matching, hits = self._matching(), self._search.result
        if matching:
            site, head = next(iter(matching.values()))
            self.store.look(site=site, head=head)
        elif hits:
            best = max(hits, key=lambda one: one.weight)
            stage = raw_map_of(score_stages(at(self.store.experiment, best.site)))
            cell = Cell(stage, best.query, best.key, best.head, best.site)
            self.store.look(site=best.site, head=best.head, query=best.query, stage=stage, locked=cell)

    @Slot(object)
    def _on_look(self, grid: HeadGrid) -> None:
        """Keep the frames and the order in the view, which shows them."""
        self.store.look(grid=grid)

    @Slot()
    def _on_opened(self) -> None:
        """Tiles of another document are not shown under this one."""
        self._trace = None
        self._tiles.clear()
        self.canvas.clear()
