"""ViT and DINOv2: encoders over the patches of an image, with norms before each half of a block.

The first token and the positions are learned.

Dosovitskiy et al. 2021, arXiv:2010.11929; keys and names as in `transformers`, models/vit.
"""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from attnviz.checkpoints.families.decoder import fused
from attnviz.checkpoints.families.family import (
    ACTIVATIONS,
    Array,
    Arrays,
    Config,
    Family,
    Ignored,
    Key,
    Sizes,
    Tensor,
    activation_key,
    as_stored,
    flag,
    linear,
    never,
    norm,
    norm_after_layers,
    positive,
    share_of_each_head,
    unread,
    whole,
)
from attnviz.checkpoints.signals.patches import IMAGE, RESIZED
from attnviz.checkpoints.signals.signal import PLACE
from attnviz.errors import FieldError, whole_number
from attnviz.model.spec.arrays import in_float64
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.parts import Heads, NoPosition
from attnviz.model.spec.positions import Learned

IMAGE_KEYS: tuple[Key, ...] = (
    whole("image_size", 224),
    whole("num_channels", 3),
)
"""The sizes of an image."""

KEYS = (
    *IMAGE_KEYS,
    whole("patch_size", 16),
    whole("hidden_size", 768),
    whole("num_hidden_layers", 12),
    whole("num_attention_heads", 12),
    whole("intermediate_size", 3072),
    activation_key("gelu"),
    positive("layer_norm_eps", 1e-12),
    flag("qkv_bias", True),
    # Keys of the decoder of training and of the pooler, which are not imported.
    *map(unread, ("encoder_stride", "pooler_act", "pooler_output_size")),
)


def has_bias(config: Config) -> bool:
    """True if queries, keys and values have biases."""
    return bool(config["qkv_bias"])


def first_of_batch(array: Array, sizes: Sizes) -> tuple[Array, ...]:
    """A tensor without its first axis, which has length 1."""
    return (array[0],)


_EMBEDDINGS = "vit.embeddings."
_LAYER = "vit.encoder.layer.{layer}."

TENSORS = (
    Tensor(_EMBEDDINGS + "cls_token", PLACE + "first", (1, 1, "d")),
    Tensor(
        _EMBEDDINGS + "patch_embeddings.projection.weight",
        PLACE + "patches",
        ("d", "channels", "patch", "patch"),
        as_stored,
    ),
    Tensor(_EMBEDDINGS + "patch_embeddings.projection.bias", PLACE + "patches_bias", ("d",)),
    Tensor(_EMBEDDINGS + "position_embeddings", "position.table", (1, "positions", "d"), first_of_batch),
    *(
        tensor
        for role in ("query", "key", "value")
        for tensor in linear(
            f"{_LAYER}attention.attention.{role}", f"projections.{role}", ("d", "d"), has_bias=has_bias
        )
    ),
    *linear(_LAYER + "attention.output.dense", "projections.output", ("d", "d")),
    *linear(_LAYER + "intermediate.dense", "block.feed_forward.up", ("hidden", "d")),
    *linear(_LAYER + "output.dense", "block.feed_forward.down", ("d", "hidden")),
    *norm(_LAYER + "layernorm_before", "block.norm_1"),
    *norm(_LAYER + "layernorm_after", "block.norm_2"),
    *norm("vit.layernorm", "final_norm"),
)

IGNORED = (
    Ignored(_EMBEDDINGS + "mask_token", "the vector of a hidden patch, which training uses"),
    Ignored("vit.pooler.dense.weight", "the pooler, which makes one vector of the first token"),
    Ignored("vit.pooler.dense.bias", "the pooler, which makes one vector of the first token"),
)


def image_sizes(config: Config) -> Sizes:
    """The sizes in the shapes of an encoder of patches with a first token."""
    d, patch = config["hidden_size"], config["patch_size"]
    share_of_each_head(d, config["num_attention_heads"], "hidden_size", "num_attention_heads")
    if patch > config["image_size"]:
        raise FieldError("patch_size", patch, whole_number(1, config["image_size"]))
    return {
        "layers": config["num_hidden_layers"],
        "vocabulary": 0,
        "positions": (config["image_size"] // patch) ** 2 + 1,
        "channels": config["num_channels"],
        "patch": patch,
        "d": d,
        "q": d,
        "kv": d,
        "hidden": config["intermediate_size"],
    }


def image_layer(config: Config, index: int) -> Layer:
    """One layer without its weights; positions are added before the first one."""
    n_heads, d = config["num_attention_heads"], config["hidden_size"]
    before_each_half = Norm("layer", config["layer_norm_eps"])
    feed_forward = FeedForward(config["intermediate_size"], ACTIVATIONS[config["hidden_act"]])
    return Layer(
        heads=Heads(n_heads, n_heads, d // n_heads),
        position=NoPosition() if index else Learned(image_sizes(config)["positions"]),
        block=Block("pre", norm_1=before_each_half, feed_forward=feed_forward, norm_2=before_each_half),
    )


VIT = Family(
    "ViT",
    ("vit",),
    "vit.",
    KEYS,
    TENSORS,
    image_sizes,
    image_layer,
    norm_after_layers("layer", "layer_norm_eps"),
    IGNORED,
    signal=IMAGE,
    is_tied=never,
)


# --- DINOv2 --------------------------------------------------------------------------------------

DINOV2_KEYS: tuple[Key, ...] = (
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


_DINOV2_EMBEDDINGS = "dinov2.embeddings."
_DINOV2_LAYER = "dinov2.encoder.layer.{layer}."
_FFN = "block.feed_forward."
_SCALED = {"projections.output": "scale.attention", "block.feed_forward.down": "scale.feed_forward"}
"""The matrix of each half's output, and the place of its factors until they are part of it."""

DINOV2_TENSORS = (
    Tensor(_DINOV2_EMBEDDINGS + "cls_token", PLACE + "first", (1, 1, "d")),
    Tensor(
        _DINOV2_EMBEDDINGS + "patch_embeddings.projection.weight",
        PLACE + "patches",
        ("d", "channels", "patch", "patch"),
    ),
    Tensor(_DINOV2_EMBEDDINGS + "patch_embeddings.projection.bias", PLACE + "patches_bias", ("d",)),
    Tensor(
        _DINOV2_EMBEDDINGS + "position_embeddings", "position.table", (1, "positions", "d"), first_of_batch
    ),
    *(
        tensor
        for role in ("query", "key", "value")
        for tensor in linear(
            f"{_DINOV2_LAYER}attention.attention.{role}", f"projections.{role}", ("d", "d"), has_bias=has_bias
        )
    ),
    *linear(_DINOV2_LAYER + "attention.output.dense", "projections.output", ("d", "d")),
    Tensor(_DINOV2_LAYER + "layer_scale1.lambda1", _SCALED["projections.output"], ("d",)),
    *linear(_DINOV2_LAYER + "mlp.fc1", _FFN + "up", ("hidden", "d"), is_there=_is_plain),
    *linear(_DINOV2_LAYER + "mlp.fc2", _FFN + "down", ("d", "hidden"), is_there=_is_plain),
    *(
        replace(tensor, is_there=is_gated)
        for tensor in fused(
            _DINOV2_LAYER + "mlp.weights_in", (_FFN + "gate", _FFN + "up"), ("hidden", "hidden"), "2hidden"
        )
    ),
    *linear(_DINOV2_LAYER + "mlp.weights_out", _FFN + "down", ("d", "hidden"), is_there=is_gated),
    Tensor(_DINOV2_LAYER + "layer_scale2.lambda1", _SCALED["block.feed_forward.down"], ("d",)),
    *norm(_DINOV2_LAYER + "norm1", "block.norm_1"),
    *norm(_DINOV2_LAYER + "norm2", "block.norm_2"),
    *norm("dinov2.layernorm", "final_norm"),
)

DINOV2_IGNORED = (
    Ignored(_DINOV2_EMBEDDINGS + "mask_token", "the vector of a hidden patch, which training uses"),
)


def n_hidden(config: Config) -> int:
    """Width of the feed-forward layer: with a gate two thirds of it, as a multiple of 8."""
    whole_width = int(config["hidden_size"] * config["mlp_ratio"])
    return (int(whole_width * 2 / 3) + 7) // 8 * 8 if is_gated(config) else whole_width


def _sized(config: Config) -> Config:
    return {**config, "intermediate_size": n_hidden(config)}


def dinov2_sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    return {**image_sizes(_sized(config)), "2hidden": 2 * n_hidden(config)}


def dinov2_layer(config: Config, index: int) -> Layer:
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
    DINOV2_KEYS,
    DINOV2_TENSORS,
    dinov2_sizes,
    dinov2_layer,
    norm_after_layers("layer", "layer_norm_eps"),
    DINOV2_IGNORED,
    prepare=scale_outputs,
    signal=RESIZED,
    is_tied=never,
)
"""DINOv2: a ViT whose halves are multiplied by a learned factor of each feature before they are added.

Oquab et al. 2023, arXiv:2304.07193; Touvron et al. 2021, arXiv:2103.17239, section 3 (LayerScale). Keys and
names as in `transformers`, models/dinov2. A factor λ of an output x·W + b is part of the matrix and the bias:
x·(W·diag λ) + λ⊙b. The head for classes, which
reads the mean of all patches beside the first token, is not imported.
"""
