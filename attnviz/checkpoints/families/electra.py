"""ELECTRA: BERT under other names, whose generator fills in masked tokens.

A discriminator's head, which finds replaced tokens, is not imported. Clark et al. 2020, arXiv:2003.10555;
keys and names as in `transformers`, models/electra. Embeddings of another width than the layers, which the
small models have, are projected to it.
"""

from __future__ import annotations

from dataclasses import replace

from attnviz.checkpoints.families.bert import KEYS as BERT_KEYS
from attnviz.checkpoints.families.bert import (
    OLD_NORMS,
    add_first_type,
    encoder_sizes,
    layer,
    layer_norm,
    linear,
    norm,
)
from attnviz.checkpoints.families.bert import TENSORS as BERT_TENSORS
from attnviz.checkpoints.families.common import is_tied, is_untied
from attnviz.checkpoints.families.family import (
    Around,
    Config,
    Family,
    Ignored,
    Sizes,
    Tensor,
    transposed,
    unread,
    whole,
)
from attnviz.model.spec.block import EmbeddingProjection, Transform

KEYS = (*BERT_KEYS, whole("embedding_size", 128), unread("summary_last_dropout"))

_HEAD = "generator_predictions."
_EMBEDDING = "electra.embeddings.word_embeddings.weight"
_TRANSFORM = "vocabulary.transform"


def is_projected(config: Config) -> bool:
    """True if the embedding has other features than the layers."""
    return bool(config["embedding_size"] != config["hidden_size"])


def _narrow(row: Tensor) -> tuple[str | int, ...]:
    """The shape of a tensor of BERT here: that of the embedding has its own features."""
    is_embedded = row.name.startswith("bert.embeddings.")
    return tuple("e" if is_embedded and size == "d" else size for size in row.shape)


TENSORS = (
    *(
        replace(row, name=row.name.replace("bert.", "electra.", 1), shape=_narrow(row))
        for row in BERT_TENSORS
        if row.name.startswith("bert.")
    ),
    *linear(
        "electra.embeddings_project",
        "embedding_projection.weights",
        "embedding_projection.bias",
        ("d", "e"),
        is_projected,
    ),
    *linear(_HEAD + "dense", f"{_TRANSFORM}.weights", f"{_TRANSFORM}.bias", ("e", "d")),
    *norm(_HEAD + "LayerNorm", f"{_TRANSFORM}.norm", "e"),
    Tensor("generator_lm_head.weight", "vocabulary.unembedding", ("vocabulary", "e"), transposed, is_untied),
    Tensor("generator_lm_head.bias", "vocabulary.bias", ("vocabulary",)),
)

IGNORED = (
    Ignored("electra.embeddings.position_ids", "the numbers 0, 1, 2, …"),
    Ignored("generator_lm_head.weight", "a copy of the embedding", _EMBEDDING, is_tied),
)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes; e are the features of an embedding."""
    return {**encoder_sizes(config), "e": config["embedding_size"]}


def around(config: Config) -> Around:
    """A norm of the embedding, and a transform before the vocabulary, whose activation is always GELU."""
    transform = Transform(activation="gelu", norm=layer_norm(config))
    projection = EmbeddingProjection(config["hidden_size"]) if is_projected(config) else None
    return Around(embedding_norm=layer_norm(config), transform=transform, embedding_projection=projection)


ELECTRA = Family(
    "ELECTRA",
    ("electra",),
    "electra.",
    KEYS,
    TENSORS,
    sizes,
    layer,
    around,
    is_tied,
    IGNORED,
    prepare=add_first_type,
    endings=OLD_NORMS,
)
