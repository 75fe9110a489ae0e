"""The grid of heads: every head of every layer as a small map, clicked to go there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from weakref import ref

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from attnviz.core.head_scores import HEAD_SCORE_BY_ID
from attnviz.core.levels import levels
from attnviz.core.phrases import enumerated
from attnviz.core.text import isolated, number, signed, visible
from attnviz.gui.live.grid import EffectsAsked, FactsAsked, GridAsked, SearchAsked
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.panels.grid.canvas import GridCanvas, Picture, Place
from attnviz.gui.panels.grid.effect import EffectLine
from attnviz.gui.panels.grid.frames import EFFECT, FRAMES, NO_SCORE
from attnviz.gui.panels.grid.layout import Block
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.control import plain_tooltip
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.gui.widgets.elided_label import ElidedLabel, WholeLabel
from attnviz.gui.widgets.heat.content import cell_indices, color_kind
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _, ngettext
from attnviz.model.sites.titles import layer_label, site_label
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell, HeadGrid
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.text import shown_token
from attnviz.model.trace import Trace
from attnviz.study.heads.orders import HEAD_ORDERS, HeadOrder, ordered
from attnviz.study.heads.search import Found, wanted
from attnviz.study.heads.tiles import Facts, Group, Tile, grid_stage, groups

if TYPE_CHECKING:
    from attnviz.errors import Message
    from attnviz.study.ablation import Effects

FEW_HEADS = 64
"""Up to this number of heads tiles are large, and have more cells."""
LARGE_SIDE, SMALL_SIDE = 256, 128
"""Most cells along a side of a tile."""
MOST_NAMED = 3
"""Heads that are named by their score or their effect."""
SEARCH_WIDTH = 280

BY_SCORE = HeadOrder(
    "score",
    N_("by score"),
    N_("Orders the heads of each layer by what the frames show, largest first"),
    falls=True,
)
_ORDERS = (HEAD_ORDERS[0], BY_SCORE)

GROUP_TITLES = {
    ("layers", "self"): N_("self-attention"),
    ("layers", "cross"): N_("cross-attention"),
    ("encoder", "self"): N_("encoder"),
    ("decoder", "self"): N_("decoder self-attention"),
    ("decoder", "cross"): N_("decoder cross-attention"),
}


class GridPanel(Panel):
    """Asks for the tiles while it is seen, and draws each attention as its tiles arrive.

    While two words are searched, the frames are the greatest weight from one to the other.
    """

    asked = Signal(object)
    """A GridAsked, or None when the panel is hidden; the answers come through `show_tiles`."""

    facts_asked = Signal(object)
    """A FactsAsked; the answer comes through `show_facts`."""

    search_asked = Signal(object)
    """A SearchAsked; the answer comes through `show_found`."""

    effects_asked = Signal(object)
    """An EffectsAsked, or None to stop; the answer comes through `show_effects` or `show_no_effects`."""

    follows = ("stage", "head", "site", "ranges", "orientation", "grid")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._groups: tuple[Group, ...] = ()
        self._tiles: dict[Place, Tile] = {}
        self._facts: dict[Place, Facts] = {}
        """The facts of the heads of `_trace` that arrived; older ones until the frames show the new ones."""
        self._facts_asked: FactsAsked | None = None
        self._trace: Trace | None = None
        self._drawn: tuple[object, ...] = ()
        """Trace, weakly, and look of the tiles of `_arrived`: hidden and shown again, they still apply."""
        self._arrived: set[Place] = set()
        self._places: dict[str, tuple[int, int, int]] = {}
        """Group, layer and number of heads of each attention."""
        self._stage = "weights"
        self.canvas = GridCanvas()
        self._title, self._said = QLabel(), ElidedLabel()
        self._title.setObjectName("grid_title")
        self._said.setObjectName("grid_said")
        self._title.setFont(ui_font(TEXT_PX))
        self._said.setFont(ui_font(TEXT_PX))
        self._color_by, self._scale = QLabel(), WholeLabel()
        self._scale.setObjectName("grid_scale")
        self._color_by.setObjectName("grid_color_by")
        self._score = Segmented(_scores(), "")
        self._score.setObjectName("grid_score")
        self._score.set_value(NO_SCORE)
        self._score.changed.connect(self._on_look)
        self._order = Segmented(_orders(), "")
        self._order.setObjectName("grid_order")
        self._order.set_value(HEAD_ORDERS[0].id)
        self._order.changed.connect(self._on_look)
        self.effect = EffectLine()
        self.effect.hide()
        self.effect.changed.connect(self._on_look)
        self.effect.again.connect(self._ask_effects)
        self._effects_asked: EffectsAsked | None = None
        self._effects: Effects | None = None
        self._problem = ""
        self._search = DocumentLine(is_live=False)
        self._search.setObjectName("grid_search")
        self._search.setClearButtonEnabled(True)
        self._search.setMaximumWidth(SEARCH_WIDTH)
        self._search.textChanged.connect(self._on_search)
        self._search.returnPressed.connect(self._on_best)
        self._found: dict[Place, Found] = {}
        self._matching: dict[Place, tuple[str, int]] = {}
        store.head_names.changed.connect(self._on_named)
        self.canvas.hovered.connect(self._on_hovered)
        self.canvas.chosen.connect(self._on_chosen)
        store.opened.connect(self._on_opened)
        top = QHBoxLayout()
        top.setSpacing(GRID)
        top.addWidget(self._title)
        top.addStretch(1)
        top.addWidget(self._order)  # beside the scores both would be cut in a small window
        top.addWidget(self._search, 2)
        second = QHBoxLayout()
        second.setSpacing(GRID)
        second.addWidget(self._color_by)
        second.addWidget(self._score)
        second.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID // 2)
        column.addLayout(top)
        column.addLayout(second)
        column.addWidget(self.effect)
        column.addWidget(self.canvas, 1)
        below = QHBoxLayout()  # in the row above, a small window would cut the number
        below.addWidget(self._said, 1)
        below.addWidget(self._scale)
        column.addLayout(below)
        set_tone("muted", self._said, self._color_by, self._scale)
        set_tone("title", self._title)

    @property
    def tiles(self) -> dict[Place, Tile]:
        """The tiles that arrived."""
        return self._tiles

    def sizeHint(self) -> QSize:
        return QSize(720, 320)

    def minimumSizeHint(self) -> QSize:
        return QSize(320, 96)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_scores()

    def _fit_scores(self) -> None:
        """The words before the scores go where the scores need their room."""
        needed = self._color_by.sizeHint().width() + GRID + self._score.sizeHint().width()
        self._color_by.setVisible(needed <= self.width())

    def on_document(self, old: Document | None, new: Document) -> None:
        if old is None or old.view.grid != new.view.grid:
            self._take(new.view.grid)
        if old is None or self._trace is None:
            return
        before, after = old.view, new.view
        if before.stage != after.stage:
            self._ask(self._trace)
        elif before.ranges != after.ranges or before.orientation != after.orientation:
            self._paint(list(self._tiles))
        self._show_chosen()

    def _take(self, grid: HeadGrid) -> None:
        """Show what the view says of the frames and of the order."""
        self._score.set_value(grid.frames)
        self._order.set_value(grid.order)
        self.effect.take(grid.token, grid.replaced_by)
        self.effect.setVisible(grid.frames == EFFECT)
        if self._trace is not None and self._lacks_facts:
            self._ask_tiles(self._trace)
        asked, wants = self._effects_asked, grid.frames == EFFECT and self._trace is not None
        is_same = asked is not None and (asked.token, asked.by) == (grid.token, grid.replaced_by)
        if wants != (asked is not None) or wants and not is_same:
            self._ask_effects()
        self._frame()
        self._say(self.canvas.current)

    def on_trace(self, trace: Trace) -> None:
        if trace is not self._trace:
            self._ask(trace)
        self._show_chosen()

    def set_seen(self, is_seen: bool) -> None:
        """Behind another tab the panel holds no trace."""
        if not is_seen and self.is_seen:
            self._trace = None
            self.asked.emit(None)
            self._ask_effects()
        super().set_seen(is_seen)
        if is_seen and self._trace is None and self.store.trace is not None:
            self.on_trace(self.store.trace)

    def retranslate(self) -> None:
        self.setAccessibleName(_("All heads"))
        self.canvas.setAccessibleName(_("All heads"))
        self._color_by.setText(_("frames show"))
        self._score.set_options(_scores())
        self._enable_scores()
        self._order.set_options(_orders())
        self._fit_scores()
        self.effect.retranslate()
        self._score.setAccessibleName(_("Measure of the frames"))
        self._order.setAccessibleName(_("Order of the heads"))
        self._search.setPlaceholderText(_("Heads where … attends to …"))
        self._search.setAccessibleName(_("Heads where one word attends to another"))
        tip = _(
            "Two words, a key alone, or the name of a head: “she Lily”, “Lily”; Enter selects the best match"
        )
        self._search.setToolTip(plain_tooltip(tip))
        if self._trace is not None:
            self._show_shape(self._trace)
        self._say(None)

    def show_tiles(self, tiles: tuple[Tile, ...]) -> None:
        """Draw the tiles of one attention."""
        places = {}
        for tile in tiles:
            place = self._place(tile.site, tile.head)
            if place is not None:
                places[place] = tile
        self._tiles.update(places)
        self._facts.update({place: tile.facts for place, tile in places.items() if tile.facts is not None})
        self._arrived.update(places)
        self._paint(list(places))
        self._frame()
        self._say(self.canvas.current)

    def show_facts(self, asked: FactsAsked, facts: Facts) -> None:
        """State the facts of a head, unless the trace is another one by now."""
        place = self._place(asked.site, asked.head)
        if asked.trace is self._trace and place is not None:
            self._facts[place] = facts
            self._say(self.canvas.current)

    def show_found(self, asked: SearchAsked, found: tuple[Found, ...]) -> None:
        """Frame the heads by what was found, unless another search or another trace came meanwhile."""
        if asked.trace is self._trace and asked.wanted == wanted(self._search.text()):
            places = {self._place(one.site, one.head): one for one in found}
            self._found = {place: one for place, one in places.items() if place is not None}
            self._frame()
            self._say(self.canvas.current)

    def show_effects(self, asked: EffectsAsked, effects: Effects) -> None:
        """Frame the heads by their effects, unless others are wanted by now."""
        if asked is self._effects_asked:
            self._effects = effects
            self.effect.show_likeliest(shown_token(self.store.experiment.vocabulary, effects.target.token))
            self._frame()
            self._say(self.canvas.current)

    def show_no_effects(self, asked: EffectsAsked, why: Message) -> None:
        """Say why the effects are missing; the line above offers to compute them again."""
        if asked is self._effects_asked:
            self._problem = why.text()
            self.effect.offer_again(True)
            self._say(self.canvas.current)

    # --- asking and painting

    @Slot()
    def _ask_effects(self) -> None:
        """Request the effects of the present trace while they frame the heads; else stop."""
        self._effects, self._problem = None, ""
        self.effect.offer_again(False)
        before, self._effects_asked = self._effects_asked, None
        if self._trace is not None and self._score.value() == EFFECT:
            self._effects_asked = EffectsAsked(self._trace, self.effect.token, self.effect.way)
        if before is not None or self._effects_asked is not None:
            self.effects_asked.emit(self._effects_asked)

    def _ask(self, trace: Trace) -> None:
        """Request every head that is not drawn; old tiles stay until new ones replace them, if the shape is
        the same.
        """
        is_new, self._trace = trace is not self._trace, trace
        self._found, self._matching, self._effects = {}, {}, None
        self._facts_asked = None
        self._groups = groups(trace.experiment)
        self._places = {
            place.name: (group, layer, trace.site(place.name).experiment.heads.n_heads)
            for group, found in enumerate(self._groups)
            for layer, place in enumerate(found.places)
        }
        self.canvas.set_off(
            frozenset(
                (group, layer, head)
                for name, (group, layer, _count) in self._places.items()
                for head in trace.site(name).experiment.heads.off
            )
        )
        view = self.store.document.view
        drawn, self._stage = (ref(trace), view.stage, view.ranges, view.orientation), view.stage
        if drawn != self._drawn:
            self._drawn, self._arrived = drawn, set()
        self._show_shape(trace)
        self._tiles = {place: tile for place, tile in self._tiles.items() if place in self.canvas.pictures}
        stays = self._tiles if self._shows_scores or not is_new else ()
        self._facts = {place: facts for place, facts in self._facts.items() if place in stays}
        if not len(self._arrived) == len(self._tiles) == self._n_heads or self._lacks_facts:
            self._ask_tiles(trace)
        self._on_search(self._search.text())
        self._ask_effects()

    @property
    def _n_heads(self) -> int:
        return sum(count for _group, _layer, count in self._places.values())

    @property
    def _shows_scores(self) -> bool:
        """True if the frames show a score, so that the facts of all heads are needed."""
        return self._score.value() in HEAD_SCORE_BY_ID

    @property
    def _lacks_facts(self) -> bool:
        return self._shows_scores and len(self._facts) < self._n_heads

    def _ask_tiles(self, trace: Trace) -> None:
        stages = {name: grid_stage(trace.site(name), self._stage) for name in trace.sites}
        side = LARGE_SIDE if self._n_heads <= FEW_HEADS else SMALL_SIDE
        self.asked.emit(GridAsked(trace, stages, side, self._shows_scores))

    def _show_shape(self, trace: Trace) -> None:
        """The groups with their layers and heads, and the line that counts them."""
        experiment = trace.experiment
        heads = [[self._places[place.name][2] for place in group.places] for group in self._groups]
        blocks = [Block(len(of_layers), max(of_layers)) for of_layers in heads]
        titles = [_(GROUP_TITLES[group.stack, group.kind]) for group in self._groups]
        down = _("Rank") if self._is_by_score() else _("Heads")
        self.canvas.set_shape(blocks, titles, (_("Layers"), down))
        stages = dict.fromkeys(grid_stage(trace.site(name), self._stage) for name in trace.sites)
        shown = enumerated(_(STAGE_BY_ID[stage].title) for stage in stages)
        n_heads, n_tokens = sum(map(sum, heads)), experiment.n_queries
        counts = (
            ngettext("{n} head", "{n} heads", n_heads).format(n=n_heads),
            ngettext("{n} token", "{n} tokens", n_tokens).format(n=n_tokens),
        )
        self._title.setText(" · ".join((*counts, shown)))

    def _paint(self, places: list[Place]) -> None:
        self.canvas.set_pictures({place: self._picture(self._tiles[place]) for place in places})

    def _picture(self, tile: Tile) -> Picture:
        """Colours of a tile in the view's range and orientation."""
        view = self.store.document.view
        stage = "weights" if self._trace is None else grid_stage(self._trace.site(tile.site), self._stage)
        signed, range_id = STAGE_BY_ID[stage].signed, view.range_of(stage)
        ends = self._ends(stage, signed) if range_id == "global" else None
        indices, _used = cell_indices(tile.values, signed, range_id, ends, tile.hidden)
        is_turned = view.orientation == "queries_as_columns"
        return Picture(indices.T if is_turned else indices, color_kind(signed, range_id))

    def _ends(self, stage: str, signed: bool) -> tuple[float, float]:
        """One range over all tiles that arrived."""
        found = [levels(tile.values, "global", signed, tile.hidden) for tile in self._tiles.values()]
        return min(low for low, _high in found), max(high for _low, high in found)

    def _frame(self) -> None:
        """Frame the heads by their numbers, and put those of each layer in the chosen order."""
        is_searched = bool(self._search.text().strip())
        self._score.set_unavailable(_("The search sets the frames") if is_searched else None)
        self._order.set_unavailable(None if self._is_scored() else _("Choose what the frames show first"))
        self._enable_scores()
        scores = self._scores_of_frames(is_searched)
        self.canvas.set_scores(scores)
        most = self.canvas.largest_score
        is_scaled = bool(most) and not (is_searched and self._matching)
        self._scale.setText(_("full frame: {score}").format(score=number(most, 3)) if is_scaled else "")
        self.canvas.set_orders(self._orders_by(scores) if self._is_by_score() else {})
        if self._trace is not None:
            self._show_shape(self._trace)

    def _enable_scores(self) -> None:
        """A score of labels can be chosen where the document has them."""
        reason = _("Let a pronoun refer to its name first: right-click their cell in the map of weights")
        for row in FRAMES:
            if row.needs_references:
                has_any = bool(self.store.experiment.references)
                self._score.set_option_unavailable(row.id, None if has_any else reason)

    def _scores_of_frames(self, is_searched: bool) -> dict[Place, float]:
        if is_searched and self._matching:
            return dict.fromkeys(self._matching, 1.0)
        if is_searched:
            return {place: max(one.weight, 0.0) for place, one in self._found.items()}
        id_ = self._score.value()
        if id_ == EFFECT:
            return self._supports()
        if not self._shows_scores:
            return {}
        scores = {place: facts.scores[id_] for place, facts in self._facts.items()}
        return {place: score for place, score in scores.items() if not math.isnan(score)}

    def _is_scored(self) -> bool:
        """True if the heads have numbers, of a score or of a search."""
        return self._score.value() != NO_SCORE or bool(self._search.text().strip())

    def _is_by_score(self) -> bool:
        return self._order.value() == BY_SCORE.id and self._is_scored()

    def _orders_by(self, scores: dict[Place, float]) -> dict[tuple[int, int], tuple[int, ...]]:
        """The heads of each layer, those with the largest scores first."""
        found = {}
        for group, layer, n_heads in self._places.values():
            values = tuple(scores.get((group, layer, head), math.nan) for head in range(n_heads))
            found[group, layer] = ordered(values, BY_SCORE, n_heads)
        return found

    def _supports(self) -> dict[Place, float]:
        """Support of the logit by each head; a negative one works against it."""
        if self._effects is None:
            return {}
        found = {
            self._place(site, head): -float(change)
            for site, values in self._effects.values.items()
            for head, change in enumerate(values)
        }
        return {place: value for place, value in found.items() if place is not None}

    def _show_chosen(self) -> None:
        document = self.store.document
        self.canvas.set_chosen(self._place(document.site, document.view.head))

    def _place(self, site: str, head: int) -> Place | None:
        if self._trace is None or site not in self._places:
            return None
        group, layer, n_heads = self._places[site]
        return group, layer, min(head, n_heads - 1)

    # --- hovering and choosing

    @Slot(object)
    def _on_hovered(self, place: Place | None) -> None:
        self._say(place)

    @Slot(object)
    def _on_chosen(self, place: Place) -> None:
        """Go to the layer and the head."""
        tile = self._tiles.get(place)
        if tile is not None:
            self.store.look(site=tile.site, head=tile.head)

    def _say(self, place: Place | None) -> None:
        """The place, the key with most of the weight and the score of one head, or what the grid does."""
        tile = None if place is None else self._tiles.get(place)
        if self._search.text().strip():
            self._say_found(place)
            return
        if self._score.value() == EFFECT and self._trace is not None:
            self._say_effect(tile)
            return
        if tile is None or self._trace is None:
            self._say_best()
            return
        facts = None if place is None else self._facts.get(place)
        is_off = tile.head in self._trace.site(tile.site).experiment.heads.off
        title = self._head_title(self._trace, tile.site, tile.head)
        says = " · ".join(
            [title, *([_("switched off")] if is_off else ()), *_said_by(facts, self._score.value())]
        )
        self._said.set_line(says)
        self.canvas.setAccessibleDescription(says)
        if facts is None:
            self._ask_facts(self._trace, tile.site, tile.head)

    def _say_best(self) -> None:
        """The heads with the largest of the shown scores, else what the grid does."""
        scores, id_ = self._scores_of_frames(False), self._score.value()
        if self._trace is None or not self._shows_scores or len(self._facts) < self._n_heads or not scores:
            self._said.set_line(
                _("Click a head to select it; hover it to see the key that gets most weight.")
            )
            return
        sites = {(group, layer): site for site, (group, layer, _count) in self._places.items()}
        best = sorted(scores, key=lambda place: -scores[place])[:MOST_NAMED]
        named = [
            f"{self._short_title(self._trace, sites[place[:2]], place[2])} {number(scores[place], 3)}"
            for place in best
        ]
        says = _("Largest {score}: {heads}").format(
            score=_(HEAD_SCORE_BY_ID[id_].title), heads=enumerated(named)
        )
        self._said.set_line(says)
        self.canvas.setAccessibleDescription(says)

    def _ask_facts(self, trace: Trace, site: str, head: int) -> None:
        """Request the facts of a head, once."""
        asked = self._facts_asked
        if asked is None or (asked.site, asked.head) != (site, head):
            self._facts_asked = FactsAsked(trace, site, head)
            self.facts_asked.emit(self._facts_asked)

    def _say_effect(self, tile: Tile | None) -> None:
        """The change of the logit without one head, else without those that change it most."""
        effects, trace = self._effects, self._trace
        if effects is None or trace is None:
            self._said.set_line(self._problem or _("Computing the effect of each head…"))
            return
        changes = [
            (float(change), site, head)
            for site, values in effects.values.items()
            for head, change in enumerate(values)
            if tile is None or (site, head) == (tile.site, tile.head)
        ]
        changes.sort(key=lambda one: -abs(one[0]))
        named = [
            f"{self._short_title(trace, site, head)} {signed(change)}"
            for change, site, head in changes[:MOST_NAMED]
        ]
        says = _("The logit of “{token}” is {base}; without the head: {changes}").format(
            token=isolated(shown_token(trace.experiment.vocabulary, effects.target.token)),
            base=number(effects.base, 3),
            changes=enumerated(named),
        )
        self._said.set_line(says)
        self.canvas.setAccessibleDescription(says)

    def _head_title(self, trace: Trace, site: str, head: int) -> str:
        title = self.store.head_names.title(trace.experiment, site, head)
        return f"{site_label(trace.experiment, site)} · {title}"

    def _short_title(self, trace: Trace, site: str, head: int) -> str:
        """The head in few words, for a line of several heads."""
        title = self.store.head_names.title(trace.experiment, site, head)
        return f"{layer_label(trace.experiment, site)} · {title}"

    def _say_found(self, place: Place | None) -> None:
        """The searched weight of one head, else the greatest of all; or the heads of the searched name."""
        if self._matching and self._trace is not None:
            chosen = self._matching if place not in self._matching else {place: self._matching[place]}
            titles = [self._head_title(self._trace, *one) for one in chosen.values()]
            self._said.set_line(enumerated(titles[:MOST_NAMED]))
            return
        best = max(self._found, key=lambda one: self._found[one].weight, default=None)
        place = place if place in self._found else best
        if place is None or self._trace is None:
            self._said.set_line(_("The text has no such tokens."))
            return
        found = self._found[place]
        site = self._trace.site(found.site)
        parts = (
            self._head_title(self._trace, found.site, found.head),
            f"{isolated(visible(site.names('query')[found.query]))} → "
            f"{isolated(visible(site.names('key')[found.key]))} {number(found.weight, 3)}",
        )
        self._said.set_line(" · ".join(parts))
        self.canvas.setAccessibleDescription(" · ".join(parts))

    def _matches(self, text: str) -> dict[Place, tuple[str, int]]:
        """The named heads whose name has the text, by their places."""
        words = text.strip().casefold()
        if not words or self._trace is None:
            return {}
        named = self.store.head_names.named(self._trace.experiment)
        found = {self._place(*at_): at_ for at_, name in named.items() if words in name.casefold()}
        return {place: at_ for place, at_ in found.items() if place is not None}

    @Slot()
    def _on_named(self) -> None:
        self._on_search(self._search.text())

    @Slot(str)
    def _on_search(self, text: str) -> None:
        self._matching = self._matches(text)
        sought = None if self._matching else wanted(text)
        if sought is not None and self._trace is not None:
            self.search_asked.emit(SearchAsked(self._trace, sought))
            return
        self._found = {}
        self._frame()
        self._say(self.canvas.current)

    @Slot()
    def _on_best(self) -> None:
        """Go to the head with the greatest weight, and lock its cell."""
        if self._matching:
            site, head = next(iter(self._matching.values()))
            self.store.look(site=site, head=head)
        elif self._found:
            best = max(self._found.values(), key=lambda one: one.weight)
            cell = Cell("weights", best.query, best.key, best.head, best.site)
            self.store.look(site=best.site, head=best.head, query=best.query, stage="weights", locked=cell)

    @Slot()
    def _on_look(self) -> None:
        """Keep the frames and the order in the view, which shows them."""
        chosen = {"frames": self._score.value(), "order": self._order.value()}
        effect = {"token": self.effect.token, "replaced_by": self.effect.way}
        self.store.look(grid=HeadGrid(**chosen, **effect))  # type: ignore[arg-type]

    @Slot()
    def _on_opened(self) -> None:
        """Tiles of another document are not shown under this one."""
        self._trace, self._tiles, self._groups, self._found, self._matching = None, {}, (), {}, {}
        self._facts = {}
        self._drawn, self._arrived, self._places = (), set(), {}
        self._ask_effects()
        self.canvas.clear()


def _said_by(facts: Facts | None, first: str) -> list[str]:
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


def _orders() -> tuple[tuple[str, str, str], ...]:
    return tuple((row.id, _(row.title), _(row.hint)) for row in _ORDERS)


def _scores() -> tuple[tuple[str, str, str], ...]:
    return tuple((row.id, _(row.title), _(row.hint)) for row in FRAMES)
