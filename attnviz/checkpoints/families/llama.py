"""Llama and Mistral: RMSNorm before each half of a block, RoPE on half-split pairs, grouped heads, SwiGLU.

Touvron et al. 2023, arXiv:2302.13971; Jiang et al. 2023, arXiv:2310.06825. Keys and names as in
`transformers`, models/llama and models/mistral. A `sliding_window` of W there lets a query see the keys j
with i - W < j <= i, its own among them: W - 1 earlier keys.
"""

from __future__ import annotations

from attnviz.checkpoints.families.common import has_attention_bias, is_tied, norm_after_layers
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
    has,
    size_keys,
    sizes,
    three_maps,
)
from attnviz.checkpoints.families.family import Family, flag, one_of, positive, whole
from attnviz.checkpoints.rotary import ROPE_KEYS

KEYS = (
    *size_keys(),
    *ROPE_KEYS,
    whole("max_position_embeddings", 2048),
    # Keys of SmolLM's configurations for other programs.
    one_of("rope_interleaved", (False,), False),
    one_of("is_llama_config", (True,), True),
    activation_key("silu"),
    positive("rms_norm_eps", 1e-6),
    flag("attention_bias", False),
    flag("mlp_bias", False),
    flag("tie_word_embeddings", False),
)

MISTRAL_KEYS = (
    *size_keys(n_kv_heads=8),
    *ROPE_KEYS,
    whole("max_position_embeddings", 131_072),
    activation_key("silu"),
    positive("rms_norm_eps", 1e-6),
    whole("sliding_window", 4096, null=None),
    flag("tie_word_embeddings", False),
)

TENSORS = (
    *EMBEDDINGS,
    *attention(ATTENTION, has_attention_bias),
    *three_maps(MLP, has("mlp_bias")),
    *gains(*BEFORE_EACH_HALF),
)

LLAMA = Family(
    "Llama",
    ("llama",),
    "model.",
    KEYS,
    TENSORS,
    sizes,
    Decoder().layer,
    norm_after_layers("rms", "rms_norm_eps"),
    is_tied,
    IGNORED,
)

MISTRAL = Family(
    "Mistral",
    ("mistral",),
    "model.",
    MISTRAL_KEYS,
    (*EMBEDDINGS, *attention(ATTENTION), *three_maps(MLP), *gains(*BEFORE_EACH_HALF)),
    sizes,
    Decoder().layer,
    norm_after_layers("rms", "rms_norm_eps"),
    is_tied,
    IGNORED,
)
