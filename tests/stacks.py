"""A hypothesis strategy over experiments with blocks, layers, encoders, cross attentions and vocabularies."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args

import numpy as np
from experiments import (
    CAPS,
    HEADS,
    MASK_SETS,
    NORMALISERS,
    PLACEMENTS,
    PROJECTIONS,
    QK_KINDS,
    SCALES,
    TEMPERATURES,
    additive_masks,
    differentials,
    positions,
    sinks,
)
from hypothesis import strategies as st
from msgspec.structs import replace

from attnviz.core.block import ACTIVATIONS, GATED_UNITS
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.attention import Attention, Layer
from attnviz.model.spec.block import Block, FeedForward, Norm, NormPlacement
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.experts import Experts, SharesKind, Weighted
from attnviz.model.spec.gate import Gate
from attnviz.model.spec.latent import Latent
from attnviz.model.spec.parts import (
    Alibi,
    Dropout,
    Heads,
    Identity,
    Memory,
    NoPosition,
    Projections,
    QKNorm,
    Rope,
    Seeded,
    SeededVectors,
    Sinusoidal,
)
from attnviz.model.spec.rows import DrawnRow
from attnviz.model.spec.vocabulary import Transform, Vocabulary

_SEEDS = st.integers(0, 50)
ROWS = st.one_of(st.none(), st.builds(DrawnRow, _SEEDS, st.just(0.5), st.just(0.3)))
NORMS = st.one_of(
    st.builds(Norm, st.just("layer"), st.sampled_from([1e-5, 0.1]), ROWS, ROWS),
    st.builds(Norm, st.just("rms"), st.sampled_from([1e-5, 0.1]), ROWS),
)
MAYBE_NORM = st.one_of(st.none(), NORMS)
_KINDS = st.sampled_from([row.id for row in ACTIVATIONS])
TRANSFORMS = st.builds(
    Transform,
    st.one_of(st.just(Identity()), st.builds(Seeded, _SEEDS)),
    ROWS,
    _KINDS,
    MAYBE_NORM,
)


_DRAWN = st.builds(Seeded, _SEEDS)
_GATED_KINDS = st.sampled_from([row.id for row in GATED_UNITS])


@cache
def _maybe_experts() -> st.SearchStrategy[Experts | None]:
    return st.one_of(st.none(), st.none(), experts())


@cache
@st.composite
def feed_forwards(draw: st.DrawFn) -> FeedForward:
    """Any feed-forward layer, gated or not."""
    gated = draw(st.booleans())
    return FeedForward(
        draw(st.integers(1, 6)),
        draw(_GATED_KINDS if gated else _KINDS),
        gated,
        *(draw(_DRAWN) for _ in range(3)),
        *(draw(ROWS) for _ in range(3)),
        draw(_maybe_experts()),
        draw(_DRAWN),
        draw(ROWS),
    )


_WEIGHTED = st.sampled_from(get_args(Weighted))
_SHARES = st.sampled_from(get_args(SharesKind))
_SCALES = st.sampled_from([1.0, 1.0, 2.5])


@cache
@st.composite
def experts(draw: st.DrawFn) -> Experts:
    """Any mixture of experts."""
    groups, each = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    active_groups = draw(st.integers(1, groups))
    d_shared = draw(st.integers(0, 3))
    weighted = draw(_WEIGHTED)
    return Experts(
        groups * each,
        draw(st.integers(1, active_groups * each)),
        draw(_SHARES),
        draw(st.booleans()),
        draw(_SCALES),
        groups,
        active_groups,
        draw(ROWS),
        d_shared,
        d_shared > 0 and draw(st.booleans()),
        weighted == "output" and draw(st.booleans()),
        weighted,
    )


_NORM_PLACEMENTS = st.sampled_from(get_args(NormPlacement))
_RESIDUAL_SCALES = st.sampled_from([1.0, 1.0, 0.4])
_RATES = st.sampled_from([0.0, 0.3])
_MAYBE_FEED_FORWARD = st.one_of(st.none(), feed_forwards())


@cache
@st.composite
def blocks(draw: st.DrawFn, with_feed_forward: bool = True) -> Block:
    """Any block; on request without a feed-forward layer, as before a cross attention."""
    placement = draw(_NORM_PLACEMENTS)
    ffn = draw(_MAYBE_FEED_FORWARD) if with_feed_forward else None
    is_sandwich = placement == "sandwich"
    return Block(
        placement,
        placement == "parallel" or draw(st.booleans()),
        draw(MAYBE_NORM),
        ffn,
        None if ffn is None else draw(MAYBE_NORM),
        draw(MAYBE_NORM) if is_sandwich else None,
        draw(MAYBE_NORM) if is_sandwich and ffn is not None else None,
        draw(_RESIDUAL_SCALES),
        Dropout(draw(_RATES), draw(_SEEDS), draw(st.booleans())),
    )


GATES = st.one_of(
    st.none(), st.builds(Gate, st.sampled_from(["feature", "head"]), st.builds(Seeded, _SEEDS), ROWS)
)
_SELDOM = st.sampled_from([False, False, True])


_QK_NORMS = st.one_of(st.none(), st.builds(QKNorm, QK_KINDS, st.floats(1e-3, 1), ROWS, ROWS))


@cache
@st.composite
def made_of_tokens(draw: st.DrawFn) -> dict[str, Any]:
    """Heads whose keys and values are projected from token vectors."""
    heads = draw(HEADS)
    biases = {f"{role}_bias": draw(ROWS) for role in ("query", "key", "value", "output")}
    return {
        "heads": heads,
        "projections": replace(draw(PROJECTIONS), **biases),
        "qk_norm": draw(_QK_NORMS),
        "position": draw(positions(heads.n_heads, heads.d_head)),
    }


_UNTURNED = st.sampled_from([NoPosition(), Alibi(), Sinusoidal(100.0)])
_TURNED = st.sampled_from(
    [NoPosition(), Alibi(), Sinusoidal(100.0), Rope(50.0, start=3), Rope(20.0, "half_split", n_rotated=2)]
)
_ROTATED = st.sampled_from([0, 2, 4])
_QUERY_WIDTHS = st.one_of(st.none(), st.integers(1, 4))


@cache
@st.composite
def made_of_latents(draw: st.DrawFn) -> dict[str, Any]:
    """Heads of multi-head latent attention, with and without a latent of the query, norms and RoPE."""
    n_heads, d_rope = draw(st.integers(1, 3)), draw(_ROTATED)
    d_q = draw(_QUERY_WIDTHS)
    latent = Latent(
        draw(st.integers(1, 5)),
        d_q,
        d_rope,
        draw(MAYBE_NORM),
        None if d_q is None else draw(MAYBE_NORM),
        *(Seeded(draw(_SEEDS)) for _ in range(5)),
    )
    return {
        "heads": Heads(n_heads, n_heads, draw(st.integers(1, 4))),
        "latent": latent,
        "projections": Projections(
            Seeded(draw(_SEEDS)),
            Identity(),
            Identity(),
            Seeded(draw(_SEEDS)),
            query_bias=draw(ROWS),
            output_bias=draw(ROWS),
        ),
        "position": draw(_TURNED if d_rope else _UNTURNED),
    }


_TEMPERATURES = st.sampled_from([1.0, 2.0])
_OFFSETS = st.sampled_from([0, 0, 0, 2])
_MASK_BIASES = st.sampled_from([None, None, -3.0])
_EMPTY_ROWS = st.sampled_from(["zeros", "zeros", "nan"])


@cache
def _maybe_block(with_feed_forward: bool) -> st.SearchStrategy[Block | None]:
    return st.one_of(st.none(), blocks(with_feed_forward))


@cache
@st.composite
def attentions(draw: st.DrawFn, has_cross_behind: bool = False) -> dict[str, Any]:
    """The fields of any attention with its block."""
    made = draw(made_of_latents() if draw(_SELDOM) else made_of_tokens())
    of_sinks = draw(sinks(made["heads"].n_heads))
    empty_row = draw(_EMPTY_ROWS)
    # A NaN that a number of the mask made is in every gradient.
    added = st.none() if empty_row == "nan" else additive_masks(made["heads"].n_heads)
    return {
        **made,
        "scale": draw(SCALES),
        "temperature": draw(_TEMPERATURES),
        "cap": draw(CAPS),
        "query_offset": draw(_OFFSETS),
        "masks": draw(MASK_SETS),
        "mask_placement": draw(PLACEMENTS),
        "mask_bias": draw(_MASK_BIASES),
        "fully_masked_row": empty_row,
        "additive_mask": draw(added),
        "sinks": of_sinks,
        "normaliser": "softmax" if of_sinks is not None else draw(NORMALISERS),
        "dropout": Dropout(draw(_RATES), draw(_SEEDS), draw(st.booleans())),
        "differential": draw(differentials(made["heads"].n_heads)),
        "gate": draw(GATES),
        "position_temperature": draw(TEMPERATURES),
        "block": draw(_maybe_block(not has_cross_behind)),
    }


_MAYBE_TRANSFORM = st.one_of(st.none(), TRANSFORMS)
_EMBEDDING_SCALES = st.sampled_from([1.0, 0.5])
_LOGIT_SCALES = st.sampled_from([1.0, 2.0])
_LOGIT_CAPS = st.sampled_from([None, 3.0])


@cache
@st.composite
def vocabularies(draw: st.DrawFn, d_model: int) -> Vocabulary:
    """Any vocabulary of a few tokens, tied or not, with and without a transform before it."""
    n = draw(st.integers(1, 5))
    numbers = np.random.default_rng(draw(_SEEDS)).standard_normal((2, n, d_model))
    return Vocabulary(
        tuple(f"w{i}" for i in range(n)),
        Matrix(numbers[0]),
        draw(_EMBEDDING_SCALES),
        Matrix(numbers[1].T) if draw(st.booleans()) else None,
        bias=draw(ROWS),
        logit_scale=draw(_LOGIT_SCALES),
        cap=draw(_LOGIT_CAPS),
        transform=draw(_MAYBE_TRANSFORM),
    )


@cache
def _maybe_vocabulary(d_model: int) -> st.SearchStrategy[Vocabulary | None]:
    return st.one_of(st.none(), vocabularies(d_model))


@st.composite
def stacks(draw: st.DrawFn) -> Experiment:
    """Any small experiment in float64 with up to three layers, with and without a memory and its encoder."""
    n, d_model = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    memory, encoder, has_cross = None, (), False
    if draw(st.booleans()):
        m, d_memory = draw(st.integers(1, 4)), draw(st.integers(1, 5))
        memory = Memory(tuple(f"m{i}" for i in range(m)), SeededVectors(m, d_memory, draw(_SEEDS)))
        encoder = tuple(Layer(**draw(attentions())) for _ in range(draw(st.integers(0, 2))))
        has_cross = draw(st.booleans())
    layers = []
    for _ in range(draw(st.integers(1, 3))):
        cross = Attention(**draw(attentions())) if has_cross else None
        layers.append({**draw(attentions(has_cross)), "cross": cross})
    vocabulary = draw(_maybe_vocabulary(d_model))
    readouts = ["none", "similarity", *(["vocabulary"] if vocabulary is not None else [])]
    return Experiment(
        tuple(f"t{i % 3}" for i in range(n)),
        SeededVectors(n, d_model, draw(_SEEDS)),
        memory,
        embedding_norm=draw(MAYBE_NORM),
        layers=tuple(Layer(**fields) for fields in layers),
        final_norm=draw(MAYBE_NORM),
        encoder=encoder,
        encoder_norm=draw(MAYBE_NORM) if encoder else None,
        encoder_embedding_norm=draw(MAYBE_NORM) if encoder else None,
        vocabulary=vocabulary,
        readout=draw(st.sampled_from(readouts)),
        dtype="float64",
    )
