"""BERT: an encoder alone, a table of positions, LayerNorm after each half of a block, biases everywhere.

Every token has the first type, the default: that row is added at all positions, so it is part of the position
table here. Devlin et al. 2019, arXiv:1810.04805; keys and names as in `transformers`, models/bert. A model
that fills in masked tokens has a transform before its vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable

from attnviz.checkpoints.families.common import ACTIVATIONS, is_tied, is_untied, share_of_each_head
from attnviz.checkpoints.families.family import (
    Around,
    Arrays,
    Config,
    Family,
    Ignored,
    Key,
    Sizes,
    Tensor,
    always,
    flag,
    one_of,
    positive,
    transposed,
    whole,
)
from attnviz.model.spec.arrays import in_float64
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward, Norm, Transform
from attnviz.model.spec.parts import Causal, Heads, NoPosition
from attnviz.model.spec.positions import Learned

SIZE_KEYS: tuple[Key, ...] = (
    whole("vocab_size"),
    whole("hidden_size"),
    whole("num_hidden_layers"),
    whole("num_attention_heads"),
    whole("intermediate_size"),
    whole("max_position_embeddings", 512),
    one_of("hidden_act", tuple(ACTIVATIONS), "gelu"),
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


def linear(
    stem: str,
    weights: str,
    bias: str,
    size: tuple[str, str],
    is_there: Callable[[Config], bool] = always,
    has_bias: Callable[[Config], bool] | None = None,
) -> tuple[Tensor, ...]:
    """The matrix and the bias of a linear map; `size` is (out, in)."""
    return (
        Tensor(stem + ".weight", weights, size, transposed, is_there),
        Tensor(stem + ".bias", bias, size[:1], is_there=has_bias or is_there),
    )


def norm(
    stem: str, place: str, size: str = "d", is_there: Callable[[Config], bool] = always
) -> tuple[Tensor, ...]:
    """The gain and the bias of a norm."""
    return (
        Tensor(stem + ".weight", place + ".gain", (size,), is_there=is_there),
        Tensor(stem + ".bias", place + ".bias", (size,), is_there=is_there),
    )


def block(layer: str) -> tuple[Tensor, ...]:
    """Tensors after the mixture of values in a layer; the layer's name is their stem."""
    return (
        *linear(
            layer + "attention.output.dense", "projections.output", "projections.output_bias", ("d", "d")
        ),
        *norm(layer + "attention.output.LayerNorm", "block.norm_1"),
        *linear(
            layer + "intermediate.dense",
            "block.feed_forward.up",
            "block.feed_forward.up_bias",
            ("hidden", "d"),
        ),
        *linear(
            layer + "output.dense", "block.feed_forward.down", "block.feed_forward.down_bias", ("d", "hidden")
        ),
        *norm(layer + "output.LayerNorm", "block.norm_2"),
    )


def head(stem: str, is_there: Callable[[Config], bool] = always) -> tuple[Tensor, ...]:
    """The transform before a vocabulary."""
    transform = "vocabulary.transform"
    return (
        *linear(stem + "dense", f"{transform}.weights", f"{transform}.bias", ("d", "d"), is_there),
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
        *linear(stem + "decoder", "vocabulary.unembedding", "vocabulary.bias", ("vocabulary", "d"), untied),
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
        for tensor in linear(
            f"{_LAYER}attention.self.{role}", f"projections.{role}", f"projections.{role}_bias", ("d", "d")
        )
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
    is_tied,
    IGNORED,
    prepare=add_first_type,
    endings=OLD_NORMS,
)
