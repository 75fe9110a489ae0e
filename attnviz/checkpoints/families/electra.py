"""ELECTRA: BERT under other names, whose generator fills in masked tokens.

A discriminator's head, which finds replaced tokens, is not imported. Clark et al. 2020, arXiv:2003.10555;
keys and names as in `transformers`, models/electra. Embeddings of another width than the layers, which the
small models have, pass a matrix that an experiment lacks.
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
from attnviz.errors import FieldError, must_be
from attnviz.model.spec.block import Transform

KEYS = (*BERT_KEYS, whole("embedding_size", 128), unread("summary_last_dropout"))

_HEAD = "generator_predictions."
_EMBEDDING = "electra.embeddings.word_embeddings.weight"
_TRANSFORM = "vocabulary.transform"

TENSORS = (
    *(
        replace(row, name=row.name.replace("bert.", "electra.", 1))
        for row in BERT_TENSORS
        if row.name.startswith("bert.")
    ),
    *linear(_HEAD + "dense", f"{_TRANSFORM}.weights", f"{_TRANSFORM}.bias", ("d", "d")),
    *norm(_HEAD + "LayerNorm", f"{_TRANSFORM}.norm"),
    Tensor("generator_lm_head.weight", "vocabulary.unembedding", ("vocabulary", "d"), transposed, is_untied),
    Tensor("generator_lm_head.bias", "vocabulary.bias", ("vocabulary",)),
)

IGNORED = (
    Ignored("electra.embeddings.position_ids", "the numbers 0, 1, 2, …"),
    Ignored("generator_lm_head.weight", "a copy of the embedding", _EMBEDDING, is_tied),
)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes. Raises `FieldError` for an embedding of another width than the layers."""
    d, d_embedding = config["hidden_size"], config["embedding_size"]
    if d_embedding != d:
        raise FieldError("embedding_size", d_embedding, must_be("{d}, as hidden_size", d=d))
    return encoder_sizes(config)


def around(config: Config) -> Around:
    """A norm of the embedding, and a transform before the vocabulary, whose activation is always GELU."""
    transform = Transform(activation="gelu", norm=layer_norm(config))
    return Around(embedding_norm=layer_norm(config), transform=transform)


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
