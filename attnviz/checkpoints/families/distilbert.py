"""DistilBERT: half of BERT's layers, without types of tokens.

Sanh et al. 2019, arXiv:1910.01108; keys and names as in `transformers`, models/distilbert.
"""

from __future__ import annotations

from attnviz.checkpoints.families.family import (
    ACTIVATIONS,
    Around,
    Config,
    Family,
    Ignored,
    Sizes,
    Tensor,
    activation_key,
    flag,
    is_tied,
    is_untied,
    linear,
    norm,
    one_of,
    share_of_each_head,
    transposed,
    whole,
)
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.parts import Heads, NoPosition
from attnviz.model.spec.positions import Learned
from attnviz.model.spec.vocabulary import Transform

EPS = 1e-12
"""Of all norms; the configuration has no key for it."""

KEYS = (
    whole("vocab_size", 30_522),
    whole("dim", 768),
    whole("n_layers", 6),
    whole("n_heads", 12),
    whole("hidden_dim", 3072),
    whole("max_position_embeddings", 512),
    activation_key("gelu", "activation"),
    # Sinusoids are stored as a table, too.
    flag("sinusoidal_pos_embds", False),
    flag("tie_word_embeddings", True),
    one_of("tie_weights_", (True, False), True),
)

_LAYER = "distilbert.transformer.layer.{layer}."
_EMBEDDINGS = "distilbert.embeddings."
_TRANSFORM, _FFN = "vocabulary.transform", "block.feed_forward"

TENSORS = (
    Tensor(_EMBEDDINGS + "word_embeddings.weight", "vocabulary.embedding", ("vocabulary", "d")),
    Tensor(_EMBEDDINGS + "position_embeddings.weight", "position.table", ("positions", "d")),
    *norm(_EMBEDDINGS + "LayerNorm", "embedding_norm"),
    *(
        tensor
        for name, role in (("q", "query"), ("k", "key"), ("v", "value"), ("out", "output"))
        for tensor in linear(f"{_LAYER}attention.{name}_lin", f"projections.{role}", ("d", "d"))
    ),
    *norm(_LAYER + "sa_layer_norm", "block.norm_1"),
    *linear(_LAYER + "ffn.lin1", f"{_FFN}.up", ("hidden", "d")),
    *linear(_LAYER + "ffn.lin2", f"{_FFN}.down", ("d", "hidden")),
    *norm(_LAYER + "output_layer_norm", "block.norm_2"),
    *linear("vocab_transform", f"{_TRANSFORM}.weights", ("d", "d")),
    *norm("vocab_layer_norm", f"{_TRANSFORM}.norm"),
    Tensor("vocab_projector.bias", "vocabulary.bias", ("vocabulary",)),
    Tensor("vocab_projector.weight", "vocabulary.unembedding", ("vocabulary", "d"), transposed, is_untied),
)

IGNORED = (
    Ignored(
        "vocab_projector.weight", "a copy of the embedding", _EMBEDDINGS + "word_embeddings.weight", is_tied
    ),
)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    share_of_each_head(config["dim"], config["n_heads"], "dim", "n_heads")
    return {
        "layers": config["n_layers"],
        "vocabulary": config["vocab_size"],
        "positions": config["max_position_embeddings"],
        "d": config["dim"],
        "hidden": config["hidden_dim"],
    }


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights; positions are added before the first one."""
    n_heads, norm_ = config["n_heads"], Norm("layer", EPS)
    feed_forward = FeedForward(config["hidden_dim"], ACTIVATIONS[config["activation"]])
    return Layer(
        heads=Heads(n_heads, n_heads, config["dim"] // n_heads),
        position=NoPosition() if index else Learned(config["max_position_embeddings"]),
        block=Block("post", norm_1=norm_, feed_forward=feed_forward, norm_2=norm_),
    )


def around(config: Config) -> Around:
    """A norm of the embedding, and a transform before the vocabulary."""
    transform = Transform(activation=ACTIVATIONS[config["activation"]], norm=Norm("layer", EPS))
    return Around(embedding_norm=Norm("layer", EPS), transform=transform)


DISTILBERT = Family(
    "DistilBERT", ("distilbert",), "distilbert.", KEYS, TENSORS, sizes, layer, around, IGNORED
)
