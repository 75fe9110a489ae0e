"""Cohere and Cohere 2: parallel halves after one LayerNorm without bias, scaled logits, neighbours rotated.

In Cohere 2 three of four layers slide, and those that do not have no position. Cohere 2024 and 2025,
arXiv:2504.00698; keys and names as in `transformers`, models/cohere and models/cohere2.
"""

from __future__ import annotations

from dataclasses import replace

from attnviz.checkpoints.families.decoder import (
    FULL,
    LAYER,
    SLIDING,
    Decoder,
    attention,
    by_kind,
    decoder_family,
    decoder_keys,
    every,
    gains,
    kind_of,
    layer_norm,
    rotation,
    three_maps,
)
from attnviz.checkpoints.families.family import (
    Around,
    Config,
    flag,
    has_attention_bias,
    one_of,
    positive,
    texts,
    whole,
)
from attnviz.model.spec.parts import Mask
from attnviz.model.spec.positions import NoPosition, Position

KEYS = (
    *decoder_keys(8192, tied=True),
    positive("layer_norm_eps", 1e-5),
    positive("logit_scale", 0.0625),
    one_of("use_qk_norm", (False,), False),
    flag("attention_bias", False),
)

COHERE2_KEYS = (
    *KEYS,
    whole("sliding_window", 4096, null=None),
    texts("layer_types", (SLIDING, FULL)),
    # How many layers repeat, before layer_types listed them.
    whole("sliding_window_pattern", None),
    whole("_sliding_window_pattern", None),
    whole("layer_switch", None),
    # Published beside the sizes; the model has no other form.
    one_of("order_of_interleaved_layers", ("local_attn_first",), None),
    one_of("position_embedding_type", ("rope_gptj",), None),
    one_of("rotary_pct", (1, 1.0), None),
    *(
        one_of(f"use_{name}", (True,), None)
        for name in ("embedding_sharing", "gated_activation", "parallel_block", "parallel_embedding")
    ),
)

TENSORS = (
    *attention(has_attention_bias),
    *three_maps(),
    *gains((LAYER + "input_layernorm", "block.norm_1"), ("model.norm", "final_norm")),
)


def around(config: Config) -> Around:
    """A norm after the last layer, and a factor of the logits."""
    return Around(final_norm=layer_norm(config), logit_scale=config["logit_scale"])


def _default_kind(config: Config, index: int) -> str:
    return every(config["sliding_window_pattern"] or config["_sliding_window_pattern"] or 4)(index)


def _masks(config: Config, index: int) -> tuple[Mask, ...]:
    return by_kind(lambda layer: _default_kind(config, layer))(config, index)


def _position(config: Config, index: int) -> Position:
    """RoPE in the layers that slide."""
    slides = kind_of(config, index, lambda layer: _default_kind(config, layer)) == SLIDING
    return rotation("interleaved")(config, index) if slides else NoPosition()


_PARALLEL = Decoder(
    layer_norm,
    rotation("interleaved", 500_000.0),
    placement=lambda config: "parallel",
    norms=lambda config: ("norm_1",),
)

COHERE = decoder_family("Cohere", ("cohere",), KEYS, TENSORS, _PARALLEL.layer, around)

COHERE2 = decoder_family(
    "Cohere 2",
    ("cohere2",),
    COHERE2_KEYS,
    TENSORS,
    replace(_PARALLEL, position=_position, masks=_masks).layer,
    around,
)
