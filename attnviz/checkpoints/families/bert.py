"""BERT, RoBERTa and ELECTRA: encoders alone, a table of positions, LayerNorm after each half of a block.

All maps have biases. Every token has the first type, the default: that row is added at all positions, so it
is part of the position table here. Devlin et al. 2019, arXiv:1810.04805; keys and names as in `transformers`,
models/bert. A model that fills in masked tokens has a transform before its vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from msgspec import structs

from attnviz.checkpoints.families.family import (
    ACTIVATIONS,
    Around,
    Arrays,
    Config,
    Family,
    Ignored,
    Key,
    Sizes,
    Tensor,
    activation_key,
    always,
    count,
    flag,
    is_tied,
    is_untied,
    linear,
    norm,
    one_of,
    positive,
    share_of_each_head,
    transposed,
    unread,
    whole,
)
from attnviz.model.spec.arrays import in_float64
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.parts import Causal, Heads, NoPosition
from attnviz.model.spec.positions import Learned
from attnviz.model.spec.vocabulary import EmbeddingProjection, Transform

SIZE_KEYS: tuple[Key, ...] = (
    whole("vocab_size"),
    whole("hidden_size"),
    whole("num_hidden_layers"),
    whole("num_attention_heads"),
    whole("intermediate_size"),
    whole("max_position_embeddings", 512),
    activation_key("gelu"),
)
"""The sizes of an encoder, and its activation."""

KEYS = (
    *SIZE_KEYS,
    whole("type_vocab_size", 2),
    positive("layer_norm_eps", 1e-12),
    one_of("position_embedding_type", ("absolute",), "absolute"),
    flag("is_decoder", False),
    one_of("add_cross_attention", (False,), False),
    flag("tie_word_embeddings", True),
    # Keys of the training program, and of the pooler, which is not imported.
    one_of("directionality", ("bidi",), "bidi"),
    whole("pooler_fc_size", None),
    whole("pooler_num_attention_heads", None),
    whole("pooler_num_fc_layers", None),
    whole("pooler_size_per_head", None),
    one_of("pooler_type", ("first_token_transform",), None),
)

TOKEN_TYPES = "token_types"
"""Key of the token-type rows until `add_first_type`."""


def block(layer: str) -> tuple[Tensor, ...]:
    """Tensors after the mixture of values in a layer; the layer's name is their stem."""
    return (
        *linear(layer + "attention.output.dense", "projections.output", ("d", "d")),
        *norm(layer + "attention.output.LayerNorm", "block.norm_1"),
        *linear(layer + "intermediate.dense", "block.feed_forward.up", ("hidden", "d")),
        *linear(layer + "output.dense", "block.feed_forward.down", ("d", "hidden")),
        *norm(layer + "output.LayerNorm", "block.norm_2"),
    )


def head(stem: str, is_there: Callable[[Config], bool] = always) -> tuple[Tensor, ...]:
    """The transform before a vocabulary."""
    transform = "vocabulary.transform"
    return (
        *linear(stem + "dense", f"{transform}.weights", ("d", "d"), is_there=is_there),
        *norm(stem + "LayerNorm", f"{transform}.norm", is_there=is_there),
    )


def decoder(stem: str, is_there: Callable[[Config], bool] = always) -> tuple[Tensor, ...]:
    """The unembedding and the bias of the logits, of which a tied head has the bias alone."""

    def tied(config: Config) -> bool:
        return is_there(config) and is_tied(config)

    def untied(config: Config) -> bool:
        return is_there(config) and is_untied(config)

    return (
        Tensor(stem + "bias", "vocabulary.bias", ("vocabulary",), is_there=tied),
        Tensor(stem + "decoder.weight", "vocabulary.unembedding", ("vocabulary", "d"), transposed, untied),
        Tensor(stem + "decoder.bias", "vocabulary.bias", ("vocabulary",), is_there=untied),
    )


def copies(stem: str, embedding: str) -> tuple[Ignored, ...]:
    """Extra tensors of a head: copies if it is tied, otherwise an unread bias."""
    return (
        Ignored(stem + "decoder.weight", "a copy of the embedding", embedding, is_tied),
        Ignored(stem + "decoder.bias", "a copy of the bias", stem + "bias", is_tied),
        Ignored(stem + "bias", "a bias that only a tied head adds", is_there=is_untied),
    )


_LAYER = "bert.encoder.layer.{layer}."
_EMBEDDINGS = "bert.embeddings."
_HEAD = "cls.predictions."

TENSORS = (
    Tensor(_EMBEDDINGS + "word_embeddings.weight", "vocabulary.embedding", ("vocabulary", "d")),
    Tensor(_EMBEDDINGS + "position_embeddings.weight", "position.table", ("positions", "d")),
    Tensor(_EMBEDDINGS + "token_type_embeddings.weight", TOKEN_TYPES, ("types", "d")),
    *norm(_EMBEDDINGS + "LayerNorm", "embedding_norm"),
    *(
        tensor
        for role in ("query", "key", "value")
        for tensor in linear(f"{_LAYER}attention.self.{role}", f"projections.{role}", ("d", "d"))
    ),
    *block(_LAYER),
    *head(_HEAD + "transform."),
    *decoder(_HEAD),
)

OLD_NORMS = (("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias"))
"""Names of a norm's gain and bias in files converted from TensorFlow."""

_POOLER = "the pooler, which makes one vector of the first token for classes"
_NEXT = "whether one sentence follows another, a second head"

IGNORED = (
    Ignored(_EMBEDDINGS + "position_ids", "the numbers 0, 1, 2, …"),
    Ignored("bert.pooler.dense.weight", _POOLER),
    Ignored("bert.pooler.dense.bias", _POOLER),
    Ignored("cls.seq_relationship.weight", _NEXT),
    Ignored("cls.seq_relationship.bias", _NEXT),
    *copies(_HEAD, _EMBEDDINGS + "word_embeddings.weight"),
)


def encoder_sizes(config: Config) -> Sizes:
    """The sizes in the shapes of an encoder."""
    d, n_heads = config["hidden_size"], config["num_attention_heads"]
    share_of_each_head(d, n_heads, "hidden_size", "num_attention_heads")
    return {
        "layers": config["num_hidden_layers"],
        "vocabulary": config["vocab_size"],
        "positions": config["max_position_embeddings"],
        "types": config["type_vocab_size"],
        "d": d,
        "hidden": config["intermediate_size"],
    }


def post_norm(config: Config) -> Block:
    """A block whose norms come after the sums."""
    feed_forward = FeedForward(config["intermediate_size"], ACTIVATIONS[config["hidden_act"]])
    return Block("post", norm_1=layer_norm(config), feed_forward=feed_forward, norm_2=layer_norm(config))


def layer_norm(config: Config) -> Norm:
    """The norm that all have."""
    return Norm("layer", config["layer_norm_eps"])


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights; positions are added before the first one."""
    n_heads = config["num_attention_heads"]
    return Layer(
        heads=Heads(n_heads, n_heads, config["hidden_size"] // n_heads),
        position=NoPosition() if index else Learned(config["max_position_embeddings"]),
        masks=(Causal(),) if config["is_decoder"] else (),
        block=post_norm(config),
    )


def around(config: Config) -> Around:
    """A norm of the embedding, and a transform before the vocabulary."""
    transform = Transform(activation=ACTIVATIONS[config["hidden_act"]], norm=layer_norm(config))
    return Around(embedding_norm=layer_norm(config), transform=transform)


def add_first_type(config: Config, sizes: Sizes, arrays: Arrays) -> None:
    """Add the row of the first type to all positions; without positions, to the vectors."""
    common = arrays["layers", None]
    types = common.pop(TOKEN_TYPES, None)
    if types is None:
        return
    if "position.table" in common:
        common["position.table"] = in_float64(common["position.table"]) + in_float64(types[0])
    else:
        common["vectors"] = in_float64(types[0])


BERT = Family(
    "BERT",
    ("bert",),
    "bert.",
    KEYS,
    TENSORS,
    encoder_sizes,
    layer,
    around,
    IGNORED,
    prepare=add_first_type,
    endings=OLD_NORMS,
)


def under(name: str) -> tuple[Tensor, ...]:
    """The tensors of the layers and of the embedding, where the model has another name than `bert`."""
    own = (row for row in TENSORS if row.name.startswith("bert."))
    return tuple(replace(row, name=row.name.replace("bert.", f"{name}.", 1)) for row in own)


# --- RoBERTa ---------------------------------------------------------------------------------------

_ROBERTA_HEAD = "lm_head."

ROBERTA_TENSORS = (
    *under("roberta"),
    *linear(_ROBERTA_HEAD + "dense", "vocabulary.transform.weights", ("d", "d")),
    *norm(_ROBERTA_HEAD + "layer_norm", "vocabulary.transform.norm"),
    *decoder(_ROBERTA_HEAD),
)

ROBERTA_IGNORED = (
    Ignored("roberta.embeddings.position_ids", "the numbers 0, 1, 2, …"),
    Ignored("roberta.pooler.dense.weight", _POOLER),
    Ignored("roberta.pooler.dense.bias", _POOLER),
    *copies(_ROBERTA_HEAD, "roberta.embeddings.word_embeddings.weight"),
)


def first_position(config: Mapping[str, Any]) -> int:
    """The row of the table that the first token gets."""
    return int(config["pad_token_id"]) + 1


def roberta_layer(config: Config, index: int) -> Layer:
    """One layer without its weights."""
    if index:
        return layer(config, index)
    rows = config["max_position_embeddings"] - first_position(config)
    return structs.replace(layer(config, index), position=Learned(rows))


def cut_positions(config: Config, sizes: Sizes, arrays: Arrays) -> None:
    """Leave out the rows before the first position; add the row of the first type."""
    common = arrays["layers", None]
    if "position.table" in common:
        common["position.table"] = common["position.table"][first_position(config) :]
    add_first_type(config, sizes, arrays)


ROBERTA = Family(
    "RoBERTa",
    ("roberta", "xlm-roberta", "camembert"),
    "roberta.",
    (*KEYS, count("pad_token_id", 1)),
    ROBERTA_TENSORS,
    encoder_sizes,
    roberta_layer,
    around,
    ROBERTA_IGNORED,
    prepare=cut_positions,
    endings=OLD_NORMS,
)
"""RoBERTa and XLM-RoBERTa: BERT whose positions begin behind the number of its padding token.

Liu et al. 2019, arXiv:1907.11692; Conneau et al. 2020, arXiv:1911.02116. Keys and names as in `transformers`,
models/roberta and models/xlm_roberta.
"""


# --- ELECTRA ---------------------------------------------------------------------------------------

_GENERATOR = "generator_predictions."


def is_projected(config: Config) -> bool:
    """True if the embedding has other features than the layers."""
    return bool(config["embedding_size"] != config["hidden_size"])


def _narrow(row: Tensor) -> tuple[str | int, ...]:
    """The shape of a tensor of BERT here: that of the embedding has its own features."""
    is_embedded = row.name.startswith("electra.embeddings.")
    return tuple("e" if is_embedded and size == "d" else size for size in row.shape)


ELECTRA_TENSORS = (
    *(replace(row, shape=_narrow(row)) for row in under("electra")),
    *linear("electra.embeddings_project", "embedding_projection.weights", ("d", "e"), is_there=is_projected),
    *linear(_GENERATOR + "dense", "vocabulary.transform.weights", ("e", "d")),
    *norm(_GENERATOR + "LayerNorm", "vocabulary.transform.norm", "e"),
    Tensor("generator_lm_head.weight", "vocabulary.unembedding", ("vocabulary", "e"), transposed, is_untied),
    Tensor("generator_lm_head.bias", "vocabulary.bias", ("vocabulary",)),
)

ELECTRA_IGNORED = (
    Ignored("electra.embeddings.position_ids", "the numbers 0, 1, 2, …"),
    Ignored(
        "generator_lm_head.weight",
        "a copy of the embedding",
        "electra.embeddings.word_embeddings.weight",
        is_tied,
    ),
)


def electra_sizes(config: Config) -> Sizes:
    """The sizes in the shapes; e are the features of an embedding."""
    return {**encoder_sizes(config), "e": config["embedding_size"]}


def electra_around(config: Config) -> Around:
    """A norm of the embedding, and a transform before the vocabulary, whose activation is always GELU."""
    transform = Transform(activation="gelu", norm=layer_norm(config))
    projection = EmbeddingProjection(config["hidden_size"]) if is_projected(config) else None
    return Around(embedding_norm=layer_norm(config), transform=transform, embedding_projection=projection)


ELECTRA = Family(
    "ELECTRA",
    ("electra",),
    "electra.",
    (*KEYS, whole("embedding_size", 128), unread("summary_last_dropout")),
    ELECTRA_TENSORS,
    electra_sizes,
    layer,
    electra_around,
    ELECTRA_IGNORED,
    prepare=add_first_type,
    endings=OLD_NORMS,
)
"""ELECTRA: BERT under other names, whose generator fills in masked tokens.

A discriminator's head, which finds replaced tokens, is not imported. Clark et al. 2020, arXiv:2003.10555;
keys and names as in `transformers`, models/electra. Embeddings of another width than the layers, which the
small models have, are projected to it.
"""
