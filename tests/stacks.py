"""A hypothesis strategy over experiments with blocks, layers, encoders, cross attentions and vocabularies."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from experiments import (
    HEADS,
    MASK_SETS,
    NORMALISERS,
    PROJECTIONS,
    QK_KINDS,
    SCALES,
    additive_masks,
    differentials,
    positions,
    sinks,
)
from hypothesis import strategies as st
from msgspec.structs import replace

from attnviz.core.block import ACTIVATIONS
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.attention import Attention, Layer
from attnviz.model.spec.block import Block, FeedForward, Norm, NormPlacement, Transform, Vocabulary
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
    PositionTemperature,
    Projections,
    QKNorm,
    Rope,
    Seeded,
    SeededVectors,
    Sinusoidal,
)
from attnviz.model.spec.rows import DrawnRow

_SEEDS = st.integers(0, 50)
ROWS = st.one_of(st.none(), st.builds(DrawnRow, _SEEDS, st.just(0.5), st.just(0.3)))
NORMS = st.one_of(
    st.builds(Norm, st.just("layer"), st.sampled_from([1e-5, 0.1]), ROWS, ROWS),
    st.builds(Norm, st.just("rms"), st.sampled_from([1e-5, 0.1]), ROWS),
)
MAYBE_NORM = st.one_of(st.none(), NORMS)
TRANSFORMS = st.builds(
    Transform,
    st.one_of(st.just(Identity()), st.builds(Seeded, _SEEDS)),
    ROWS,
    st.sampled_from([row.id for row in ACTIVATIONS]),
    MAYBE_NORM,
)


@st.composite
def feed_forwards(draw: st.DrawFn) -> FeedForward:
    """Any feed-forward layer, gated or not."""
    gated = draw(st.booleans())
    kinds = [
        "relu",
        "gelu",
        "gelu_tanh",
        "silu",
        "sigmoid",
        "identity",
        "quick_gelu",
        "tanh",
        "relu_squared",
        *(["clamped_swish"] if gated else []),
    ]
    weights = st.builds(Seeded, _SEEDS)
    return FeedForward(
        draw(st.integers(1, 6)),
        draw(st.sampled_from(kinds)),
        gated,
        *(draw(weights) for _ in range(3)),
        *(draw(ROWS) for _ in range(3)),
        draw(st.one_of(st.none(), st.none(), experts())),
        draw(weights),
        draw(ROWS),
    )


@st.composite
def experts(draw: st.DrawFn) -> Experts:
    """Any mixture of experts."""
    groups, each = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    active_groups = draw(st.integers(1, groups))
    d_shared = draw(st.integers(0, 3))
    weighted = draw(st.sampled_from(get_args(Weighted)))
    return Experts(
        groups * each,
        draw(st.integers(1, active_groups * each)),
        draw(st.sampled_from(get_args(SharesKind))),
        draw(st.booleans()),
        draw(st.sampled_from([1.0, 1.0, 2.5])),
        groups,
        active_groups,
        draw(ROWS),
        d_shared,
        d_shared > 0 and draw(st.booleans()),
        weighted == "output" and draw(st.booleans()),
        weighted,
    )


@st.composite
def blocks(draw: st.DrawFn, with_feed_forward: bool = True) -> Block:
    """Any block; on request without a feed-forward layer, as before a cross attention."""
    placement = draw(st.sampled_from(get_args(NormPlacement)))
    ffn = draw(st.one_of(st.none(), feed_forwards())) if with_feed_forward else None
    is_sandwich = placement == "sandwich"
    return Block(
        placement,
        placement == "parallel" or draw(st.booleans()),
        draw(MAYBE_NORM),
        ffn,
        None if ffn is None else draw(MAYBE_NORM),
        draw(MAYBE_NORM) if is_sandwich else None,
        draw(MAYBE_NORM) if is_sandwich and ffn is not None else None,
        draw(st.sampled_from([1.0, 1.0, 0.4])),
        Dropout(draw(st.sampled_from([0.0, 0.3])), draw(_SEEDS), draw(st.booleans())),
    )


GATES = st.one_of(
    st.none(), st.builds(Gate, st.sampled_from(["feature", "head"]), st.builds(Seeded, _SEEDS), ROWS)
)
_SELDOM = st.sampled_from([False, False, True])


@st.composite
def made_of_tokens(draw: st.DrawFn) -> dict[str, Any]:
    """Heads whose keys and values are projected from token vectors."""
    heads = draw(HEADS)
    biases = {f"{role}_bias": draw(ROWS) for role in ("query", "key", "value", "output")}
    norm = st.builds(QKNorm, QK_KINDS, st.floats(1e-3, 1), ROWS, ROWS)
    return {
        "heads": heads,
        "projections": replace(draw(PROJECTIONS), **biases),
        "qk_norm": draw(st.one_of(st.none(), norm)),
        "position": draw(positions(heads.n_heads, heads.d_head)),
    }


@st.composite
def made_of_latents(draw: st.DrawFn) -> dict[str, Any]:
    """Heads of multi-head latent attention, with and without a latent of the query, norms and RoPE."""
    n_heads, d_rope = draw(st.integers(1, 3)), draw(st.sampled_from([0, 2, 4]))
    d_q = draw(st.one_of(st.none(), st.integers(1, 4)))
    latent = Latent(
        draw(st.integers(1, 5)),
        d_q,
        d_rope,
        draw(MAYBE_NORM),
        None if d_q is None else draw(MAYBE_NORM),
        *(Seeded(draw(_SEEDS)) for _ in range(5)),
    )
    turned = [Rope(50.0, start=3), Rope(20.0, "half_split", n_rotated=2)] if d_rope else []
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
        "position": draw(st.sampled_from([NoPosition(), Alibi(), Sinusoidal(100.0), *turned])),
    }


@st.composite
def attentions(draw: st.DrawFn, has_cross_behind: bool = False) -> dict[str, Any]:
    """The fields of any attention with its block."""
    made = draw(made_of_latents() if draw(_SELDOM) else made_of_tokens())
    of_sinks = draw(sinks(made["heads"].n_heads))
    empty_row = draw(st.sampled_from(["zeros", "zeros", "nan"]))
    # A NaN that a number of the mask made is in every gradient.
    added = st.none() if empty_row == "nan" else additive_masks(made["heads"].n_heads)
    return {
        **made,
        "scale": draw(SCALES),
        "temperature": draw(st.sampled_from([1.0, 2.0])),
        "cap": draw(st.one_of(st.none(), st.floats(0.5, 5))),
        "query_offset": draw(st.sampled_from([0, 0, 0, 2])),
        "masks": draw(MASK_SETS),
        "mask_placement": draw(st.sampled_from(["before_softmax", "after_softmax"])),
        "mask_bias": draw(st.sampled_from([None, None, -3.0])),
        "fully_masked_row": empty_row,
        "additive_mask": draw(added),
        "sinks": of_sinks,
        "normaliser": "softmax" if of_sinks is not None else draw(NORMALISERS),
        "dropout": Dropout(draw(st.sampled_from([0.0, 0.3])), draw(_SEEDS), draw(st.booleans())),
        "differential": draw(differentials(made["heads"].n_heads)),
        "gate": draw(GATES),
        "position_temperature": draw(st.sampled_from([None, None, PositionTemperature(2, 0.5)])),
        "block": draw(st.one_of(st.none(), blocks(not has_cross_behind))),
    }


@st.composite
def vocabularies(draw: st.DrawFn, d_model: int) -> Vocabulary:
    """Any vocabulary of a few tokens, tied or not, with and without a transform before it."""
    n = draw(st.integers(1, 5))
    numbers = np.random.default_rng(draw(_SEEDS)).standard_normal((2, n, d_model))
    return Vocabulary(
        tuple(f"w{i}" for i in range(n)),
        Matrix(numbers[0]),
        draw(st.sampled_from([1.0, 0.5])),
        Matrix(numbers[1].T) if draw(st.booleans()) else None,
        bias=draw(ROWS),
        logit_scale=draw(st.sampled_from([1.0, 2.0])),
        cap=draw(st.sampled_from([None, 3.0])),
        transform=draw(st.one_of(st.none(), TRANSFORMS)),
    )


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
    vocabulary = draw(st.one_of(st.none(), vocabularies(d_model)))
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
