"""The language model of the decoding bench: the bundled one, or one of its size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnviz import resources
from attnviz.i18n import _
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Causal, DType, Explicit, ExplicitVectors, Heads, Projections, Rope
from attnviz.model.spec.rows import WrittenRow
from attnviz.model.spec.vocabulary import Vocabulary

SEED = 0
EPS = 1e-5
HEADS = Heads(4, 2, 32)


def language_model(n_prompt: int) -> tuple[str, Experiment]:
    """(description, the model with `n_prompt` tokens), in float32.

    The trained model of `resources/models/stories` if it exists, else a random one of the same form.
    """
    folder = resources.root() / "models" / "stories"
    if not (folder / "model.safetensors").is_file():
        return _("random weights, shaped as a Llama"), drawn_model(n_prompt)
    from attnviz.checkpoints import import_checkpoint

    document = import_checkpoint(folder, ids=tuple(range(1, n_prompt + 1)), dtype="float32")
    return _("the trained model that ships with attnviz"), document.experiment


def drawn_model(
    n_prompt: int,
    d_model: int = 128,
    n_layers: int = 4,
    heads: Heads = HEADS,
    d_hidden: int = 448,
    n_vocabulary: int = 2048,
    dtype: DType = "float32",
) -> Experiment:
    """A decoder of a Llama's form: RMSNorm, RoPE of half-split pairs, grouped heads, SwiGLU, tied matrices.

    Every weight is sampled from `SEED` and explicit; additions to the residual stream are smaller, so that
    the sum over the layers keeps its size.
    """
    rng = np.random.default_rng(SEED)

    def drawn(rows: int, columns: int, size: float = 1.0) -> NDArray[np.float64]:
        return rng.standard_normal((rows, columns)) * size / np.sqrt(rows)

    def matrix(rows: int, columns: int, size: float = 1.0) -> Explicit:
        return Explicit(Matrix(drawn(rows, columns, size)))

    def norm() -> Norm:
        return Norm("rms", EPS, WrittenRow(Matrix(1 + 0.1 * rng.standard_normal((1, d_model)))))

    small = (2 * n_layers) ** -0.5
    kv, all_heads = heads.n_kv_heads * heads.d_head, heads.n_heads * heads.d_head

    def layer() -> Layer:
        return Layer(
            heads=heads,
            projections=Projections(
                matrix(d_model, all_heads),
                matrix(d_model, kv),
                matrix(d_model, kv),
                matrix(all_heads, d_model, small),
            ),
            position=Rope(pairing="half_split"),
            masks=(Causal(),),
            block=Block(
                "pre",
                norm_1=norm(),
                feed_forward=FeedForward(
                    d_hidden,
                    "silu",
                    gated=True,
                    gate=matrix(d_model, d_hidden),
                    up=matrix(d_model, d_hidden),
                    down=matrix(d_hidden, d_model, small),
                ),
                norm_2=norm(),
            ),
        )

    embedding = drawn(n_vocabulary, d_model, 0.5 * np.sqrt(n_vocabulary))
    names = tuple(f"t{id_}" for id_ in range(n_vocabulary))
    ids = rng.integers(0, n_vocabulary, n_prompt)
    return Experiment(
        tuple(names[id_] for id_ in ids),
        ExplicitVectors(Matrix(embedding[ids])),
        layers=tuple(layer() for _number in range(n_layers)),
        final_norm=norm(),
        vocabulary=Vocabulary(names, Matrix(embedding)),
        readout="vocabulary",
        dtype=dtype,
    )
