"""GLM-4 (2024 and 2025): Llama with biases of q, k and v, half of each head rotated, a fused gate.

The later one has a norm on both sides of each half. GLM Team 2024, arXiv:2406.12793; keys and names as in
`transformers`, models/glm and models/glm4.
"""

from __future__ import annotations

from attnviz.checkpoints.families.common import has_attention_bias, is_tied, norm_after_layers
from attnviz.checkpoints.families.decoder import (
    ATTENTION,
    BEFORE_EACH_HALF,
    EMBEDDINGS,
    IGNORED,
    LAYER,
    MLP,
    Decoder,
    activation_key,
    attention,
    fused_gate,
    gains,
    never,
    rotation,
    size_keys,
    sizes,
)
from attnviz.checkpoints.families.family import Family, flag, positive, whole
from attnviz.checkpoints.rotary import ROPE_KEYS

KEYS = (
    *size_keys(n_kv_heads=2, d_head=128),
    *ROPE_KEYS,
    whole("max_position_embeddings", 131_072),
    activation_key("silu"),
    positive("rms_norm_eps", 1.5625e-07),
    flag("attention_bias", True),
    flag("tie_word_embeddings", False),
)

_SHARED = (
    *EMBEDDINGS,
    *attention(ATTENTION, has_attention_bias, has_output_bias=never),
    *fused_gate(MLP),
    *gains(*BEFORE_EACH_HALF),
)

_AFTER_EACH_HALF = gains(
    (LAYER + "post_self_attn_layernorm", "block.after_1"), (LAYER + "post_mlp_layernorm", "block.after_2")
)

_POSITION = rotation("interleaved", share=0.5)
_AROUND = norm_after_layers("rms", "rms_norm_eps")

GLM = Family(
    "GLM",
    ("glm",),
    "model.",
    KEYS,
    _SHARED,
    sizes,
    Decoder(position=_POSITION).layer,
    _AROUND,
    is_tied,
    IGNORED,
)

GLM4 = Family(
    "GLM-4",
    ("glm4",),
    "model.",
    KEYS,
    (*_SHARED, *_AFTER_EACH_HALF),
    sizes,
    Decoder(
        position=_POSITION,
        placement=lambda config: "sandwich",
        norms=lambda config: ("norm_1", "norm_2", "after_1", "after_2"),
    ).layer,
    _AROUND,
    is_tied,
    IGNORED,
)
