"""GPT-NeoX and Pythia: parallel attention and feed-forward layer, each after its own norm.

Query, key and value are one matrix, (out, in), in which each head has its query, key and value features next
to each other; RoPE rotates the first part of each head. Black et al. 2022, arXiv:2204.06745; keys and names
as in `transformers`, models/gpt_neox.
"""

from __future__ import annotations

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
    has_attention_bias,
    is_untied,
    norm_after_layers,
    positive,
    share_of_each_head,
    transposed,
    whole,
)
from attnviz.checkpoints.rotary import DEFAULT_BASE, ROPE_KEYS, part, rope
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.parts import Causal, Heads

KEYS = (
    whole("vocab_size"),
    whole("hidden_size"),
    whole("num_hidden_layers"),
    whole("num_attention_heads"),
    whole("intermediate_size"),
    *(key for key in ROPE_KEYS if key.name not in ("rope_theta", "partial_rotary_factor")),
    whole("max_position_embeddings", 2048),
    # The base and the rotated share of a head, unless rope_parameters defines them.
    positive("rotary_emb_base", DEFAULT_BASE),
    part("rotary_pct", 0.25),
    activation_key("gelu"),
    positive("layer_norm_eps", 1e-5),
    flag("use_parallel_residual", True),
    flag("attention_bias", True),
    # The model is causal whatever it says.
    flag("is_decoder", False),
    flag("tie_word_embeddings", False),
)


def by_head(array: Array, sizes: Sizes) -> tuple[Array, ...]:
    """Queries, keys and values of (head, one of the three, feature) rows; matrices transposed."""
    parts = array.reshape(sizes["heads"], 3, sizes["d"] // sizes["heads"], *array.shape[1:])
    return tuple(parts[:, i].reshape(sizes["d"], *array.shape[1:]).T for i in range(3))


_LAYER = "gpt_neox.layers.{layer}."
_FUSED = _LAYER + "attention.query_key_value."

TENSORS = (
    Tensor("gpt_neox.embed_in.weight", "vocabulary.embedding", ("vocabulary", "d")),
    Tensor(_LAYER + "input_layernorm.weight", "block.norm_1.gain", ("d",)),
    Tensor(_LAYER + "input_layernorm.bias", "block.norm_1.bias", ("d",)),
    Tensor(_LAYER + "post_attention_layernorm.weight", "block.norm_2.gain", ("d",)),
    Tensor(_LAYER + "post_attention_layernorm.bias", "block.norm_2.bias", ("d",)),
    Tensor(_FUSED + "weight", QKV, ("3d", "d"), by_head),
    Tensor(_FUSED + "bias", QKV_BIAS, ("3d",), by_head, has_attention_bias),
    Tensor(_LAYER + "attention.dense.weight", "projections.output", ("d", "d"), transposed),
    Tensor(_LAYER + "attention.dense.bias", "projections.output_bias", ("d",), is_there=has_attention_bias),
    Tensor(_LAYER + "mlp.dense_h_to_4h.weight", "block.feed_forward.up", ("hidden", "d"), transposed),
    Tensor(_LAYER + "mlp.dense_h_to_4h.bias", "block.feed_forward.up_bias", ("hidden",)),
    Tensor(_LAYER + "mlp.dense_4h_to_h.weight", "block.feed_forward.down", ("d", "hidden"), transposed),
    Tensor(_LAYER + "mlp.dense_4h_to_h.bias", "block.feed_forward.down_bias", ("d",)),
    Tensor("gpt_neox.final_layer_norm.weight", "final_norm.gain", ("d",)),
    Tensor("gpt_neox.final_layer_norm.bias", "final_norm.bias", ("d",)),
    Tensor("embed_out.weight", "vocabulary.unembedding", ("vocabulary", "d"), transposed, is_untied),
)

IGNORED = (
    Ignored(_LAYER + "attention.bias", "the causal mask, kept as a table of zeros and ones"),
    Ignored(_LAYER + "attention.masked_bias", "what the causal mask put in place of blocked scores"),
    Ignored(_LAYER + "attention.rotary_emb.inv_freq", "RoPE's frequencies, which the configuration gives"),
    Ignored("embed_out.weight", "a copy of the embedding", same_as="gpt_neox.embed_in.weight"),
)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    d, n_heads = config["hidden_size"], config["num_attention_heads"]
    share_of_each_head(d, n_heads, "hidden_size", "num_attention_heads")
    return {
        "layers": config["num_hidden_layers"],
        "vocabulary": config["vocab_size"],
        "d": d,
        "3d": 3 * d,
        "heads": n_heads,
        "hidden": config["intermediate_size"],
    }


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights."""
    n_heads, norm = config["num_attention_heads"], Norm("layer", config["layer_norm_eps"])
    d_head = config["hidden_size"] // n_heads
    return Layer(
        heads=Heads(n_heads, n_heads, d_head),
        position=rope(config, d_head, base=config["rotary_emb_base"], share=config["rotary_pct"]),
        masks=(Causal(),),
        block=Block(
            "parallel" if config["use_parallel_residual"] else "pre",
            norm_1=norm,
            feed_forward=FeedForward(config["intermediate_size"], ACTIVATIONS[config["hidden_act"]]),
            norm_2=norm,
        ),
    )


GPT_NEOX = Family(
    "GPT-NeoX",
    ("gpt_neox",),
    "gpt_neox.",
    KEYS,
    TENSORS,
    sizes,
    layer,
    norm_after_layers("layer", "layer_norm_eps"),
    IGNORED,
)
