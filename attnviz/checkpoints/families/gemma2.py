"""Gemma 2: a norm before and after each half of a block, capped scores and logits, every other layer
windowed.

Gains are stored as their difference from 1; token vectors are the embedding times the root of d_model. Gemma
Team 2024, arXiv:2408.00118; keys and names as in `transformers`, models/gemma2.
"""

from __future__ import annotations

from attnviz.checkpoints.families.common import ACTIVATIONS, is_tied
from attnviz.checkpoints.families.family import (
    Around,
    Config,
    Family,
    Tensor,
    flag,
    one_of,
    plus_one,
    positive,
    texts,
    whole,
)
from attnviz.checkpoints.families.llama import (
    ATTENTION_BIASES,
    EMBEDDINGS,
    IGNORED,
    MATRICES,
    SIZE_KEYS,
    heads,
    sizes,
    window,
)
from attnviz.checkpoints.rotary import ROPE_KEYS, rope
from attnviz.errors import FieldError, Message, must_be, of_length
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.parts import Causal, Mask, ScaleValue

SLIDING, FULL = "sliding_attention", "full_attention"

KEYS = (
    *(key for key in SIZE_KEYS if key.name not in ("head_dim", "num_key_value_heads")),
    whole("head_dim", 256),
    whole("num_key_value_heads", 4),
    *ROPE_KEYS,
    whole("max_position_embeddings", 8192),
    one_of("hidden_activation", tuple(ACTIVATIONS), "gelu_pytorch_tanh"),
    # Written beside hidden_activation in published configurations, and read by nobody.
    one_of("hidden_act", tuple(ACTIVATIONS), None),
    positive("rms_norm_eps", 1e-6),
    flag("attention_bias", False),
    positive("query_pre_attn_scalar", 256),
    whole("sliding_window", 4096, null=None),
    texts("layer_types", (SLIDING, FULL)),
    positive("final_logit_softcapping", 30.0, null=None),
    positive("attn_logit_softcapping", 50.0, null=None),
    one_of("use_bidirectional_attention", (False,), None),
    flag("tie_word_embeddings", True),
)

_LAYER = "model.layers.{layer}."

NORMS = (
    Tensor(_LAYER + "input_layernorm.weight", "block.norm_1.gain", ("d",), plus_one),
    Tensor(_LAYER + "post_attention_layernorm.weight", "block.after_1.gain", ("d",), plus_one),
    Tensor(_LAYER + "pre_feedforward_layernorm.weight", "block.norm_2.gain", ("d",), plus_one),
    Tensor(_LAYER + "post_feedforward_layernorm.weight", "block.after_2.gain", ("d",), plus_one),
    Tensor("model.norm.weight", "final_norm.gain", ("d",), plus_one),
)


def masks(config: Config, index: int) -> tuple[Mask, ...]:
    """Causal, and a window in the sliding layers: by default the first, the third, …"""
    given = config["layer_types"]
    if given is not None and len(given) != config["num_hidden_layers"]:
        one_each = Message("must have length {n}, one entry for each layer", n=config["num_hidden_layers"])
        raise FieldError("layer_types", of_length(len(given)), one_each)
    kind = (SLIDING if index % 2 == 0 else FULL) if given is None else given[index]
    if kind == FULL:
        return (Causal(),)
    if config["sliding_window"] is None:
        raise FieldError("sliding_window", None, must_be("a whole number with a sliding layer"))
    return Causal(), window(config["sliding_window"])


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights."""
    layout, norm = heads(config), Norm("rms", config["rms_norm_eps"])
    return Layer(
        heads=layout,
        position=rope(config, layout.d_head),
        scale=ScaleValue(config["query_pre_attn_scalar"] ** -0.5),
        cap=config["attn_logit_softcapping"],
        masks=masks(config, index),
        block=Block(
            "sandwich",
            norm_1=norm,
            feed_forward=FeedForward(
                config["intermediate_size"], ACTIVATIONS[config["hidden_activation"]], gated=True
            ),
            norm_2=norm,
            after_1=norm,
            after_2=norm,
        ),
    )


def around(config: Config) -> Around:
    """Scaled token vectors, a norm after the last layer, capped logits."""
    return Around(
        final_norm=Norm("rms", config["rms_norm_eps"]),
        embedding_scale=config["hidden_size"] ** 0.5,
        logit_cap=config["final_logit_softcapping"],
    )


GEMMA2 = Family(
    "Gemma 2",
    ("gemma2",),
    "model.",
    KEYS,
    (*EMBEDDINGS, *MATRICES, *NORMS, *ATTENTION_BIASES),
    sizes,
    layer,
    around,
    is_tied,
    IGNORED,
)
