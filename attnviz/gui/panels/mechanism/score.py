"""The score: QK-norm, scale, temperature and cap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from attnviz.gui.forms.fields import Choice, Switch, always
from attnviz.gui.forms.paths import presence, row
from attnviz.gui.panels.mechanism.former_parts import SeenBySite
from attnviz.gui.panels.mechanism.section import Section
from attnviz.i18n import N_, _
from attnviz.model.edit.block import has_qk_gains, set_qk_gains
from attnviz.model.edit.switching import (
    LastOfKind,
    scale_of_kind,
    scale_value,
    set_qk_across,
    set_qk_norm,
    set_qk_norm_eps,
)
from attnviz.model.spec.attention import USUAL_CAP
from attnviz.model.spec.document import Document
from attnviz.model.spec.latent import qk_norm_beside_latent
from attnviz.model.spec.parts import PositionTemperature, QKNorm
from attnviz.model.spec.site import Site
from attnviz.model.spec.value import Refusal
from attnviz.operations.norm import NORM_KINDS

_NORM = QKNorm("rms")
"""A norm, for the words of its refusal."""

_SCALES: dict[str, Callable[[Site], str]] = {
    "sqrt_d_head": lambda site: f"÷√{site.heads.d_head}",
    "none": lambda site: "× 1",
    "value": lambda site: f"× {scale_value(site):.3g}",
}


def _why_no_norm(site: Site, kind: str) -> Refusal:
    return None if site.latent is None or kind == "none" else qk_norm_beside_latent(_NORM)


class ScoreSection(Section):
    """Everything between q·k and the mask."""

    id = "score"
    heading = N_("Score")

    def fill(self) -> None:
        self._scales = LastOfKind()
        self._seen = SeenBySite(self.store)
        self._last_cap = USUAL_CAP
        self._last_tempering = PositionTemperature()
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
                        *((row.id, row.title, row.hint) for row in NORM_KINDS),
                    ),
                    shown=always,
                    why_not=_why_no_norm,
                ),
                row("qk_norm.eps", edit=set_qk_norm_eps),
                row("qk_norm.across", edit=set_qk_across),
                Switch(
                    name="qk_gains_toggle",
                    label=N_("Query/key gains"),
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
                presence("position_temperature", self._set_tempered),
                row("position_temperature.interval"),
                row("position_temperature.strength"),
                presence("cap", self._set_capped),
                row("cap", label=N_("Soft cap")),
            )
        )

    def present(self, document: Document) -> str:
        """The factor of the scores, the temperature and the cap: "÷√32 · T 1 · cap 30"."""
        site = document.attention
        parts = [_SCALES[str(site.scale.__struct_config__.tag)](site), f"T {site.temperature:.3g}"]
        if site.cap is not None:
            parts.append(_("cap {value}").format(value=f"{site.cap:.3g}"))
        return " · ".join(parts)

    def on_document(self, old: Document | None, new: Document) -> None:
        experiment = new.attention
        self._scales.note(experiment.scale)
        self._seen.here.note_block(experiment)
        self._last_cap = experiment.cap or self._last_cap
        self._last_tempering = experiment.position_temperature or self._last_tempering
        super().on_document(old, new)

    def _set_scale(self, site: Site, kind: Any) -> Site:
        return replace(site, scale=scale_of_kind(site, kind, self._scales))

    def _set_tempered(self, site: Site, is_on: bool) -> Site:
        return replace(site, position_temperature=self._last_tempering if is_on else None)

    def _set_capped(self, site: Site, is_on: bool) -> Site:
        return replace(site, cap=self._last_cap if is_on else None)
