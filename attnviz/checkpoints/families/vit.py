"""ViT: an encoder over the patches of an image, with a learned first token and positions, and norms before
each half of a block.

Dosovitskiy et al. 2021, arXiv:2010.11929; keys and names as in `transformers`, models/vit.
"""

from __future__ import annotations

from attnviz.checkpoints.families.bert import linear, norm
from attnviz.checkpoints.families.common import ACTIVATIONS, norm_after_layers, share_of_each_head
from attnviz.checkpoints.families.family import (
    Array,
    Config,
    Family,
    Ignored,
    Key,
    Sizes,
    Tensor,
    as_stored,
    flag,
    one_of,
    positive,
    unread,
    whole,
)
from attnviz.checkpoints.signals.patches import IMAGE
from attnviz.checkpoints.signals.signal import PLACE
from attnviz.errors import FieldError, whole_number
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
    one_of("hidden_act", tuple(ACTIVATIONS), "gelu"),
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
            f"{_LAYER}attention.attention.{role}",
            f"projections.{role}",
            f"projections.{role}_bias",
            ("d", "d"),
            has_bias=has_bias,
        )
    ),
    *linear(_LAYER + "attention.output.dense", "projections.output", "projections.output_bias", ("d", "d")),
    *linear(
        _LAYER + "intermediate.dense",
        "block.feed_forward.up",
        "block.feed_forward.up_bias",
        ("hidden", "d"),
    ),
    *linear(
        _LAYER + "output.dense", "block.feed_forward.down", "block.feed_forward.down_bias", ("d", "hidden")
    ),
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


def is_tied(config: Config) -> bool:
    """No logits of a vocabulary."""
    return False


VIT = Family(
    "ViT",
    ("vit",),
    "vit.",
    KEYS,
    TENSORS,
    image_sizes,
    image_layer,
    norm_after_layers("layer", "layer_norm_eps"),
    is_tied,
    IGNORED,
    signal=IMAGE,
)
