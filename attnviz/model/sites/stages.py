"""The stages of a site, before anything is computed."""

from __future__ import annotations

from attnviz.model.operands.matrices import classes_of
from attnviz.model.positions import changes, is_additive, rope_of
from attnviz.model.spec.block import Block
from attnviz.model.spec.site import Site

Stages = tuple[str, ...]


def begins(site: Site) -> bool:
    """True if a site begins a stack: its input are token vectors, not the result of another site."""
    return site.place.layer == 0 and not site.place.is_second


def scale_factor(site: Site) -> float | None:
    """The multiplier of raw scores: scale over temperature; None if neither is used."""
    is_used = site.scale.step(site.d_qk)[0] != "" or site.temperature != 1.0
    return site.scale.factor(site.d_qk) / site.temperature if is_used else None


def score_stages(site: Site) -> Stages:
    """Ids of the score-shaped stages that a site computes, in order."""
    changed = changes(site.position)
    return _used(
        scores=True,
        relative=changed == "relative",
        scaled=scale_factor(site) is not None,
        capped=site.cap is not None,
        biased=changed == "bias",
        added=site.additive_mask is not None,
        masked=bool(site.masks) and site.mask_placement == "before_softmax",
        weights=True,
        dropped=site.dropout.active,
        combined=site.differential is not None,
    )


def site_stages(site: Site) -> Stages:
    """Ids of all stages that a site computes, in the order of its trace."""
    return (
        *_used(
            tokens_embedded=begins(site),
            layer_input=not begins(site),
            x=is_additive(site.position),
            x_normed=site.embedding_norm is not None,
            x_projected=begins(site) and site.embedding_projection is not None,
        ),
        *_before_attention(site.block),
        *_used(memory=site.memory is not None),
        *_projected(site),
        *score_stages(site),
        *_used(
            mixed=True,
            mixed_normed=site.differential is not None,
            gate=site.gate is not None,
            gated=site.gate is not None,
        ),
        *("concatenated", "attention_output"),
        *_after_attention(site.block),
        *_used(output=site.final_norm is not None),
        *_read_out(site),
    )


def _used(**used: bool) -> Stages:
    return tuple(stage for stage, is_used in used.items() if is_used)


def _before_attention(block: Block | None) -> Stages:
    if block is None or block.placement == "post":
        return ()
    behind = block.placement == "parallel" and block.feed_forward is not None
    norm_2 = behind and block.norm_2 is not None
    return (*_used(norm_1=block.norm_1 is not None, norm_2=norm_2), *(_feed_forward(block) if behind else ()))


def _feed_forward(block: Block) -> Stages:
    assert block.feed_forward is not None
    experts = block.feed_forward.experts
    is_routed = experts is not None
    scales_inputs = experts is not None and experts.weighted == "input"
    return _used(
        router=is_routed,
        routing=is_routed,
        ffn_gate=block.feed_forward.gated,
        ffn_up=True,
        ffn_gate_routed=scales_inputs and block.feed_forward.gated,
        ffn_up_routed=scales_inputs,
        ffn_hidden=True,
        ffn_routed=is_routed and not scales_inputs,
        ffn_output=True,
        ffn_dropped=block.dropout.active,
    )


def _projected(site: Site) -> Stages:
    latent, normed = site.latent, site.qk_norm is not None
    has_query = latent is not None and latent.d_q is not None
    rotates = changes(site.position) == "rotation"
    return _used(
        q_latent=has_query,
        q_latent_normed=has_query and latent is not None and latent.query_norm is not None,
        q=True,
        q_normed=normed,
        q_rotated=rotates,
        q_tempered=site.position_temperature is not None,
        latent_projected=latent is not None and latent.norm is not None,
        latent=latent is not None,
        rope_key=latent is not None and latent.d_rope > 0,
        k=True,
        v=True,
        k_normed=normed,
        k_rotated=rotates,
        v_rotated=rotates and rope_of(site).on_values,
    )


def _after_attention(block: Block | None) -> Stages:
    if block is None:
        return ()
    is_post, has_ffn = block.placement == "post", block.feed_forward is not None
    reads_sum = block.placement in ("pre", "sandwich")
    return (
        *_used(
            attention_dropped=block.dropout.active,
            attention_normed=block.after_1 is not None,
            residual_1=block.residual,
            norm_1=is_post and block.norm_1 is not None,
            norm_2=reads_sum and has_ffn and block.norm_2 is not None,
        ),
        *(_feed_forward(block) if has_ffn and block.placement != "parallel" else ()),
        *_used(
            ffn_normed=block.after_2 is not None,
            residual_2=has_ffn and block.residual,
        ),
        *_used(norm_2=is_post and has_ffn and block.norm_2 is not None),
    )


def _read_out(site: Site) -> Stages:
    is_read, classes = site.readout != "none", classes_of(site)
    known = site.vocabulary
    transform = known.transform if known is not None and site.readout == "vocabulary" else None
    return _used(
        transform=transform is not None,
        transform_hidden=transform is not None,
        transform_normed=transform is not None and transform.norm is not None,
        logits=is_read,
        probabilities=is_read and (classes is None or classes.distribution),
    )
