"""A spread of small experiments that uses every stage, and a hypothesis strategy over the whole space."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from first_layer import stacked
from hypothesis import strategies as st
from msgspec.structs import replace

from attnviz.core.piece_kinds import PIECE_KIND_BY_ID
from attnviz.model import normalisers
from attnviz.model.sites.sites import main_site, site_names
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.attention import Attention, Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.differential import Differential
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.experts import Experts
from attnviz.model.spec.gate import Gate
from attnviz.model.spec.latent import LATENT_ROLES, Latent
from attnviz.model.spec.parts import (
    AdditiveMask,
    Alibi,
    AnyOf,
    Blocks,
    Causal,
    Dilated,
    Documents,
    Dropout,
    ExplicitSinks,
    Global,
    Heads,
    Identity,
    Memory,
    NoPosition,
    NoScale,
    Padding,
    Painted,
    PositionTemperature,
    Prefix,
    Projections,
    QKNorm,
    Rope,
    ScaleValue,
    Seeded,
    SeededSinks,
    SeededVectors,
    Sinusoidal,
    SqrtDHead,
    Strided,
    Tied,
    Window,
)
from attnviz.model.spec.positions import Deberta, Learned, T5Buckets, TransformerXl
from attnviz.model.spec.rows import DrawnRow
from attnviz.model.spec.scalings import DynamicNtk, LinearScaling, Llama3Scaling, LongRope, NoScaling, Yarn
from attnviz.model.spec.site import Site
from attnviz.model.spec.source import DrawnTable, WrittenTable
from attnviz.model.spec.vocabulary import Classes, EmbeddingProjection, Transform, Vocabulary
from attnviz.operations.norm import NORM_KINDS

INF = float("inf")
TOKENS = ("the", "cat", "the", "<s>", "猫")
"""One of them twice: a vocabulary of four."""

MEMORY = Memory(("un", "chat", "!"), SeededVectors(3, 5, 8))
ALL_SEEDED = Projections(Seeded(1), Seeded(2), Seeded(3), Seeded(4))


def small(**changes: Any) -> Experiment:
    """Five tokens of six features, one head of four, float64, seeded weights."""
    fields: dict[str, Any] = {
        "tokens": TOKENS,
        "vectors": SeededVectors(5, 6, 7),
        "heads": Heads(1, 1, 4),
        "projections": ALL_SEEDED,
        "readout": "similarity",
        "dtype": "float64",
    }
    return stacked(**{**fields, **changes})


def sited(one: Experiment | Site) -> Site:
    """The attention that `one` is, or the first that it has."""
    return one if isinstance(one, Site) else main_site(one)


def block(placement: Any, **norms: Any) -> Block:
    """A block with everything: norms with gains, a gated feed-forward layer with biases."""
    ffn = FeedForward(
        5, "silu", gated=True, up_bias=DrawnRow(1), gate_bias=DrawnRow(2), down_bias=DrawnRow(3)
    )
    first = Norm("layer", 1e-3, gain=DrawnRow(4, 1.0, 0.3), bias=DrawnRow(5, 0.0, 0.3))
    return Block(placement, True, first, ffn, Norm("rms", gain=DrawnRow(7)), **norms)


SPREAD: dict[str, Experiment] = {
    "plain": small(),
    "identity": small(projections=Projections(), heads=Heads(1, 1, 6)),
    "rectangular identity": small(projections=Projections(), heads=Heads(2, 1, 4)),
    "tied": small(projections=Projections(Seeded(1), Tied("query"), Seeded(3), Tied("value"))),
    "unscaled": small(scale=NoScale()),
    "value and temperature": small(scale=ScaleValue(0.7), temperature=1.8),
    "cap": small(cap=0.5, temperature=0.1),
    "sinusoidal": small(position=Sinusoidal(100.0, start=3), masks=(Causal(),)),
    "rope interleaved": small(position=Rope(start=7, multipliers=(0.5,)), heads=Heads(4, 2, 4)),
    "rope half split, partial, on v": small(
        position=Rope(100.0, "half_split", n_rotated=4, on_values=True), heads=Heads(2, 1, 6)
    ),
    "rope linear": small(position=Rope(100.0, multipliers=(0.5,), scaling=LinearScaling(3.0))),
    "rope dynamic": small(position=Rope(100.0, start=2, scaling=DynamicNtk(3.0, 4)), heads=Heads(1, 1, 6)),
    "rope dynamic, short": small(position=Rope(100.0, scaling=DynamicNtk(3.0, 50))),
    "rope dynamic, one pair": small(position=Rope(n_rotated=2, scaling=DynamicNtk(3.0, 4, length=90))),
    "rope yarn": small(
        position=Rope(100.0, scaling=Yarn(4.0, 30, 3.0, 0.2), multipliers=(1.0, 1.5)), heads=Heads(2, 1, 8)
    ),
    "rope yarn on v": small(
        position=Rope(scaling=Yarn(4.0, 30, 2.0, 0.5, attention_factor=0.8), on_values=True)
    ),
    "rope llama 3": small(
        position=Rope(100.0, scaling=Llama3Scaling(8.0, 0.2, 3.0, 12)),
        heads=Heads(2, 1, 8),
        masks=(Causal(),),
    ),
    "learned": small(position=Learned(9, start=4, table=DrawnTable(3, 0.5)), masks=(Causal(),)),
    "learned, written out": small(
        position=Learned(5, table=WrittenTable(Matrix([[r * 0.25 - f for f in range(6)] for r in range(5)])))
    ),
    "t5": small(position=T5Buckets(4, 3, table=DrawnTable(3)), heads=Heads(4, 2, 2), cap=2.0),
    "t5 one way": small(
        position=T5Buckets(
            6, 5, bidirectional=False, table=WrittenTable(Matrix([[0.5 * r, -r] for r in range(6)]))
        ),
        heads=Heads(2, 2, 3),
        masks=(Causal(),),
    ),
    "transformer-xl": small(position=TransformerXl(50.0), heads=Heads(4, 2, 2), masks=(Causal(),)),
    "transformer-xl, written out": small(
        position=TransformerXl(
            weights=WrittenTable(Matrix([[0.1 * f - 0.2 * c for c in range(4)] for f in range(6)])),
            u=WrittenTable(Matrix([[0.5, -1.0, 0.25, 2.0]])),
            v=DrawnTable(std=0.0),
        ),
        cap=2.0,
    ),
    "deberta": small(position=Deberta(4, 9), heads=Heads(4, 2, 2), scale=ScaleValue(6**-0.5)),
    "deberta, unscaled": small(position=Deberta(2, 4), scale=NoScale()),
    "transformer-xl, cross": small(memory=MEMORY, position=TransformerXl(), heads=Heads(2, 1, 3)),
    "t5, cross": small(memory=MEMORY, position=T5Buckets(4, 3, table=DrawnTable(3))),
    "alibi": small(position=Alibi(), heads=Heads(6, 3, 2), masks=(Causal(),)),
    "alibi slopes": small(position=Alibi((0.3, -0.2)), heads=Heads(2, 2, 3), cap=2.0),
    "masks": small(masks=(Causal(), Padding((1,)), Window(2, 0), Painted(((4, 4), (2, 0)))), cap=3.0),
    "queries behind keys": small(
        memory=MEMORY, query_offset=2, masks=(Causal(), Painted(((4, 1),))), position=Rope(50.0, start=3)
    ),
    "queries behind keys, alibi": small(
        memory=MEMORY, query_offset=1, masks=(Window(2, 1),), position=Alibi(), heads=Heads(2, 1, 4)
    ),
    "queries behind keys, t5": small(
        memory=MEMORY, query_offset=4, position=T5Buckets(8, 6, table=DrawnTable(3)), heads=Heads(2, 2, 3)
    ),
    "queries behind keys, transformer-xl": small(
        query_offset=3, masks=(Causal(),), position=TransformerXl(50.0)
    ),
    "queries behind keys, deberta": small(memory=MEMORY, query_offset=2, position=Deberta(4, 9)),
    "additive mask": small(
        additive_mask=AdditiveMask.of(
            [[0.5, -INF, -2.0, 1.0, 0.25], [-INF] * 5, [1.0, -1.0, 0.5, 0.0, -INF], [3.0] * 5]
        ),
        position=Alibi((0.3, -0.2)),
        heads=Heads(2, 1, 4),
        cap=2.0,
        masks=(Padding((3,)),),
    ),
    "additive mask of each head": small(
        additive_mask=AdditiveMask.of(
            [[[-INF, 1.0, 2.0], [0.0, -INF, -INF]], [[0.5, -0.5, 0.0], [-INF, -INF, -INF]]]
        ),
        heads=Heads(2, 2, 4),
        masks=(Window(1, 1),),
        position=Rope(50.0),
    ),
    "prefix": small(masks=(Prefix(2), Documents((3,)))),
    "any of": small(masks=(Causal(), AnyOf((Window(1), Strided(3), Global((0,)))))),
    "sparse": small(masks=(AnyOf((Dilated(1, 1, 2), Blocks(2))), Padding((4,))), heads=Heads(2, 1, 4)),
    "biases": small(
        projections=Projections(
            Seeded(1), Seeded(2), Identity(), Identity(), DrawnRow(1), DrawnRow(2), DrawnRow(3), DrawnRow(4)
        ),
        heads=Heads(2, 1, 3),
    ),
    "gate": small(gate=Gate(bias=DrawnRow(3)), heads=Heads(4, 2, 2), masks=(Causal(),)),
    "temperature by position": small(
        position_temperature=PositionTemperature(2, 0.7), heads=Heads(4, 2, 2), position=Rope(50.0)
    ),
    "temperature by position, relative": small(
        position_temperature=PositionTemperature(1, 0.4), position=Deberta(4, 9), heads=Heads(4, 2, 2)
    ),
    "differential": small(
        differential=Differential(0.4, DrawnRow(1), DrawnRow(2), DrawnRow(3), DrawnRow(4), eps=0.1),
        heads=Heads(4, 2, 4),
        masks=(Causal(),),
        position=Rope(50.0),
    ),
    "differential, with all around it": small(
        differential=Differential(),
        heads=Heads(6, 3, 2, (1,)),
        dropout=Dropout(0.3, 4),
        gate=Gate("head", Seeded(8)),
        memory=MEMORY,
        block=block("parallel"),
        mask_placement="after_softmax",
        masks=(Padding((1,)),),
    ),
    "gate of heads": small(
        gate=Gate("head", Seeded(8)), heads=Heads(2, 1, 3, (1,)), memory=MEMORY, block=block("parallel")
    ),
    "gate, identity": small(gate=Gate(weights=Identity()), heads=Heads(2, 2, 3), block=block("post")),
    "pre-norm": small(block=block("pre"), final_norm=Norm("rms"), masks=(Causal(),)),
    "post-norm": small(block=block("post"), embedding_norm=Norm(), position=Sinusoidal(100.0)),
    "sandwich": small(block=block("sandwich", after_1=Norm("rms"), after_2=Norm("layer", bias=DrawnRow(6)))),
    "parallel": small(block=block("parallel"), heads=Heads(2, 1, 2)),
    "parallel, one norm": small(block=replace(block("parallel"), norm_2=None)),
    "no residual, no norms": small(
        block=Block(residual=False, norm_1=None, feed_forward=FeedForward(6, "relu"))
    ),
    "a norm alone": small(block=Block(norm_1=Norm("layer", 0.1)), readout="none"),
    "identity, gated": small(
        block=Block(feed_forward=FeedForward(6, "identity", gated=True, up=Identity(), down=Identity()))
    ),
    "identity activation": small(
        block=Block(feed_forward=FeedForward(6, "identity", up=Identity(), up_bias=DrawnRow(4)))
    ),
    "sigmoid units": small(block=Block(feed_forward=FeedForward(4, "sigmoid", gated=True))),
    "gelu": small(block=Block(feed_forward=FeedForward(4, "gelu", gated=True))),
    "gelu by tanh": small(block=Block("post", norm_1=None, feed_forward=FeedForward(4, "gelu_tanh"))),
    "relu, gated": small(
        block=Block("parallel", norm_1=None, feed_forward=FeedForward(4, "relu", gated=True))
    ),
    "quick gelu, scaled": small(
        block=Block(feed_forward=FeedForward(4, "quick_gelu"), after_1=None, residual_scale=0.3)
    ),
    "relu squared unit": small(block=Block(feed_forward=FeedForward(4, "relu_squared"))),
    "relu squared unit, gated": small(block=Block(feed_forward=FeedForward(4, "relu_squared", gated=True))),
    "tanh": small(block=Block(feed_forward=FeedForward(4, "tanh"))),
    "quick gelu, gated and scaled": small(
        block=Block(
            "parallel",
            norm_1=None,
            feed_forward=FeedForward(4, "quick_gelu", gated=True),
            residual_scale=-1.5,
        )
    ),
    "residual dropout": small(
        block=replace(block("sandwich", after_1=Norm("rms")), dropout=Dropout(0.4, seed=5)),
        dropout=Dropout(0.2, seed=5),
    ),
    "residual dropout after the norms": small(
        block=replace(block("post"), dropout=Dropout(0.3, seed=2, rescale=False)), masks=(Causal(),)
    ),
    "residual dropout of a parallel block": small(block=replace(block("parallel"), dropout=Dropout(0.5))),
    "qk norm across heads": small(
        qk_norm=QKNorm("rms", 0.1, DrawnRow(1), DrawnRow(2), across=True), heads=Heads(4, 2, 4)
    ),
    "qk layer norm across heads": small(
        qk_norm=QKNorm("layer", query_gain=DrawnRow(1), across=True),
        heads=Heads(2, 2, 4),
        position=Rope(50.0),
    ),
    "experts": small(
        block=Block(
            feed_forward=FeedForward(3, "silu", gated=True, down_bias=DrawnRow(3), experts=Experts(4, 2))
        )
    ),
    "experts, a shared one with a gate": small(
        block=Block(
            "parallel",
            feed_forward=FeedForward(
                3,
                "gelu",
                experts=Experts(3, 2, normalised=False, scale=1.5, d_shared=4, shared_gate=True),
                router_bias=DrawnRow(5),
            ),
        )
    ),
    "experts with biases": small(
        block=Block(
            feed_forward=FeedForward(
                2,
                "clamped_swish",
                gated=True,
                gate_bias=DrawnRow(1),
                up_bias=DrawnRow(2),
                experts=Experts(3, 2, d_shared=1, shared_gate=True, biased=True),
            )
        )
    ),
    "experts with weighted inputs": small(
        block=Block(
            feed_forward=FeedForward(
                3,
                "silu",
                gated=True,
                up_bias=DrawnRow(2),
                experts=Experts(3, 2, "sigmoid", normalised=False, d_shared=2, weighted="input"),
            )
        )
    ),
    "experts with weighted inputs and a gate of the shared one": small(
        block=Block(
            "parallel",
            feed_forward=FeedForward(
                2, "relu", experts=Experts(2, 1, d_shared=1, shared_gate=True, weighted="input")
            ),
        )
    ),
    "experts in groups": small(
        block=Block(
            norm_1=None,
            feed_forward=FeedForward(
                2,
                "relu",
                up_bias=DrawnRow(2),
                experts=Experts(
                    6,
                    2,
                    "sigmoid",
                    scale=2.5,
                    n_groups=3,
                    n_active_groups=2,
                    correction=DrawnRow(7),
                    d_shared=3,
                ),
            ),
        )
    ),
    "clamped": small(block=Block(feed_forward=FeedForward(4, "clamped_swish", gated=True))),
    "qk gains": small(
        qk_norm=QKNorm("rms", query_gain=DrawnRow(1), key_gain=DrawnRow(2)), heads=Heads(2, 1, 4)
    ),
    "vocabulary": small(
        vocabulary=Vocabulary(
            ("a", "b"),
            Matrix([[0.1 * f - t for f in range(6)] for t in range(2)]),
            bias=DrawnRow(3),
            logit_scale=0.5,
            cap=2.0,
        ),
        readout="vocabulary",
    ),
    "transform": small(
        final_norm=Norm("rms", 0.1),
        vocabulary=Vocabulary(
            ("a", "b", "c"),
            Matrix([[0.1 * f - t for f in range(6)] for t in range(3)]),
            transform=Transform(
                Seeded(5), DrawnRow(6), norm=Norm("layer", 0.01, DrawnRow(7, 1.0, 0.2), DrawnRow(8))
            ),
        ),
        readout="vocabulary",
    ),
    "classes": small(
        vocabulary=Vocabulary(
            ("a", "b"),
            Matrix([[0.1 * f - t for f in range(6)] for t in range(2)]),
            unembedding=Matrix([[0.2 * f - c for c in range(3)] for f in range(6)]),
            bias=DrawnRow(3),
            transform=Transform(Seeded(5), DrawnRow(6), "tanh", norm=None),
            classes=Classes(("good", "bad", "neither"), "first"),
        ),
        readout="vocabulary",
    ),
    "classes without a distribution": small(
        vocabulary=Vocabulary(
            ("a", "b", "c"),
            Matrix([[0.1 * f - t for f in range(6)] for t in range(3)]),
            unembedding=Matrix([[0.2 * f - c for c in range(2)] for f in range(6)]),
            classes=Classes(("start", "end"), distribution=False),
        ),
        readout="vocabulary",
    ),
    "narrow embedding": small(
        embedding_norm=Norm("layer", 0.1, DrawnRow(1), DrawnRow(2)),
        embedding_projection=EmbeddingProjection(4, Seeded(3), DrawnRow(4)),
        position=Learned(7, 1),
        vocabulary=Vocabulary(
            ("a", "b", "c"),
            Matrix([[0.1 * f - t for f in range(6)] for t in range(3)]),
            bias=DrawnRow(3),
            transform=Transform(Seeded(5), DrawnRow(6), norm=Norm("rms", gain=DrawnRow(7))),
        ),
        readout="vocabulary",
    ),
    "references": small(heads=Heads(2, 1, 4), masks=(Causal(),), references=((2, 1), (4, 1), (4, 0))),
    "wide embedding": small(
        embedding_projection=EmbeddingProjection(3, Seeded(3)),
        position=Sinusoidal(100.0),
        block=block("pre"),
        readout="none",
    ),
    "transform that passes on": small(
        vocabulary=Vocabulary(
            ("a", "b"),
            Matrix([[0.1 * f - t for f in range(6)] for t in range(2)]),
            transform=Transform(Identity(), activation="identity", norm=None),
        ),
        readout="vocabulary",
    ),
    "mla": small(
        heads=Heads(2, 2, 4),
        latent=Latent(3, d_rope=2, norm=Norm("rms", 0.1, gain=DrawnRow(5, 1.0, 0.3))),
        position=Rope(50.0, start=2),
        projections=Projections(Seeded(1), output=Seeded(4)),
        masks=(Causal(),),
    ),
    "mla with query latent": small(
        heads=Heads(4, 4, 3, (2,)),
        latent=Latent(5, 3, 4, Norm("rms"), Norm("layer", bias=DrawnRow(7))),
        position=Rope(50.0, "half_split", n_rotated=2, multipliers=(1.5,)),
        projections=Projections(Seeded(1), output=Seeded(4), query_bias=DrawnRow(3)),
        memory=MEMORY,
        cap=2.0,
    ),
    "mla no rope": small(
        heads=Heads(2, 2, 3),
        latent=Latent(6, 5, down=Identity(), up_key=Seeded(3), query_down=Seeded(1)),
        position=Alibi(),
        projections=Projections(Seeded(2)),
    ),
    "after softmax": small(masks=(Causal(), Padding((1,))), mask_placement="after_softmax"),
    "fully masked": small(masks=(Causal(), Padding((0, 1)))),
    "fully masked as nan": small(masks=(Causal(), Padding((0,))), fully_masked_row="nan"),
    "added to blocked": small(masks=(Causal(), Padding((0,))), mask_bias=-7.5, heads=Heads(4, 2, 2), cap=3.0),
    "sigmoid, added to blocked": small(
        normaliser="sigmoid", masks=(Causal(), Padding((0,))), mask_bias=-2.0, dropout=Dropout(0.3)
    ),
    "dropout": small(dropout=Dropout(0.4, seed=3), heads=Heads(4, 2, 2), masks=(Window(1, 1),)),
    "dropout without rescale": small(dropout=Dropout(0.5, seed=1, rescale=False)),
    "sinks": small(sinks=ExplicitSinks((0.5, -1.0)), heads=Heads(2, 1, 4), masks=(Causal(), Padding((0,)))),
    "seeded sinks, masked late": small(
        sinks=SeededSinks(4), masks=(Causal(),), mask_placement="after_softmax", cap=1.0
    ),
    "large sink": small(sinks=ExplicitSinks((1000.0,)), scale=ScaleValue(300.0)),
    "sigmoid": small(normaliser="sigmoid", masks=(Causal(), Padding((0,))), heads=Heads(4, 2, 2)),
    "sigmoid, masked late": small(normaliser="sigmoid", masks=(Causal(),), mask_placement="after_softmax"),
    "relu squared": small(normaliser="relu_squared", masks=(Window(1, 1),), dropout=Dropout(0.3)),
    "relu squared, as nan": small(
        normaliser="relu_squared", masks=(Causal(), Padding((0,))), fully_masked_row="nan"
    ),
    "rms": small(qk_norm=QKNorm("rms", 0.1), heads=Heads(4, 2, 4), position=Rope(50.0, n_rotated=2)),
    "layer": small(qk_norm=QKNorm("layer"), heads=Heads(2, 1, 4), masks=(Causal(),)),
    "length one": small(qk_norm=QKNorm("l2", 0.0), memory=MEMORY, scale=ScaleValue(4.0)),
    "heads off": small(heads=Heads(4, 2, 2, (1, 2, 3)), masks=(Causal(),)),
    "head off, dropout": small(
        heads=Heads(2, 2, 4, (0,)),
        dropout=Dropout(0.4),
        masks=(Padding((0, 1, 2, 3, 4)),),
        fully_masked_row="nan",
    ),
    "cross": small(memory=MEMORY, heads=Heads(4, 2, 2), masks=(Padding((2,)),)),
    "cross, rope, dropout": small(memory=MEMORY, position=Rope(on_values=True), dropout=Dropout(0.3)),
    "everything": small(
        heads=Heads(4, 2, 6),
        position=Rope(50.0, "half_split", start=2, n_rotated=4, multipliers=(1.5, 0.5), on_values=True),
        scale=ScaleValue(1.3),
        temperature=0.6,
        cap=1.5,
        masks=(Causal(), Window(3, 0), Padding((2,)), Painted(((3, 3),))),
        dropout=Dropout(0.25, seed=9),
    ),
}


DECODED = {
    name: one
    for name, one in SPREAD.items()
    if (one.d_model == one.d_embedding if one.vocabulary is None else one.vocabulary.classes is None)
}
"""Those whose tokens can be generated: no classifiers, and none that lack a read-out and cannot have one."""

ENCODER_BLOCK = Block(feed_forward=FeedForward(3, "gelu"), norm_2=Norm("rms"))

STACKS: dict[str, Experiment] = {
    "two layers, pre": small(
        block=block("pre"),
        position=Rope(50.0),
        masks=(Causal(),),
        behind=(
            Layer(heads=Heads(2, 1, 4), projections=ALL_SEEDED, position=Rope(20.0), block=block("pre")),
        ),
        final_norm=Norm("rms", gain=DrawnRow(8, 1.0, 0.2)),
    ),
    "two layers, post": small(
        embedding_norm=Norm(),
        position=Sinusoidal(100.0),
        block=block("post"),
        behind=(Layer(heads=Heads(1, 1, 3), projections=ALL_SEEDED, block=block("post")),),
        vocabulary=Vocabulary(
            ("a", "b", "c"),
            Matrix([[0.1 * f - t for f in range(6)] for t in range(3)]),
            unembedding=Matrix([[0.2 * t - f for t in range(3)] for f in range(6)]),
        ),
        readout="vocabulary",
    ),
    "attentions alone": small(
        behind=(
            Layer(heads=Heads(2, 1, 2), projections=ALL_SEEDED, position=Learned(9, table=DrawnTable(3))),
            Layer(heads=Heads(1, 1, 6), projections=Projections(query_bias=DrawnRow(2)), position=Alibi()),
        ),
    ),
    "encoder and decoder": small(
        memory=MEMORY,
        encoder=(
            Layer(heads=Heads(1, 1, 2), projections=ALL_SEEDED, block=ENCODER_BLOCK),
            Layer(heads=Heads(2, 2, 2), projections=ALL_SEEDED, block=ENCODER_BLOCK),
        ),
        encoder_norm=Norm("layer", bias=DrawnRow(2)),
        encoder_embedding_norm=Norm("rms", gain=DrawnRow(7, 1.0, 0.1)),
        masks=(Causal(),),
        block=Block(),
        cross=Attention(heads=Heads(2, 1, 3), projections=ALL_SEEDED, block=block("pre")),
        behind=(
            Layer(
                heads=Heads(1, 1, 4),
                projections=ALL_SEEDED,
                block=Block(),
                cross=Attention(heads=Heads(1, 1, 3), projections=ALL_SEEDED, block=block("pre")),
            ),
        ),
        final_norm=Norm("rms"),
    ),
    "cross over raw memory": small(
        memory=MEMORY,
        block=Block(norm_1=Norm("rms")),
        behind=(Layer(heads=Heads(2, 1, 2), projections=ALL_SEEDED, masks=(Padding((1,)),)),),
        readout="none",
    ),
    "self and cross over raw memory": small(
        memory=MEMORY, cross=Attention(heads=Heads(2, 2, 2), projections=ALL_SEEDED, block=ENCODER_BLOCK)
    ),
}
"""Experiments of several attentions: each is a site."""

SITES: tuple[tuple[str, str], ...] = tuple(
    (name, site) for name, experiment in (SPREAD | STACKS).items() for site in site_names(experiment)
)
"""(name of the experiment, name of the site) of every attention."""


# --- the whole space -------------------------------------------------------------------------------

# Hypothesis examines each strategy before its first draw, which takes longer than the draw: all are kept.

_SEEDS = st.integers(0, 50)
_INDEX = st.integers(0, 7)

WEIGHTS = st.one_of(st.just(Identity()), st.builds(Seeded, _SEEDS))
PROJECTIONS = st.builds(
    Projections,
    query=WEIGHTS,
    key=WEIGHTS,
    value=st.one_of(st.just(Identity()), st.builds(Seeded, _SEEDS), st.just(Tied("key"))),
    output=st.one_of(st.just(Identity()), st.builds(Seeded, _SEEDS), st.just(Tied("query"))),
)

_SOME = st.lists(_INDEX, max_size=4)
_ASCENDING = st.sets(_INDEX, max_size=4).map(sorted).map(tuple)
_COUNT = st.integers(0, 4)
_STEP = st.integers(1, 4)

MASK_OF_KIND: dict[type, st.SearchStrategy[Any]] = {
    Causal: st.just(Causal()),
    Prefix: st.builds(Prefix, _INDEX),
    Padding: st.builds(Padding, _SOME.map(tuple)),
    Window: st.builds(Window, _COUNT, _COUNT),
    Dilated: st.builds(Dilated, _COUNT, _COUNT, _STEP),
    Strided: st.builds(Strided, _STEP),
    Blocks: st.builds(Blocks, _STEP, st.integers(0, 2)),
    Global: st.builds(Global, _SOME.map(tuple)),
    Documents: st.builds(Documents, _ASCENDING),
    Painted: st.builds(Painted, st.lists(st.tuples(_INDEX, _INDEX), max_size=9).map(tuple)),
}
"""A strategy for each kind of mask; `test_masks` checks that none is missing."""

ONE_MASK = st.one_of(*MASK_OF_KIND.values())
_DIFFERENT = st.lists(ONE_MASK, max_size=4, unique_by=type).map(tuple)

MASK_SETS = st.builds(
    lambda masks, joined: (*masks, AnyOf(joined)) if joined else masks,
    _DIFFERENT,
    st.one_of(st.just(()), st.lists(ONE_MASK, max_size=3, unique_by=type).map(tuple)),
)
"""Masks side by side, sometimes with some that are joined by "or"."""

SCALES = st.one_of(st.just(SqrtDHead()), st.just(NoScale()), st.builds(ScaleValue, st.floats(-2, 2)))


FACTORS = st.sampled_from([1.0, 1.5, 8.0])
LENGTHS = st.sampled_from([1, 4, 100, 8192])
DIVISORS = st.lists(st.floats(0.5, 8), max_size=1).map(tuple)
SCALING_OF_KIND: dict[type, st.SearchStrategy[Any]] = {
    NoScaling: st.just(NoScaling()),
    LinearScaling: st.builds(LinearScaling, FACTORS),
    DynamicNtk: st.builds(DynamicNtk, FACTORS, LENGTHS, st.one_of(st.none(), LENGTHS)),
    Yarn: st.builds(
        Yarn, FACTORS, LENGTHS, st.floats(2, 64), st.floats(0.1, 1.5), st.sampled_from([None, 0.7])
    ),
    Llama3Scaling: st.builds(Llama3Scaling, FACTORS, st.floats(0.1, 2), st.floats(3, 10), LENGTHS),
    LongRope: st.builds(
        LongRope, FACTORS, DIVISORS, DIVISORS, st.sampled_from([2, 4, 8192]), st.sampled_from([None, 0.7])
    ),
}
"""A strategy for each scaling of RoPE; `test_positions` checks that none is missing."""

SCALINGS = st.one_of(*SCALING_OF_KIND.values())
TABLES = st.builds(DrawnTable, _SEEDS, st.floats(0, 2))
BUCKETS = st.builds(
    T5Buckets,
    n_buckets=st.sampled_from([4, 6, 8, 32]),
    max_distance=st.sampled_from([17, 128]),
    bidirectional=st.booleans(),
    table=TABLES,
)
QK_KINDS = st.sampled_from([row.id for row in NORM_KINDS])
NORMALISERS = st.sampled_from([row.id for row in normalisers.NORMALISERS])


@cache
def sinks(n_heads: int) -> st.SearchStrategy[Any]:
    """No sinks, or one for each head."""
    values = st.lists(st.floats(-3, 3), min_size=n_heads, max_size=n_heads).map(tuple)
    return st.one_of(st.none(), st.builds(SeededSinks, _SEEDS), st.builds(ExplicitSinks, values))


@cache
def additive_masks(n_heads: int) -> st.SearchStrategy[Any]:
    """No additive mask, or a table of any size, perhaps one for each head, with −∞ here and there."""

    @cache
    def of(sizes: tuple[int, int, bool]) -> st.SearchStrategy[Any]:
        rows, columns, per_head = sizes
        count = rows * columns * (n_heads if per_head else 1)
        numbers = st.lists(st.one_of(st.floats(-3, 3), st.just(-INF)), min_size=count, max_size=count)
        shape = (n_heads, rows, columns) if per_head else (rows, columns)
        return numbers.map(lambda values: AdditiveMask.of(np.reshape(values, shape)))

    return st.one_of(
        st.none(), st.none(), st.tuples(st.integers(1, 4), st.integers(1, 4), st.booleans()).flatmap(of)
    )


@cache
def _off(n_heads: int) -> st.SearchStrategy[set[int]]:
    """The heads that are off."""
    return st.one_of(st.just(set()), st.sets(st.integers(0, n_heads - 1)))


@st.composite
def _heads(draw: st.DrawFn) -> Heads:
    n_kv = draw(st.integers(1, 3))
    n_heads = n_kv * draw(st.integers(1, 3))
    off = draw(_off(n_heads))
    return Heads(n_heads, n_kv, draw(st.integers(1, 6)), tuple(sorted(off)))


HEADS = _heads()


@cache
def _ropes(n_pairs: int) -> st.SearchStrategy[Rope]:
    """Rotations of `n_pairs` pairs of numbers."""
    return st.builds(
        Rope,
        base=st.sampled_from([10.0, 10_000.0, 5e5]),
        pairing=st.sampled_from(["interleaved", "half_split"]),
        start=st.integers(0, 1000),
        n_rotated=st.just(2 * n_pairs),
        multipliers=st.lists(st.floats(-2, 2), max_size=n_pairs).map(tuple),
        on_values=st.booleans(),
        scaling=SCALINGS,
    )


@cache
def positions(n_heads: int, d_head: int) -> st.SearchStrategy[Any]:
    """Any legal position for these heads."""
    slopes = st.lists(st.floats(-1, 1), min_size=n_heads, max_size=n_heads).map(tuple)
    return st.one_of(
        st.just(NoPosition()),
        st.builds(Sinusoidal, base=st.sampled_from([100.0, 10_000.0]), start=st.integers(0, 100)),
        st.builds(Learned, length=st.integers(60, 90), start=st.integers(0, 40), table=TABLES),
        st.builds(Alibi, st.one_of(st.none(), slopes)),
        BUCKETS,
        st.builds(TransformerXl, st.sampled_from([10.0, 10_000.0]), TABLES, TABLES, TABLES),
        st.builds(Deberta, st.sampled_from([2, 4, 8]), st.sampled_from([6, 60]), TABLES, TABLES),
        *([st.integers(1, d_head // 2).flatmap(_ropes)] if d_head >= 2 else []),
    )


NORMS = st.one_of(st.none(), st.builds(Norm, st.sampled_from(["rms", "layer"]), st.floats(1e-6, 1)))
TEMPERATURES = st.sampled_from([None, None, PositionTemperature(2, 0.5)])


@cache
def differentials(n_heads: int) -> st.SearchStrategy[Any]:
    """A difference of weights, for an even number of heads, or none."""
    if n_heads % 2:
        return st.none()
    drawn = st.builds(DrawnRow, _SEEDS, st.just(0.0), st.just(0.5))
    return st.one_of(
        st.none(), st.builds(Differential, st.floats(0, 1), drawn, drawn, drawn, drawn, st.just(0.1))
    )


GATES = st.one_of(
    st.none(),
    st.builds(Gate, st.sampled_from(["feature", "head"]), st.builds(Seeded, _SEEDS)),
)
FIXED_WITHOUT_A_LATENT = {"heads", "projections", "qk_norm", "position", "latent"}


_WIDTHS = st.one_of(st.none(), st.integers(1, 6))
_ROTATED = st.sampled_from([0, 2, 4])


@cache
def _positions_of_latents(n_heads: int, d_rope: int) -> st.SearchStrategy[Any]:
    """Any legal position for heads with `d_rope` rotated numbers beside their latents."""
    others = positions(n_heads, 1).filter(lambda p: not isinstance(p, TransformerXl | Deberta))
    if not d_rope:
        return others
    return st.one_of(
        others, positions(n_heads, d_rope).filter(lambda p: isinstance(p, Rope) and not p.on_values)
    )


@cache
@st.composite
def _latent_fields(draw: st.DrawFn, heads: Heads) -> dict[str, Any]:
    """The fields of an attention whose keys and values come from a latent, with the same number of heads."""
    d_rope, d_q = draw(_ROTATED), draw(_WIDTHS)
    latent = Latent(
        draw(st.integers(1, 6)),
        d_q,
        d_rope,
        draw(NORMS),
        None if d_q is None else draw(NORMS),
        **{role: draw(WEIGHTS) for role in LATENT_ROLES},
    )
    heads = replace(heads, n_kv_heads=heads.n_heads)
    return {
        "heads": heads,
        "latent": latent,
        "projections": Projections(draw(WEIGHTS), output=draw(WEIGHTS)),
        "qk_norm": None,
        "position": draw(_positions_of_latents(heads.n_heads, d_rope)),
    }


_QK_NORMS = st.one_of(st.none(), st.builds(QKNorm, QK_KINDS, st.floats(1e-6, 1)))
_TEMPERATURES = st.sampled_from([0.3, 1.0, 2.0])
CAPS = st.one_of(st.none(), st.floats(0.5, 5))
_OFFSETS = st.sampled_from([0, 0, 0, 1, 4])
PLACEMENTS = st.sampled_from(["before_softmax", "after_softmax"])
_EMPTY_ROWS = st.sampled_from(["zeros", "nan"])
_MASK_BIASES = st.sampled_from([None, None, -1e4, -3.0])
_RATES = st.sampled_from([0.0, 0.3, 0.8])
_READOUTS = st.sampled_from(["similarity", "none"])


@st.composite
def experiments(draw: st.DrawFn, **fixed: Any) -> Experiment:
    """Any small experiment in float64; `fixed` fields are taken as they are."""
    n = draw(st.integers(1, 7))
    heads = fixed.get("heads") or draw(HEADS)
    memory = None
    if draw(st.booleans()):
        m = draw(st.integers(1, 5))
        memory = Memory(
            tuple(f"m{i}" for i in range(m)), SeededVectors(m, draw(st.integers(1, 5)), draw(_SEEDS))
        )
    fields: dict[str, Any] = {
        "tokens": tuple(f"t{i % 3}" for i in range(n)),
        "vectors": SeededVectors(n, draw(st.integers(1, 8)), draw(_SEEDS)),
        "memory": memory,
        "heads": heads,
        "projections": draw(PROJECTIONS),
        "qk_norm": draw(_QK_NORMS),
        "position": draw(positions(heads.n_heads, heads.d_head)),
        "scale": draw(SCALES),
        "temperature": draw(_TEMPERATURES),
        "cap": draw(CAPS),
        "additive_mask": draw(additive_masks(heads.n_heads)),
        "query_offset": draw(_OFFSETS),
        "masks": draw(MASK_SETS),
        "mask_placement": draw(PLACEMENTS),
        "fully_masked_row": draw(_EMPTY_ROWS),
        "mask_bias": draw(_MASK_BIASES),
        "sinks": draw(sinks(heads.n_heads)),
        "dropout": Dropout(draw(_RATES), draw(_SEEDS), draw(st.booleans())),
        "differential": draw(differentials(heads.n_heads)),
        "gate": draw(GATES),
        "position_temperature": draw(TEMPERATURES),
        "readout": draw(_READOUTS),
        "dtype": "float64",
    }
    if not FIXED_WITHOUT_A_LATENT & fixed.keys() and draw(st.integers(0, 3)) == 0:
        fields |= draw(_latent_fields(heads))
    if fields["fully_masked_row"] == "nan":  # a NaN that a number made is in every gradient
        fields["additive_mask"] = None
    fields.update(fixed)
    # A sink takes a share of the softmax, and of nothing else.
    fields.setdefault("normaliser", draw(NORMALISERS) if fields["sinks"] is None else "softmax")
    return stacked(**fields)


def byte_level_names(*words: str) -> tuple[str, ...]:
    """The tokens of a byte-level vocabulary: all bytes as GPT-2 writes them, and these words."""
    written = PIECE_KIND_BY_ID["byte_level"].written
    return (*(written(byte)[0] for byte in range(256)), *words)
