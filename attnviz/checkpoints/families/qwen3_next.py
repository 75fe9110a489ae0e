"""Qwen3-Next: Qwen3's experts with a gate on the heads' output, as far as all layers are full attention.

Qwen Team 2025 (qwen.ai/blog, Qwen3-Next); the gate is that of Qiu et al. 2025, arXiv:2505.06708. Keys and
names as in `transformers`, models/qwen3_next. Its layers of linear attention (Gated DeltaNet, Yang et al.
2024, arXiv:2412.06464) are no attention over keys: a configuration that has any is refused.
"""

from __future__ import annotations

from attnviz.checkpoints.families.common import has_attention_bias, is_tied, norm_after_layers
from attnviz.checkpoints.families.decoder import (
    ATTENTION,
    BEFORE_EACH_HALF,
    EMBEDDINGS,
    FULL,
    IGNORED,
    Decoder,
    activation_key,
    gains,
    kind_of,
    product,
    rms_of_heads,
    rotation,
    size_keys,
)
from attnviz.checkpoints.families.experts import (
    EVERY_LAYER,
    GATED_SHARED,
    PLAIN_EXPERTS,
    expert_keys,
    experts,
    hidden,
    is_normalised,
    join,
    sizes,
)
from attnviz.checkpoints.families.family import (
    Array,
    Config,
    Family,
    Sizes,
    Tensor,
    flag,
    plus_one,
    positive,
    texts,
    unread,
    whole,
)
from attnviz.checkpoints.rotary import ROPE_KEYS
from attnviz.core.ranges import format_ranges
from attnviz.errors import FieldError, must_be, verbatim
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.gate import Gate

LINEAR = "linear_attention"

KEYS = (
    *size_keys(d_head=256),
    *ROPE_KEYS,
    whole("max_position_embeddings", 32_768),
    activation_key("silu"),
    positive("rms_norm_eps", 1e-6),
    texts("layer_types", (LINEAR, FULL)),
    whole("full_attention_interval", 4),
    flag("attention_bias", False),
    flag("tie_word_embeddings", False),
    *EVERY_LAYER,
    whole("num_experts", 512),
    *expert_keys(10, 512, 512, normalised=True),
    # Of the layers of linear attention:
    unread("linear_conv_kernel_dim"),
    unread("linear_key_head_dim"),
    unread("linear_value_head_dim"),
    unread("linear_num_key_heads"),
    unread("linear_num_value_heads"),
)


def _query_and_gate(array: Array, sizes: Sizes) -> tuple[Array, ...]:
    """Of each head the query's rows first, then the gate's: both as (in, heads side by side)."""
    by_head = array.reshape(sizes["heads"], 2, sizes["head"], *array.shape[1:])
    return tuple(by_head[:, part].reshape(-1, *array.shape[1:]).T for part in (0, 1))


TENSORS = (
    *EMBEDDINGS,
    Tensor(ATTENTION + "q_proj.weight", ("projections.query", "gate.weights"), ("2q", "d"), _query_and_gate),
    Tensor(
        ATTENTION + "q_proj.bias",
        ("projections.query_bias", "gate.bias"),
        ("2q",),
        _query_and_gate,
        has_attention_bias,
    ),
    *product(ATTENTION + "k_proj", "projections.key", ("kv", "d"), has_attention_bias),
    *product(ATTENTION + "v_proj", "projections.value", ("kv", "d"), has_attention_bias),
    *product(ATTENTION + "o_proj", "projections.output", ("d", "q"), has_attention_bias),
    Tensor(ATTENTION + "q_norm.weight", "qk_norm.query_gain", ("head",), plus_one),
    Tensor(ATTENTION + "k_norm.weight", "qk_norm.key_gain", ("head",), plus_one),
    *PLAIN_EXPERTS,
    *GATED_SHARED,
    *gains(*BEFORE_EACH_HALF, split=plus_one),
)

_DECODER = Decoder(
    position=rotation(share=0.25),
    qk_norm=rms_of_heads,
    gate=lambda config: Gate(),
    experts=experts(is_normalised),
    hidden=hidden,
)


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights. Raises `FieldError` naming the layers of linear attention."""

    def default(number: int) -> str:
        return LINEAR if (number + 1) % config["full_attention_interval"] else FULL

    linear = [n for n in range(config["num_hidden_layers"]) if kind_of(config, n, default) == LINEAR]
    if linear:
        got = verbatim(f"{LINEAR} in the layers {format_ranges(linear)}")
        full = must_be(
            "{full} in every layer, as Gated DeltaNet is no attention; 'qwen3_moe' is the nearest type",
            full=f"'{FULL}'",
        )
        raise FieldError("layer_types", got, full)
    return _DECODER.layer(config, index)


QWEN3_NEXT = Family(
    "Qwen3-Next",
    ("qwen3_next",),
    "model.",
    KEYS,
    TENSORS,
    lambda config: {**sizes(config), "2q": 2 * sizes(config)["q"]},
    layer,
    norm_after_layers("rms", "rms_norm_eps"),
    is_tied,
    IGNORED,
    prepare=join,
)
