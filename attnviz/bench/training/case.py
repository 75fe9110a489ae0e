"""The model of the training bench: two layers of a Llama's form, of a width that trains while one watches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Causal, DType, Explicit, ExplicitVectors, Heads, Projections, Rope
from attnviz.model.spec.rows import WrittenRow
from attnviz.model.spec.vocabulary import Vocabulary
from attnviz.training.optimiser import Settings

SETTINGS = Settings(rate=2e-3, decay=0.01, clip=1.0)
SEED = 0
EPS = 1e-5
BASE = 10_000.0


@dataclass(frozen=True)
class Shape:
    """The sizes of the model: `heads` of `d_head` features each, `n` tokens in a sequence."""

    layers: int = 2
    heads: int = 4
    d_head: int = 16
    d_hidden: int = 256
    vocabulary: int = 64
    n: int = 32

    @property
    def d_model(self) -> int:
        return self.heads * self.d_head


def model(shape: Shape, dtype: DType = "float32") -> Experiment:
    """Pre-norm, RMSNorm with gains, RoPE of half-split pairs, ReLU, a matrix of its own for the logits."""
    rng = np.random.default_rng(SEED)
    d, width = shape.d_model, shape.heads * shape.d_head

    def matrix(rows: int, columns: int) -> Matrix:
        return Matrix(rng.standard_normal((rows, columns)) / np.sqrt(rows))

    def norm() -> Norm:
        return Norm("rms", EPS, WrittenRow(Matrix(1 + 0.1 * rng.standard_normal((1, d)))))

    def layer() -> Layer:
        query, key, value = (Explicit(matrix(d, width)) for _role in range(3))
        up, down = Explicit(matrix(d, shape.d_hidden)), Explicit(matrix(shape.d_hidden, d))
        ffn = FeedForward(shape.d_hidden, "relu", up=up, down=down)
        return Layer(
            heads=Heads(shape.heads, shape.heads, shape.d_head),
            projections=Projections(query, key, value, Explicit(matrix(width, d))),
            position=Rope(BASE, "half_split"),
            masks=(Causal(),),
            block=Block("pre", norm_1=norm(), feed_forward=ffn, norm_2=norm()),
        )

    names = tuple(f"t{index}" for index in range(shape.vocabulary))
    embedding = rng.standard_normal((shape.vocabulary, d))
    return Experiment(
        names[:2],
        ExplicitVectors(Matrix(embedding[:2])),
        layers=tuple(layer() for _index in range(shape.layers)),
        final_norm=norm(),
        vocabulary=Vocabulary(names, Matrix(embedding), unembedding=matrix(d, shape.vocabulary)),
        readout="vocabulary",
        dtype=dtype,
    )
