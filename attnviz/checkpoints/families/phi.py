"""Phi and Phi-3: parallel halves after one norm; Llama with fused matrices and LongRoPE.

Li et al. 2023, arXiv:2309.05463; Abdin et al. 2024, arXiv:2404.14219. Keys and names as in `transformers`,
models/phi and models/phi3.
"""

from __future__ import annotations

from attnviz.checkpoints.families.common import QKV, is_tied, norm_after_layers
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
    fused,
    fused_gate,
    gains,
    gains_and_biases,
    layer_norm,
    product,
    rotation,
    size_keys,
    sizes,
    two_maps,
)
from attnviz.checkpoints.families.family import Family, Tensor, always, flag, one_of, positive, whole
from attnviz.checkpoints.rotary import ROPE_KEYS

KEYS = (
    *size_keys(),
    *ROPE_KEYS,
    whole("max_position_embeddings", 2048),
    activation_key("gelu_new"),
    positive("layer_norm_eps", 1e-5),
    one_of("qk_layernorm", (False,), False),
    flag("tie_word_embeddings", False),
)

TENSORS = (
    *EMBEDDINGS,
    Tensor("lm_head.bias", "vocabulary.bias", ("vocabulary",)),
    *attention(ATTENTION, always, output="dense"),
    *two_maps(MLP, "fc1", "fc2"),
    *gains_and_biases((LAYER + "input_layernorm", "block.norm_1"), ("model.final_layernorm", "final_norm")),
)

PHI = Family(
    "Phi",
    ("phi",),
    "model.",
    KEYS,
    TENSORS,
    sizes,
    Decoder(
        layer_norm,
        rotation(share=0.5),
        placement=lambda config: "parallel",
        norms=lambda config: ("norm_1",),
        is_gated=False,
    ).layer,
    norm_after_layers("layer", "layer_norm_eps"),
    is_tied,
    IGNORED,
)

PHI3_KEYS = (
    *size_keys(),
    *(key for key in ROPE_KEYS if key.name != "original_max_position_embeddings"),
    whole("original_max_position_embeddings", 4096),
    whole("max_position_embeddings", 4096),
    activation_key("silu"),
    positive("rms_norm_eps", 1e-5),
    whole("sliding_window", None),
    one_of("attention_bias", (False,), False),
    flag("tie_word_embeddings", False),
)

PHI3_TENSORS = (
    *EMBEDDINGS,
    *fused(ATTENTION + "qkv_proj", QKV, ("q", "kv", "kv"), "q+2kv"),
    *product(ATTENTION + "o_proj", "projections.output", ("d", "q")),
    *fused_gate(MLP),
    *gains(*BEFORE_EACH_HALF),
)

PHI3 = Family(
    "Phi-3",
    ("phi3",),
    "model.",
    PHI3_KEYS,
    PHI3_TENSORS,
    sizes,
    Decoder(position=rotation(share=1.0)).layer,
    norm_after_layers("rms", "rms_norm_eps"),
    is_tied,
    IGNORED,
)
