"""DeBERTa, second and third version: an encoder whose scores meet embeddings of distances.

Each layer makes keys and queries of the distances with matrices of its own, biases included; here they are
the tables of its position. Scores are divided by √(terms · d_head), terms being 1 and one for each of `c2p`
and `p2c`; a term that is missing has a table of zeros. Without buckets, distances past
`max_relative_positions` have its outermost row: the table has that row again as often as buckets are read.
He et al. 2021, arXiv:2006.03654 and arXiv:2111.09543; keys and names as in `transformers`,
models/deberta_v2. Every token is of the first type, as in BERT.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from attnviz.checkpoints.families.bert import (
    SIZE_KEYS,
    TOKEN_TYPES,
    add_first_type,
    around,
    block,
    copies,
    decoder,
    encoder_sizes,
    head,
    post_norm,
)
from attnviz.checkpoints.families.family import (
    Array,
    Arrays,
    Config,
    Family,
    Ignored,
    Key,
    Sizes,
    Tensor,
    activation_key,
    flag,
    linear,
    norm,
    one_of,
    positive,
    whole,
)
from attnviz.core.block import layer_norm as normed
from attnviz.errors import FieldError, Message, listed, must_be, whole_number
from attnviz.model.spec.arrays import in_float64
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.parts import Heads, NoPosition, Position, ScaleValue
from attnviz.model.spec.positions import Deberta, Learned

KINDS = ("c2p", "p2c")


def _parts(value: Any) -> list[Any]:
    """A list, or a text with its members between bars."""
    if isinstance(value, str):
        return [part.strip() for part in value.lower().split("|") if part.strip()]
    return list(value) if isinstance(value, list) else [value]


def _some_of(name: str, values: tuple[str, ...], default: Any) -> Key:
    known = must_be("a list, or a text with bars, of {choices}", choices=listed(values))
    return Key(name, default, lambda value: all(part in values for part in _parts(value)), known)


def _number(name: str, default: int, least: int, requirement: Message) -> Key:
    return Key(name, default, lambda value: type(value) is int and value >= least, requirement)


_OR_NONE = must_be("a whole number, below 1 for none")

KEYS = (
    *SIZE_KEYS,
    _number("type_vocab_size", 0, 0, whole_number(0)),
    positive("layer_norm_eps", 1e-7),
    flag("relative_attention", False),
    _some_of("pos_att_type", KINDS, []),
    _number("position_buckets", -1, -1, _OR_NONE),
    _number("max_relative_positions", -1, -1, _OR_NONE),
    flag("share_att_key", False),
    _some_of("norm_rel_ebd", ("none", "layer_norm"), "none"),
    flag("position_biased_input", True),
    # A convolution beside the first layer, and embeddings narrower than tokens, have no place in a block.
    one_of("conv_kernel_size", (0,), 0),
    one_of("conv_act", ("tanh", "gelu", "relu"), None),
    whole("embedding_size", None),
    whole("attention_head_size", None),
    flag("legacy", True),
    flag("tie_word_embeddings", True),
    # What makes one vector of the first token for classes.
    whole("pooler_hidden_size", None),
    Key("pooler_dropout", 0.0, lambda value: type(value) in (int, float), must_be("a number")),
    activation_key("gelu", "pooler_hidden_act"),
)


def _is_relative(config: Config) -> bool:
    return bool(config["relative_attention"])


def _has(kind: str) -> Callable[[Config], bool]:
    """A test whether a term of the scores has its own matrix."""

    def has(config: Config) -> bool:
        return _is_relative(config) and not config["share_att_key"] and kind in _parts(config["pos_att_type"])

    return has


def _is_normed(config: Config) -> bool:
    return "layer_norm" in _parts(config["norm_rel_ebd"])


def _has_positions(config: Config) -> bool:
    return bool(config["position_biased_input"])


def _has_types(config: Config) -> bool:
    return bool(config["type_vocab_size"])


def _is_legacy(config: Config) -> bool:
    return bool(config["legacy"])


def _is_modern(config: Config) -> bool:
    return not _is_legacy(config)


_LAYER = "deberta.encoder.layer.{layer}."
_SELF = _LAYER + "attention.self."
_EMBEDDINGS = "deberta.embeddings."
_WORDS = _EMBEDDINGS + "word_embeddings.weight"
_HEAD = "cls.predictions."
_MODERN_HEAD = "lm_predictions.lm_head."

TENSORS = (
    Tensor(_WORDS, "vocabulary.embedding", ("vocabulary", "d")),
    Tensor(
        _EMBEDDINGS + "position_embeddings.weight",
        "position.table",
        ("positions", "d"),
        is_there=_has_positions,
    ),
    Tensor(_EMBEDDINGS + "token_type_embeddings.weight", TOKEN_TYPES, ("types", "d"), is_there=_has_types),
    *norm(_EMBEDDINGS + "LayerNorm", "embedding_norm"),
    *(
        tensor
        for role in ("query", "key", "value")
        for tensor in linear(f"{_SELF}{role}_proj", f"projections.{role}", ("d", "d"))
    ),
    *linear(_SELF + "pos_key_proj", "distances.keys", ("d", "d"), is_there=_has("c2p")),
    *linear(_SELF + "pos_query_proj", "distances.queries", ("d", "d"), is_there=_has("p2c")),
    Tensor(
        "deberta.encoder.rel_embeddings.weight", "distances.rows", ("distances", "d"), is_there=_is_relative
    ),
    *norm("deberta.encoder.LayerNorm", "distances", is_there=_is_normed),
    *block(_LAYER),
    *head(_HEAD + "transform.", _is_legacy),
    *decoder(_HEAD, _is_legacy),
    *head(_MODERN_HEAD, _is_modern),
    Tensor(_MODERN_HEAD + "bias", "vocabulary.bias", ("vocabulary",), is_there=_is_modern),
)

IGNORED = (
    Ignored(_EMBEDDINGS + "position_ids", "the numbers 0, 1, 2, …"),
    *copies(_HEAD, _WORDS),
)


def sizes(config: Config) -> Sizes:
    """The sizes in the shapes."""
    sizes = encoder_sizes(config)
    d, d_head = config["hidden_size"], config["hidden_size"] // config["num_attention_heads"]
    for name, value in (("embedding_size", d), ("attention_head_size", d_head)):
        if config[name] not in (None, value):
            fitting = must_be("{value} for these heads and hidden_size", value=value)
            raise FieldError(name, config[name], fitting)
    return {**sizes, "distances": 2 * _reach(config)}


def _longest(config: Config) -> int:
    """The distance from which on all are alike."""
    given = config["max_relative_positions"]
    return int(given if given >= 1 else config["max_position_embeddings"])


def _reach(config: Config) -> int:
    """Number of rows for the distances of one side."""
    n_buckets = config["position_buckets"]
    return int(n_buckets if n_buckets >= 1 else _longest(config))


def layer(config: Config, index: int) -> Layer:
    """One layer without its weights."""
    n_heads = config["num_attention_heads"]
    d_head = config["hidden_size"] // n_heads
    terms = 1 + len(set(_parts(config["pos_att_type"])))
    return Layer(
        heads=Heads(n_heads, n_heads, d_head),
        position=position(config, index),
        scale=ScaleValue(1.0 / math.sqrt(d_head * terms)),
        block=post_norm(config),
    )


def position(config: Config, index: int) -> Position:
    """The distances of a layer; a model without them may add a table of positions before its first layer."""
    if not _is_relative(config):
        has_table = not index and _has_positions(config)
        return Learned(config["max_position_embeddings"]) if has_table else NoPosition()
    if _has_positions(config):
        raise FieldError("position_biased_input", True, must_be("false with relative_attention"))
    if config["position_buckets"] >= 1:
        return Deberta(config["position_buckets"], _longest(config))
    # Half of `span` are distances with a row of their own.
    return Deberta(2 * _longest(config), 2 * _longest(config))


def prepare(config: Config, sizes: Sizes, arrays: Arrays) -> None:
    """The types of tokens, and each layer's keys and queries of the distances."""
    add_first_type(config, sizes, arrays)
    common = arrays["layers", None]
    rows, gain, bias = (common.pop(f"distances.{name}", None) for name in ("rows", "gain", "bias"))
    if rows is None:
        return
    if gain is not None and bias is not None:
        rows = normed(np, in_float64(rows), config["layer_norm_eps"]) * in_float64(gain) + in_float64(bias)
    for (stack, index), own in arrays.items():
        if stack == "layers" and index is not None:
            for table, role, kind in (("keys", "key", "c2p"), ("queries", "query", "p2c")):
                matrix, added = own.pop(f"distances.{table}", None), own.pop(f"distances.{table}_bias", None)
                if config["share_att_key"]:
                    matrix, added = own[f"projections.{role}"], own[f"projections.{role}_bias"]
                projected = np.zeros((len(rows), sizes["d"]))
                if matrix is not None and added is not None and kind in _parts(config["pos_att_type"]):
                    projected = in_float64(rows) @ in_float64(matrix) + in_float64(added)
                own[f"position.{table}"] = _for_buckets(config, projected)


def _for_buckets(config: Config, table: Array) -> Array:
    """The table as a position with buckets reads it: without buckets, the outermost rows are repeated."""
    reach = _reach(config)
    if config["position_buckets"] >= 1:
        return table
    return table[np.clip(np.arange(4 * reach) - reach, 0, 2 * reach - 1)]


DEBERTA_V2 = Family(
    "DeBERTa-v2", ("deberta-v2",), "deberta.", KEYS, TENSORS, sizes, layer, around, IGNORED, prepare=prepare
)
