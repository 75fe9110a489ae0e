"""`AXES`: the axes of stages, each with its length and its labels in a site."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attnviz.model.operands.latent import latent_width
from attnviz.model.operands.matrices import output_tokens
from attnviz.model.spec.experts import Experts
from attnviz.model.spec.site import Site
from attnviz.model.stages import EMBEDDED_STAGES, HIDDEN_STAGES, LATENT_STAGES, STAGE_BY_ID, TRANSFORM_STAGES

OF_VALUES = ("v", "v_rotated", "mixed", "mixed_normed", "gated")
"""Stages whose heads have d_head features even where queries and keys have more."""


@dataclass(frozen=True)
class AxisRow:
    """One axis: its length in a stage of a site, and its labels; None: numbers alone."""

    length: Callable[[Site, str], int]
    labels: Callable[[Site], tuple[str, ...]] | None = None


def stage_shape(site: Site, stage: str) -> tuple[int, ...]:
    """Public shape of a stage of a site."""
    return tuple(AXES[axis].length(site, stage) for axis in STAGE_BY_ID[stage].axes)


def axis_labels(site: Site, axis: str) -> tuple[str, ...]:
    """Labels of an axis. Raises `KeyError` if it has numbers alone."""
    labels = AXES[axis].labels
    if labels is None:
        raise KeyError(f"axis is {axis!r}; only tokens have names")
    return labels(site)


def _features(site: Site, stage: str) -> int:
    if stage in HIDDEN_STAGES:
        assert site.block is not None
        assert site.block.feed_forward is not None
        ffn = site.block.feed_forward
        return ffn.routed_width if stage == "ffn_routed" else ffn.width
    if stage in LATENT_STAGES:
        return latent_width(site, stage)
    if stage == "memory":
        return site.d_keys
    if stage == "concatenated":
        return site.heads.n_heads * site.heads.d_head
    if stage == "gate":
        assert site.gate is not None
        return site.gate.width(site.heads)
    if STAGE_BY_ID[stage].per_head:
        return site.heads.d_head if stage in OF_VALUES else site.d_qk
    if stage in EMBEDDED_STAGES:
        return site.d_embedding
    if stage in TRANSFORM_STAGES:
        assert site.vocabulary is not None
        return site.vocabulary.logit_features(site.d_model)
    return site.d_model


def _experts(site: Site) -> Experts:
    assert site.block is not None and site.block.feed_forward is not None
    experts = site.block.feed_forward.experts
    assert experts is not None
    return experts


_OWN = AxisRow(lambda site, stage: site.n_queries, lambda site: site.tokens)
_READ = AxisRow(lambda site, stage: site.n_keys, lambda site: site.key_tokens)

AXES: dict[str, AxisRow] = {
    "head": AxisRow(lambda site, stage: site.heads.n_heads),
    "kv_head": AxisRow(lambda site, stage: site.heads.n_kv_heads),
    "token": _OWN,
    "query": _OWN,
    "key": _READ,
    "memory": _READ,
    "feature": AxisRow(_features),
    "vocabulary": AxisRow(lambda site, stage: len(output_tokens(site)), output_tokens),
    "expert": AxisRow(lambda site, stage: _experts(site).n_columns, lambda site: _experts(site).names),
}
