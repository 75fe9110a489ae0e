"""Attention rollout and flow: how much of each input token reaches the target token in each layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from attnviz.core.levels import RANGES
from attnviz.core.text import elide, isolated, number, visible
from attnviz.figures.kinds.rollout import FORMULAS
from attnviz.gui.live.rollout import RolloutAsked
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX, Theme
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.gui.widgets.heat.map import HeatContent, HeatMap
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.sites.titles import site_label
from attnviz.model.spec.document import Document
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


class RolloutPanel(Panel):
    """Asks for the map of the selected token while it is seen, and draws it when it arrives."""

    asked = Signal(object)
    """A RolloutAsked, or None to stop; the answer comes through `show_map` or `show_problem`."""

    follows = ("site", "query")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._asked: RolloutAsked | None = None
        self._sites: tuple[str, ...] = ()
        self._rows: NDArray[np.float64] = np.empty((0, 0))
        self._problem, self._lacks_layers = "", False
        self._kind = Segmented(_kinds(), "")
        self._kind.setObjectName("rollout_kind")
        self._kind.set_value(KINDS[0][0])
        self._kind.changed.connect(self._ask_again)
        self._of = QLabel()
        self._token, self._range = Combo(()), Combo(_ranges())
        self._token.setObjectName("rollout_token")
        self._token.changed.connect(self._on_token)
        self._range.setObjectName("rollout_range")
        self._range.set_value(WHOLE)
        self._range.changed.connect(self._draw)
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
        self._empty = EmptyState("")
        self._empty.triggered.connect(self._ask_again)
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
        column.addWidget(self._empty, 1)
        store.opened.connect(self._on_opened)
        set_tone("muted", self._of, self._says)

    @property
    def rows(self) -> NDArray[np.float64]:
        """The shown map (layer, input token)."""
        return self._rows

    def sizeHint(self) -> QSize:
        return QSize(480, 280)

    def on_document(self, old: Document | None, new: Document) -> None:
        self._ask()

    def on_trace(self, trace: Trace) -> None:
        self._ask()

    def set_seen(self, is_seen: bool) -> None:
        """Behind another tab the panel asks for nothing, and holds no trace; in front it asks again."""
        if not is_seen and self.is_seen:
            self._asked = None
            self.asked.emit(None)
            self.forget()
        super().set_seen(is_seen)

    def show_map(self, asked: RolloutAsked, sites: tuple[str, ...], rows: NDArray[np.float64]) -> None:
        """Draw the map of the latest request; an earlier one is dropped."""
        if asked is self._asked:
            self._sites, self._rows, self._problem = sites, rows, ""
            self._lacks_layers = not sites
            self._draw()

    def show_problem(self, asked: RolloutAsked, why: str) -> None:
        """Say why the latest request has no answer."""
        if asked is self._asked:
            self._sites, self._problem = (), why
            self._show()

    def retranslate(self) -> None:
        self.setAccessibleName(_("Rollout and flow"))
        self._of.setText(_("into the token"))
        self._kind.set_options(_kinds())
        self._kind.setAccessibleName(_("Rollout or flow"))
        self._token.setAccessibleName(_("Target token"))
        self._range.set_options(_ranges())
        self._range.setAccessibleName(_("Colour range"))
        self.map.retranslate()
        self.map.set_content(self._worded(self.map.content))  # a panel behind a tab has nothing to draw anew
        self._draw()

    def _worded(self, content: HeatContent) -> HeatContent:
        return replace(
            content,
            range_name=_("This map") if self._range.value() == WHOLE else "",
            title=_("Rollout and flow"),
            row_axis=_("Layers"),
            column_axis=_("key"),
        )

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._draw()

    @Slot()
    def _ask(self) -> None:
        """Request the map of the present trace, token and kind, unless it is the latest request."""
        trace, document, by_flow = self.store.trace, self.store.document, self._kind.value() == "flow"
        if trace is None or document.site not in trace.sites:
            return
        token = min(document.view.query, trace.site(document.site).experiment.n_queries - 1)
        asked = RolloutAsked(trace, document.site, token, by_flow)
        if asked != self._asked:
            self._asked, self._problem, self._lacks_layers = asked, "", False
            self.asked.emit(asked)

    @Slot()
    def _ask_again(self) -> None:
        self._asked = None
        self._ask()
        self._show()

    @Slot()
    def _draw(self) -> None:
        """The map with the last layer on top, in the chosen range."""
        asked = self._asked
        if asked is not None and self._sites:
            labels = asked.trace.site(self._sites[0]).names("key")
            tokens = tuple(visible(label) for label in labels)
            short = enumerate(elide(token, LONGEST) for token in tokens[:MOST_TOKENS])
            self._token.set_options(tuple((str(at), f"{at + 1} · {token}", "") for at, token in short))
            self._token.set_value(str(asked.token))
            names = tuple(str(layer) for layer in range(len(self._sites), 0, -1))
            content = HeatContent(
                self._rows[::-1],
                names,
                tokens,
                self.theme.muted,
                self.theme.key,
                range_id=self._range.value(),
            )
            self.map.set_content(self._worded(content))
        self._show()

    def _show(self) -> None:
        has_map = bool(self._sites)
        self.map.setVisible(has_map)
        self._empty.setVisible(not has_map)
        lacking, computing = _("Rollout needs layers with self-attention."), _("Computing the map…")
        self._empty.set_outcome(self._problem, lacking if self._lacks_layers else computing)
        self._say(-1, -1)

    @Slot(int, int)
    def _say(self, row: int, column: int) -> None:
        """The share of a cell, or the formula with its source."""
        asked = self._asked
        if row < 0 or asked is None or row >= len(self._sites):
            self._says.set_line(_(FORMULAS[self._kind.value() == "flow"]))
            return
        layer = len(self._sites) - 1 - row
        labels = asked.trace.site(self._sites[0]).names("key")
        said = _("{site}: {share} of “{key}” reaches “{token}”").format(
            site=site_label(asked.trace.experiment, self._sites[layer]),
            share=number(float(self._rows[layer, column]), 4),
            key=isolated(visible(labels[column])),
            token=isolated(visible(labels[asked.token])),
        )
        self._says.set_line(said)

    @Slot(int, int)
    def _on_clicked(self, row: int, column: int) -> None:
        """Go to the layer, whose mean weights the step has multiplied."""
        self.store.look(site=self._sites[len(self._sites) - 1 - row], stage="weights", picture="mean")

    @Slot(str)
    def _on_token(self, token: str) -> None:
        self.store.look(query=int(token))

    @Slot()
    def _on_opened(self) -> None:
        """Hold no trace of another document."""
        self._asked, self._sites, self._problem = None, (), ""
        self.asked.emit(None)


def _kinds() -> tuple[tuple[str, str, str], ...]:
    return tuple((id_, _(title), _(hint)) for id_, title, hint in KINDS)


def _ranges() -> tuple[tuple[str, str, str], ...]:
    """One map has one range: that of all heads is the same."""
    whole = (WHOLE, _("This map"), "")
    return (whole, *((row.id, _(row.label), "") for row in RANGES if row.id not in (WHOLE, "global")))
