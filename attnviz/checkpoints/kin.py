"""The family nearest to a model of an unknown type: by its class, its tensors, its configuration's keys."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any

from attnviz.checkpoints.families.family import Family
from attnviz.checkpoints.families.refusals import Kin
from attnviz.checkpoints.families.table import FAMILIES
from attnviz.checkpoints.plan import architecture

_NUMBER = re.compile(r"(?<![^.])\d+(?=\.)")
_ANY = "{}"

MOST_TRIED = 8
"""Families whose whole tables are compared with a model's tensors."""

TYPES: dict[str, str] = {
    re.sub(r"[_-]", "", name): name for family in FAMILIES for name in family.model_types
}
"""The known types by their names in small letters alone, as the names of classes begin."""

_CLASS = re.compile(r"(?:For\w+|LMHeadModel|DoubleHeadsModel|EncoderModel|MTModel|Model)$")


def type_of_class(config: Mapping[str, Any]) -> str | None:
    """The known type that the class of a configuration names, such as `LlamaForCausalLM`; None for others."""
    name = architecture(config)
    whole, stem = name.lower(), _CLASS.sub("", name).lower()
    return next((TYPES[one] for one in (stem, f"{stem}text", whole) if one in TYPES), None)


def nearest(config: Mapping[str, Any], names: Collection[str], fits: Callable[[Family], bool]) -> Kin:
    """The nearest family; `fits(family)` is true if it has all tensors in their shapes.

    Nearest is the one with the most of the names, of these the one with the most of the keys. A model of two
    parts is near the type of its text, a model of images one of images.
    """
    text = config.get("text_config")
    of_text = text.get("model_type") if isinstance(text, dict) else None
    if of_text in TYPES.values():
        return Kin(str(of_text))
    patterns: dict[str, str] = {}
    for name in names:
        patterns.setdefault(_pattern(name), name)
    is_image = any("patch" in name for name in patterns)
    others = {
        family.title: _others(family, patterns)
        for family in FAMILIES
        if is_image == (family.signal is not None and family.signal.kind == "image")
    }

    def nearness(family: Family) -> tuple[int, int]:
        keys = {key.name for key in family.keys}
        return -len(others[family.title]), sum(key in keys for key in config)

    ranked = sorted((one for one in FAMILIES if one.title in others), key=nearness, reverse=True)
    fitting = (one for one in ranked[:MOST_TRIED] if names and not others[one.title] and fits(one))
    nearest = next(fitting, None)
    if nearest is not None:
        return Kin(nearest.model_types[0], fits=True)
    first = ranked[0]
    return Kin(first.model_types[0], other=next((patterns[one] for one in others[first.title]), ""))


def _others(family: Family, patterns: Collection[str]) -> list[str]:
    """The patterns of names that a family does not have, whatever its models' own names begin with."""
    rows = [row.name for row in family.tensors] + [row.name for row in family.ignored]
    known = {_pattern(name.removeprefix(family.prefix)) for name in rows}
    roots = ("", family.prefix, _root(patterns))
    unknown = ([one for one in patterns if one.removeprefix(root) not in known] for root in roots)
    return min(unknown, key=len)


def _root(patterns: Collection[str]) -> str:
    """The beginning that most names share, up to their first dot."""
    (root, _count), *_rest = Counter(one.partition(".")[0] for one in patterns).most_common(1) or [("", 0)]
    return f"{root}."


def _pattern(name: str) -> str:
    """A name without its numbers."""
    return _NUMBER.sub(_ANY, name).replace("{layer}", _ANY).replace("{expert}", _ANY)
