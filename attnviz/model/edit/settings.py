"""Edits by the name of what they set, as the lines `set` of lessons and the controls in captions write it.

A name is the path of a field, from the experiment or an attention of it on, a size that refits other fields
(`n_tokens`), or one of heads; with `layers.` before it what an attention has is set in all layers. A value is
written as JSON; a bare word is a text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from attnviz.errors import FieldError, InputError, Message, among, must_be, quoted
from attnviz.model.edit.edits import set_d_model, set_heads, set_n_tokens, set_tokens
from attnviz.model.edit.layers import MOST_LAYERS, edit_alike, set_n_layers
from attnviz.model.edit.paths import fields_at, part_at, put_at, value_at
from attnviz.model.errors.conversion import field_error
from attnviz.model.fields import is_field
from attnviz.model.sites.sites import at, places, put
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site

Tokens = tuple[str, ...]
Size = Annotated[int, Meta(ge=1, le=2**16)]


@dataclass(frozen=True)
class Fitted:
    """A change of the experiment that refits other fields: the type of its value, and how it is read."""

    kind: Any
    edit: Callable[[Experiment, Any], Experiment]
    read: Callable[[Experiment], Any]


FITTED: dict[str, Fitted] = {
    "tokens": Fitted(Tokens, set_tokens, lambda one: one.tokens),
    "n_tokens": Fitted(Size, set_n_tokens, lambda one: len(one.tokens)),
    "d_model": Fitted(Size, set_d_model, lambda one: one.d_model),
    "n_layers": Fitted(Annotated[int, Meta(ge=1, le=MOST_LAYERS)], set_n_layers, lambda one: len(one.layers)),
}
"""Changes of the experiment by name."""

HEADS = ("n_heads", "n_kv_heads", "d_head")
"""Numbers of the heads of an attention, with or without `heads.` before them."""

IN_ALL = "layers."
"""Before the name of what an attention has: in all layers."""


def is_of_experiment(name: str) -> bool:
    """True if a name belongs to the whole experiment, not to one attention of it."""
    return name in FITTED or name.split(".")[0] in Experiment.__struct_fields__


def check_name(name: str) -> None:
    """Raise `FieldError` if no document has what a name sets."""
    own = name.removeprefix(IN_ALL)
    if own not in FITTED and _own(own) not in HEADS and not is_field(own):
        raise FieldError("set", name, must_be("the path of a field, such as temperature or position.base"))


def setting_of(experiment: Experiment, site: str, name: str) -> Any:
    """The present value at a name; None if it is null, or does not exist."""
    if name in FITTED:
        return FITTED[name].read(experiment)
    if name.startswith(IN_ALL):
        return setting_of(experiment, first_of_layers(experiment), name.removeprefix(IN_ALL))
    if is_of_experiment(name):
        return value_at(experiment, name)
    return value_at(at(experiment, site), f"heads.{_own(name)}" if _own(name) in HEADS else name)


def with_setting(experiment: Experiment, site: str, name: str, value: Any) -> Experiment:
    """The experiment with another value at a name. Raises `InputError` for one that is not valid."""
    if is_of_experiment(name):
        return with_shared_setting(experiment, name, value)
    return put(experiment, with_own_setting(at(experiment, site), name, value))


def with_shared_setting(experiment: Experiment, name: str, value: Any) -> Experiment:
    """The experiment with another value at a name of its own. Raises `InputError`."""
    if name in FITTED:
        row = FITTED[name]
        return row.edit(experiment, _converted(name, value, row.kind))
    if name.startswith(IN_ALL):
        own = name.removeprefix(IN_ALL)
        return edit_alike(
            experiment, first_of_layers(experiment), lambda site: with_own_setting(site, own, value)
        )
    return _with_field(experiment, experiment, name, value)


def first_of_layers(experiment: Experiment) -> str:
    """The name of the first attention of `layers`, behind any encoder."""
    return next(place.name for place in places(experiment) if place.field == "layers")


def with_own_setting(site: Site, name: str, value: Any) -> Site:
    """An attention with another value at a name of its own. Raises `InputError`."""
    if _own(name) in HEADS:
        return set_heads(site, **{_own(name): _converted(name, value, Size)})
    return _with_field(site, site, name, value)


def written_value(text: str) -> Any:
    """A value as it is written: JSON, or a bare word. Raises `InputError`."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (json.JSONDecodeError, RecursionError):
        if re.fullmatch(r"[A-Za-z_][\w -]*", text):
            return text
    return _refuse(text)


def _refuse(text: str) -> Any:
    raise InputError(Message("A value must be JSON; got {value}.", value=quoted(text)))


def _own(name: str) -> str:
    return name.removeprefix("heads.")


def _with_field(whole: Any, subject: Any, name: str, value: Any) -> Any:
    owner, _dot, field = name.rpartition(".")
    part = part_at(subject, owner)
    if field not in fields_at(part):
        raise FieldError("set", name, among(fields_at(part) or fields_at(whole)))
    return put_at(subject, name, value)


def _converted(name: str, value: Any, kind: Any) -> Any:
    """A value as its type. Raises `FieldError`."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise field_error(error, kind, value, name) from None
