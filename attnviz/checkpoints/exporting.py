"""Export of an experiment as a Llama checkpoint: the importer's table read from right to left.

The result, in the names and layouts of `transformers`, lets other programs compute the same.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.checkpoints.blueprint import read_config
from attnviz.checkpoints.families.family import ACTIVATIONS, Array, Config, Tensor, transposed
from attnviz.checkpoints.families.llama import LLAMA
from attnviz.checkpoints.filling import filled
from attnviz.errors import FieldError, must_be
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import FeedForward, Norm
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Explicit, Rope
from attnviz.model.spec.rows import WrittenRow
from attnviz.model.spec.vocabulary import Vocabulary

OF_A_LLAMA = must_be(
    "the parts of a Llama: causal layers with RMSNorm, RoPE, grouped heads and a gated feed-forward layer"
)


def llama_config(experiment: Experiment, context: int) -> dict[str, Any]:
    """The `config.json` of this experiment as a Llama; `context` is its maximum length.

    Raises `ValueError` if it has no vocabulary, no feed-forward layer or no RoPE.
    """
    vocabulary, final, first = experiment.vocabulary, experiment.final_norm, experiment.layers[0]
    position, ffn = first.position, None if first.block is None else first.block.feed_forward
    for field, value, kind in (
        ("vocabulary", vocabulary, Vocabulary),
        ("final_norm", final, Norm),
        ("layers[0].position", position, Rope),
        ("layers[0].block.feed_forward", ffn, FeedForward),
    ):
        if not isinstance(value, kind):
            raise FieldError(field, value, OF_A_LLAMA)
    assert vocabulary is not None and final is not None and ffn is not None and isinstance(position, Rope)
    activations = {ours: theirs for theirs, ours in reversed(ACTIVATIONS.items())}
    return {
        "model_type": "llama",
        "vocab_size": len(vocabulary.tokens),
        "hidden_size": experiment.d_model,
        "intermediate_size": ffn.d_hidden,
        "num_hidden_layers": len(experiment.layers),
        "num_attention_heads": first.heads.n_heads,
        "num_key_value_heads": first.heads.n_kv_heads,
        "head_dim": first.heads.d_head,
        "max_position_embeddings": context,
        "rope_parameters": {"rope_type": "default", "rope_theta": position.base},
        "rms_norm_eps": final.eps,
        "hidden_act": activations.get(ffn.activation, ffn.activation),
        "attention_bias": first.projections.query_bias is not None,
        "mlp_bias": ffn.gate_bias is not None,
        "tie_word_embeddings": vocabulary.unembedding is None,
    }


def llama_tensors(experiment: Experiment, context: int) -> dict[str, Array]:
    """The tensors of that configuration by name, in the layout of `torch.nn.Linear`: (out, in).

    All weights must be explicit. Raises `ValueError`, one sentence, if the experiment has parts that a Llama
    of this configuration lacks, or lacks parts that it has.
    """
    config = read_config(LLAMA, llama_config(experiment, context))
    rows = [row for row in LLAMA.tensors if row.is_there(config)]
    outside = {row.name: _stored(experiment, row) for row in rows if "{layer}" not in row.name}
    tensors = {name.replace("{layer}", ""): array for name, array in outside.items()}
    for index, layer in enumerate(experiment.layers):
        inside = [row for row in rows if "{layer}" in row.name]
        tensors |= {row.name.format(layer=index): _stored(layer, row) for row in inside}
        _check(config, index, layer, inside)
    around = LLAMA.around(config)
    for name in ("embedding_norm", "final_norm"):
        expected, there = getattr(around, name), getattr(experiment, name)
        if expected != (None if there is None else Norm(there.kind, there.eps)):
            raise FieldError(name, there, OF_A_LLAMA)
    assert experiment.vocabulary is not None
    plain = Vocabulary(experiment.vocabulary.tokens, experiment.vocabulary.embedding)
    for field in ("embedding_scale", "bias", "logit_scale", "cap"):
        if (value := getattr(experiment.vocabulary, field)) != getattr(plain, field):
            raise FieldError(f"vocabulary.{field}", value, OF_A_LLAMA)
    return tensors


def _check(config: Config, index: int, layer: Layer, rows: list[Tensor]) -> None:
    """Raise unless a layer equals the layer that its tensors give with this configuration."""
    expected = filled(LLAMA.layer(config, index), {row.places[0]: _numbers(layer, row) for row in rows})
    for field in Layer.__struct_fields__:
        if getattr(expected, field) != getattr(layer, field):
            path = f"layers[{index}].{field}"
            raise FieldError(path, getattr(layer, field), OF_A_LLAMA)


def _numbers(part: Layer | Experiment, row: Tensor) -> NDArray[Any]:
    """The numbers of a tensor, as the document has them."""
    (place,) = row.places
    try:
        value = attrgetter(place)(part)
    except AttributeError:
        value = None
    if isinstance(value, WrittenRow):
        return value.values.array[0]
    if isinstance(value, Explicit):
        return value.values.array
    if isinstance(value, Matrix):
        return value.array
    raise FieldError(place, value, must_be("explicit weights"))


def _stored(part: Layer | Experiment, row: Tensor) -> Array:
    """The numbers as a checkpoint stores them."""
    numbers = _numbers(part, row)
    return np.ascontiguousarray(numbers.T if row.split is transposed else numbers)
