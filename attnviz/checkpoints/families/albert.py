"""ALBERT: one layer's weights in all layers, and a narrower embedding that is projected to their width.

The block is BERT's. Lan et al. 2020, arXiv:1909.11942; keys and names as in `transformers`, models/albert.
Every token has the first type, whose row is part of the position table here.
"""

from __future__ import annotations

from attnviz.checkpoints.families.bert import KEYS as BERT_KEYS
from attnviz.checkpoints.families.bert import TOKEN_TYPES, add_first_type, encoder_sizes, layer, layer_norm
from attnviz.checkpoints.families.family import (
    ACTIVATIONS,
    Around,
    Config,
    Family,
    Ignored,
    Sizes,
    Tensor,
    activation_key,
    is_tied,
    is_untied,
    linear,
    norm,
    one_of,
    transposed,
    unread,
    whole,
)
from attnviz.model.spec.vocabulary import EmbeddingProjection, Transform

_OF_BERT = ("directionality", "hidden_act", "is_decoder", "add_cross_attention")

KEYS = (
    *(key for key in BERT_KEYS if key.name not in _OF_BERT and not key.name.startswith("pooler")),
    activation_key("gelu_new"),
    one_of("is_decoder", (False,), False),
    whole("embedding_size", 128),
    one_of("num_hidden_groups", (1,), 1),
    one_of("inner_group_num", (1,), 1),
    *(unread(name) for name in ("classifier_dropout_prob", "down_scale_factor", "gap_size")),
    *(unread(name) for name in ("net_structure_type", "num_memory_blocks")),
)

_EMBEDDINGS = "albert.embeddings."
_LAYER = "albert.encoder.albert_layer_groups.0.albert_layers.0."
_PROJECTION = "albert.encoder.embedding_hidden_mapping_in"
_HEAD = "predictions."
_TRANSFORM = "vocabulary.transform"
_FFN = "layers.block.feed_forward."

TENSORS = (
    Tensor(_EMBEDDINGS + "word_embeddings.weight", "vocabulary.embedding", ("vocabulary", "e")),
    Tensor(_EMBEDDINGS + "position_embeddings.weight", "position.table", ("positions", "e")),
    Tensor(_EMBEDDINGS + "token_type_embeddings.weight", TOKEN_TYPES, ("types", "e")),
    *norm(_EMBEDDINGS + "LayerNorm", "embedding_norm", "e"),
    *linear(_PROJECTION, "embedding_projection.weights", ("d", "e")),
    *(
        tensor
        for name, role in (("query", "query"), ("key", "key"), ("value", "value"), ("dense", "output"))
        for tensor in linear(f"{_LAYER}attention.{name}", f"layers.projections.{role}", ("d", "d"))
    ),
    *norm(_LAYER + "attention.LayerNorm", "layers.block.norm_1"),
    *linear(_LAYER + "ffn", _FFN + "up", ("hidden", "d")),
    *linear(_LAYER + "ffn_output", _FFN + "down", ("d", "hidden")),
    *norm(_LAYER + "full_layer_layer_norm", "layers.block.norm_2"),
    *linear(_HEAD + "dense", f"{_TRANSFORM}.weights", ("e", "d")),
    *norm(_HEAD + "LayerNorm", f"{_TRANSFORM}.norm", "e"),
    Tensor(_HEAD + "bias", "vocabulary.bias", ("vocabulary",)),
    Tensor(_HEAD + "decoder.weight", "vocabulary.unembedding", ("vocabulary", "e"), transposed, is_untied),
)

_POOLER = "the pooler, which makes one vector of the first token for classes"
_ORDER = "whether two sentences are in order, a second head"

IGNORED = (
    Ignored(_EMBEDDINGS + "position_ids", "the numbers 0, 1, 2, …"),
    Ignored("albert.pooler.weight", _POOLER),
    Ignored("albert.pooler.bias", _POOLER),
    Ignored("sop_classifier.classifier.weight", _ORDER),
    Ignored("sop_classifier.classifier.bias", _ORDER),
    Ignored(
        _HEAD + "decoder.weight", "a copy of the embedding", _EMBEDDINGS + "word_embeddings.weight", is_tied
    ),
    Ignored(_HEAD + "decoder.bias", "a copy of the bias", _HEAD + "bias"),
)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes; e are the features of an embedding."""
    return {**encoder_sizes(config), "e": config["embedding_size"]}


def around(config: Config) -> Around:
    """A norm of the embedding and its projection; a transform back to its features before the vocabulary."""
    return Around(
        embedding_norm=layer_norm(config),
        embedding_projection=EmbeddingProjection(config["hidden_size"]),
        transform=Transform(activation=ACTIVATIONS[config["hidden_act"]], norm=layer_norm(config)),
    )


ALBERT = Family(
    "ALBERT", ("albert",), "albert.", KEYS, TENSORS, sizes, layer, around, IGNORED, prepare=add_first_type
)
