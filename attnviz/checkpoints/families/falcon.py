"""Falcon: one fused matrix of grouped heads, parallel halves in most, RoPE or ALiBi.

In the matrix each key/value head follows its query heads. Almazrouei et al. 2023, arXiv:2311.16867; keys and
names as in `transformers`, models/falcon. That library divides ALiBi's biases by the root of d_head as well,
and rounds them to bfloat16, which nothing does here; its eager layers add them twice, its fused ones once.
"""

from __future__ import annotations

import numpy as np

from attnviz.checkpoints.families import decoder
from attnviz.checkpoints.families.decoder import Decoder, heads, rotation, two_maps
from attnviz.checkpoints.families.family import (
    QKV,
    QKV_BIAS,
    Array,
    Config,
    Family,
    Ignored,
    Sizes,
    Tensor,
    activation_key,
    flag,
    has,
    is_untied,
    linear,
    norm,
    norm_after_layers,
    one_of,
    positive,
    transposed,
    unread,
    whole,
)
from attnviz.checkpoints.rotary import ROPE_KEYS
from attnviz.core.positions import alibi_slopes
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Norm
from attnviz.model.spec.positions import Alibi, Position

KEYS = (
    whole("vocab_size"),
    whole("hidden_size"),
    whole("num_hidden_layers"),
    whole("num_attention_heads"),
    whole("num_kv_heads", None),
    whole("ffn_hidden_size", None),
    *ROPE_KEYS,
    whole("max_position_embeddings", 2048),
    activation_key("gelu", "activation"),
    positive("layer_norm_epsilon", 1e-5),
    flag("alibi", False),
    flag("bias", False),
    flag("multi_query", True),
    flag("new_decoder_architecture", False),
    flag("parallel_attn", True),
    one_of("num_ln_in_parallel_attn", (1, 2), None),
    one_of("apply_residual_connection_post_layernorm", (False,), False),
    flag("tie_word_embeddings", True),
    unread("hidden_dropout"),
    # Names of the first published configurations.
    whole("n_layer", None),
    whole("n_head", None),
    whole("n_head_kv", None),
)


def _as_llama(config: Config) -> Config:
    """The configuration under the names that `decoder` reads."""
    n_heads = config["num_attention_heads"]
    n_kv_heads = 1 if config["multi_query"] else n_heads
    if config["new_decoder_architecture"]:
        n_kv_heads = config["num_kv_heads"] or n_heads
    d_hidden = config["ffn_hidden_size"] or 4 * config["hidden_size"]
    return {**config, "num_key_value_heads": n_kv_heads, "intermediate_size": d_hidden}


def _norm_names(config: Config) -> tuple[str, ...]:
    """The norms of a block: parallel halves share one, unless the later architecture has two."""
    is_shared = config["parallel_attn"] and not _has_two(config)
    return ("norm_1",) if is_shared else ("norm_1", "norm_2")


def _has_two(config: Config) -> bool:
    """True if parallel halves have a norm each."""
    count = config["num_ln_in_parallel_attn"] or (2 if config["new_decoder_architecture"] else 1)
    return bool(config["parallel_attn"]) and count == 2


def _has_one(config: Config) -> bool:
    return not _has_two(config)


def _is_in_turn(config: Config) -> bool:
    return not config["parallel_attn"]


def _groups(array: Array, sizes: Sizes) -> tuple[Array, ...]:
    """Queries, keys and values of (KV head, its queries, key, value) rows; matrices transposed."""
    n_kv, size, rest = sizes["kv_heads"], sizes["heads"] // sizes["kv_heads"], array.shape[1:]
    parts = array.reshape(n_kv, size + 2, sizes["head"], *rest)
    pieces = (parts[:, :-2], parts[:, -2], parts[:, -1])
    return tuple(np.ascontiguousarray(piece.reshape(-1, *rest).T) for piece in pieces)


_LAYER = "transformer.h.{layer}."
_FUSED = _LAYER + "self_attention.query_key_value."


TENSORS = (
    Tensor("transformer.word_embeddings.weight", "vocabulary.embedding", ("vocabulary", "d")),
    Tensor("lm_head.weight", "vocabulary.unembedding", ("vocabulary", "d"), transposed, is_untied),
    Tensor(_FUSED + "weight", QKV, ("q+2kv", "d"), _groups),
    Tensor(_FUSED + "bias", QKV_BIAS, ("q+2kv",), _groups, has("bias")),
    *linear(_LAYER + "self_attention.dense", "projections.output", ("d", "q"), has("bias")),
    *two_maps("dense_h_to_4h", "dense_4h_to_h", has("bias"), _LAYER + "mlp."),
    *norm(_LAYER + "input_layernorm", "block.norm_1", is_there=_has_one),
    *norm(_LAYER + "post_attention_layernorm", "block.norm_2", is_there=_is_in_turn),
    *norm(_LAYER + "ln_attn", "block.norm_1", is_there=_has_two),
    *norm(_LAYER + "ln_mlp", "block.norm_2", is_there=_has_two),
    *norm("transformer.ln_f", "final_norm"),
)

IGNORED = (
    Ignored(_LAYER + "self_attention.rotary_emb.inv_freq", "RoPE's frequencies"),
    Ignored("lm_head.weight", "a copy of the embedding", same_as="transformer.word_embeddings.weight"),
)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    named = _as_llama(config)
    return {**decoder.sizes(named), "kv_heads": named["num_key_value_heads"]}


def _position(config: Config, index: int) -> Position:
    """RoPE, or ALiBi, which the scale divides as well."""
    if not config["alibi"]:
        return rotation()(config, index)
    layout = heads(config)
    return Alibi(tuple(float(slope) * layout.d_head**-0.5 for slope in alibi_slopes(layout.n_heads)))


_DECODER = Decoder(
    lambda config: Norm("layer", config["layer_norm_epsilon"]),
    _position,
    placement=lambda config: "parallel" if config["parallel_attn"] else "pre",
    norms=_norm_names,
    activation="activation",
    is_gated=False,
)


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights."""
    return _DECODER.layer(_as_llama(config), index)


FALCON = Family(
    "Falcon",
    ("falcon",),
    "transformer.",
    KEYS,
    TENSORS,
    sizes,
    layer,
    norm_after_layers("layer", "layer_norm_epsilon"),
    IGNORED,
)
