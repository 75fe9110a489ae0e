"""Qwen2 and Qwen3: Llama with biases of q, k and v (2), or with a norm of each head's q and k (3).

Yang et al. 2024, arXiv:2407.10671; Qwen Team 2025, arXiv:2505.09388. Keys and names as in `transformers`,
models/qwen2 and models/qwen3.
"""

from __future__ import annotations

from attnviz.checkpoints.families.decoder import (
    FULL,
    HEAD_GAINS,
    SLIDING,
    Decoder,
    attention,
    by_kind,
    decoder_family,
    decoder_keys,
    gains,
    rms_of_heads,
    three_maps,
)
from attnviz.checkpoints.families.family import (
    Config,
    always,
    flag,
    has_attention_bias,
    never,
    positive,
    texts,
    whole,
)
from attnviz.model.spec.parts import Causal, Mask

KEYS = (
    *decoder_keys(32_768),
    positive("rms_norm_eps", 1e-6),
    flag("use_sliding_window", False),
    whole("sliding_window", None),
    whole("max_window_layers", 28),
    texts("layer_types", (SLIDING, FULL)),
)


def masks(config: Config, index: int) -> tuple[Mask, ...]:
    """Causal, and a window in the layers that slide: from `max_window_layers` on, unless they are listed."""
    if not config["use_sliding_window"]:
        return (Causal(),)
    first = config["max_window_layers"]
    return by_kind(lambda layer: SLIDING if layer >= first else FULL)(config, index)


_REST = (*three_maps(), *gains())

QWEN2 = decoder_family(
    "Qwen2", ("qwen2",), KEYS, (*attention(always, has_output_bias=never), *_REST), Decoder(masks=masks).layer
)

QWEN3 = decoder_family(
    "Qwen3",
    ("qwen3",),
    (*KEYS, flag("attention_bias", False)),
    (*attention(has_attention_bias), *HEAD_GAINS, *_REST),
    Decoder(masks=masks, qk_norm=rms_of_heads).layer,
)
