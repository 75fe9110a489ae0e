"""OLMo 2: Llama with norms after each half instead of before, and of the queries and keys of all heads.

OLMo Team 2025, arXiv:2501.00656; keys and names as in `transformers`, models/olmo2.
"""

from __future__ import annotations

from attnviz.checkpoints.families.common import has_attention_bias, is_tied, norm_after_layers
from attnviz.checkpoints.families.decoder import (
    ATTENTION,
    EMBEDDINGS,
    IGNORED,
    LAYER,
    MLP,
    Decoder,
    activation_key,
    attention,
    gains,
    size_keys,
    sizes,
    three_maps,
)
from attnviz.checkpoints.families.family import Family, Tensor, flag, positive, whole
from attnviz.checkpoints.rotary import ROPE_KEYS
from attnviz.model.spec.parts import QKNorm

KEYS = (
    *size_keys(),
    *ROPE_KEYS,
    whole("max_position_embeddings", 2048),
    activation_key("silu"),
    positive("rms_norm_eps", 1e-5),
    flag("attention_bias", False),
    flag("tie_word_embeddings", False),
)

TENSORS = (
    *EMBEDDINGS,
    *attention(ATTENTION, has_attention_bias),
    Tensor(ATTENTION + "q_norm.weight", "qk_norm.query_gain", ("q",)),
    Tensor(ATTENTION + "k_norm.weight", "qk_norm.key_gain", ("kv",)),
    *three_maps(MLP),
    *gains(
        (LAYER + "post_attention_layernorm", "block.after_1"),
        (LAYER + "post_feedforward_layernorm", "block.after_2"),
        ("model.norm", "final_norm"),
    ),
)

OLMO2 = Family(
    "OLMo 2",
    ("olmo2",),
    "model.",
    KEYS,
    TENSORS,
    sizes,
    Decoder(
        qk_norm=lambda config: QKNorm("rms", config["rms_norm_eps"], across=True),
        placement=lambda config: "sandwich",
        norms=lambda config: ("after_1", "after_2"),
    ).layer,
    norm_after_layers("rms", "rms_norm_eps"),
    is_tied,
    IGNORED,
)
