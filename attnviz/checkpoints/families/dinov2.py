"""DINOv2: a ViT whose halves are multiplied by a learned factor of each feature before they are added.

Oquab et al. 2023, arXiv:2304.07193; Touvron et al. 2021, arXiv:2103.17239, section 3 (LayerScale). Keys and
names as in `transformers`, models/dinov2. A factor λ of an output x·W + b is part of the matrix and the bias:
x·(W·diag λ) + λ⊙b. The head for classes, which
reads the mean of all patches beside the first token, is not imported.
"""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from attnviz.checkpoints.families.bert import linear, norm
from attnviz.checkpoints.families.common import norm_after_layers
from attnviz.checkpoints.families.decoder import activation_key, fused
from attnviz.checkpoints.families.family import (
    Arrays,
    Config,
    Family,
    Ignored,
    Key,
    Sizes,
    Tensor,
    flag,
    positive,
    unread,
    whole,
)
from attnviz.checkpoints.families.vit import (
    IMAGE_KEYS,
    first_of_batch,
    has_bias,
    image_layer,
    image_sizes,
    is_tied,
)
from attnviz.checkpoints.signals.patches import RESIZED
from attnviz.checkpoints.signals.signal import PLACE
from attnviz.model.spec.arrays import in_float64
from attnviz.model.spec.attention import Layer

KEYS: tuple[Key, ...] = (
    *IMAGE_KEYS,
    whole("patch_size", 14),
    whole("hidden_size", 768),
    whole("num_hidden_layers", 12),
    whole("num_attention_heads", 12),
    whole("mlp_ratio", 4),
    activation_key("gelu"),
    positive("layer_norm_eps", 1e-6),
    flag("qkv_bias", True),
    flag("use_swiglu_ffn", False),
    # Keys of training, and of what a backbone returns.
    *map(
        unread,
        (
            "layerscale_value drop_path_rate apply_layernorm reshape_hidden_states use_mask_token "
            "out_features out_indices stage_names"
        ).split(),
    ),
)


def is_gated(config: Config) -> bool:
    """True for a feed-forward layer with a gate, as the largest model has it."""
    return bool(config["use_swiglu_ffn"])


def _is_plain(config: Config) -> bool:
    return not is_gated(config)


_EMBEDDINGS = "dinov2.embeddings."
_LAYER = "dinov2.encoder.layer.{layer}."
_FFN = "block.feed_forward."
_SCALED = {"projections.output": "scale.attention", "block.feed_forward.down": "scale.feed_forward"}
"""The matrix of each half's output, and the place of its factors until they are part of it."""

TENSORS = (
    Tensor(_EMBEDDINGS + "cls_token", PLACE + "first", (1, 1, "d")),
    Tensor(
        _EMBEDDINGS + "patch_embeddings.projection.weight",
        PLACE + "patches",
        ("d", "channels", "patch", "patch"),
    ),
    Tensor(_EMBEDDINGS + "patch_embeddings.projection.bias", PLACE + "patches_bias", ("d",)),
    Tensor(_EMBEDDINGS + "position_embeddings", "position.table", (1, "positions", "d"), first_of_batch),
    *(
        tensor
        for role in ("query", "key", "value")
        for tensor in linear(
            f"{_LAYER}attention.attention.{role}",
            f"projections.{role}",
            f"projections.{role}_bias",
            ("d", "d"),
            has_bias=has_bias,
        )
    ),
    *linear(_LAYER + "attention.output.dense", "projections.output", "projections.output_bias", ("d", "d")),
    Tensor(_LAYER + "layer_scale1.lambda1", _SCALED["projections.output"], ("d",)),
    *linear(_LAYER + "mlp.fc1", _FFN + "up", _FFN + "up_bias", ("hidden", "d"), _is_plain),
    *linear(_LAYER + "mlp.fc2", _FFN + "down", _FFN + "down_bias", ("d", "hidden"), _is_plain),
    *(
        replace(tensor, is_there=is_gated)
        for tensor in fused(
            _LAYER + "mlp.weights_in", (_FFN + "gate", _FFN + "up"), ("hidden", "hidden"), "2hidden"
        )
    ),
    *linear(_LAYER + "mlp.weights_out", _FFN + "down", _FFN + "down_bias", ("d", "hidden"), is_gated),
    Tensor(_LAYER + "layer_scale2.lambda1", _SCALED["block.feed_forward.down"], ("d",)),
    *norm(_LAYER + "norm1", "block.norm_1"),
    *norm(_LAYER + "norm2", "block.norm_2"),
    *norm("dinov2.layernorm", "final_norm"),
)

IGNORED = (Ignored(_EMBEDDINGS + "mask_token", "the vector of a hidden patch, which training uses"),)


def n_hidden(config: Config) -> int:
    """Width of the feed-forward layer: with a gate two thirds of it, as a multiple of 8."""
    whole_width = int(config["hidden_size"] * config["mlp_ratio"])
    return (int(whole_width * 2 / 3) + 7) // 8 * 8 if is_gated(config) else whole_width


def _sized(config: Config) -> Config:
    return {**config, "intermediate_size": n_hidden(config)}


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    return {**image_sizes(_sized(config)), "2hidden": 2 * n_hidden(config)}


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights."""
    layer = image_layer(_sized(config), index)
    if not is_gated(config) or layer.block is None or layer.block.feed_forward is None:
        return layer
    feed_forward = structs.replace(layer.block.feed_forward, activation="silu", gated=True)
    return structs.replace(layer, block=structs.replace(layer.block, feed_forward=feed_forward))


def scale_outputs(config: Config, sizes: Sizes, arrays: Arrays) -> None:
    """Multiply the outputs of both halves of each layer by their factors."""
    for own in arrays.values():
        for place, factors in _SCALED.items():
            scale = own.pop(factors, None)
            if scale is not None:
                for name in (place, f"{place}_bias"):
                    own[name] = in_float64(own[name]) * in_float64(scale)


DINOV2 = Family(
    "DINOv2",
    ("dinov2",),
    "dinov2.",
    KEYS,
    TENSORS,
    sizes,
    layer,
    norm_after_layers("layer", "layer_norm_eps"),
    is_tied,
    IGNORED,
    prepare=scale_outputs,
    signal=RESIZED,
)
