"""Scores to weights: the normaliser, the sinks, dropout, and the difference of partner heads."""

from __future__ import annotations

from attnviz.gui.forms.paths import presence, row
from attnviz.gui.panels.mechanism.dropout import dropout_rows
from attnviz.gui.panels.mechanism.head_numbers import HeadNumbers
from attnviz.gui.panels.mechanism.section import Section
from attnviz.i18n import N_, _
from attnviz.model.edit.edits import set_differential
from attnviz.model.edit.switching import set_normaliser, set_sink, set_sinks
from attnviz.model.normalisers import NORMALISERS
from attnviz.model.operands.matrices import sinks_array
from attnviz.model.spec.attention import heads_beside_differential, normaliser_beside_sinks
from attnviz.model.spec.differential import Differential
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import SeededSinks, Sinks
from attnviz.model.spec.site import Site

TITLES = {row.id: row.title for row in NORMALISERS}


class WeightsSection(Section):
    """Everything between the masked scores and the mixed values."""

    id = "weights"
    heading = N_("Weights")

    def fill(self) -> None:
        self._last_sinks: Sinks = SeededSinks()
        self._last_differential = Differential()
        self.add_form(
            (
                row(
                    "normaliser",
                    name="normaliser_choice",
                    edit=set_normaliser,
                    options=tuple((row.id, row.title, row.hint) for row in NORMALISERS),
                    why_not=lambda e, id_: None if e.sinks is None else normaliser_beside_sinks(id_),
                ),
                presence(
                    "sinks",
                    self._set_sunk,
                    reason=lambda e: None if e.sinks else normaliser_beside_sinks(e.normaliser),
                ),
                row("sinks.seed"),
            )
        )
        self.sinks = HeadNumbers(self.store, "sink", "sinks.values", N_("Sink of head {head}"), set_sink)
        self.sinks.setObjectName("sink_numbers")
        self.body.addWidget(self.sinks)
        self.add_form(dropout_rows("dropout"))
        self.add_form(
            (
                presence(
                    "differential",
                    self._set_differential,
                    reason=lambda e: None if e.differential else heads_beside_differential(e.heads),
                ),
                row("differential.initial"),
                row("differential.eps"),
            )
        )

    def present(self, document: Document) -> str:
        """The normaliser, then sinks, dropout and λ where they act."""
        site = document.attention
        parts = [_(TITLES[site.normaliser])]
        if site.sinks is not None:
            parts.append(_("sinks"))
        if site.dropout.p:
            parts.append(f"p {site.dropout.p:.2g}")
        if site.differential is not None:
            parts.append(f"λ {site.differential.factor(site.heads.d_head):.3g}")
        return " · ".join(parts)

    def on_document(self, old: Document | None, new: Document) -> None:
        site = new.attention
        self._last_sinks = site.sinks or self._last_sinks
        self._last_differential = site.differential or self._last_differential
        super().on_document(old, new)
        self.sinks.setVisible(site.sinks is not None)
        if site.sinks is not None:
            self.sinks.show_values(sinks_array(site).tolist())

    def _set_differential(self, site: Site, is_on: bool) -> Site:
        return set_differential(site, self._last_differential if is_on else None)

    def _set_sunk(self, site: Site, is_on: bool) -> Site:
        return set_sinks(site, self._last_sinks if is_on else None)
