"""Gemma: Llama with GELU gates, gains stored as their difference from 1, and scaled token vectors.

Gemma Team 2024, arXiv:2403.08295; keys and names as in `transformers`, models/gemma.
"""

from __future__ import annotations

from attnviz.checkpoints.families.common import ACTIVATIONS, has_attention_bias, is_tied
from attnviz.checkpoints.families.decoder import (
    ATTENTION,
    BEFORE_EACH_HALF,
    EMBEDDINGS,
    IGNORED,
    MLP,
    Decoder,
    activation_key,
    attention,
    gains,
    rms,
    size_keys,
    sizes,
    three_maps,
)
from attnviz.checkpoints.families.family import (
    Around,
    Config,
    Family,
    flag,
    one_of,
    plus_one,
    positive,
    whole,
)
from attnviz.checkpoints.rotary import ROPE_KEYS

KEYS = (
    *size_keys(n_kv_heads=16, d_head=256),
    *ROPE_KEYS,
    whole("max_position_embeddings", 8192),
    activation_key("gelu_pytorch_tanh"),
    # Written beside hidden_act in published configurations, and read by nobody.
    one_of("hidden_activation", tuple(ACTIVATIONS), None),
    positive("rms_norm_eps", 1e-6),
    flag("attention_bias", False),
    one_of("use_bidirectional_attention", (False,), None),
    flag("tie_word_embeddings", True),
)

TENSORS = (
    *EMBEDDINGS,
    *attention(ATTENTION, has_attention_bias),
    *three_maps(MLP),
    *gains(*BEFORE_EACH_HALF, split=plus_one),
)


def around(config: Config) -> Around:
    """Token vectors times the root of d_model, and a norm after the last layer."""
    return Around(final_norm=rms(config), embedding_scale=config["hidden_size"] ** 0.5)


GEMMA = Family(
    "Gemma",
    ("gemma",),
    "model.",
    KEYS,
    TENSORS,
    sizes,
    Decoder().layer,
    around,
    is_tied,
    IGNORED,
)
