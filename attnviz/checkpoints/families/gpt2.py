"""GPT-2: a learned table of positions, LayerNorm before each half of a block, one fused projection, biases.

Matrices are stored (in, out), as the module `Conv1D` has them. Radford et al. 2019; keys and names as in
`transformers`, models/gpt2.
"""

from __future__ import annotations

import numpy as np

from attnviz.checkpoints.families.common import (
    ACTIVATIONS,
    QKV,
    QKV_BIAS,
    is_tied,
    is_untied,
    norm_after_layers,
    share_of_each_head,
)
from attnviz.checkpoints.families.family import (
    Array,
    Config,
    Family,
    Ignored,
    Sizes,
    Tensor,
    flag,
    one_of,
    positive,
    transposed,
    whole,
)
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
    one_of("activation_function", tuple(ACTIVATIONS), "gelu_new"),
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
    is_tied,
    IGNORED,
)
