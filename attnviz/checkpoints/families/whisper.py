"""Whisper: BART with norms before each half, over frames of sound, which two convolutions make.

Its input are log-mel features of up to 30 s; the attention's keys have no bias. Radford et al. 2022,
arXiv:2212.04356; keys and names as in `transformers`, models/whisper.
"""

from __future__ import annotations

from attnviz.checkpoints.families.bart import EPS, SHARED_KEYS, bart_heads, feed_forward
from attnviz.checkpoints.families.family import (
    ACTIVATIONS,
    Around,
    Config,
    Family,
    Ignored,
    Sizes,
    Tensor,
    always,
    is_untied,
    linear,
    never,
    norm,
    one_of,
    share_of_each_head,
    transposed,
    unread,
    whole,
)
from attnviz.checkpoints.signals.frames import SOUND
from attnviz.checkpoints.signals.signal import PLACE
from attnviz.model.spec.attention import Attention, Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.parts import Causal, NoPosition
from attnviz.model.spec.positions import Learned, Position

_REPLACED = ("scale_embedding", "max_position_embeddings")

KEYS = (
    *(key for key in SHARED_KEYS if key.name not in _REPLACED),
    one_of("scale_embedding", (False,), False),
    whole("num_mel_bins", 80),
    whole("max_source_positions", 1500),
    whole("max_target_positions", 448),
    # Keys of training, generation and classification.
    *map(unread, ("apply_spec_augment", "begin_suppress_tokens", "suppress_tokens", "classifier_proj_size")),
    *map(unread, ("mask_feature_length", "mask_feature_min_masks", "mask_feature_prob")),
    *map(unread, ("mask_time_length", "mask_time_min_masks", "mask_time_prob", "median_filter_width")),
    *map(unread, ("use_weighted_layer_sum", "alignment_heads", "forced_decoder_ids")),
)

_IN, _OUT = "model.encoder.layers.{layer}.", "model.decoder.layers.{layer}."
_ROLES = (
    ("q_proj", "query", always),
    ("k_proj", "key", never),
    ("v_proj", "value", always),
    ("out_proj", "output", always),
)


def _attention(stem: str, place: str) -> tuple[Tensor, ...]:
    """The four maps of one attention and its norm; `place` is the path before `projections`."""
    return (
        *(
            tensor
            for name, role, has_bias in _ROLES
            for tensor in linear(f"{stem}.{name}", f"{place}projections.{role}", ("d", "d"), has_bias)
        ),
        *norm(f"{stem}_layer_norm", f"{place}block.norm_1"),
    )


def _convolution(stem: str, place: str, channels: str) -> tuple[Tensor, ...]:
    """A convolution of width 3 over time."""
    return (
        Tensor(stem + ".weight", PLACE + place, ("d", channels, 3)),
        Tensor(stem + ".bias", f"{PLACE}{place}_bias", ("d",)),
    )


TENSORS = (
    *_convolution("model.encoder.conv1", "narrow", "bands"),
    *_convolution("model.encoder.conv2", "wide", "d"),
    Tensor("model.encoder.embed_positions.weight", "encoder.0.position.table", ("frames", "d")),
    *_attention(_IN + "self_attn", "encoder."),
    *feed_forward(_IN, "encoder.", "encoder_hidden"),
    *norm("model.encoder.layer_norm", "encoder_norm"),
    Tensor("model.decoder.embed_tokens.weight", "vocabulary.embedding", ("vocabulary", "d")),
    Tensor("model.decoder.embed_positions.weight", "position.table", ("positions", "d")),
    *_attention(_OUT + "self_attn", ""),
    *_attention(_OUT + "encoder_attn", "cross."),
    *feed_forward(_OUT, "cross.", "hidden"),
    *norm("model.decoder.layer_norm", "final_norm"),
    Tensor("proj_out.weight", "vocabulary.unembedding", ("vocabulary", "d"), transposed, is_untied),
)

IGNORED = (
    Ignored("proj_out.weight", "a copy of the embedding", same_as="model.decoder.embed_tokens.weight"),
)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    d = config["d_model"]
    for stack in ("encoder", "decoder"):
        name = f"{stack}_attention_heads"
        share_of_each_head(d, config[name], "d_model", name)
    return {
        "layers": config["decoder_layers"],
        "encoder_layers": config["encoder_layers"],
        "vocabulary": config["vocab_size"],
        "positions": config["max_target_positions"],
        "frames": config["max_source_positions"],
        "bands": config["num_mel_bins"],
        "d": d,
        "encoder_hidden": config["encoder_ffn_dim"],
        "hidden": config["decoder_ffn_dim"],
    }


def _norm() -> Norm:
    return Norm("layer", EPS)


def _position(index: int, most: int) -> Position:
    return NoPosition() if index else Learned(most)


def _with_feed_forward(config: Config, stack: str) -> Block:
    """The block whose second half is the feed-forward layer."""
    feed_forward = FeedForward(config[f"{stack}_ffn_dim"], ACTIVATIONS[config["activation_function"]])
    return Block("pre", norm_1=_norm(), feed_forward=feed_forward, norm_2=_norm())


def encoder_layer(config: Config, index: int) -> Layer:
    """One layer of the encoder without its weights; positions are added before the first one."""
    return Layer(
        heads=bart_heads(config, "encoder"),
        position=_position(index, config["max_source_positions"]),
        block=_with_feed_forward(config, "encoder"),
    )


def layer(config: Config, index: int) -> Layer:
    """One layer of the decoder without its weights; positions are added before the first one."""
    layout = bart_heads(config, "decoder")
    return Layer(
        heads=layout,
        position=_position(index, config["max_target_positions"]),
        masks=(Causal(),),
        block=Block("pre", norm_1=_norm()),
        cross=Attention(heads=layout, block=_with_feed_forward(config, "decoder")),
    )


def around(config: Config) -> Around:
    """A norm after each stack."""
    return Around(final_norm=_norm(), encoder_norm=_norm())


WHISPER = Family(
    "Whisper",
    ("whisper",),
    "model.",
    KEYS,
    TENSORS,
    sizes,
    layer,
    around,
    IGNORED,
    encoder_layer,
    signal=SOUND,
)
