"""A small model that learns to copy, its task, and the course of its run."""

from __future__ import annotations

from msgspec.structs import replace

from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Causal, Heads, SeededVectors
from attnviz.parts import Block, Layer, Norm, Projections, Rope, Seeded
from attnviz.training.record import Course
from attnviz.training.tasks import Copy
from attnviz.training.words import with_words, words_for

TASK = Copy(n_tokens=12, n_words=8, shortest=3, longest=5)
COURSE = Course(batch=4, measured=20, kept=10)


def model(n_layers: int = 2, seed: int = 0, dtype: str = "float32") -> Experiment:
    """Layers of two heads with RoPE and pre-norm, without a feed-forward layer."""

    def layer(number: int) -> Layer:
        matrices = [Seeded(10 * seed + 4 * number + index) for index in range(4)]
        roles = dict(zip(("query", "key", "value", "output"), matrices, strict=True))
        return replace(plain, projections=Projections(**roles))

    plain = Layer(
        heads=Heads(2, 2, 16),
        position=Rope(pairing="half_split"),
        masks=(Causal(),),
        block=Block("pre", norm_1=Norm("rms")),
    )
    layers = tuple(map(layer, range(n_layers)))
    blank = Experiment(("a", "b"), SeededVectors(2, 32), layers=layers, final_norm=Norm("rms"))
    return replace(with_words(blank, words_for(8), seed), dtype=dtype)
