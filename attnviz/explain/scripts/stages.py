"""`STAGE_CODE`: the lines of NumPy or PyTorch that compute each stage of a site."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from attnviz.core.phrases import named
from attnviz.explain.formulas.block import norm_at, transform_of
from attnviz.explain.formulas.stages import stage_axes, stage_formula
from attnviz.explain.scripts import experts, scores
from attnviz.explain.scripts.code import Asked, Code, Keep, in_a_dictionary, note
from attnviz.explain.scripts.edits import edited_lines
from attnviz.explain.scripts.functions import GATED_CODE, NORM_CODE, activated, sigmoid, softmax
from attnviz.explain.scripts.library import Library
from attnviz.explain.scripts.positions import position_addend, position_code
from attnviz.explain.scripts.sources import explicit, linear, projection, vectors, with_row
from attnviz.i18n import N_, _
from attnviz.model.binding import bind
from attnviz.model.operands.latent import PRODUCT_OF_STAGE, latent_of
from attnviz.model.operands.matrices import is_identity, transform_shape, vocabulary
from attnviz.model.sites.axes import stage_shape
from attnviz.model.sites.stages import site_stages
from attnviz.model.spec.block import FeedForward, Norm
from attnviz.model.spec.parts import Role
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID

Row = Callable[[Asked], Code]

BEFORE = N_("the result of the previous layer")
ENCODED = N_("the result of the encoder")
IDENTITY = N_("the matrix is the identity")
DISTINCT = N_("one column for each distinct token")
SHARED_KEY = N_("the same in every head")


# --- inputs ----------------------------------------------------------------------------------------


def _tokens(asked: Asked) -> Code:
    return asked.done(
        *f"tokens_embedded = {vectors(asked, 'tokens_embedded', asked.site.vectors)}".split("\n")
    )


def _layer_input(asked: Asked) -> Code:
    return asked.done(f"layer_input = result{note(BEFORE)}")


def _memory(asked: Asked) -> Code:
    assert asked.site.memory is not None
    made = (
        f"encoded{note(ENCODED)}" if asked.is_encoded else vectors(asked, "memory", asked.site.memory.vectors)
    )
    asked.define("memory", *f"memory = {made}".split("\n"))
    return asked.done()


# --- projections -----------------------------------------------------------------------------------

_LETTERS: dict[str, tuple[Role, str]] = {"q": ("query", "Q"), "k": ("key", "K"), "v": ("value", "V")}


def _projected(asked: Asked, x: str, role: Role, letter: str) -> str:
    """x W + b of one projection, heads side by side; a square identity returns x."""
    site = asked.site
    product = x if is_identity(site, role) else f"{x} @ {projection(asked, role, f'W_{letter}')}"
    bias = getattr(site.projections, f"{role}_bias")
    return with_row(asked, product, "+", f"b_{letter}", bias, site.projection_shape(role)[1])


def _passing(asked: Asked, role: Role) -> str:
    return note(IDENTITY) if is_identity(asked.site, role) else ""


def _heads(asked: Asked, product: str) -> str:
    n_heads, n_tokens, width = asked.shape
    simple = product.isidentifier()
    return asked.library.split_heads(product if simple else f"({product})", n_tokens, n_heads, width)


def _projection(asked: Asked) -> Code:
    """q, k or v of all heads."""
    if asked.site.latent is not None and asked.stage != "q":
        return _expanded(asked)
    role, letter = _LETTERS[asked.stage]
    made = _heads(asked, _projected(asked, asked.reads[0], role, letter))
    return asked.done(f"{asked.stage} = {made}{_passing(asked, role)}")


def _from_latent(asked: Asked, stage: str, x: str) -> str:
    """x times a matrix of the latent."""
    site, product = asked.site, PRODUCT_OF_STAGE[stage]
    latent = latent_of(site)
    shape = latent.shape(product.role, site.d_model, site.d_keys, site.heads)
    return linear(asked, x, product.symbol, getattr(latent, product.role), shape)


def _expanded(asked: Asked) -> Code:
    """k or v of all heads from the latent; the shared key beside the content of each k."""
    site, stage = asked.site, asked.stage
    product = _from_latent(asked, stage, "latent")
    product = product if product.isidentifier() else f"({product})"
    content = asked.library.split_heads(product, site.n_keys, site.heads.n_heads, site.heads.d_head)
    if stage == "v" or "rope_key" not in asked.stages:
        return asked.done(f"{stage} = {content}")
    shape = (site.heads.n_heads, site.n_keys, latent_of(site).d_rope)
    shared = f"{asked.xp}.broadcast_to(rope_key, {shape})"
    return asked.done(
        f"content = {content}",
        f"shared = {shared}{note(SHARED_KEY)}",
        f"k = {asked.library.join}((content, shared), {asked.library.axis}=-1)",
    )


def _latent_product(asked: Asked) -> Code:
    """`q_latent`, `latent_projected` or `rope_key`."""
    return asked.done(f"{asked.stage} = {_from_latent(asked, asked.stage, asked.reads[0])}")


def _latent(asked: Asked) -> Code:
    return _norm(asked) if asked.reads[0] == "latent_projected" else _latent_product(asked)


# --- norms -----------------------------------------------------------------------------------------


def _norm(asked: Asked) -> Code:
    norm = norm_at(asked.site, asked.stage)
    assert isinstance(norm, Norm)
    (read,), features = asked.reads, asked.shape[-1]
    made = f"{NORM_CODE[norm.kind](asked)}({read}, {norm.eps!r})"
    made = with_row(asked, made, "*", f"gain_{asked.stage}", norm.gain, features)
    made = with_row(asked, made, "+", f"bias_{asked.stage}", norm.bias, features)
    return asked.done(f"{asked.stage} = {made}")


def _qk_norm(asked: Asked) -> Code:
    norm, (read,) = asked.site.qk_norm, asked.reads
    assert norm is not None
    gain, letter = (norm.query_gain, "Q") if read == "q" else (norm.key_gain, "K")
    n_heads, n_tokens, d_head = asked.shape
    joined = asked.library.join_heads(read, n_tokens, n_heads * d_head) if norm.across else read
    made = f"{NORM_CODE[norm.kind](asked)}({joined}, {norm.eps!r})"
    made = with_row(asked, made, "*", f"gain_{letter}", gain, (n_heads if norm.across else 1) * d_head)
    if norm.across:
        made = asked.library.split_heads(f"({made})", n_tokens, n_heads, d_head)
    return asked.done(f"{asked.stage} = {made}")


def _tempered(asked: Asked) -> Code:
    site, given, xp = asked.site, asked.site.position_temperature, asked.xp
    assert given is not None
    first, dtype = site.query_offset + 1, "" if asked.library.is_numpy else ", dtype=torch.float64"
    steps = f"{xp}.floor({xp}.arange({first}, {first + site.n_queries}{dtype}) / {given.interval})"
    return asked.done(
        f"tau = 1 + {given.strength!r} * {xp}.log1p({steps})",
        f"q_tempered = {asked.reads[0]} * tau[:, None]",
    )


def _widened(asked: Asked) -> Code:
    site, widened = asked.site, asked.site.embedding_projection
    assert widened is not None
    shape, bias = (site.d_embedding, site.d_model), ("b_X", widened.bias)
    made = linear(asked, asked.reads[0], "W_X", widened.weights, shape, bias)
    return asked.done(f"x_projected = {made}")


# --- after the mixture -----------------------------------------------------------------------------


def _gate(asked: Asked) -> Code:
    site, gate = asked.site, asked.site.gate
    assert gate is not None
    shape, bias = gate.shape(site.d_model, site.heads), ("b_G", gate.bias)
    return asked.done(
        f"gate = {_heads(asked, linear(asked, asked.reads[0], 'W_G', gate.weights, shape, bias))}"
    )


def _gated(asked: Asked) -> Code:
    return asked.done(f"gated = {asked.reads[0]} * {sigmoid(asked)}(gate)")


def _concatenated(asked: Asked) -> Code:
    n_tokens, width = asked.shape
    return asked.done(f"concatenated = {asked.library.join_heads(asked.reads[0], n_tokens, width)}")


def _attention_output(asked: Asked) -> Code:
    made = _projected(asked, "concatenated", "output", "O")
    return asked.done(f"attention_output = {made}{_passing(asked, 'output')}")


def _sum(asked: Asked) -> Code:
    block, (past, made) = asked.site.block, asked.reads
    assert block is not None
    factor = "" if block.residual_scale == 1.0 else f"{block.residual_scale!r} * "
    return asked.done(f"{asked.stage} = {past} + {factor}{made}")


def _ffn(asked: Asked) -> FeedForward:
    block = asked.site.block
    assert block is not None
    assert block.feed_forward is not None
    return block.feed_forward


def _ffn_linear(role: Any) -> Row:
    def code(asked: Asked) -> Code:
        ffn = _ffn(asked)
        bias = f"b_{role}", getattr(ffn, f"{role}_bias")
        shape = ffn.shape(role, asked.site.d_model)
        made = linear(asked, asked.reads[0], f"W_{role}", getattr(ffn, role), shape, bias)
        return asked.done(f"{asked.stage} = {made}")

    return code


def _ffn_hidden(asked: Asked) -> Code:
    ffn = _ffn(asked)
    if ffn.gated:
        return asked.done(f"ffn_hidden = {GATED_CODE[ffn.activation](asked, *asked.reads)}")
    return asked.done(f"ffn_hidden = {activated(asked, ffn.activation, asked.reads[0])}")


# --- read-out --------------------------------------------------------------------------------------


def _transform(asked: Asked) -> Code:
    transform, bias = transform_of(asked.site), ("b_T", transform_of(asked.site).bias)
    made = linear(asked, asked.reads[0], "W_T", transform.weights, transform_shape(asked.site), bias)
    return asked.done(f"transform = {made}")


def _transform_hidden(asked: Asked) -> Code:
    made = activated(asked, transform_of(asked.site).activation, "transform")
    return asked.done(f"transform_hidden = {made}")


def _logits(asked: Asked) -> Code:
    site, read = asked.site, asked.reads[0]
    known = site.vocabulary
    if site.readout == "similarity" or known is None:
        rows = list(vocabulary(site)[1])
        chosen = "" if len(rows) == site.n_queries else f"[{rows}]"
        return asked.done(f"logits = {read} @ tokens_embedded{chosen}.T{note(DISTINCT)}")
    product = f"{read} @ {_unembedding(asked)}"
    lines = [f"logits = {with_row(asked, product, '+', 'b_U', known.bias, known.n_logits)}"]
    if known.logit_scale != 1.0:
        lines.append(f"logits = logits * {known.logit_scale!r}")
    if known.cap is not None:
        lines.append(f"logits = {known.cap!r} * {asked.xp}.tanh(logits / {known.cap!r})")
    return asked.done(*lines)


def _unembedding(asked: Asked) -> str:
    """Define W_U: a matrix of its own, or the embedding E transposed."""
    known = asked.site.vocabulary
    assert known is not None
    if known.unembedding is not None:
        return explicit(asked, "W_U", known.unembedding)
    return f"{explicit(asked, 'E', known.embedding)}.T"


def _probabilities(asked: Asked) -> Code:
    return asked.done(f"probabilities = {softmax(asked, 'logits')}")


# --- the table -------------------------------------------------------------------------------------

STAGE_CODE: dict[str, Row] = {
    "tokens_embedded": _tokens,
    "layer_input": _layer_input,
    "x": position_code,
    "x_normed": _norm,
    "x_projected": _widened,
    "norm_1": _norm,
    "memory": _memory,
    "q_latent": _latent_product,
    "q_latent_normed": _norm,
    "q": _projection,
    "latent_projected": _latent_product,
    "latent": _latent,
    "rope_key": _latent_product,
    "k": _projection,
    "v": _projection,
    "q_normed": _qk_norm,
    "k_normed": _qk_norm,
    "q_rotated": position_code,
    "q_tempered": _tempered,
    "k_rotated": position_code,
    "v_rotated": position_code,
    "scores": scores.scores,
    "relative": position_code,
    "masked": scores.masked,
    "weights": scores.weights,
    "dropped": scores.dropped,
    "combined": scores.combined,
    "mixed": scores.mixed,
    "mixed_normed": scores.mixed_normed,
    "gate": _gate,
    "gated": _gated,
    "concatenated": _concatenated,
    "attention_output": _attention_output,
    "attention_dropped": scores.dropped,
    "attention_normed": _norm,
    "residual_1": _sum,
    "norm_2": _norm,
    "router": _ffn_linear("router"),
    "routing": experts.routing,
    "ffn_gate": _ffn_linear("gate"),
    "ffn_up": _ffn_linear("up"),
    "ffn_gate_routed": experts.routed,
    "ffn_up_routed": experts.routed,
    "ffn_hidden": _ffn_hidden,
    "ffn_routed": experts.routed,
    "ffn_output": _ffn_linear("down"),
    "ffn_dropped": scores.dropped,
    "ffn_normed": _norm,
    "residual_2": _sum,
    "output": _norm,
    "transform": _transform,
    "transform_hidden": _transform_hidden,
    "transform_normed": _norm,
    "logits": _logits,
    "probabilities": _probabilities,
}


ADDENDS: dict[str, Callable[[Asked], str]] = {
    "position": position_addend,
    "additive_mask": scores.additive_mask_addend,
}
"""The term that is added to a score, by the operands of its stage."""


@dataclass(frozen=True)
class Writer:
    """The code of a stage, as its operation writes it."""

    asked: Asked

    @property
    def stage(self) -> str:
        return self.asked.stage

    @property
    def reads(self) -> tuple[str, ...]:
        return self.asked.reads

    @property
    def xp(self) -> str:
        return self.asked.xp

    def addend(self) -> str:
        """Define what is added to a score; returns its expression with its sign."""
        return ADDENDS[STAGE_BY_ID[self.stage].operands](self.asked)


def stage_code(
    site: Site, stage: str, library: Library, *, is_encoded: bool = False, keep: Keep = in_a_dictionary
) -> Code:
    """The code of one stage of a site in a library; earlier stages are variables of their names.

    `is_encoded`: the memory is the result of an encoder. `keep` stores arrays of many numbers.
    Raises `KeyError` for a stage that the site does not compute.
    """
    stages = site_stages(site)
    if stage not in stages:
        raise KeyError(stage)
    asked = Asked(site, stage, stages, library, is_encoded, keep)
    is_bound = STAGE_BY_ID[stage].made_by is not None
    code = asked.done(*bind(site, stage).code(Writer(asked))) if is_bound else STAGE_CODE[stage](asked)
    return replace(code, lines=(*code.lines, *edited_lines(site, stage, library)))


def stage_text(site: Site, stage: str, library: Library, *, is_encoded: bool = False) -> str:
    """The code of one stage to read alone: a heading, its definitions, its lines.

    Raises `KeyError` for a stage that the site does not compute.
    """
    code = stage_code(site, stage, library, is_encoded=is_encoded)
    title = "# " + named(_(STAGE_BY_ID[stage].title), stage_formula(site, stage))
    return "\n".join((title, f"# {stage_axes(stage)} = {stage_shape(site, stage)}", *code.all_lines))
