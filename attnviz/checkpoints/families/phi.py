"""Phi and Phi-3: parallel halves after one norm; Llama with fused matrices and LongRoPE.

Li et al. 2023, arXiv:2309.05463; Abdin et al. 2024, arXiv:2404.14219. Keys and names as in `transformers`,
models/phi and models/phi3.
"""

from __future__ import annotations

from attnviz.checkpoints.families.decoder import (
    ATTENTION,
    LAYER,
    Decoder,
    attention,
    decoder_family,
    decoder_keys,
    fused,
    fused_gate,
    gains,
    layer_norm,
    rotation,
    two_maps,
)
from attnviz.checkpoints.families.family import (
    QKV,
    Tensor,
    activation_key,
    always,
    linear,
    never,
    norm,
    norm_after_layers,
    one_of,
    positive,
    whole,
)

KEYS = (
    *decoder_keys(2048, activation_key("gelu_new")),
    positive("layer_norm_eps", 1e-5),
    one_of("qk_layernorm", (False,), False),
)

TENSORS = (
    Tensor("lm_head.bias", "vocabulary.bias", ("vocabulary",)),
    *attention(always, output="dense"),
    *two_maps("fc1", "fc2"),
    *norm(LAYER + "input_layernorm", "block.norm_1"),
    *norm("model.final_layernorm", "final_norm"),
)

PHI = decoder_family(
    "Phi",
    ("phi",),
    KEYS,
    TENSORS,
    Decoder(
        layer_norm,
        rotation(share=0.5),
        placement=lambda config: "parallel",
        norms=lambda config: ("norm_1",),
        is_gated=False,
    ).layer,
    norm_after_layers("layer", "layer_norm_eps"),
)

PHI3_KEYS = (
    *(key for key in decoder_keys(4096) if key.name != "original_max_position_embeddings"),
    whole("original_max_position_embeddings", 4096),
    positive("rms_norm_eps", 1e-5),
    whole("sliding_window", None),
    one_of("attention_bias", (False,), False),
)

PHI3_TENSORS = (
    *fused(ATTENTION + "qkv_proj", QKV, ("q", "kv", "kv"), "q+2kv"),
    *linear(ATTENTION + "o_proj", "projections.output", ("d", "q"), never),
    *fused_gate(),
    *gains(),
)

PHI3 = decoder_family(
    "Phi-3", ("phi3",), PHI3_KEYS, PHI3_TENSORS, Decoder(position=rotation(share=1.0)).layer
)
