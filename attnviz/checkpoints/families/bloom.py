"""BLOOM: ALiBi, a norm of the embedding, LayerNorm before each half of a block, biases everywhere.

Query, key and value are one matrix, (out, in), in which each head has its query, key and value features next
to each other. BigScience 2022, arXiv:2211.05100; keys and names as in `transformers`, models/bloom. That
library adds slope · j to the score of key j, this program -slope · (i - j): the two differ by slope · i in
all keys of a query, which no softmax sees, so weights and everything after them are the same numbers.
"""

from __future__ import annotations

from attnviz.checkpoints.families.family import (
    LARGEST,
    QKV,
    QKV_BIAS,
    Around,
    Config,
    Family,
    Ignored,
    Sizes,
    Tensor,
    flag,
    is_untied,
    one_of,
    positive,
    share_of_each_head,
    transposed,
    whole,
)
from attnviz.checkpoints.families.gpt_neox import by_head
from attnviz.errors import FieldError, missing, must_be, whole_number
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.parts import Alibi, Causal, Heads

KEYS = (
    whole("vocab_size"),
    whole("hidden_size", None),
    whole("n_embed", None),
    whole("n_layer", None),
    whole("num_hidden_layers", None),
    whole("n_head", None),
    whole("num_attention_heads", None),
    positive("layer_norm_epsilon", 1e-5),
    one_of("apply_residual_connection_post_layernorm", (False,), False),
    flag("tie_word_embeddings", True),
    # The order of sums, and settings of the training program.
    flag("slow_but_exact", False),
    flag("attention_softmax_in_fp32", True),
    flag("bias_dropout_fusion", True),
    flag("masked_softmax_fusion", True),
    flag("skip_bias_add", True),
    flag("skip_bias_add_qkv", False),
    whole("offset_alibi", 100),
    whole("seq_length", 2048),
)

_LAYER = "transformer.h.{layer}."
_FUSED = _LAYER + "self_attention.query_key_value."
_EMBEDDING = "transformer.word_embeddings"

TENSORS = (
    Tensor(_EMBEDDING + ".weight", "vocabulary.embedding", ("vocabulary", "d")),
    Tensor(_EMBEDDING + "_layernorm.weight", "embedding_norm.gain", ("d",)),
    Tensor(_EMBEDDING + "_layernorm.bias", "embedding_norm.bias", ("d",)),
    Tensor(_LAYER + "input_layernorm.weight", "block.norm_1.gain", ("d",)),
    Tensor(_LAYER + "input_layernorm.bias", "block.norm_1.bias", ("d",)),
    Tensor(_LAYER + "post_attention_layernorm.weight", "block.norm_2.gain", ("d",)),
    Tensor(_LAYER + "post_attention_layernorm.bias", "block.norm_2.bias", ("d",)),
    Tensor(_FUSED + "weight", QKV, ("3d", "d"), by_head),
    Tensor(_FUSED + "bias", QKV_BIAS, ("3d",), by_head),
    Tensor(_LAYER + "self_attention.dense.weight", "projections.output", ("d", "d"), transposed),
    Tensor(_LAYER + "self_attention.dense.bias", "projections.output_bias", ("d",)),
    Tensor(_LAYER + "mlp.dense_h_to_4h.weight", "block.feed_forward.up", ("hidden", "d"), transposed),
    Tensor(_LAYER + "mlp.dense_h_to_4h.bias", "block.feed_forward.up_bias", ("hidden",)),
    Tensor(_LAYER + "mlp.dense_4h_to_h.weight", "block.feed_forward.down", ("d", "hidden"), transposed),
    Tensor(_LAYER + "mlp.dense_4h_to_h.bias", "block.feed_forward.down_bias", ("d",)),
    Tensor("transformer.ln_f.weight", "final_norm.gain", ("d",)),
    Tensor("transformer.ln_f.bias", "final_norm.bias", ("d",)),
    Tensor("lm_head.weight", "vocabulary.unembedding", ("vocabulary", "d"), transposed, is_untied),
)

IGNORED = (Ignored("lm_head.weight", "a copy of the embedding", same_as=_EMBEDDING + ".weight"),)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    d, n_heads = _one(config, "hidden_size", "n_embed"), _one(config, "n_head", "num_attention_heads")
    share_of_each_head(d, n_heads, "hidden_size", "n_head")
    return {
        "layers": _one(config, "n_layer", "num_hidden_layers"),
        "vocabulary": config["vocab_size"],
        "d": d,
        "3d": 3 * d,
        "heads": n_heads,
        "hidden": 4 * d,
    }


def _one(config: Config, name: str, other: str) -> int:
    """A size that configurations write under one of two names."""
    stated = {value for value in (config[name], config[other]) if value is not None}
    if not stated:
        raise missing(name, whole_number(1, LARGEST))
    if len(stated) > 1:
        raise FieldError(name, config[name], must_be("{value} ({field})", value=config[other], field=other))
    return int(stated.pop())


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights."""
    size, norm = sizes(config), Norm("layer", config["layer_norm_epsilon"])
    n_heads = size["heads"]
    return Layer(
        heads=Heads(n_heads, n_heads, size["d"] // n_heads),
        position=Alibi(),
        masks=(Causal(),),
        block=Block("pre", norm_1=norm, feed_forward=FeedForward(size["hidden"], "gelu_tanh"), norm_2=norm),
    )


def around(config: Config) -> Around:
    """A norm of the embedding, and one after the last layer."""
    norm = Norm("layer", config["layer_norm_epsilon"])
    return Around(embedding_norm=norm, final_norm=norm)


BLOOM = Family("BLOOM", ("bloom",), "transformer.", KEYS, TENSORS, sizes, layer, around, IGNORED)
