"""RoPE as configurations of `transformers` write it: base, rotated share of the head, scaling.

Versions before 5 write `rope_theta` and `rope_scaling`, later ones one object `rope_parameters`; the names of
the scalings are those of its `modeling_rope_utils`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from attnviz.checkpoints.families.family import Config, Key, flag, group, one_of, positive, whole
from attnviz.core.positions import yarn_attention_factor
from attnviz.errors import FieldError, missing, must_be
from attnviz.model.errors.conversion import a_key_of
from attnviz.model.spec.positions import (
    DynamicNtk,
    LinearScaling,
    Llama3Scaling,
    LongRope,
    NoScaling,
    Pairing,
    Rope,
    Scaling,
    Yarn,
)

DEFAULT_BASE = 10_000.0

ROPE_KEYS: tuple[Key, ...] = (
    group("rope_parameters"),
    group("rope_scaling"),
    positive("rope_theta", None),
    positive("partial_rotary_factor", None),
    whole("original_max_position_embeddings", None),
)
"""Configuration keys of RoPE, in old and new versions; `max_position_embeddings` is read as well."""

_KINDS = ("default", "linear", "dynamic", "yarn", "llama3", "longrope", "su")
"""`su` is the name of LongRoPE in the first Phi-3."""


def _divisors(name: str) -> Key:
    """One number for each rotated pair."""

    def is_legal(value: Any) -> bool:
        return isinstance(value, list) and all(
            type(number) in (int, float) and 0 < number < math.inf for number in value
        )

    return Key(name, None, is_legal, must_be("a list of finite numbers above 0"))


_SCALING_KEYS: tuple[Key, ...] = (
    one_of("rope_type", _KINDS, "default"),
    one_of("type", _KINDS, None),
    positive("rope_theta", None),
    positive("partial_rotary_factor", None),
    positive("factor", None),
    whole("original_max_position_embeddings", None),
    positive("attention_factor", None),
    positive("beta_fast", 32.0),
    positive("beta_slow", 1.0),
    positive("mscale", None),
    positive("mscale_all_dim", None),
    flag("truncate", True),
    positive("low_freq_factor", None),
    positive("high_freq_factor", None),
    _divisors("short_factor"),
    _divisors("long_factor"),
)


def rope(
    config: Config,
    d_head: int,
    pairing: Pairing = "half_split",
    base: float = DEFAULT_BASE,
    share: float | None = None,
) -> Rope:
    """The rotation in a configuration; `base` and `share` are the family's defaults.

    `share` None: the family rotates whole heads; a configuration with another share raises an error.

    Raises `ValueError`: one sentence naming the key.
    """
    given = scaling_values(config)
    theta = given["rope_theta"] or config.get("rope_theta") or base
    written = given["partial_rotary_factor"] or config.get("partial_rotary_factor")
    if share is None and written not in (None, 1):
        raise FieldError("partial_rotary_factor", written, must_be("1 for a model that rotates whole heads"))
    turned = int(d_head * (written or share or 1.0))
    return Rope(
        base=float(theta),
        pairing=pairing,
        n_rotated=None if turned == d_head else turned,
        scaling=_SCALINGS[given["rope_type"]](config, given),
    )


def of_kind(config: Config, kind: str, key: str, base: float, is_scaled: bool) -> Config:
    """The configuration as the layers of one kind read it, whose RoPE differs from the others'.

    `rope_parameters` has an object for each kind; older versions have the base under a `key` of its own, and
    `rope_scaling` only for the kind that `is_scaled`.
    """
    nested = config["rope_parameters"]
    if not nested:
        scaling = config["rope_scaling"] if is_scaled else None
        return {**config, "rope_theta": config[key] or base, "rope_scaling": scaling}
    if not isinstance(nested.get(kind), dict):
        raise FieldError("rope_parameters", nested, must_be("an object with {field}", field=kind))
    base = nested[kind].get("rope_theta", base)
    return {**config, "rope_parameters": {**nested[kind], "rope_theta": base}}


def scaling_values(config: Config) -> dict[str, Any]:
    """`rope_parameters` or `rope_scaling`, each key with its value or default; `written` is which."""
    if config.get("rope_parameters") and config.get("rope_scaling"):
        alone = must_be("null beside rope_scaling")
        raise FieldError("rope_parameters", config["rope_parameters"], alone)
    written = "rope_parameters" if config.get("rope_parameters") else "rope_scaling"
    values = config.get(written) or {}
    known = {key.name for key in _SCALING_KEYS}
    for name, value in values.items():
        if name not in known:
            raise FieldError(f"{written}.{name}", value, a_key_of(sorted(known)))
    try:
        given = {key.name: key.read(values) for key in _SCALING_KEYS}
    except FieldError as error:
        raise error.below(written) from None
    given["written"] = written
    if given["type"] is not None and values.get("rope_type") is None:
        given["rope_type"] = given["type"]
    return given


def _needed(given: dict[str, Any], key: str) -> Any:
    if given[key] is None:
        given_for = must_be("a number with {kind}", kind=given["rope_type"])
        raise missing(f"{given['written']}.{key}", given_for)
    return given[key]


def _original(config: Config, given: dict[str, Any]) -> int:
    """The trained length of a model, before its scaling."""
    own = config.get("original_max_position_embeddings")
    return int(own or given["original_max_position_embeddings"] or config["max_position_embeddings"])


def _none(config: Config, given: dict[str, Any]) -> Scaling:
    return NoScaling()


def _linear(config: Config, given: dict[str, Any]) -> Scaling:
    return LinearScaling(float(_needed(given, "factor")))


def _dynamic(config: Config, given: dict[str, Any]) -> Scaling:
    # Lengths up to max_position_embeddings keep their base: transformers reads no original length here.
    return DynamicNtk(float(_needed(given, "factor")), int(config["max_position_embeddings"]))


def _yarn(config: Config, given: dict[str, Any]) -> Scaling:
    original = _original(config, given)
    factor = float(given["factor"] or config["max_position_embeddings"] / original)
    return Yarn(
        factor,
        original,
        float(given["beta_fast"]),
        float(given["beta_slow"]),
        _attention_factor(given, factor),
        given["truncate"],
    )


def _attention_factor(given: dict[str, Any], factor: float) -> float:
    """The multiplier of cosines and sines; DeepSeek defines it by two shares of ln(factor)."""
    if given["attention_factor"] is not None:
        return float(given["attention_factor"])
    upper, lower = given["mscale"], given["mscale_all_dim"]
    if not upper or not lower or factor <= 1:
        return yarn_attention_factor(factor)
    return (0.1 * upper * math.log(factor) + 1.0) / (0.1 * lower * math.log(factor) + 1.0)


def _llama3(config: Config, given: dict[str, Any]) -> Scaling:
    return Llama3Scaling(
        float(_needed(given, "factor")),
        float(_needed(given, "low_freq_factor")),
        float(_needed(given, "high_freq_factor")),
        _original(config, given),
    )


def _longrope(config: Config, given: dict[str, Any]) -> Scaling:
    # If the factor is missing, it is the ratio of the two lengths.
    original = _original(config, given)
    factor = float(given["factor"] or config["max_position_embeddings"] / original)
    short, long = (tuple(map(float, _needed(given, name))) for name in ("short_factor", "long_factor"))
    attention = given["attention_factor"]
    return LongRope(max(factor, 1.0), short, long, original, None if attention is None else float(attention))


_SCALINGS: dict[str, Callable[[Config, dict[str, Any]], Scaling]] = {
    "default": _none,
    "linear": _linear,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "llama3": _llama3,
    "longrope": _longrope,
    "su": _longrope,
}
