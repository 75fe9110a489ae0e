"""Gemma: Llama with GELU gates, gains stored as their difference from 1, and scaled token vectors.

Gemma Team 2024, arXiv:2403.08295; keys and names as in `transformers`, models/gemma.
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
    whole,
)
from attnviz.checkpoints.families.llama import (
    ATTENTION_BIASES,
    EMBEDDINGS,
    IGNORED,
    MATRICES,
    SIZE_KEYS,
    layer,
    sizes,
)
from attnviz.checkpoints.rotary import ROPE_KEYS
from attnviz.model.spec.block import Norm

KEYS = (
    *(key for key in SIZE_KEYS if key.name not in ("head_dim", "num_key_value_heads")),
    whole("head_dim", 256),
    whole("num_key_value_heads", 16),
    *ROPE_KEYS,
    whole("max_position_embeddings", 8192),
    one_of("hidden_act", tuple(ACTIVATIONS), "gelu_pytorch_tanh"),
    # Written beside hidden_act in published configurations, and read by nobody.
    one_of("hidden_activation", tuple(ACTIVATIONS), None),
    positive("rms_norm_eps", 1e-6),
    flag("attention_bias", False),
    one_of("use_bidirectional_attention", (False,), None),
    flag("tie_word_embeddings", True),
)

_LAYER = "model.layers.{layer}."

NORMS = (
    Tensor(_LAYER + "input_layernorm.weight", "block.norm_1.gain", ("d",), plus_one),
    Tensor(_LAYER + "post_attention_layernorm.weight", "block.norm_2.gain", ("d",), plus_one),
    Tensor("model.norm.weight", "final_norm.gain", ("d",), plus_one),
)


def around(config: Config) -> Around:
    """Token vectors times the root of d_model, and a norm after the last layer."""
    return Around(
        final_norm=Norm("rms", config["rms_norm_eps"]), embedding_scale=config["hidden_size"] ** 0.5
    )


GEMMA = Family(
    "Gemma",
    ("gemma",),
    "model.",
    KEYS,
    (*EMBEDDINGS, *MATRICES, *NORMS, *ATTENTION_BIASES),
    sizes,
    layer,
    around,
    is_tied,
    IGNORED,
)
