"""The two encoders of CLIP, each alone: text is causal, images are not; quick GELU, norms before each half.
And SigLIP's two, neither of them causal, that of images without a first token.

Radford et al. 2021, arXiv:2103.00020; Zhai et al. 2023, arXiv:2303.15343; keys and names as in
`transformers`, models/clip and models/siglip. Their output is a
vector of each token: the projections into the common space are not imported.
"""

from __future__ import annotations

from msgspec.structs import replace

from attnviz.checkpoints.families import decoder
from attnviz.checkpoints.families.decoder import Decoder, attention, layer_norm, two_maps
from attnviz.checkpoints.families.family import (
    Around,
    Config,
    Family,
    Ignored,
    Sizes,
    Tensor,
    activation_key,
    always,
    flag,
    never,
    norm,
    norm_after_layers,
    positive,
    unread,
    whole,
)
from attnviz.checkpoints.families.vit import IMAGE_KEYS, image_layer, image_sizes
from attnviz.checkpoints.signals.patches import IMAGE
from attnviz.checkpoints.signals.signal import PLACE
from attnviz.i18n import N_
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.parts import NoPosition
from attnviz.model.spec.positions import Learned, Position

KEYS = (
    whole("vocab_size", 49_408),
    whole("hidden_size", 512),
    whole("intermediate_size", 2048),
    whole("num_hidden_layers", 12),
    whole("num_attention_heads", 8),
    whole("max_position_embeddings", 77),
    activation_key("quick_gelu"),
    positive("layer_norm_eps", 1e-5),
    unread("projection_dim"),
    flag("tie_word_embeddings", True),
)

VISION_KEYS = (
    *IMAGE_KEYS,
    whole("patch_size", 32),
    whole("hidden_size", 768),
    whole("intermediate_size", 3072),
    whole("num_hidden_layers", 12),
    whole("num_attention_heads", 12),
    activation_key("quick_gelu"),
    positive("layer_norm_eps", 1e-5),
    unread("projection_dim"),
)

_LAYER = "text_model.encoder.layers.{layer}."
_EMBEDDINGS = "text_model.embeddings."

TENSORS = (
    Tensor(_EMBEDDINGS + "token_embedding.weight", "vocabulary.embedding", ("vocabulary", "d")),
    Tensor(_EMBEDDINGS + "position_embedding.weight", "position.table", ("positions", "d")),
    *attention(always, output="out_proj", stem=_LAYER + "self_attn."),
    *two_maps("fc1", "fc2", stem=_LAYER + "mlp."),
    *norm(_LAYER + "layer_norm1", "block.norm_1"),
    *norm(_LAYER + "layer_norm2", "block.norm_2"),
    *norm("text_model.final_layer_norm", "final_norm"),
)

_IMAGE_LAYER = "vision_model.encoder.layers.{layer}."
_IMAGE_EMBEDDINGS = "vision_model.embeddings."

_PATCHES = Tensor(
    _IMAGE_EMBEDDINGS + "patch_embedding.weight", PLACE + "patches", ("d", "channels", "patch", "patch")
)
_IMAGE_POSITIONS = Tensor(
    _IMAGE_EMBEDDINGS + "position_embedding.weight", "position.table", ("positions", "d")
)
_IMAGE_HALVES = (
    *attention(always, output="out_proj", stem=_IMAGE_LAYER + "self_attn."),
    *two_maps("fc1", "fc2", stem=_IMAGE_LAYER + "mlp."),
    *norm(_IMAGE_LAYER + "layer_norm1", "block.norm_1"),
    *norm(_IMAGE_LAYER + "layer_norm2", "block.norm_2"),
    *norm("vision_model.post_layernorm", "final_norm"),
)

POOLING = N_("The attention pooling head is not read: one learned query that attends to all patches.")
PROJECTION = N_("The projection into the common space of texts and images is not read.")

VISION_TENSORS = (
    Tensor(_IMAGE_EMBEDDINGS + "class_embedding", PLACE + "first", ("d",)),
    _PATCHES,
    _IMAGE_POSITIONS,
    *norm("vision_model.pre_layrnorm", "embedding_norm"),
    *_IMAGE_HALVES,
)

SIGLIP_TENSORS = (
    _PATCHES,
    Tensor(_IMAGE_EMBEDDINGS + "patch_embedding.bias", PLACE + "patches_bias", ("d",)),
    _IMAGE_POSITIONS,
    *_IMAGE_HALVES,
)

SIGLIP_IGNORED = (
    Ignored(_IMAGE_EMBEDDINGS + "position_ids", "the numbers 0, 1, 2, …"),
    *(
        Ignored(f"vision_model.head.{name}", "a layer of one query, the probe", says=POOLING)
        for name in (
            "probe attention.in_proj_weight attention.in_proj_bias attention.out_proj.weight "
            "attention.out_proj.bias layernorm.weight layernorm.bias "
            "mlp.fc1.weight mlp.fc1.bias mlp.fc2.weight mlp.fc2.bias"
        ).split()
    ),
)

VISION_IGNORED = (
    Ignored(_IMAGE_EMBEDDINGS + "position_ids", "the numbers 0, 1, 2, …"),
    Ignored("visual_projection.weight", "the projection into the space of texts", says=PROJECTION),
)

IGNORED = (
    Ignored(_EMBEDDINGS + "position_ids", "the numbers 0, 1, 2, …"),
    Ignored("text_projection.weight", "the projection into the space of images", says=PROJECTION),
)


def _named(config: Config) -> Config:
    """The configuration with one key/value head for each query head."""
    return {**config, "num_key_value_heads": None}


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    sizes = decoder.sizes(_named(config))
    return {**sizes, "positions": config["max_position_embeddings"]}


def _position(config: Config, index: int) -> Position:
    return NoPosition() if index else Learned(config["max_position_embeddings"])


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights; positions are added before the first one."""
    return Decoder(layer_norm, _position, is_gated=False).layer(_named(config), index)


CLIP_TEXT = Family(
    "CLIP (text)",
    ("clip_text_model",),
    "text_model.",
    KEYS,
    TENSORS,
    sizes,
    layer,
    norm_after_layers("layer", "layer_norm_eps"),
    IGNORED,
)


SIGLIP_TEXT_KEYS = (
    whole("vocab_size", 32_000),
    whole("hidden_size", 768),
    whole("intermediate_size", 3072),
    whole("num_hidden_layers", 12),
    whole("num_attention_heads", 12),
    whole("max_position_embeddings", 64),
    activation_key("gelu_pytorch_tanh"),
    positive("layer_norm_eps", 1e-6),
    unread("projection_size"),
    flag("tie_word_embeddings", True),
)

SIGLIP_TEXT_IGNORED = (
    Ignored(_EMBEDDINGS + "position_ids", "the numbers 0, 1, 2, …"),
    *(
        Ignored(f"text_model.head.{name}", "the map of the last token into that space", says=PROJECTION)
        for name in ("weight", "bias")
    ),
)


def siglip_text_layer(config: Config, index: int) -> Layer:
    """One layer without its weights; every token attends to all."""
    return replace(layer(config, index), masks=())


def vision_around(config: Config) -> Around:
    """A norm before the layers, and one after them."""
    return Around(layer_norm(config), layer_norm(config))


SIGLIP_TEXT = Family(
    "SigLIP (text)",
    ("siglip_text_model",),
    "text_model.",
    SIGLIP_TEXT_KEYS,
    TENSORS,
    sizes,
    siglip_text_layer,
    norm_after_layers("layer", "layer_norm_eps"),
    SIGLIP_TEXT_IGNORED,
)

CLIP_VISION = Family(
    "CLIP (vision)",
    ("clip_vision_model",),
    "vision_model.",
    VISION_KEYS,
    VISION_TENSORS,
    image_sizes,
    image_layer,
    vision_around,
    VISION_IGNORED,
    signal=IMAGE,
    is_tied=never,
)


SIGLIP_KEYS = (
    *IMAGE_KEYS,
    whole("patch_size", 16),
    whole("hidden_size", 768),
    whole("intermediate_size", 3072),
    whole("num_hidden_layers", 12),
    whole("num_attention_heads", 12),
    activation_key("gelu_pytorch_tanh"),
    positive("layer_norm_eps", 1e-6),
    unread("vision_use_head"),
)


def patches_alone(config: Config) -> Sizes:
    """The sizes of an encoder of patches without a first token."""
    sizes = image_sizes(config)
    return {**sizes, "positions": sizes["positions"] - 1}


def siglip_layer(config: Config, index: int) -> Layer:
    """One layer without its weights; a position for each patch is added before the first one."""
    layer = image_layer(config, index)
    return layer if index else replace(layer, position=Learned(patches_alone(config)["positions"]))


SIGLIP_VISION = Family(
    "SigLIP (vision)",
    ("siglip_vision_model",),
    "vision_model.",
    SIGLIP_KEYS,
    SIGLIP_TENSORS,
    patches_alone,
    siglip_layer,
    norm_after_layers("layer", "layer_norm_eps"),
    SIGLIP_IGNORED,
    signal=IMAGE,
    is_tied=never,
)
