"""RoBERTa and XLM-RoBERTa: BERT whose positions begin behind the number of its padding token.

Liu et al. 2019, arXiv:1907.11692; Conneau et al. 2020, arXiv:1911.02116. Keys and names as in `transformers`,
models/roberta and models/xlm_roberta.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from attnviz.checkpoints.families.bert import (
    KEYS,
    OLD_NORMS,
    TOKEN_TYPES,
    add_first_type,
    around,
    block,
    copies,
    decoder,
    encoder_sizes,
    linear,
    norm,
)
from attnviz.checkpoints.families.bert import layer as bert_layer
from attnviz.checkpoints.families.common import is_tied
from attnviz.checkpoints.families.family import Arrays, Config, Family, Ignored, Sizes, Tensor, count
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.positions import Learned

_LAYER = "roberta.encoder.layer.{layer}."
_EMBEDDINGS = "roberta.embeddings."
_HEAD = "lm_head."
_TRANSFORM = "vocabulary.transform"
_POOLER = "the pooler, which makes one vector of the first token for classes"

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
    *linear(_HEAD + "dense", f"{_TRANSFORM}.weights", f"{_TRANSFORM}.bias", ("d", "d")),
    *norm(_HEAD + "layer_norm", f"{_TRANSFORM}.norm"),
    *decoder(_HEAD),
)

IGNORED = (
    Ignored(_EMBEDDINGS + "position_ids", "the numbers 0, 1, 2, …"),
    Ignored("roberta.pooler.dense.weight", _POOLER),
    Ignored("roberta.pooler.dense.bias", _POOLER),
    *copies(_HEAD, _EMBEDDINGS + "word_embeddings.weight"),
)


def first_position(config: Mapping[str, Any]) -> int:
    """The row of the table that the first token gets."""
    return int(config["pad_token_id"]) + 1


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights."""
    layer = bert_layer(config, index)
    return (
        layer
        if index
        else replace(layer, position=Learned(config["max_position_embeddings"] - first_position(config)))
    )


def prepare(config: Config, sizes: Sizes, arrays: Arrays) -> None:
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
    TENSORS,
    encoder_sizes,
    layer,
    around,
    is_tied,
    IGNORED,
    prepare=prepare,
    endings=OLD_NORMS,
)
