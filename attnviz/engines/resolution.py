"""From a site to its operands on an engine: the one place where a run asks the document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from numpy.typing import NDArray

from attnviz.core.block import layer_norm, rms_norm
from attnviz.core.dims import Array
from attnviz.core.qk_norm import normed as qk_normed
from attnviz.engines import operands
from attnviz.engines.engine import Engine
from attnviz.engines.in_file import InFile
from attnviz.engines.operands import Linear, Operands, Scoring
from attnviz.engines.sight import Masks
from attnviz.model import positions
from attnviz.model.binding import bind
from attnviz.model.memo import WeakMemo
from attnviz.model.operands.matrices import (
    embedding_projection_array,
    feed_forward_array,
    gate_array,
    latent_array,
    projection_array,
    transform_array,
    transform_shape,
    unembedding_array,
    vectors_array,
    vocabulary,
)
from attnviz.model.sites.stages import score_stages
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.block import Block, FeedForward, FeedForwardRole, Norm, Transform
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.latent import Latent, LatentRole
from attnviz.model.spec.parts import Identity, Role, is_transposed
from attnviz.model.spec.rows import Row, held_row
from attnviz.model.spec.site import Site
from attnviz.model.spec.source import Source
from attnviz.model.stages import STAGE_BY_ID, made_by
from attnviz.operations.dropout import Dropout
from attnviz.operations.experts import Routed
from attnviz.operations.products import Mixture
from attnviz.operations.rotation import Rotation

NORMS: dict[str, Callable[..., Array]] = {"layer": layer_norm, "rms": rms_norm}

LATEST = 4
"""Experiments whose operands are at hand: those of an undo history would fill the memory."""


def operands_of(engine: Engine, experiment: Experiment, site: Site) -> Operands:
    """The operands of a site of an experiment, the same for every run while it is one of the latest."""
    known, key = _known(experiment), (site.place, engine.name, engine.device, engine.dtype)
    found = known.get(key)
    if found is None:
        found = known[key] = resolve(engine, site)
    return found


def _nothing(experiment: Experiment) -> dict[Any, Operands]:
    return {}


_known = WeakMemo(_nothing, LATEST)


def resolve(engine: Engine, site: Site) -> Operands:
    """All that a pass through a site needs, on the engine."""
    is_latent, memory = site.latent is not None, site.memory
    add = positions.row_of(site.position).added
    return Operands(
        vectors=engine.asarray(vectors_array(site.vectors)) if site.place.begins else None,
        added=None if add is None else partial(add, site.position, site.d_embedding),
        embedding_norm=_norm(engine, site.embedding_norm, site.d_embedding),
        embedding_projection=_embedding_projection(engine, site),
        memory=None if memory is None else engine.asarray(vectors_array(memory.vectors)),
        latent=None if site.latent is None else _latent(engine, site, site.latent),
        query=_projection(engine, site, "query"),
        key=None if is_latent else _projection(engine, site, "key"),
        value=None if is_latent else _projection(engine, site, "value"),
        query_norm=_head_norm(engine, site, "query_gain"),
        key_norm=_head_norm(engine, site, "key_gain"),
        rotations={one: bind(site, one) for one in made_by(Rotation, "heads") if STAGE_BY_ID[one].when(site)},
        temper=None if site.position_temperature is None else bind(site, "q_tempered"),
        scoring=scoring_of(site),
        pair_norm=_pair_norm(site),
        gate=_gate(engine, site),
        output=_projection(engine, site, "output"),
        block=None if site.block is None else _block(engine, site.block, site),
        final_norm=_norm(engine, site.final_norm, site.d_model),
        readout=_readout(engine, site),
    )


# --- products and norms ----------------------------------------------------------------------------


def _linear(
    engine: Engine,
    source: Source,
    shape: tuple[int, int],
    matrix: Callable[[], NDArray[Any]],
    bias: Row | None = None,
    transposes: bool = False,
) -> Linear:
    """x W + b; an identity of equal sides returns its input, and has no matrix."""
    row = _row(engine, bias, shape[1])
    if isinstance(source, Identity) and shape[0] == shape[1]:
        return Linear(None, row)
    return _matrix(engine, source.written, matrix, row, transposes)


def _matrix(
    engine: Engine,
    written: Matrix | None,
    matrix: Callable[[], NDArray[Any]],
    row: Array | None = None,
    transposes: bool = False,
) -> Linear:
    """x W + b, holding W unless it lies in a file, `written`, perhaps transposed."""
    if written is not None and written.lies_in_file:
        return Linear(None, row, InFile(engine, written, transposes))
    return Linear(engine.asarray(matrix()), row)


def _row(engine: Engine, row: Row | None, features: int) -> Array | None:
    return None if row is None else engine.asarray(held_row(row, features))


def _norm(engine: Engine, norm: Norm | None, features: int) -> operands.Norm | None:
    if norm is None:
        return None
    gain, bias = (_row(engine, row, features) for row in (norm.gain, norm.bias))
    return operands.Norm(NORMS[norm.kind], norm.kind, norm.eps, gain, bias)


def _projection(engine: Engine, site: Site, role: Role) -> Linear:
    source, bias = getattr(site.projections, role), getattr(site.projections, f"{role}_bias")
    matrix, to = partial(projection_array, site, role), site.projections.tied_to(role)
    source = source if to is None else getattr(site.projections, to)
    transposes = to is not None and is_transposed(role, to)
    return _linear(engine, source, site.projection_shape(role), matrix, bias, transposes)


def _pair_norm(site: Site) -> operands.PairNorm | None:
    of = site.differential
    return None if of is None else operands.PairNorm(of.eps, 1.0 - of.initial)


def _gate(engine: Engine, site: Site) -> Linear | None:
    gate = site.gate
    if gate is None:
        return None
    shape = gate.shape(site.d_model, site.heads)
    return _linear(engine, gate.weights, shape, partial(gate_array, site), gate.bias)


def _embedding_projection(engine: Engine, site: Site) -> Linear | None:
    widened = site.embedding_projection
    if widened is None or not site.place.begins:
        return None
    shape = site.d_embedding, site.d_model
    return _linear(engine, widened.weights, shape, partial(embedding_projection_array, site), widened.bias)


def _head_norm(engine: Engine, site: Site, gain: str) -> operands.Norm | None:
    norm = site.qk_norm
    if norm is None:
        return None
    function = partial(qk_normed, kind=norm.kind)
    row = _row(engine, getattr(norm, gain), norm.gain_widths(site.heads)[gain])
    return operands.Norm(function, norm.kind, norm.eps, row, across=norm.across)


def _latent(engine: Engine, site: Site, latent: Latent) -> operands.Latent:
    def made(role: LatentRole) -> Linear:
        shape = latent.shape(role, site.d_model, site.d_keys, site.heads)
        return _linear(engine, getattr(latent, role), shape, partial(latent_array, site, role))

    return operands.Latent(
        query_down=None if latent.d_q is None else made("query_down"),
        query_norm=None if latent.d_q is None else _norm(engine, latent.query_norm, latent.d_q),
        down=made("down"),
        norm=_norm(engine, latent.norm, latent.d_c),
        rope_key=made("rope_key") if latent.d_rope else None,
        up_key=made("up_key"),
        up_value=made("up_value"),
    )


# --- scores ----------------------------------------------------------------------------------------


def scoring_of(site: Site) -> Scoring:
    """The functions from a site's queries and keys to weights."""
    factor, is_before = site.score_factor, site.mask_placement == "before_softmax"
    stages = score_stages(site)
    operations = {stage: bind(site, stage) for stage in stages}
    return Scoring(
        stages=stages,
        n_kv_heads=site.heads.n_kv_heads,
        group_size=site.heads.group_size,
        factor=factor,
        operations=operations,
        masks=Masks(site.masks, site.query_offset),
        # The mixture of two heads follows that of all tiles, so that each has all keys.
        spares_keys=bool(site.masks) and is_before and site.mask_bias is None and site.differential is None,
        mixture=Mixture(site.heads.group_size, site.heads.off),
    )


# --- block and read-out ----------------------------------------------------------------------------


def _block(engine: Engine, block: Block, site: Site) -> operands.Block:
    d_model = site.d_model
    norms = {
        name: _norm(engine, getattr(block, name), d_model)
        for name in ("norm_1", "norm_2", "after_1", "after_2")
    }
    ffn = block.feed_forward
    made = None if ffn is None else _feed_forward(engine, ffn, site)
    return operands.Block(
        block.placement,
        block.residual,
        **norms,
        feed_forward=made,
        residual_scale=block.residual_scale,
        drops={one: bind(site, one) for one in made_by(Dropout, "block") if STAGE_BY_ID[one].when(site)},
    )


def _feed_forward(engine: Engine, ffn: FeedForward, site: Site) -> operands.FeedForward:
    d_model = site.d_model

    def made(role: FeedForwardRole) -> Linear:
        matrix, bias = partial(feed_forward_array, ffn, role, d_model), getattr(ffn, f"{role}_bias")
        return _linear(engine, getattr(ffn, role), ffn.shape(role, d_model), matrix, bias)

    gate, experts = made("gate") if ffn.gated else None, ffn.experts
    plain = operands.FeedForward(gate, made("up"), made("down"), ffn.activation)
    if experts is None:
        return plain
    routed = {one: bind(site, one) for one in made_by(Routed, "block") if STAGE_BY_ID[one].when(site)}
    return replace(plain, router=made("router"), routing=bind(site, "routing"), routed=routed)


def _readout(engine: Engine, site: Site) -> operands.Readout | None:
    """By similarity a logit is the dot product with a distinct token's vector; a vocabulary has a matrix."""
    if site.readout == "none":
        return None
    known = site.vocabulary
    if site.readout == "similarity" or known is None:
        vectors = engine.asarray(vectors_array(site.vectors)[list(vocabulary(site)[1])])
        logits = Linear(engine.xp.matrix_transpose(vectors))
        return operands.Readout(None, logits, bind(site, "probabilities"))
    given, is_tied = known.transform, known.unembedding is None
    own = known.embedding if known.unembedding is None else known.unembedding
    transform = None if given is None else _transform(engine, given, site)
    row = _row(engine, known.bias, known.n_logits)
    logits = _matrix(engine, own, partial(unembedding_array, known), row, transposes=is_tied)
    with_softmax = known.classes is None or known.classes.distribution
    made = bind(site, "probabilities") if with_softmax else None
    return operands.Readout(transform, logits, made, known.logit_scale, known.cap)


def _transform(engine: Engine, transform: Transform, site: Site) -> operands.Transform:
    shape, matrix = transform_shape(site), partial(transform_array, site)
    linear = _linear(engine, transform.weights, shape, matrix, transform.bias)
    return operands.Transform(linear, transform.activation, _norm(engine, transform.norm, shape[1]))
