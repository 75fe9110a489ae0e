"""The rotation of queries and keys in the metadata of a GGUF file, as the `rope_scaling` of a configuration.

llama.cpp rotates pair i at position t by t · f / factor, where f is the pair's frequency, divided by its
divisor if the file has `rope_freqs.weight`; with YaRN, fast pairs keep f (`rope_yarn` in ggml-cpu/ops.cpp).
Cosines and sines are multiplied by `attn_factor`, and with YaRN by 0.1 ln(factor) + 1 besides
(llama-context.cpp).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from attnviz.checkpoints.families.family import Key, one_of, positive, unread, whole
from attnviz.core.positions import yarn_attention_factor
from attnviz.errors import FINITE, NOT_NEGATIVE, FieldError, must_be

DIVISORS = "rope_freqs.weight"
"""The tensor of the divisors of the pairs' frequencies."""

WIDTHS = (whole("rope.dimension_count", None), whole("attention.value_length", None))
"""Keys of the features of a head that rotate, and of a head's values: here all of a head's."""

_TYPE, _LINEAR, _YARN = "rope.scaling.type", "linear", "yarn"
_ATTENTION, _EXTENSION = "rope.scaling.attn_factor", "rope.scaling.yarn_ext_factor"
_BETAS = ("beta_fast", "beta_slow")


def _factor(name: str) -> Key:
    """A finite number; 0 stands for a missing one."""
    return Key(name, 0.0, lambda value: _is_number(value) and value >= 0, NOT_NEGATIVE)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


KEYS: tuple[Key, ...] = (
    *WIDTHS,
    one_of(_TYPE, ("none", _LINEAR, _YARN), _LINEAR),
    _factor("rope.scaling.factor"),
    _factor("rope.scale_linear"),
    whole("rope.scaling.original_context_length", None),
    positive(_ATTENTION, 1.0),
    Key(_EXTENSION, -1, _is_number, FINITE),
    *(positive(f"rope.scaling.yarn_{name}", None) for name in _BETAS),
    # The conversion writes the whole factor of cosines and sines, by which llama.cpp multiplied its own one
    # in some versions, and which it does not read in others.
    Key(
        "rope.scaling.yarn_attn_factor",
        1.0,
        lambda value: value == 1,
        must_be("1, since versions of llama.cpp differ about its meaning"),
    ),
    one_of("rope.scaling.yarn_log_multiplier", (0,), 0),
    unread("rope.scaling.finetuned"),
)
"""Keys behind the name of an architecture that rotates."""


def scaling(own: Mapping[str, Any], divisors: Sequence[float] | None) -> dict[str, Any] | None:
    """The scaling of the rotation; None without one. `own` are the keys behind the architecture's name.

    It has what the file says and no defaults: the link of a document depends on all of it.

    Raises `FieldError` for a value with which nothing here computes.
    """
    given = {key.name: key.read(own) for key in KEYS}
    kind, attention = given[_TYPE], given[_ATTENTION]
    factor = given["rope.scaling.factor"] or given["rope.scale_linear"] or 1.0
    extension, usual = given[_EXTENSION], float(kind == _YARN)
    if extension not in (usual, -1):
        raise FieldError(_EXTENSION, extension, must_be("{n:g} or -1 with {kind}", n=usual, kind=kind))
    length = given["rope.scaling.original_context_length"]
    lengths = {} if length is None else {"original_max_position_embeddings": length}
    if kind == _YARN:
        if divisors is not None:
            raise FieldError(_TYPE, kind, must_be("'none' or 'linear' with the tensor {name}", name=DIVISORS))
        betas = {name: given[f"rope.scaling.yarn_{name}"] for name in _BETAS}
        stated = {name: beta for name, beta in betas.items() if beta is not None}
        if attention != 1:
            stated["attention_factor"] = attention * yarn_attention_factor(factor)
        return {"rope_type": kind, "factor": factor, **lengths, **stated}
    factor = factor if kind == _LINEAR else 1.0
    if divisors is not None:
        divided = [factor * one for one in divisors]
        return {
            "rope_type": "longrope",
            "short_factor": divided,
            "long_factor": divided,
            "factor": 1.0,
            "attention_factor": attention,
            "original_max_position_embeddings": own.get("context_length"),
        }
    if attention != 1:
        raise FieldError(_ATTENTION, attention, must_be("1 with {kind}", kind=kind))
    return None if factor == 1 else {"rope_type": kind, "factor": factor, **lengths}
