"""Llama 4's text model: experts whose inputs the router scales, and layers without positions.

Meta AI 2025 (ai.meta.com/blog/llama-4-multimodal-intelligence); keys and names as in `transformers`,
models/llama4. A layer rotates queries and keys in interleaved pairs, attends within blocks of
`attention_chunk_size` positions, and divides both by their root mean square; or it has no positions, attends
to all earlier keys, and has a temperature that grows with the position (Nakanishi 2025, arXiv:2501.19399).
The norm follows the rotation there and precedes it here: a rotation of whole heads keeps lengths.

Layers of `moe_layers` have experts: the sigmoid of an expert's logit multiplies its input, and a shared
expert reads every token. The other layers have one feed-forward layer of a width of its own.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from msgspec.structs import replace

from attnviz.checkpoints.families.decoder import (
    FULL,
    LAYER,
    Decoder,
    attention,
    decoder_family,
    decoder_keys,
    gains,
    kind_of,
    rotation,
    three_maps,
)
from attnviz.checkpoints.families.decoder import sizes as _sizes
from attnviz.checkpoints.families.experts import OF_EXPERT, join, router, shared_maps, stacked
from attnviz.checkpoints.families.family import (
    Array,
    Config,
    Key,
    Sizes,
    Tensor,
    flag,
    has_attention_bias,
    one_of,
    positive,
    texts,
    unread,
    whole,
)
from attnviz.checkpoints.families.llama import NO_ROPE_KEYS, rotates
from attnviz.checkpoints.rotary import scaling_values
from attnviz.errors import FieldError, must_be, whole_number
from attnviz.model.positions import magnitude
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.experts import Experts
from attnviz.model.spec.parts import Blocks, Causal, Mask, PositionTemperature, QKNorm
from attnviz.model.spec.positions import NoPosition, Position, Rope

CHUNKED = "chunked_attention"
BASE = 500_000.0


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(type(one) is int and one >= 0 for one in value)


KEYS = (
    *decoder_keys(131_072, n_kv_heads=8, d_head=128),
    whole("intermediate_size_mlp", 16_384),
    positive("rms_norm_eps", 1e-5),
    texts("layer_types", (CHUNKED, FULL)),
    *NO_ROPE_KEYS,
    whole("attention_chunk_size", 8192, null=None),
    flag("use_qk_norm", True),
    one_of("attn_temperature_tuning", (True, False, 4), True),  # 4 in the first published configurations
    whole("floor_scale", 8192),
    positive("attn_scale", 0.1),
    flag("attention_bias", False),
    whole("num_local_experts", 16),
    whole("num_experts_per_tok", 1),
    Key("moe_layers", None, _are_numbers, must_be("a list of layer numbers")),
    whole("interleave_moe_layer_step", 1),
    unread("router_jitter_noise"),
)


def has_experts(config: Config, index: int) -> bool:
    """True for a layer of experts."""
    given = config["moe_layers"]
    return (index + 1) % config["interleave_moe_layer_step"] == 0 if given is None else index in given


def _is_dense(config: Config, index: int) -> bool:
    return not has_experts(config, index)


def _gate_and_up(array: Array, sizes: Sizes) -> tuple[Array, ...]:
    """The gates of all experts side by side, (in, out), and the ups; of each expert the gates come first."""
    half = sizes["expert_hidden"]
    parts = (array[..., :half], array[..., half:])
    return tuple(part.transpose(1, 0, 2).reshape(array.shape[1], -1) for part in parts)


_FFN = LAYER + "feed_forward."

TENSORS = (
    *attention(has_attention_bias),
    *gains(),
    *(dataclasses.replace(row, in_layer=_is_dense) for row in three_maps(stem=_FFN)),
    *(
        dataclasses.replace(row, in_layer=has_experts)
        for row in (
            Tensor(
                _FFN + "experts.gate_up_proj",
                (OF_EXPERT + "gate.0", OF_EXPERT + "up.0"),
                ("experts", "d", "2expert_hidden"),
                _gate_and_up,
            ),
            Tensor(
                _FFN + "experts.down_proj",
                OF_EXPERT + "down.0",
                ("experts", "expert_hidden", "d"),
                stacked,
            ),
            *shared_maps(_FFN + "shared_expert"),
            router(_FFN + "router.weight"),
        )
    ),
)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    width = config["intermediate_size"]
    return {
        **_sizes(config),
        "hidden": config["intermediate_size_mlp"],
        "experts": config["num_local_experts"],
        "expert_hidden": width,
        "2expert_hidden": 2 * width,
        "shared_hidden": width,
    }


def _experts(config: Config, index: int) -> Experts | None:
    n, n_active = config["num_local_experts"], config["num_experts_per_tok"]
    if n_active > n:
        raise FieldError("num_experts_per_tok", n_active, whole_number(1, n))
    if _is_dense(config, index):
        return None
    width = config["intermediate_size"]
    return Experts(n, n_active, "sigmoid", normalised=False, d_shared=width, weighted="input")


def _hidden(config: Config, index: int) -> int:
    return int(config["intermediate_size" if has_experts(config, index) else "intermediate_size_mlp"])


def _rotates(config: Config, index: int) -> bool:
    """An empty list of layers without positions means their interval."""
    return rotates({**config, "no_rope_layers": config["no_rope_layers"] or None}, index)


def _position(config: Config, index: int) -> Position:
    return rotation("interleaved", BASE)(config, index) if _rotates(config, index) else NoPosition()


def _masks(config: Config, index: int) -> tuple[Mask, ...]:
    """Causal, within blocks where a layer is chunked: by default, where it rotates."""
    if kind_of(config, index, lambda number: CHUNKED if _rotates(config, number) else FULL) == FULL:
        return (Causal(),)
    size = config["attention_chunk_size"]
    if size is None:
        raise FieldError("attention_chunk_size", None, must_be("a whole number with a chunked layer"))
    return Causal(), Blocks(size)


_DECODER = Decoder(position=_position, masks=_masks, experts=_experts, hidden=_hidden)


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights: a norm of q and k where it rotates, else a temperature."""
    layer = _DECODER.layer(config, index)
    if not isinstance(layer.position, Rope):
        tuned = config["attn_temperature_tuning"]
        temperature = PositionTemperature(config["floor_scale"], config["attn_scale"]) if tuned else None
        return replace(layer, position_temperature=temperature)
    if not config["use_qk_norm"]:
        return layer
    if magnitude(layer.position) != 1.0:
        kept = must_be("without a factor of cosines and sines where use_qk_norm is true")
        written = scaling_values(config)["written"]
        raise FieldError(written, config[written], kept)
    return replace(layer, qk_norm=QKNorm("rms", config["rms_norm_eps"]))


LLAMA4 = decoder_family("Llama 4", ("llama4_text",), KEYS, TENSORS, layer, sizes=sizes, prepare=join)
