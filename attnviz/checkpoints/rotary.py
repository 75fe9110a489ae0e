"""RoPE as configurations of `transformers` write it: base, rotated share of the head, scaling.

Versions before 5 write `rope_theta` and `rope_scaling`, later ones one object `rope_parameters`; the names of
the scalings are those of its `modeling_rope_utils`. A scaling is read by the names of its fields, unless
`_READERS` has a function for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

from attnviz.checkpoints.families.family import Config, Key, count, flag, group, one_of, positive, whole
from attnviz.core.positions import yarn_attention_factor
from attnviz.errors import FieldError, missing, must_be
from attnviz.model.errors.conversion import a_key_of
from attnviz.model.fields import FieldRow, rows_of
from attnviz.model.scalings import SCALINGS
from attnviz.model.spec.positions import Pairing, Rope
from attnviz.model.spec.scalings import DynamicNtk, LongRope, Scaling, Stretch, Yarn

DEFAULT_BASE = 10_000.0


def part(name: str, default: Any) -> Key:
    """The rotated share of the features of a head."""
    requirement = must_be("a number above {least} and of at most {most}", least=0, most=1)
    return Key(name, default, lambda value: type(value) in (int, float) and 0 < value <= 1, requirement)


ROPE_KEYS: tuple[Key, ...] = (
    group("rope_parameters"),
    group("rope_scaling"),
    positive("rope_theta", None),
    part("partial_rotary_factor", None),
    whole("original_max_position_embeddings", None),
)
"""Configuration keys of RoPE, in old and new versions; `max_position_embeddings` is read as well."""

RECORDS: dict[str, type[Stretch]] = {type_: row.record for row in SCALINGS for type_ in row.types}
"""The scalings by their names in configurations."""
_TYPES = tuple(RECORDS)


def _divisors(name: str) -> Key:
    """One number for each rotated pair."""

    def is_legal(value: Any) -> bool:
        return isinstance(value, list) and all(
            type(number) in (int, float) and 0 < number < math.inf for number in value
        )

    return Key(name, None, is_legal, must_be("a list of finite numbers above 0"))


def _key_of(field: FieldRow) -> Key:
    """The key of the same name as a field of a scaling; a number has no default."""
    if field.kind is bool:
        return flag(field.name, field.default)
    if field.kind is int:
        return count(field.name, None)
    return positive(field.name, None) if field.kind is float else _divisors(field.name)


_KEYS: tuple[Key, ...] = (
    one_of("rope_type", _TYPES, "default"),
    one_of("type", _TYPES, None),
    positive("rope_theta", None),
    part("partial_rotary_factor", None),
    whole("original_max_position_embeddings", None),
    positive("mscale", None),
    positive("mscale_all_dim", None),
)
_ELSEWHERE = ("original_length", "length")
"""Fields that no key of their name gives: the trained length, and a choice of the document."""
_FIELDS: tuple[FieldRow, ...] = tuple(
    {
        field.name: field for row in SCALINGS for field in rows_of(row.record) if field.name not in _ELSEWHERE
    }.values()
)
_SCALING_KEYS = (*_KEYS, *map(_key_of, _FIELDS))


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
        scaling=_scaling(config, given),
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
        alone = must_be("null with rope_scaling")
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


def _scaling(config: Config, given: dict[str, Any]) -> Scaling:
    record = RECORDS[given["rope_type"]]
    return _READERS.get(record, _by_names)(config, given)


def _by_names(config: Config, given: dict[str, Any]) -> Scaling:
    """The scaling whose numbers stand under the names of its fields."""
    record = RECORDS[given["rope_type"]]
    fields = [field for field in rows_of(record) if field.name != "length"]
    return cast(Scaling, record(**{field.name: _value(field, config, given) for field in fields}))


def _value(field: FieldRow, config: Config, given: dict[str, Any]) -> Any:
    if field.name == "original_length":
        return _original(config, given)
    if field.default is None and given[field.name] is None:
        return None
    return field.kind(_needed(given, field.name))


def _dynamic(config: Config, given: dict[str, Any]) -> Scaling:
    # Lengths up to max_position_embeddings keep their base: transformers reads no original length here.
    return DynamicNtk(float(_needed(given, "factor")), int(config["max_position_embeddings"]))


def _yarn(config: Config, given: dict[str, Any]) -> Scaling:
    original = _original(config, given)
    factor = float(given["factor"] or config["max_position_embeddings"] / original)
    ramp = {name: float(given[name]) for name in ("beta_fast", "beta_slow") if given[name] is not None}
    attention = _attention_factor(given, factor)
    return Yarn(factor, original, **ramp, attention_factor=attention, truncate=given["truncate"])


def _attention_factor(given: dict[str, Any], factor: float) -> float:
    """The multiplier of cosines and sines; DeepSeek defines it by two shares of ln(factor)."""
    if given["attention_factor"] is not None:
        return float(given["attention_factor"])
    upper, lower = given["mscale"], given["mscale_all_dim"]
    if not upper or not lower or factor <= 1:
        return yarn_attention_factor(factor)
    return (0.1 * upper * math.log(factor) + 1.0) / (0.1 * lower * math.log(factor) + 1.0)


def _longrope(config: Config, given: dict[str, Any]) -> Scaling:
    # If the factor is missing, it is the ratio of the two lengths.
    original = _original(config, given)
    factor = float(given["factor"] or config["max_position_embeddings"] / original)
    short, long = (tuple(map(float, _needed(given, name))) for name in ("short_factor", "long_factor"))
    attention = given["attention_factor"]
    return LongRope(max(factor, 1.0), short, long, original, None if attention is None else float(attention))


_READERS: dict[type[Stretch], Callable[[Config, dict[str, Any]], Scaling]] = {
    DynamicNtk: _dynamic,
    Yarn: _yarn,
    LongRope: _longrope,
}
