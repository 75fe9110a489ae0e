"""Qwen2 and Qwen3: Llama with biases of q, k and v (2), or with a norm of each head's q and k (3).

Yang et al. 2024, arXiv:2407.10671; Qwen Team 2025, arXiv:2505.09388. Keys and names as in `transformers`,
models/qwen2 and models/qwen3.
"""

from __future__ import annotations

from attnviz.checkpoints.families.common import has_attention_bias, is_tied, norm_after_layers
from attnviz.checkpoints.families.decoder import (
    ATTENTION,
    BEFORE_EACH_HALF,
    EMBEDDINGS,
    FULL,
    HEAD_GAINS,
    IGNORED,
    MLP,
    SLIDING,
    Decoder,
    activation_key,
    attention,
    by_kind,
    gains,
    never,
    rms_of_heads,
    size_keys,
    sizes,
    three_maps,
)
from attnviz.checkpoints.families.family import Config, Family, always, flag, positive, texts, whole
from attnviz.checkpoints.rotary import ROPE_KEYS
from attnviz.model.spec.parts import Causal, Mask

KEYS = (
    *size_keys(),
    *ROPE_KEYS,
    whole("max_position_embeddings", 32_768),
    activation_key("silu"),
    positive("rms_norm_eps", 1e-6),
    flag("use_sliding_window", False),
    whole("sliding_window", None),
    whole("max_window_layers", 28),
    texts("layer_types", (SLIDING, FULL)),
    flag("tie_word_embeddings", False),
)


def masks(config: Config, index: int) -> tuple[Mask, ...]:
    """Causal, and a window in the layers that slide: from `max_window_layers` on, unless they are listed."""
    if not config["use_sliding_window"]:
        return (Causal(),)
    first = config["max_window_layers"]
    return by_kind(lambda layer: SLIDING if layer >= first else FULL)(config, index)


_AROUND = norm_after_layers("rms", "rms_norm_eps")
_REST = (*three_maps(MLP), *gains(*BEFORE_EACH_HALF))

QWEN2 = Family(
    "Qwen2",
    ("qwen2",),
    "model.",
    KEYS,
    (*EMBEDDINGS, *attention(ATTENTION, always, has_output_bias=never), *_REST),
    sizes,
    Decoder(masks=masks).layer,
    _AROUND,
    is_tied,
    IGNORED,
)

QWEN3 = Family(
    "Qwen3",
    ("qwen3",),
    "model.",
    (*KEYS, flag("attention_bias", False)),
    (*EMBEDDINGS, *attention(ATTENTION, has_attention_bias), *HEAD_GAINS, *_REST),
    sizes,
    Decoder(masks=masks, qk_norm=rms_of_heads).layer,
    _AROUND,
    is_tied,
    IGNORED,
)
