"""T5: an encoder and a decoder, a bias for each bucket of distances, no scale, RMSNorm before each half.

The first layer of each stack has the table of its buckets, and all layers of the stack add the same biases;
the attention to the encoder's output adds none. Raffel et al. 2020, arXiv:1910.10683; keys and names as in
`transformers`, models/t5. Logits of a tied embedding use outputs times d_model^-0.5.
"""

from __future__ import annotations

from dataclasses import replace

from attnviz.checkpoints.families.family import (
    Around,
    Config,
    Family,
    Ignored,
    Sizes,
    Tensor,
    flag,
    is_tied,
    is_untied,
    never,
    one_of,
    positive,
    transposed,
    whole,
)
from attnviz.errors import FieldError, must_be, quoted
from attnviz.model.spec.attention import Attention, Layer
from attnviz.model.spec.block import ActivationKind, Block, FeedForward, Norm
from attnviz.model.spec.parts import Causal, Heads, NoScale
from attnviz.model.spec.positions import T5Buckets

FEED_FORWARDS: dict[str, tuple[ActivationKind, bool]] = {
    "relu": ("relu", False),
    "gelu": ("gelu", False),
    "gelu_new": ("gelu_tanh", False),
    "silu": ("silu", False),
    "gated-relu": ("relu", True),
    # The exact GELU is never meant by this name: transformers takes the tanh form.
    "gated-gelu": ("gelu_tanh", True),
    "gated-gelu_new": ("gelu_tanh", True),
    "gated-silu": ("silu", True),
}
"""The feed-forward layers of `transformers`: the activation here, and whether it is gated."""

KEYS = (
    whole("vocab_size"),
    whole("d_model"),
    whole("d_kv"),
    whole("d_ff"),
    whole("num_layers"),
    whole("num_decoder_layers", None),
    whole("num_heads"),
    whole("relative_attention_num_buckets", 32),
    whole("relative_attention_max_distance", 128),
    positive("layer_norm_epsilon", 1e-6),
    one_of("feed_forward_proj", tuple(FEED_FORWARDS), "relu"),
    one_of("is_decoder", (False,), False),
    flag("tie_word_embeddings", True),
    flag("scale_decoder_outputs", None),
    # What feed_forward_proj says already.
    one_of("dense_act_fn", ("relu", "gelu", "gelu_new", "silu"), None),
    flag("is_gated_act", None),
    # The length of training's texts, and how old versions cached.
    whole("n_positions", 512),
    flag("output_past", True),
)


def _is_gated(config: Config) -> bool:
    return FEED_FORWARDS[config["feed_forward_proj"]][1]


def _is_plain(config: Config) -> bool:
    return not _is_gated(config)


def _attention(stem: str, place: str) -> tuple[Tensor, ...]:
    """The four matrices of one attention; `place` is the path before `projections`."""
    return tuple(
        Tensor(f"{stem}.{name}.weight", f"{place}projections.{role}", shape, transposed)
        for name, role, shape in (
            ("q", "query", ("heads", "d")),
            ("k", "key", ("heads", "d")),
            ("v", "value", ("heads", "d")),
            ("o", "output", ("d", "heads")),
        )
    )


def _block(stem: str, place: str) -> tuple[Tensor, ...]:
    """The second half of a layer: its norm and its matrices, with a gate or without one."""
    matrices, forward = stem + ".DenseReluDense.", f"{place}block.feed_forward."
    return (
        Tensor(stem + ".layer_norm.weight", f"{place}block.norm_2.gain", ("d",)),
        Tensor(matrices + "wi.weight", forward + "up", ("hidden", "d"), transposed, _is_plain),
        Tensor(matrices + "wi_0.weight", forward + "gate", ("hidden", "d"), transposed, _is_gated),
        Tensor(matrices + "wi_1.weight", forward + "up", ("hidden", "d"), transposed, _is_gated),
        Tensor(matrices + "wo.weight", forward + "down", ("d", "hidden"), transposed),
    )


_IN = "encoder.block.{layer}.layer."
_OUT = "decoder.block.{layer}.layer."
_BIAS = ".block.0.layer.0.SelfAttention.relative_attention_bias.weight"

TENSORS = (
    Tensor("shared.weight", "vocabulary.embedding", ("vocabulary", "d")),
    Tensor("encoder" + _BIAS, "encoder.position.table", ("buckets", "n_heads")),
    Tensor(_IN + "0.layer_norm.weight", "encoder.block.norm_1.gain", ("d",)),
    *_attention(_IN + "0.SelfAttention", "encoder."),
    *_block(_IN + "1", "encoder."),
    Tensor("encoder.final_layer_norm.weight", "encoder_norm.gain", ("d",)),
    Tensor("decoder" + _BIAS, "layers.position.table", ("buckets", "n_heads")),
    Tensor(_OUT + "0.layer_norm.weight", "block.norm_1.gain", ("d",)),
    *_attention(_OUT + "0.SelfAttention", ""),
    Tensor(_OUT + "1.layer_norm.weight", "cross.block.norm_1.gain", ("d",)),
    *_attention(_OUT + "1.EncDecAttention", "cross."),
    *_block(_OUT + "2", "cross."),
    Tensor("decoder.final_layer_norm.weight", "final_norm.gain", ("d",)),
    Tensor("lm_head.weight", "vocabulary.unembedding", ("vocabulary", "d"), transposed, is_untied),
)

_COPY = "a copy of the embedding"

IGNORED = (
    Ignored("encoder.embed_tokens.weight", _COPY, same_as="shared.weight"),
    Ignored("decoder.embed_tokens.weight", _COPY, same_as="shared.weight"),
    Ignored("lm_head.weight", _COPY, same_as="shared.weight"),
    Ignored(
        "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
        "a table that the attention to the encoder's output has never read",
    ),
)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes; all heads together may have another width than a token."""
    return {
        "layers": config["num_decoder_layers"] or config["num_layers"],
        "encoder_layers": config["num_layers"],
        "vocabulary": config["vocab_size"],
        "d": config["d_model"],
        "heads": config["num_heads"] * config["d_kv"],
        "n_heads": config["num_heads"],
        "hidden": config["d_ff"],
        "buckets": config["relative_attention_num_buckets"],
    }


def _heads(config: Config) -> Heads:
    return Heads(config["num_heads"], config["num_heads"], config["d_kv"])


def _position(config: Config, bidirectional: bool) -> T5Buckets:
    n_buckets, most = config["relative_attention_num_buckets"], config["relative_attention_max_distance"]
    return T5Buckets(n_buckets, most, bidirectional)


def _norm(config: Config) -> Norm:
    return Norm("rms", config["layer_norm_epsilon"])


def _with_feed_forward(config: Config) -> Block:
    """The block whose second half is the feed-forward layer."""
    activation, gated = FEED_FORWARDS[config["feed_forward_proj"]]
    feed_forward = FeedForward(config["d_ff"], activation, gated)
    return Block("pre", norm_1=_norm(config), feed_forward=feed_forward, norm_2=_norm(config))


def encoder_layer(config: Config, index: int) -> Layer:
    """One layer of the encoder without its weights."""
    return Layer(
        heads=_heads(config),
        position=_position(config, bidirectional=True),
        scale=NoScale(),
        block=_with_feed_forward(config),
    )


def layer(config: Config, index: int) -> Layer:
    """One layer of the decoder without its weights."""
    _check_said_twice(config)
    return Layer(
        heads=_heads(config),
        position=_position(config, bidirectional=False),
        scale=NoScale(),
        masks=(Causal(),),
        block=Block("pre", norm_1=_norm(config)),
        cross=Attention(heads=_heads(config), scale=NoScale(), block=_with_feed_forward(config)),
    )


def _check_said_twice(config: Config) -> None:
    """Refuse what contradicts `feed_forward_proj`."""
    proj = config["feed_forward_proj"]
    name = proj.removeprefix("gated-")
    meant = {"dense_act_fn": "gelu_new" if proj == "gated-gelu" else name, "is_gated_act": name != proj}
    for key, value in meant.items():
        if config[key] not in (None, value):
            raise FieldError(
                key,
                config[key],
                must_be("{value}, as {field} says", value=quoted(value), field="feed_forward_proj"),
            )


def around(config: Config) -> Around:
    """A norm after each stack; logits of a tied embedding are scaled, unless the configuration denies it."""
    is_scaled = config["scale_decoder_outputs"]
    scaled = is_tied(config) if is_scaled is None else is_scaled
    norm, scale = _norm(config), config["d_model"] ** -0.5 if scaled else 1.0
    return Around(final_norm=norm, encoder_norm=norm, logit_scale=scale)


T5 = Family("T5", ("t5",), "", KEYS, TENSORS, sizes, layer, around, IGNORED, encoder_layer)


def _alone(row: Tensor) -> Tensor:
    """A row of the encoder where its layers are the only ones."""
    (place,) = row.places
    if place == "encoder_norm.gain":
        return replace(row, place="final_norm.gain")
    inner = place.removeprefix("encoder.")
    return replace(row, place=inner if "{layer}" in row.name else f"layers.{inner}")


def encoder_sizes(config: Config) -> Sizes:
    """The sizes in the shapes of an encoder alone."""
    return {**sizes(config), "layers": config["num_layers"]}


def encoder_around(config: Config) -> Around:
    """A norm after the last layer."""
    return Around(final_norm=_norm(config))


T5_ENCODER = Family(
    "T5 (encoder)",
    ("t5",),
    "",
    tuple(one_of("is_decoder", (True, False), False) if key.name == "is_decoder" else key for key in KEYS),
    (TENSORS[0], *(_alone(row) for row in TENSORS if row.places[0].startswith("encoder"))),
    encoder_sizes,
    encoder_layer,
    encoder_around,
    IGNORED,
    architectures=("T5EncoderModel", "T5ForTokenClassification"),
    is_tied=never,
)
