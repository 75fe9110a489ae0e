"""Attention rollout and flow: how much of each input token reaches the target token in each layer."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import ref

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from attnviz.core.levels import RANGES
from attnviz.core.progress import Progress
from attnviz.core.text import elide, isolated, number, visible
from attnviz.figures.kinds.rollout import FORMULAS
from attnviz.gui.live.answer import Answer, Outdated
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX, Theme
from attnviz.gui.look.words import says
from attnviz.gui.panels.answer import AnswerPanel
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.heat.map import HeatContent, HeatMap
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.sites.sites import at
from attnviz.model.sites.stages import raw_map_of, score_stages
from attnviz.model.sites.titles import site_label
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.trace import Trace

KINDS = (
    (
        "rollout",
        N_("Rollout"),
        N_("The product of the mean weights of all layers below, half residual"),
    ),
    ("flow", N_("Flow"), N_("The maximum flow through the layers, with the mean weights as capacities")),
)
WHOLE = "head"
"""The range of a whole map."""
TOKEN_WIDTH, RANGE_WIDTH = 132, 112
MOST_TOKENS = 512
LONGEST = 20


@dataclass(frozen=True)
class Question:
    """The map of a run, weakly held, in the stack of a site, into a token: rollout or flow."""

    trace: ref[Trace]
    site: str
    token: int
    by_flow: bool


@dataclass(frozen=True, eq=False)
class LayerMap:
    """The shares (layer, input token) with the layers' sites, the first one first; none without layers."""

    experiment: Experiment
    sites: tuple[str, ...]
    tokens: tuple[str, ...]
    rows: NDArray[np.float64]


def compute(asked: Question, check: Progress) -> LayerMap:
    """The map, in a worker."""
    from attnviz.study.heads.rollout import layer_map

    trace = asked.trace()
    if trace is None:  # newer numbers took its place
        raise Outdated
    sites, rows = layer_map(trace, asked.site, asked.token, by_flow=asked.by_flow, check=check)
    names = trace.site(sites[0]).names("key") if sites else ()
    return LayerMap(trace.experiment, sites, tuple(visible(name) for name in names), rows)


class RolloutPanel(AnswerPanel[Question, LayerMap]):
    """Asks for the map of the selected token. A click shows the layer."""

    follows = ("site", "query")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        says(self, name=N_("Rollout and flow"))
        self._kind = Segmented((), KINDS[0][0])
        says(self._kind, id="rollout_kind", name=N_("Rollout or flow"), options=KINDS)
        self._kind.changed.connect(self.ask)
        self._of = says(QLabel(), N_("into the token"))
        self._token = says(Combo(()), id="rollout_token", name=N_("Target token"))
        self._token.changed.connect(self._on_token)
        # One map has one range: that of all heads is the same.
        own = [(row.id, row.label, "") for row in RANGES if row.id not in (WHOLE, "global")]
        ranges = ((WHOLE, N_("This map"), ""), *own)
        self._range = says(Combo(()), id="rollout_range", name=N_("Colour range"), options=ranges)
        self._range.set_value(WHOLE)
        self._range.changed.connect(self.show_answer)
        self._token.setMinimumWidth(TOKEN_WIDTH)
        self._range.setMinimumWidth(RANGE_WIDTH)
        self._says = ElidedLabel()
        self._says.setObjectName("rollout_says")
        for label in (self._of, self._says):
            label.setFont(ui_font(TEXT_PX))
        self.map = HeatMap()
        self.map.setObjectName("rollout_map")
        self.map.cell_hovered.connect(self._say)
        self.map.cell_clicked.connect(self._on_clicked)
        top = QHBoxLayout()
        top.setSpacing(GRID)
        for part in (self._kind, self._of, self._token):
            top.addWidget(part)
        top.addStretch(1)
        top.addWidget(self._range)
        column = in_column(self, spacing=GRID // 2)
        column.addLayout(top)
        column.addWidget(self._says)
        column.addWidget(self.map, 1)
        column.addWidget(self.shows(Answer("rollout", compute, self), self.map), 1)
        set_tone("muted", self._of, self._says)

    def question(self) -> Question | None:
        """The same one while the numbers are not those of the selected site."""
        trace, document = self.store.trace, self.store.document
        if trace is None or document.site not in trace.sites:
            return self.answer.asked
        token = min(document.view.query, trace.site(document.site).experiment.n_queries - 1)
        return Question(ref(trace), document.site, token, self._kind.value() == "flow")

    @property
    def has_picture(self) -> bool:
        return self.answer.result is not None and bool(self.answer.result.sites)

    def why_empty(self) -> str:
        if self.answer.result is not None:
            return _("Rollout needs layers with self-attention.")
        return _("Computing the map…")

    def on_document(self, old: Document | None, new: Document) -> None:
        self.ask()

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self.show_answer()

    @Slot()
    def show_answer(self) -> None:
        """The map with the last layer on top, in the chosen range."""
        traced, of = self.answer.result, self.answer.of
        if traced is not None and of is not None and traced.sites:
            short = enumerate(elide(token, LONGEST) for token in traced.tokens[:MOST_TOKENS])
            self._token.set_options(tuple((str(at), f"{at + 1} · {token}", "") for at, token in short))
            self._token.set_value(str(of.token))
            is_whole = self._range.value() == WHOLE
            self.map.set_content(
                HeatContent(
                    traced.rows[::-1],
                    tuple(str(layer) for layer in range(len(traced.sites), 0, -1)),
                    traced.tokens,
                    self.theme.muted,
                    self.theme.key,
                    range_id=self._range.value(),
                    range_name=_("This map") if is_whole else "",
                    title=_("Rollout and flow"),
                    row_axis=_("Layers"),
                    column_axis=_("key"),
                )
            )
        self._say(-1, -1)

    @Slot(int, int)
    def _say(self, row: int, column: int) -> None:
        """The share of a cell, or the formula with its source."""
        traced, of = self.answer.result, self.answer.of
        if traced is None or of is None or not 0 <= row < len(traced.sites):
            self._says.set_line(_(FORMULAS[self._kind.value() == "flow"]))
            return
        layer = len(traced.sites) - 1 - row
        said = _("{site}: {share} of “{key}” reaches “{token}”").format(
            site=site_label(traced.experiment, traced.sites[layer]),
            share=number(float(traced.rows[layer, column]), 4),
            key=isolated(traced.tokens[column]),
            token=isolated(traced.tokens[of.token]),
        )
        self._says.set_line(said)

    @Slot(int, int)
    def _on_clicked(self, row: int, column: int) -> None:
        """Go to the layer, whose mean weights the step has multiplied."""
        if self.answer.result is not None:
            sites = self.answer.result.sites
            name = sites[len(sites) - 1 - row]
            stage = raw_map_of(score_stages(at(self.store.experiment, name)))
            self.store.look(site=name, stage=stage, picture="mean")

    @Slot(str)
    def _on_token(self, token: str) -> None:
        self.store.look(query=int(token))
