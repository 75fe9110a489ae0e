"""Mixtral, Qwen's and OLMo's mixtures of experts: their decoders with several feed-forward layers.

Jiang et al. 2024, arXiv:2401.04088; Yang et al. 2024, arXiv:2407.10671; Qwen Team 2025, arXiv:2505.09388;
Muennighoff et al. 2024, arXiv:2409.02060. Keys and names as in `transformers`, models/mixtral, qwen2_moe,
qwen3_moe and olmoe. The matrices of all experts become one, side by side; see `Experts`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attnviz.checkpoints.families import decoder, qwen
from attnviz.checkpoints.families.decoder import (
    ATTENTION,
    FULL,
    HEAD_GAINS,
    LAYER,
    MLP,
    Decoder,
    attention,
    decoder_family,
    decoder_keys,
    gains,
    kind_of,
    rms_of_heads,
    rotation,
)
from attnviz.checkpoints.families.family import (
    Array,
    Arrays,
    Config,
    Key,
    Sizes,
    Tensor,
    absent,
    always,
    count,
    flag,
    has_attention_bias,
    linear,
    never,
    one_of,
    plus_one,
    positive,
    texts,
    transposed,
    unread,
    whole,
)
from attnviz.checkpoints.families.llama import OLMO2_KEYS
from attnviz.core.ranges import format_ranges
from attnviz.errors import FieldError, missing, must_be, verbatim, whole_number
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.experts import Experts
from attnviz.model.spec.gate import Gate
from attnviz.model.spec.parts import QKNorm

OF_EXPERT = "experts."
"""Beginning of the places of single experts' matrices, until `join`."""

ROLES = ("gate", "up", "down")


def expert_keys(
    n_active: int, d_hidden: Any = None, d_shared: int | None = None, normalised: bool = False
) -> tuple[Key, ...]:
    """The number of experts of a token, and the widths of a routed and of the shared one, with defaults."""
    routed = (whole("num_experts_per_tok", n_active), flag("norm_topk_prob", normalised))
    hidden = () if d_hidden is None else (whole("moe_intermediate_size", d_hidden),)
    return (
        *routed,
        *hidden,
        *(() if d_shared is None else (count("shared_expert_intermediate_size", d_shared),)),
    )


def n_experts(config: Config) -> int:
    """The number of experts, by either of its names."""
    for name in ("num_experts", "num_local_experts"):
        count = config.get(name)
        if count is not None:
            return int(count)
    raise missing("num_experts", whole_number(1))


def experts(normalised: Callable[[Config], bool]) -> Callable[[Config, int], Experts]:
    """Softmax over all experts, of which the largest are used; Qwen2's shared expert has a gate."""

    def of_layer(config: Config, index: int) -> Experts:
        d_shared = config.get("shared_expert_intermediate_size") or 0
        n, active = n_experts(config), config["num_experts_per_tok"]
        if active > n:
            raise FieldError("num_experts_per_tok", active, whole_number(1, n))
        return Experts(n, active, normalised=normalised(config), d_shared=d_shared, shared_gate=d_shared > 0)

    return of_layer


def hidden(config: Config, index: int) -> int:
    """Hidden features of one expert."""
    return int(config.get("moe_intermediate_size") or config["intermediate_size"])


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    return {
        **decoder.sizes(config),
        "experts": n_experts(config),
        "expert_hidden": hidden(config, 0),
        "shared_hidden": config.get("shared_expert_intermediate_size") or 0,
    }


def expert_maps(stem: str, names: tuple[str, str, str]) -> tuple[Tensor, ...]:
    """The matrices of every expert, named for `ROLES`."""
    shapes = (("expert_hidden", "d"), ("expert_hidden", "d"), ("d", "expert_hidden"))
    return tuple(
        Tensor(f"{stem}.{{expert}}.{name}.weight", f"{OF_EXPERT}{role}.{{expert}}", shape, transposed)
        for name, role, shape in zip(names, ROLES, shapes, strict=True)
    )


def shared_maps(stem: str) -> tuple[Tensor, ...]:
    """The matrices of the shared expert."""
    shapes = (("shared_hidden", "d"), ("shared_hidden", "d"), ("d", "shared_hidden"))
    return tuple(
        Tensor(f"{stem}.{role}_proj.weight", f"{OF_EXPERT}{role}.shared", shape, transposed)
        for role, shape in zip(ROLES, shapes, strict=True)
    )


def router(name: str) -> Tensor:
    """The matrix of the router."""
    return Tensor(name, OF_EXPERT + "router.all", ("experts", "d"), transposed)


def stacked(array: Array, sizes: Sizes) -> tuple[Array, ...]:
    """The experts one below the other, (in, out)."""
    return (array.reshape(-1, array.shape[-1]),)


def join(config: Config, sizes: Sizes, arrays: Arrays) -> None:
    """The matrices of all experts side by side, the shared one last."""
    for place in arrays.values():
        for role, axis in (("gate", 1), ("up", 1), ("down", 0), ("router", 1)):
            parts = _parts(place, role)
            if parts:
                place[f"block.feed_forward.{role}"] = np.concatenate(parts, axis=axis)


def _parts(place: dict[str, Array], role: str) -> list[Array]:
    """The matrices of one role in the order of the experts."""
    beginning = f"{OF_EXPERT}{role}."
    names = [name for name in place if name.startswith(beginning)]

    def order(name: str) -> tuple[bool, Any]:
        end = name.removeprefix(beginning)
        return (False, int(end)) if end.isdigit() else (True, end)

    return [place.pop(name) for name in sorted(names, key=order)]


def is_normalised(config: Config) -> bool:
    return bool(config["norm_topk_prob"])


MIXTRAL_KEYS = (
    *decoder_keys(131_072, n_kv_heads=8),
    whole("num_local_experts", 8),
    *expert_keys(2),
    positive("rms_norm_eps", 1e-5),
    whole("sliding_window", None),
    unread("router_jitter_noise"),
)

EVERY_LAYER = (
    one_of("decoder_sparse_step", (1,), 1),
    one_of("mlp_only_layers", ([],), []),
    absent("clip_qkv"),
)
"""Keys by which some layers would have a single feed-forward layer, or clipped queries."""
_QWEN_KEYS = (*(key for key in qwen.KEYS if key.name != "sliding_window"), *EVERY_LAYER)
_PLAIN = ("gate_proj", "up_proj", "down_proj")
PLAIN_EXPERTS = (*expert_maps(MLP + "experts", _PLAIN), router(MLP + "gate.weight"))
"""The experts of Qwen and OLMo, and their router."""
GATED_SHARED = (
    *shared_maps(MLP + "shared_expert"),
    Tensor(MLP + "shared_expert_gate.weight", OF_EXPERT + "router.shared", (1, "d"), transposed),
)
"""Qwen's shared expert, with its gate."""
_REST = (*PLAIN_EXPERTS, *gains())

MIXTRAL = decoder_family(
    "Mixtral",
    ("mixtral",),
    MIXTRAL_KEYS,
    (
        *attention(),
        *expert_maps(LAYER + "block_sparse_moe.experts", ("w1", "w3", "w2")),
        router(LAYER + "block_sparse_moe.gate.weight"),
        *gains(),
    ),
    Decoder(position=rotation(base=1e6), experts=experts(lambda config: True), hidden=hidden).layer,
    sizes=sizes,
    prepare=join,
)

QWEN2_MOE = decoder_family(
    "Qwen2 (experts)",
    ("qwen2_moe",),
    (
        *_QWEN_KEYS,
        whole("num_experts", 60),
        *expert_keys(4, 1408, 5632),
        one_of("qkv_bias", (True,), True),
        count("sliding_window", 0),  # where no layer slides
    ),
    (
        *attention(always, has_output_bias=never),
        *_REST,
        *GATED_SHARED,
    ),
    Decoder(masks=qwen.masks, experts=experts(is_normalised), hidden=hidden).layer,
    sizes=sizes,
    prepare=join,
)

QWEN3_MOE = decoder_family(
    "Qwen3 (experts)",
    ("qwen3_moe",),
    (
        *_QWEN_KEYS,
        whole("num_experts", None),
        whole("num_local_experts", None),
        *expert_keys(8, 768),
        flag("attention_bias", False),
        whole("sliding_window", None),
    ),
    (*attention(has_attention_bias), *HEAD_GAINS, *_REST),
    Decoder(masks=qwen.masks, qk_norm=rms_of_heads, experts=experts(is_normalised), hidden=hidden).layer,
    sizes=sizes,
    prepare=join,
)

OLMOE = decoder_family(
    "OLMoE",
    ("olmoe",),
    (*OLMO2_KEYS, whole("num_experts", 64), *expert_keys(8), *EVERY_LAYER),
    (
        *attention(has_attention_bias),
        Tensor(ATTENTION + "q_norm.weight", "qk_norm.query_gain", ("q",)),
        Tensor(ATTENTION + "k_norm.weight", "qk_norm.key_gain", ("kv",)),
        *_REST,
    ),
    Decoder(
        qk_norm=lambda config: QKNorm("rms", config["rms_norm_eps"], across=True),
        experts=experts(is_normalised),
        hidden=hidden,
    ).layer,
    sizes=sizes,
    prepare=join,
)


# --- Qwen3-Next ----------------------------------------------------------------------------------

LINEAR = "linear_attention"

QWEN3_NEXT_KEYS = (
    *decoder_keys(32_768, d_head=256),
    positive("rms_norm_eps", 1e-6),
    texts("layer_types", (LINEAR, FULL)),
    whole("full_attention_interval", 4),
    flag("attention_bias", False),
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


QWEN3_NEXT_TENSORS = (
    Tensor(ATTENTION + "q_proj.weight", ("projections.query", "gate.weights"), ("2q", "d"), _query_and_gate),
    Tensor(
        ATTENTION + "q_proj.bias",
        ("projections.query_bias", "gate.bias"),
        ("2q",),
        _query_and_gate,
        has_attention_bias,
    ),
    *linear(ATTENTION + "k_proj", "projections.key", ("kv", "d"), has_attention_bias),
    *linear(ATTENTION + "v_proj", "projections.value", ("kv", "d"), has_attention_bias),
    *linear(ATTENTION + "o_proj", "projections.output", ("d", "q"), has_attention_bias),
    Tensor(ATTENTION + "q_norm.weight", "qk_norm.query_gain", ("head",), plus_one),
    Tensor(ATTENTION + "k_norm.weight", "qk_norm.key_gain", ("head",), plus_one),
    *PLAIN_EXPERTS,
    *GATED_SHARED,
    *gains(split=plus_one),
)

_QWEN3_NEXT_DECODER = Decoder(
    position=rotation(share=0.25),
    qk_norm=rms_of_heads,
    gate=lambda config: Gate(),
    experts=experts(is_normalised),
    hidden=hidden,
)


def qwen3_next_layer(config: Config, index: int) -> Layer:
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
    return _QWEN3_NEXT_DECODER.layer(config, index)


QWEN3_NEXT = decoder_family(
    "Qwen3-Next",
    ("qwen3_next",),
    QWEN3_NEXT_KEYS,
    QWEN3_NEXT_TENSORS,
    qwen3_next_layer,
    sizes=lambda config: {**sizes(config), "2q": 2 * sizes(config)["q"]},
    prepare=join,
)
"""Qwen3-Next: Qwen3's experts with a gate on the heads' output, as far as all layers are full attention.

Qwen Team 2025 (qwen.ai/blog, Qwen3-Next); the gate is that of Qiu et al. 2025, arXiv:2505.06708. Keys and
names as in `transformers`, models/qwen3_next. Its layers of linear attention (Gated DeltaNet, Yang et al.
2024, arXiv:2412.06464) are no attention over keys: a configuration that has any is refused.
"""
