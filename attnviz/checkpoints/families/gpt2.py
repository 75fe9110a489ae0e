"""GPT-2 and GPT-BigCode: a learned table of positions, one fused projection, biases.

LayerNorm comes before each half of a block. Matrices are stored (in, out), as the module `Conv1D` has them.
Radford et al. 2019; keys and names as in `transformers`, models/gpt2.
"""

from __future__ import annotations

import numpy as np

from attnviz.checkpoints.families.decoder import two_maps
from attnviz.checkpoints.families.family import (
    ACTIVATIONS,
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
    is_untied,
    linear,
    norm,
    norm_after_layers,
    one_of,
    positive,
    share_of_each_head,
    transposed,
    unread,
    whole,
)
from attnviz.checkpoints.families.gpt_neox import by_head
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.parts import Causal, Heads, NoPosition, NoScale, Scale, ScaleValue, SqrtDHead
from attnviz.model.spec.positions import Learned

KEYS = (
    whole("vocab_size"),
    whole("n_positions"),
    whole("n_embd"),
    whole("n_layer"),
    whole("n_head"),
    whole("n_inner", None),
    activation_key("gelu_new", "activation_function"),
    positive("layer_norm_epsilon", 1e-5),
    flag("scale_attn_weights", True),
    flag("scale_attn_by_inverse_layer_idx", False),
    # Only the order and the width of roundings: scores are the same numbers.
    flag("reorder_and_upcast_attn", False),
    one_of("add_cross_attention", (False,), False),
    flag("tie_word_embeddings", True),
)


def thirds(array: Array, sizes: Sizes) -> tuple[Array, ...]:
    """Query, key and value beside each other along the last axis."""
    return tuple(np.split(array, 3, axis=-1))


TENSORS = (
    Tensor("transformer.wte.weight", "vocabulary.embedding", ("vocabulary", "d")),
    Tensor("transformer.wpe.weight", "position.table", ("positions", "d")),
    Tensor("transformer.h.{layer}.ln_1.weight", "block.norm_1.gain", ("d",)),
    Tensor("transformer.h.{layer}.ln_1.bias", "block.norm_1.bias", ("d",)),
    Tensor("transformer.h.{layer}.attn.c_attn.weight", QKV, ("d", "3d"), thirds),
    Tensor("transformer.h.{layer}.attn.c_attn.bias", QKV_BIAS, ("3d",), thirds),
    Tensor("transformer.h.{layer}.attn.c_proj.weight", "projections.output", ("d", "d")),
    Tensor("transformer.h.{layer}.attn.c_proj.bias", "projections.output_bias", ("d",)),
    Tensor("transformer.h.{layer}.ln_2.weight", "block.norm_2.gain", ("d",)),
    Tensor("transformer.h.{layer}.ln_2.bias", "block.norm_2.bias", ("d",)),
    Tensor("transformer.h.{layer}.mlp.c_fc.weight", "block.feed_forward.up", ("d", "hidden")),
    Tensor("transformer.h.{layer}.mlp.c_fc.bias", "block.feed_forward.up_bias", ("hidden",)),
    Tensor("transformer.h.{layer}.mlp.c_proj.weight", "block.feed_forward.down", ("hidden", "d")),
    Tensor("transformer.h.{layer}.mlp.c_proj.bias", "block.feed_forward.down_bias", ("d",)),
    Tensor("transformer.ln_f.weight", "final_norm.gain", ("d",)),
    Tensor("transformer.ln_f.bias", "final_norm.bias", ("d",)),
    Tensor("lm_head.weight", "vocabulary.unembedding", ("vocabulary", "d"), transposed, is_untied),
)

IGNORED = (
    Ignored("transformer.h.{layer}.attn.bias", "the causal mask, kept as a table of zeros and ones"),
    Ignored("transformer.h.{layer}.attn.masked_bias", "what the causal mask put in place of blocked scores"),
    Ignored("lm_head.weight", "a copy of the embedding", same_as="transformer.wte.weight"),
)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    d = config["n_embd"]
    return {
        "layers": config["n_layer"],
        "vocabulary": config["vocab_size"],
        "positions": config["n_positions"],
        "d": d,
        "3d": 3 * d,
        "hidden": config["n_inner"] or 4 * d,
    }


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights; positions are added before the first one."""
    n_heads = config["n_head"]
    d_head = share_of_each_head(config["n_embd"], n_heads, "n_embd", "n_head")
    norm = Norm("layer", config["layer_norm_epsilon"])
    feed_forward = FeedForward(sizes(config)["hidden"], ACTIVATIONS[config["activation_function"]])
    return Layer(
        heads=Heads(n_heads, n_heads, d_head),
        position=NoPosition() if index else Learned(config["n_positions"]),
        scale=scale(config, index),
        masks=(Causal(),),
        block=Block("pre", norm_1=norm, feed_forward=feed_forward, norm_2=norm),
    )


def scale(config: Config, index: int) -> Scale:
    """1 over the root of d_head, or 1, and in some models smaller from layer to layer."""
    by_layer = config["scale_attn_by_inverse_layer_idx"]
    root = (config["n_embd"] // config["n_head"]) ** -0.5 if config["scale_attn_weights"] else 1.0
    if by_layer and index:
        return ScaleValue(root / (index + 1))
    return SqrtDHead() if config["scale_attn_weights"] else NoScale()


GPT2 = Family(
    "GPT-2",
    ("gpt2",),
    "transformer.",
    KEYS,
    TENSORS,
    sizes,
    layer,
    norm_after_layers("layer", "layer_norm_epsilon"),
    IGNORED,
)


# --- GPT-BigCode ---------------------------------------------------------------------------------

BIGCODE_KEYS = (
    whole("vocab_size"),
    whole("n_positions", 1024),
    whole("n_embd", 768),
    whole("n_layer", 12),
    whole("n_head", 12),
    whole("n_inner", None),
    activation_key("gelu_pytorch_tanh", "activation_function"),
    positive("layer_norm_epsilon", 1e-5),
    flag("multi_query", True),
    flag("scale_attn_weights", True),
    one_of("add_cross_attention", (False,), False),
    flag("tie_word_embeddings", True),
    # Repeats multi_query; and only the order and the width of roundings.
    whole("num_key_value_heads", None),
    *map(unread, ("attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "inference_runner")),
    *map(unread, ("max_batch_size", "max_sequence_length", "pad_key_length", "pre_allocate_kv_cache")),
    unread("validate_runner_input"),
)


def _split(array: Array, sizes: Sizes) -> tuple[Array, ...]:
    """Queries, keys and values: one after the other, or, without shared keys, head by head."""
    if sizes["kv"] == sizes["d"]:
        return by_head(array, sizes)
    ends = (sizes["d"], sizes["d"] + sizes["kv"])
    return tuple(part.T for part in np.split(array, ends))


_BIGCODE_LAYER = "transformer.h.{layer}."

BIGCODE_TENSORS = (
    Tensor("transformer.wte.weight", "vocabulary.embedding", ("vocabulary", "d")),
    Tensor("transformer.wpe.weight", "position.table", ("positions", "d")),
    Tensor("lm_head.weight", "vocabulary.unembedding", ("vocabulary", "d"), transposed, is_untied),
    Tensor(_BIGCODE_LAYER + "attn.c_attn.weight", QKV, ("d+2kv", "d"), _split),
    Tensor(_BIGCODE_LAYER + "attn.c_attn.bias", QKV_BIAS, ("d+2kv",), _split),
    *linear(_BIGCODE_LAYER + "attn.c_proj", "projections.output", ("d", "d")),
    *two_maps("c_fc", "c_proj", stem=_BIGCODE_LAYER + "mlp."),
    *norm(_BIGCODE_LAYER + "ln_1", "block.norm_1"),
    *norm(_BIGCODE_LAYER + "ln_2", "block.norm_2"),
    *norm("transformer.ln_f", "final_norm"),
)

BIGCODE_IGNORED = (
    Ignored(_BIGCODE_LAYER + "attn.bias", "the causal mask, kept as a table of zeros and ones"),
    Ignored("transformer.bias", "the causal mask, kept as a table of zeros and ones"),
    Ignored("lm_head.weight", "a copy of the embedding", same_as="transformer.wte.weight"),
)


def bigcode_sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    d, layout = config["n_embd"], bigcode_heads(config)
    kv = layout.n_kv_heads * layout.d_head
    return {
        "layers": config["n_layer"],
        "vocabulary": config["vocab_size"],
        "positions": config["n_positions"],
        "heads": layout.n_heads,
        "d": d,
        "kv": kv,
        "d+2kv": d + 2 * kv,
        "hidden": config["n_inner"] or 4 * d,
    }


def bigcode_heads(config: Config) -> Heads:
    """The query heads, and one key/value head for all or one for each."""
    n_heads = config["n_head"]
    d_head = share_of_each_head(config["n_embd"], n_heads, "n_embd", "n_head")
    return Heads(n_heads, 1 if config["multi_query"] else n_heads, d_head)


def bigcode_layer(config: Config, index: int) -> Layer:
    """One layer without its weights; positions are added before the first one."""
    norm = Norm("layer", config["layer_norm_epsilon"])
    feed_forward = FeedForward(bigcode_sizes(config)["hidden"], ACTIVATIONS[config["activation_function"]])
    return Layer(
        heads=bigcode_heads(config),
        position=NoPosition() if index else Learned(config["n_positions"]),
        scale=SqrtDHead() if config["scale_attn_weights"] else NoScale(),
        masks=(Causal(),),
        block=Block("pre", norm_1=norm, feed_forward=feed_forward, norm_2=norm),
    )


GPT_BIGCODE = Family(
    "GPT-BigCode",
    ("gpt_bigcode",),
    "transformer.",
    BIGCODE_KEYS,
    BIGCODE_TENSORS,
    bigcode_sizes,
    bigcode_layer,
    norm_after_layers("layer", "layer_norm_epsilon"),
    BIGCODE_IGNORED,
)
"""GPT-BigCode (SantaCoder, StarCoder): GPT-2 whose query heads share one key and one value.

Allal et al. 2023, arXiv:2301.03988; Li et al. 2023, arXiv:2305.06161. Keys and names as in `transformers`,
models/gpt_bigcode.
"""
