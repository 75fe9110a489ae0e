"""BART and Marian: an encoder and a decoder with positions added, norms after the sums, biases everywhere.

BART has a table of positions that begins at its third row, and a norm of each embedding; Marian, the usual
models of translation, sines in the first half of the features and cosines in the second. Lewis et al. 2019,
arXiv:1910.13461; Junczys-Dowmunt et al. 2018, arXiv:1804.00344. Keys and names as in `transformers`,
models/bart and models/marian.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attnviz.checkpoints.families.family import (
    ACTIVATIONS,
    Around,
    Arrays,
    Config,
    Family,
    Ignored,
    Sizes,
    Tensor,
    activation_key,
    flag,
    is_untied,
    linear,
    norm,
    one_of,
    share_of_each_head,
    transposed,
    unread,
    whole,
)
from attnviz.core.positions import sinusoidal
from attnviz.model.spec.attention import Attention, Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.parts import Causal, Heads, NoPosition
from attnviz.model.spec.positions import Learned, Position

FIRST = 2
"""The row of BART's table that the first token gets."""
EPS = 1e-5
"""Of all norms; the configurations have no key for it."""
BASE = 10_000.0
"""Of the sinusoids."""

SHARED_KEYS = (
    whole("vocab_size"),
    whole("d_model"),
    whole("encoder_layers", 12),
    whole("decoder_layers", 12),
    whole("encoder_ffn_dim", 4096),
    whole("decoder_ffn_dim", 4096),
    whole("encoder_attention_heads", 16),
    whole("decoder_attention_heads", 16),
    whole("max_position_embeddings", 1024),
    activation_key("gelu", "activation_function"),
    flag("scale_embedding", False),
    flag("tie_word_embeddings", True),
    # Repeat the encoder's sizes.
    whole("num_hidden_layers", None),
    whole("num_attention_heads", None),
    whole("hidden_size", None),
    one_of("normalize_before", (False,), False),
    one_of("add_bias_logits", (False,), False),
    one_of("static_position_embeddings", (True, False), None),
    # Keys of training, generation and classification.
    *map(unread, ("activation_dropout", "encoder_layerdrop", "decoder_layerdrop", "classif_dropout")),
    *map(unread, ("forced_bos_token_id", "forced_eos_token_id", "no_repeat_ngram_size")),
    *map(
        unread,
        ("bad_words_ids", "length_penalty", "num_beam_groups", "force_bos_token_to_be_generated"),
    ),
    *map(unread, ("extra_pos_embeddings", "save_step", "normalize_embedding", "add_final_layer_norm")),
)

MARIAN_KEYS = (
    *SHARED_KEYS,
    whole("decoder_vocab_size", None),
    one_of("share_encoder_decoder_embeddings", (True,), True),
)

_IN, _OUT = "model.encoder.layers.{layer}.", "model.decoder.layers.{layer}."
_ROLES = (("q", "query"), ("k", "key"), ("v", "value"), ("out", "output"))


def _attention(stem: str, place: str) -> tuple[Tensor, ...]:
    """The four maps of one attention; `place` is the path before `projections`."""
    return tuple(
        tensor
        for name, role in _ROLES
        for tensor in linear(f"{stem}.{name}_proj", f"{place}projections.{role}", ("d", "d"))
    )


def feed_forward(stem: str, place: str, hidden: str) -> tuple[Tensor, ...]:
    """The second half of a layer: its two maps, and its norm, which comes after the sum here."""
    inside = f"{place}block.feed_forward."
    return (
        *linear(stem + "fc1", inside + "up", (hidden, "d")),
        *linear(stem + "fc2", inside + "down", ("d", hidden)),
        *norm(stem + "final_layer_norm", f"{place}block.norm_2"),
    )


SHARED = (
    Tensor("model.shared.weight", "vocabulary.embedding", ("vocabulary", "d")),
    *_attention(_IN + "self_attn", "encoder."),
    *norm(_IN + "self_attn_layer_norm", "encoder.block.norm_1"),
    *feed_forward(_IN, "encoder.", "encoder_hidden"),
    *_attention(_OUT + "self_attn", ""),
    *norm(_OUT + "self_attn_layer_norm", "block.norm_1"),
    *_attention(_OUT + "encoder_attn", "cross."),
    *norm(_OUT + "encoder_attn_layer_norm", "cross.block.norm_1"),
    *feed_forward(_OUT, "cross.", "hidden"),
    Tensor("final_logits_bias", "vocabulary.bias", (1, "vocabulary")),
    Tensor("lm_head.weight", "vocabulary.unembedding", ("vocabulary", "d"), transposed, is_untied),
)

TENSORS = (
    *SHARED,
    Tensor("model.encoder.embed_positions.weight", "encoder.0.position.table", ("positions", "d")),
    Tensor("model.decoder.embed_positions.weight", "position.table", ("positions", "d")),
    *norm("model.encoder.layernorm_embedding", "encoder_embedding_norm"),
    *norm("model.decoder.layernorm_embedding", "embedding_norm"),
)

_COPY = "a copy of the embedding"

IGNORED = tuple(
    Ignored(name, _COPY, same_as="model.shared.weight")
    for name in ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")
)

MARIAN_IGNORED = (
    *IGNORED,
    *(
        Ignored(f"model.{stack}.embed_positions.weight", "sinusoids, which are computed")
        for stack in ("encoder", "decoder")
    ),
)


def _sizes(first: int) -> Callable[[Config], Sizes]:
    """The sizes in the shapes; tables of positions have `first` rows before the first one."""

    def sizes(config: Config) -> Sizes:
        d = config["d_model"]
        for stack in ("encoder", "decoder"):
            name = f"{stack}_attention_heads"
            share_of_each_head(d, config[name], "d_model", name)
        return {
            "layers": config["decoder_layers"],
            "encoder_layers": config["encoder_layers"],
            "vocabulary": config["vocab_size"],
            "positions": config["max_position_embeddings"] + first,
            "d": d,
            "encoder_hidden": config["encoder_ffn_dim"],
            "hidden": config["decoder_ffn_dim"],
        }

    return sizes


def _norm() -> Norm:
    return Norm("layer", EPS)


def bart_heads(config: Config, stack: str) -> Heads:
    """The heads of the `encoder` or of the `decoder`."""
    n_heads = config[f"{stack}_attention_heads"]
    return Heads(n_heads, n_heads, config["d_model"] // n_heads)


def _position(config: Config, index: int) -> Position:
    return NoPosition() if index else Learned(config["max_position_embeddings"])


def _with_feed_forward(config: Config, stack: str) -> Block:
    """The block whose second half is the feed-forward layer."""
    activation = ACTIVATIONS[config["activation_function"]]
    feed_forward = FeedForward(config[f"{stack}_ffn_dim"], activation)
    return Block("post", norm_1=_norm(), feed_forward=feed_forward, norm_2=_norm())


def encoder_layer(config: Config, index: int) -> Layer:
    """One layer of the encoder without its weights; positions are added before the first one."""
    return Layer(
        heads=bart_heads(config, "encoder"),
        position=_position(config, index),
        block=_with_feed_forward(config, "encoder"),
    )


def layer(config: Config, index: int) -> Layer:
    """One layer of the decoder without its weights; positions are added before the first one."""
    layout = bart_heads(config, "decoder")
    return Layer(
        heads=layout,
        position=_position(config, index),
        masks=(Causal(),),
        block=Block("post", norm_1=_norm()),
        cross=Attention(heads=layout, block=_with_feed_forward(config, "decoder")),
    )


def _scale(config: Config) -> float:
    """The factor of the token vectors."""
    return float(config["d_model"] ** 0.5) if config["scale_embedding"] else 1.0


def around(config: Config) -> Around:
    """A norm of each embedding."""
    return Around(_norm(), encoder_embedding_norm=_norm(), embedding_scale=_scale(config))


def marian_around(config: Config) -> Around:
    """Nothing but the factor of the token vectors."""
    return Around(embedding_scale=_scale(config))


def prepare(config: Config, sizes: Sizes, arrays: Arrays) -> None:
    """Leave out the rows before the first position."""
    for key in (("layers", None), ("encoder", 0)):
        if "position.table" in arrays.get(key, {}):
            arrays[key]["position.table"] = arrays[key]["position.table"][FIRST:]


def add_sinusoids(config: Config, sizes: Sizes, arrays: Arrays) -> None:
    """The tables of both stacks, in single precision as there: sines, and behind them cosines."""
    rows = np.arange(config["max_position_embeddings"], dtype=np.int64)
    table = sinusoidal(rows, config["d_model"], BASE).astype(np.float32)
    halves = np.concatenate([table[:, 0::2], table[:, 1::2]], axis=1)
    for key in (("layers", None), ("encoder", 0)):
        arrays.setdefault(key, {})["position.table"] = halves


BART = Family(
    "BART",
    ("bart",),
    "model.",
    SHARED_KEYS,
    TENSORS,
    _sizes(FIRST),
    layer,
    around,
    IGNORED,
    encoder_layer,
    prepare,
)

MARIAN = Family(
    "Marian",
    ("marian",),
    "model.",
    MARIAN_KEYS,
    SHARED,
    _sizes(0),
    layer,
    marian_around,
    MARIAN_IGNORED,
    encoder_layer,
    add_sinusoids,
)
