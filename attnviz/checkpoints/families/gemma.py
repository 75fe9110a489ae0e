"""Gemma 1 to 3: Llama with GELU gates, gains stored as their difference from 1, and scaled token vectors.

Gemma Team 2024, arXiv:2403.08295; keys and names as in `transformers`, models/gemma.
"""

from __future__ import annotations

from dataclasses import replace

from attnviz.checkpoints.families.decoder import (
    ATTENTION,
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
    heads,
    kind_of,
    rms,
    rms_of_heads,
    three_maps,
)
from attnviz.checkpoints.families.family import (
    ACTIVATIONS,
    Around,
    Config,
    Key,
    Tensor,
    activation_key,
    flag,
    has_attention_bias,
    one_of,
    plus_one,
    positive,
    texts,
    unread,
    whole,
)
from attnviz.checkpoints.rotary import of_kind, rope
from attnviz.model.spec.parts import Scale, ScaleValue
from attnviz.model.spec.positions import Position

KEYS = (
    *decoder_keys(8192, activation_key("gelu_pytorch_tanh"), tied=True, n_kv_heads=16, d_head=256),
    # Written beside hidden_act in published configurations, and read by nobody.
    one_of("hidden_activation", tuple(ACTIVATIONS), None),
    positive("rms_norm_eps", 1e-6),
    flag("attention_bias", False),
    one_of("use_bidirectional_attention", (False,), None),
)

TENSORS = (
    *attention(has_attention_bias),
    *three_maps(),
    *gains(split=plus_one),
)


def around(config: Config) -> Around:
    """Token vectors times the root of d_model, and a norm after the last layer."""
    return Around(final_norm=rms(config), embedding_scale=config["hidden_size"] ** 0.5)


GEMMA = decoder_family("Gemma", ("gemma",), KEYS, TENSORS, around=around)


# --- Gemma 2 and 3 -------------------------------------------------------------------------------


def _keys(max_positions: int, logit_cap: float | None) -> tuple[Key, ...]:
    """Keys of both, with the default lengths and caps of one."""
    return (
        *decoder_keys(
            max_positions,
            activation_key("gelu_pytorch_tanh", "hidden_activation"),
            tied=True,
            n_kv_heads=4,
            d_head=256,
        ),
        # Written beside hidden_activation in published configurations, and read by nobody.
        one_of("hidden_act", tuple(ACTIVATIONS), None),
        positive("rms_norm_eps", 1e-6),
        flag("attention_bias", False),
        positive("query_pre_attn_scalar", 256),
        whole("sliding_window", 4096, null=None),
        texts("layer_types", (SLIDING, FULL)),
        positive("final_logit_softcapping", logit_cap, null=None),
    )


GEMMA2_KEYS = (
    *_keys(8192, 30.0),
    positive("attn_logit_softcapping", 50.0, null=None),
    one_of("use_bidirectional_attention", (False,), None),
)

GEMMA3_KEYS = (
    *_keys(131_072, None),
    # A cap that the reference keeps and never applies.
    unread("attn_logit_softcapping"),
    one_of("use_bidirectional_attention", (False,), False),
    # The base of sliding layers, and how many layers repeat, before layer_types listed them.
    positive("rope_local_base_freq", None),
    whole("sliding_window_pattern", None),
    whole("_sliding_window_pattern", 6),
)

GEMMA2_TENSORS = (
    *attention(has_attention_bias),
    *three_maps(),
    *gains(
        (LAYER + "input_layernorm", "block.norm_1"),
        (LAYER + "post_attention_layernorm", "block.after_1"),
        (LAYER + "pre_feedforward_layernorm", "block.norm_2"),
        (LAYER + "post_feedforward_layernorm", "block.after_2"),
        ("model.norm", "final_norm"),
        split=plus_one,
    ),
)

_HEAD_GAINS = (
    Tensor(ATTENTION + "q_norm.weight", "qk_norm.query_gain", ("head",), plus_one),
    Tensor(ATTENTION + "k_norm.weight", "qk_norm.key_gain", ("head",), plus_one),
)


def scale(config: Config) -> Scale:
    """1 over the root of a number of the configuration's own."""
    return ScaleValue(config["query_pre_attn_scalar"] ** -0.5)


def _default_kind(config: Config, index: int) -> str:
    return every(config["sliding_window_pattern"] or config["_sliding_window_pattern"])(index)


def _position(config: Config, index: int) -> Position:
    """RoPE; sliding layers have a base of their own, and no scaling."""
    kind = kind_of(config, index, lambda layer: _default_kind(config, layer))
    bases = {SLIDING: ("rope_local_base_freq", 10_000.0), FULL: ("rope_theta", 1_000_000.0)}
    is_scaled = kind == FULL
    return rope(of_kind(config, kind, *bases[kind], is_scaled), heads(config).d_head)


def gemma2_around(config: Config) -> Around:
    """Scaled token vectors, a norm after the last layer, capped logits."""
    return Around(
        final_norm=rms(config),
        embedding_scale=config["hidden_size"] ** 0.5,
        logit_cap=config["final_logit_softcapping"],
    )


_SANDWICH = Decoder(
    masks=by_kind(every(2)),
    scale=scale,
    cap=lambda config: config["attn_logit_softcapping"],
    placement=lambda config: "sandwich",
    norms=lambda config: ("norm_1", "norm_2", "after_1", "after_2"),
    activation="hidden_activation",
)

GEMMA2 = decoder_family("Gemma 2", ("gemma2",), GEMMA2_KEYS, GEMMA2_TENSORS, _SANDWICH.layer, gemma2_around)

GEMMA3 = decoder_family(
    "Gemma 3",
    ("gemma3_text",),
    GEMMA3_KEYS,
    (*GEMMA2_TENSORS, *_HEAD_GAINS),
    replace(
        _SANDWICH,
        position=_position,
        masks=lambda config, index: by_kind(lambda layer: _default_kind(config, layer))(config, index),
        qk_norm=rms_of_heads,
        cap=lambda config: None,
    ).layer,
    gemma2_around,
)
"""Gemma 2 and 3: a norm before and after each half of a block, windows in most layers.

Gemma 2 caps scores and logits, and every other layer slides; Gemma 3 normalises each head's q and k, five of
six layers slide, and sliding layers have a RoPE base of their own. Gains are stored as their difference from
1; token vectors are the embedding times the root of d_model. Gemma Team 2024, arXiv:2408.00118, and 2025,
arXiv:2503.19786; keys and names as in `transformers`, models/gemma2 and models/gemma3.
"""
