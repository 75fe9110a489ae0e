"""The block of the selected attention: norms, residual connections, the feed-forward layer."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec.structs import replace

from attnviz.core.block import ACTIVATIONS, GATED_UNITS
from attnviz.gui.forms.fields import Choice, Edit, Switch
from attnviz.gui.forms.paths import presence, row
from attnviz.gui.forms.subject import selected_attention
from attnviz.gui.panels.mechanism.dropout import dropout_rows
from attnviz.gui.panels.mechanism.former_parts import SeenBySite
from attnviz.gui.panels.mechanism.norm import KINDS as NORM_KINDS
from attnviz.gui.panels.mechanism.norm import NormLine, NormSlot
from attnviz.gui.panels.mechanism.section import Section
from attnviz.gui.panels.mechanism.weights import WeightLines, WeightSlot
from attnviz.i18n import N_, _
from attnviz.model.edit.block import (
    NormName,
    change_experts,
    change_feed_forward,
    ffn_of,
    ffn_source,
    norm_of,
    set_block,
    set_experts,
    set_feed_forward,
    set_ffn_bias,
    set_norm,
    set_placement,
    set_residual,
    set_residual_scale,
)
from attnviz.model.spec.attention import feed_forward_beside_cross
from attnviz.model.spec.block import (
    FEED_FORWARD_ROLES,
    Block,
    FeedForward,
    FeedForwardRole,
    gate_beside_activation,
    residual_beside_placement,
)
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment, similarity_beside_projection
from attnviz.model.spec.experts import gate_beside_shared
from attnviz.model.spec.site import Site, experts_of
from attnviz.model.spec.value import Refusal

_FEED_FORWARD = FeedForward(1)
"""A feed-forward layer, for the words of its refusal."""

_NORMS = {id_: title for id_, title, _hint in NORM_KINDS}
_SHORT: dict[FeedForwardRole, str] = {
    "up": N_("up"),
    "gate": N_("gate"),
    "down": N_("down"),
    "router": N_("router"),
}


def has_block(site: Site) -> bool:
    """True if the attention has a block."""
    return site.layer.block is not None


def has_ffn(site: Site) -> bool:
    """True if the block has a feed-forward layer."""
    return site.layer.feed_forward is not None


def _is_gated(site: Site) -> bool:
    return has_ffn(site) and ffn_of(site).gated


def _has_experts(site: Site) -> bool:
    return has_ffn(site) and ffn_of(site).experts is not None


def _expert_row(field: str, **special: Any) -> Any:
    """The row of one field of the experts."""

    def edit(site: Site, value: Any) -> Site:
        return change_experts(site, **{field: value})

    return row(f"block.feed_forward.experts.{field}", edit=edit, shown=_has_experts, **special)


def _why_no_shared_gate(site: Site) -> Refusal:
    experts = experts_of(site.layer)
    return gate_beside_shared(experts.d_shared, not experts.shared_gate)


def _why_no_ffn(site: Site) -> Refusal:
    """A layer with a second attention has its feed-forward layer there."""
    is_before = site.place.precedes_cross and not has_ffn(site)
    return feed_forward_beside_cross(_FEED_FORWARD) if is_before else None


def _whole_expert_row(field: str, least: int = 1) -> Any:
    def edit(site: Site, value: float) -> Site:
        return change_experts(site, **{field: max(least, round(value))})

    return row(f"block.feed_forward.experts.{field}", edit=edit, shown=_has_experts, from_start=True)


def _change(field: str) -> Edit[Site]:
    """The edit that replaces one field of the feed-forward layer."""
    return lambda experiment, value: change_feed_forward(experiment, **{field: value})


def _norm_shown(name: NormName, site: Site) -> bool:
    block = site.layer.block
    if block is None or (name in ("norm_2", "after_2") and block.feed_forward is None):
        return False
    return block.placement == "sandwich" or name in ("norm_1", "norm_2")


def _set_readout(experiment: Experiment, is_on: bool) -> Experiment:
    return replace(experiment, readout="similarity" if is_on else "none")


def _why_no_similarity(experiment: Experiment) -> Refusal:
    if experiment.readout == "similarity":
        return None
    return similarity_beside_projection(experiment.d_embedding, experiment.d_model)


READOUT: Switch[Experiment] = Switch(
    name="readout_toggle",
    path="readout",
    label=N_("Similarity read-out"),
    read=lambda e: e.readout == "similarity",
    edit=_set_readout,
    hint=N_("softmax(output · token vectors): the token closest to the output"),
    reason=_why_no_similarity,
)


class BlockSection(Section):
    """Everything that stands around the attention."""

    id = "block"
    heading = N_("Block")
    spoken = {
        **{f"ffn_{role}_projection_combo": (f"W_{role}", _SHORT[role]) for role in FEED_FORWARD_ROLES},
        **{f"ffn_{role}_bias_toggle": (N_("Bias of {matrix}"), _SHORT[role]) for role in FEED_FORWARD_ROLES},
    }

    def fill(self) -> None:
        self._seen = SeenBySite(self.store)
        self._norms: dict[str, NormLine[Site]] = {}
        self.add_form(self._block_fields())
        self._add_norms("norm_1", "after_1")
        self.add_form(self._ffn_fields())
        self.add_form(self._expert_fields())
        self._lines = WeightLines(self, self.store, tuple(self._slot(role) for role in FEED_FORWARD_ROLES))
        self.body.addLayout(self._lines)
        self._add_norms("norm_2", "after_2")
        self.add_whole_form((READOUT,))

    def present(self, document: Document) -> str:
        """The norm and the feed-forward layer: "RMSNorm · SwiGLU"."""
        block = document.attention.layer.block
        if block is None:
            return _("attention only")
        norms = [getattr(block, name) for name in ("norm_1", "norm_2", "after_1", "after_2")]
        parts = list(dict.fromkeys(_NORMS[norm.kind] for norm in norms if norm is not None))
        if block.feed_forward is not None:
            units = GATED_UNITS if block.feed_forward.gated else ACTIVATIONS
            titles = {row.id: row.title for row in units}
            parts.append(_(titles[block.feed_forward.activation]))
        return " · ".join(parts) or _("residual")

    def on_document(self, old: Document | None, new: Document) -> None:
        self._seen.here.note_block(new.attention)
        super().on_document(old, new)
        self._show_rest()

    def _show_rest(self) -> None:
        experiment = self.store.attention
        for line in self._norms.values():
            line.refresh()
        roles = ffn_of(experiment).roles if has_ffn(experiment) else ()
        self._lines.refresh(experiment, {f"ffn_{role}" for role in roles}.__contains__)

    def _add_norms(self, *names: NormName) -> None:
        for name in names:
            slot: NormSlot[Site] = NormSlot.at(
                name,
                f"block.{name}",
                read=partial(norm_of, name=name),
                edit=partial(_put_norm, name),
                shown=partial(_norm_shown, name),
            )
            self._norms[name] = NormLine(
                selected_attention(self.store), slot, self.store, lambda: self._seen.here
            )
            self.body.addWidget(self._norms[name])

    def _block_fields(self) -> tuple[Any, ...]:
        return (
            presence("block", self._set_block),
            row(
                "block.placement",
                name="placement_segmented",
                label="",
                hint=N_("Norm placement"),
                edit=self._set_placement,
                why_not=lambda e, id_: residual_beside_placement(id_, e.block.residual),
            ),
            row(
                "block.residual",
                name="residual_toggle",
                edit=set_residual,
                reason=lambda e: residual_beside_placement(e.block.placement, not e.block.residual),
            ),
            row(
                "block.residual_scale",
                edit=set_residual_scale,
                shown=lambda e: e.block is not None and e.block.residual,
            ),
            *dropout_rows("block.dropout", label=N_("Residual dropout")),
        )

    def _ffn_fields(self) -> tuple[Any, ...]:
        activations = tuple((row.id, row.title, f"{row.formula}\n{row.source}") for row in ACTIVATIONS)
        units = tuple((row.id, row.title, f"{row.formula}\n{row.source}") for row in GATED_UNITS)
        only_gated = tuple(unit for unit in units if unit[0] not in {row.id for row in ACTIVATIONS})
        return (
            presence(
                "block.feed_forward",
                self._set_ffn,
                name="ffn_toggle",
                shown=has_block,
                reason=_why_no_ffn,
            ),
            row(
                "block.feed_forward.d_hidden",
                name="d_hidden_field",
                label="d_hidden",
                edit=lambda e, value: change_feed_forward(e, d_hidden=max(1, round(value))),
                from_start=True,
            ),
            row(
                "block.feed_forward.gated",
                name="gated_toggle",
                edit=_change("gated"),
                reason=lambda e: gate_beside_activation(ffn_of(e).activation, not _is_gated(e)),
            ),
            row(
                "block.feed_forward.activation",
                name="activation_combo",
                edit=_change("activation"),
                shown=lambda e: has_ffn(e) and not _is_gated(e),
                options=activations + only_gated,
                as_list=True,
                why_not=lambda e, id_: gate_beside_activation(id_, _is_gated(e)),
            ),
            Choice(
                name="gated_unit_combo",
                label=N_("Gated unit"),
                read=lambda e: ffn_of(e).activation,
                edit=_change("activation"),
                shown=_is_gated,
                options=units,
                as_list=True,
            ),
        )

    def _expert_fields(self) -> tuple[Any, ...]:
        return (
            presence(
                "block.feed_forward.experts",
                lambda e, is_on: set_experts(e, is_on, self._seen.here),
                name="experts_toggle",
                shown=has_ffn,
            ),
            _whole_expert_row("n"),
            _whole_expert_row("n_active"),
            _expert_row("shares"),
            _expert_row("normalised"),
            _expert_row("scale"),
            _expert_row("weighted"),
            _expert_row("biased"),
            _whole_expert_row("n_groups"),
            _whole_expert_row("n_active_groups"),
            _whole_expert_row("d_shared", least=0),
            _expert_row("shared_gate", reason=_why_no_shared_gate),
        )

    def _slot(self, role: FeedForwardRole) -> WeightSlot:
        return WeightSlot(
            id=f"ffn_{role}",
            path=f"block.feed_forward.{role}",
            symbol=f"W_{role}",
            short=_SHORT[role],
            read=lambda e: getattr(ffn_of(e), role),
            source=lambda e, kind: ffn_source(e, role, kind, self._seen.here),
            edit=lambda e, source: change_feed_forward(e, **{role: source}),
            bias=lambda e: getattr(ffn_of(e), f"{role}_bias"),
            set_bias=lambda e, is_on: set_ffn_bias(e, role, is_on, self._seen.here),
        )

    def _set_block(self, site: Site, is_on: bool) -> Site:
        if not is_on:
            return set_block(site, None)
        return set_block(site, self._seen.here.last("block", Block, Block()))

    def _set_placement(self, site: Site, placement: Any) -> Site:
        return set_placement(site, placement, self._seen.here)

    def _set_ffn(self, site: Site, is_on: bool) -> Site:
        return set_feed_forward(site, is_on, self._seen.here)


def _put_norm(name: NormName, site: Site, norm: Any) -> Site:
    return set_norm(site, name, norm)
