"""The score: QK-norm, scale, temperature, cap, what makes scores weights, and the readout by similarity."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from attnviz.core.text import number
from attnviz.gui.forms.fields import Choice, Switch, always
from attnviz.gui.forms.paths import presence, row
from attnviz.gui.panels.mechanism.head_numbers import HeadNumbers
from attnviz.gui.panels.mechanism.section import Section
from attnviz.gui.panels.mechanism.seen import SeenBySite
from attnviz.gui.store import Store
from attnviz.i18n import N_, _
from attnviz.model.edit.block import has_qk_gains, set_qk_gains
from attnviz.model.edit.switching import (
    LastOfKind,
    refusal,
    scale_of_kind,
    scale_value,
    set_normaliser,
    set_qk_norm,
    set_qk_norm_eps,
    set_sink,
    set_sinks,
)
from attnviz.model.normalisers import NORMALISERS
from attnviz.model.operands.matrices import sinks_array
from attnviz.model.qk_norms import QK_NORMS
from attnviz.model.spec.attention import USUAL_CAP
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import SeededSinks, Sinks
from attnviz.model.spec.site import Site


def _set_readout(site: Site, is_on: bool) -> Site:
    return replace(site, readout="similarity" if is_on else "none")


class ScoreSection(Section):
    """Everything between q·k and the mask."""

    id = "score"
    heading = N_("Score")

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._scales = LastOfKind()
        self._seen = SeenBySite(store)
        self._last_cap = USUAL_CAP
        self._last_sinks: Sinks = SeededSinks()
        self.add_form(
            (
                row(
                    "qk_norm",
                    Choice,
                    name="qk_norm_choice",
                    read=lambda e: "none" if e.qk_norm is None else e.qk_norm.kind,
                    edit=set_qk_norm,
                    options=(
                        ("none", N_("off"), N_("Leaves queries and keys unchanged")),
                        *((row.id, row.title, row.hint) for row in QK_NORMS),
                    ),
                    shown=always,
                    why_not=lambda e, id_: refusal(set_qk_norm, e, id_),
                ),
                row("qk_norm.eps", edit=set_qk_norm_eps),
                Switch(
                    name="qk_gains_toggle",
                    label=N_("Gains of q and k"),
                    read=lambda e: has_qk_gains(e.qk_norm),
                    edit=lambda e, is_on: set_qk_gains(e, is_on, self._seen.here),
                    hint=N_("Multiplies every feature of a head by a number, initialised near 1; off: ones"),
                    shown=lambda e: e.qk_norm is not None,
                ),
                row(
                    "scale",
                    Choice,
                    read=lambda e: e.scale.__struct_config__.tag,
                    edit=self._set_scale,
                    options=(
                        ("sqrt_d_head", N_("on"), N_("Divides scores by √d_head")),
                        ("none", N_("off"), N_("Leaves scores unscaled")),
                        ("value", N_("value"), N_("Multiplies scores by a number of your choice")),
                    ),
                ),
                row("scale.value"),
                row("temperature"),
                presence("cap", self._set_capped),
                row("cap", label=N_("Cap")),
                row(
                    "normaliser",
                    name="normaliser_choice",
                    edit=set_normaliser,
                    options=tuple((row.id, row.title, row.hint) for row in NORMALISERS),
                    why_not=lambda e, id_: refusal(set_normaliser, e, id_),
                ),
                presence(
                    "sinks",
                    self._set_sunk,
                    reason=lambda e: refusal(set_sinks, e, e.sinks or SeededSinks()),
                ),
                row("sinks.seed"),
            )
        )
        self.sinks = HeadNumbers(store, "sink", "sinks.values", N_("Sink of head {head}"), set_sink)
        self.sinks.setObjectName("sink_numbers")
        self.body.addWidget(self.sinks)
        self.add_form(
            (
                Switch(
                    name="readout_toggle",
                    path="readout",
                    label=N_("Similarity readout"),
                    read=lambda e: e.readout == "similarity",
                    edit=_set_readout,
                    hint=N_("softmax(output · token vectors): the token closest to the output"),
                ),
            )
        )

    def on_document(self, old: Document | None, new: Document) -> None:
        experiment = new.attention
        self._scales.note(experiment.scale)
        self._seen.here.note_block(experiment)
        self._last_cap = experiment.cap or self._last_cap
        self._last_sinks = experiment.sinks or self._last_sinks
        super().on_document(old, new)
        self.sinks.setVisible(experiment.sinks is not None)
        if experiment.sinks is not None:
            self.sinks.show_values(sinks_array(experiment).tolist())
        self._show_factor()

    def retranslate(self) -> None:
        super().retranslate()
        self.sinks.retranslate()
        self._show_factor()

    def _show_factor(self) -> None:
        experiment = self.store.attention
        factor = scale_value(experiment) / experiment.temperature
        self.set_hint(_("q·k × {factor}").format(factor=number(factor, 4)))

    def _set_scale(self, site: Site, kind: Any) -> Site:
        return replace(site, scale=scale_of_kind(site, kind, self._scales))

    def _set_sunk(self, site: Site, is_on: bool) -> Site:
        return set_sinks(site, self._last_sinks if is_on else None)

    def _set_capped(self, site: Site, is_on: bool) -> Site:
        return replace(site, cap=self._last_cap if is_on else None)
