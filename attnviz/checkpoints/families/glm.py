"""GLM-4 (2024 and 2025): Llama with biases of q, k and v, half of each head rotated, a fused gate.

The later one has a norm on both sides of each half. GLM Team 2024, arXiv:2406.12793; keys and names as in
`transformers`, models/glm and models/glm4.
"""

from __future__ import annotations

from attnviz.checkpoints.families.decoder import (
    LAYER,
    Decoder,
    attention,
    decoder_family,
    decoder_keys,
    fused_gate,
    gains,
    rotation,
)
from attnviz.checkpoints.families.family import flag, has_attention_bias, never, positive

KEYS = (
    *decoder_keys(131_072, n_kv_heads=2, d_head=128),
    positive("rms_norm_eps", 1.5625e-07),
    flag("attention_bias", True),
)

_SHARED = (
    *attention(has_attention_bias, has_output_bias=never),
    *fused_gate(),
    *gains(),
)

_AFTER_EACH_HALF = gains(
    (LAYER + "post_self_attn_layernorm", "block.after_1"), (LAYER + "post_mlp_layernorm", "block.after_2")
)

_POSITION = rotation("interleaved", share=0.5)

GLM = decoder_family("GLM", ("glm",), KEYS, _SHARED, Decoder(position=_POSITION).layer)

GLM4 = decoder_family(
    "GLM-4",
    ("glm4",),
    KEYS,
    (*_SHARED, *_AFTER_EACH_HALF),
    Decoder(
        position=_POSITION,
        placement=lambda config: "sandwich",
        norms=lambda config: ("norm_1", "norm_2", "after_1", "after_2"),
    ).layer,
)
