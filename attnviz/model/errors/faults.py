"""What is wrong with a value, as one sentence: the field, the value, and what would be legal.

The annotations of a part say what is legal; these functions say it in English, for values that were
handed to a constructor and for values that were read from a file.
"""

from __future__ import annotations

import re
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from attnviz.model.spec.arrays import Matrix

_PLACE = re.compile(r"^(?P<what>.*) - at `\$(?P<steps>.*)`$", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_UNKNOWN = re.compile(r"^Object contains unknown field `(.*)`$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(\w+)`$")
_PLAIN = {
    str: "a text",
    bool: "true or false",
    NoneType: "null",
    Matrix: "a list of rows, each a list of numbers",
}
_JSON = {None: "null", True: "true", False: "false"}


class FieldError(ValueError):
    """`field` is `value`, which is not `legal`; the message is that sentence."""

    def __init__(self, field: str, value: object, legal: str) -> None:
        super().__init__(f"{field} is {short(value)}; legal is {legal}")
        self.field = field
        self.value = value
        self.legal = legal


class Said(str):
    """A value described rather than quoted, such as `3 rows`."""

    def __repr__(self) -> str:
        return str(self)


def short(value: object) -> str:
    """`value` as a message quotes it: 60 characters at most, looking only at the beginning of a long list."""
    if value is None or isinstance(value, bool):
        return _JSON[value]
    if isinstance(value, str) and not isinstance(value, Said):
        value = value[:60]
    if isinstance(value, list | tuple):
        value = value[:60]
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def sentence(error: Exception, annotation: Any, data: Any, name: str) -> str:
    """The sentence for an error that msgspec raised while it turned `data` into `annotation`.

    `name` is what `data` itself is called; deeper places are written after it, as in `name.heads[2]`.
    """
    message = str(error)
    steps: list[tuple[str, str]] = []
    if place := _PLACE.match(message):
        steps, message = _STEP.findall(place["steps"]), place["what"]
    for key, index in steps:
        annotation, data = _below(annotation, data, key or int(index))
        name += f".{key}" if key else f"[{index}]"
    cause = error.__cause__ if isinstance(error, msgspec.ValidationError) else error
    if isinstance(cause, FieldError):
        field = cause.field.removeprefix(getattr(_chosen(annotation, data), "where", ""))
        return f"{name}.{field} is {short(cause.value)}; legal is {cause.legal}"
    if cause is not None:
        return f"{name}: {cause}"
    if unknown := _UNKNOWN.match(message):
        return f"{name}.{unknown[1][:60]} is no known key; legal are {', '.join(_keys(annotation, data))}"
    if missing := _MISSING.match(message):
        return f"{name}.{missing[1]} is missing; legal is {legal(_below(annotation, data, missing[1])[0])}"
    return f"{name} is {short(data)}; legal is {legal(annotation)}"


def legal(annotation: Any) -> str:
    """What an annotation allows, in words."""
    if get_origin(annotation) is Annotated:
        base, *extras = get_args(annotation)
        return _number(base, next(extra for extra in extras if isinstance(extra, Meta)))
    if annotation in (int, float):
        return _number(annotation, Meta())
    if get_origin(annotation) is Literal:
        choices = [repr(choice) for choice in get_args(annotation)]
        return choices[0] if len(choices) == 1 else "one of " + ", ".join(choices)
    if get_origin(annotation) is tuple:
        of, *rest = get_args(annotation)
        return f"a list {'' if rest == [...] else f'of {1 + len(rest)} '}in which each is {legal(of)}"
    if get_origin(annotation) in (Union, UnionType):
        return _one_of(get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return f"an object with the keys {', '.join(_keys(annotation, {}))}"
    return _PLAIN[annotation]


def _number(base: type, bounds: Meta) -> str:
    what = "a whole number" if base is int else "a number"
    if bounds.ge is None:
        return what
    if bounds.le is None:
        return f"{what} of at least {bounds.ge}"
    return f"{what} from {bounds.ge} to {bounds.le}"


def _one_of(members: tuple[Any, ...]) -> str:
    tags = _tags(members)
    others = [legal(member) for member in members if not _is_tagged(member)]
    if tags:
        others.insert(0, f"an object whose kind is one of {', '.join(map(repr, tags))}")
    return " or ".join(others)


def _is_tagged(member: Any) -> bool:
    is_struct = isinstance(member, type) and issubclass(member, Struct)
    return is_struct and member.__struct_config__.tag is not None


def _tags(members: tuple[Any, ...]) -> list[str]:
    return [str(member.__struct_config__.tag) for member in members if _is_tagged(member)]


def _chosen(annotation: Any, data: Any) -> type[Struct] | None:
    """The struct that `data` was read as: the only one, or the one that its `kind` names."""
    members = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    structs = [m for m in members if isinstance(m, type) and issubclass(m, Struct)]
    tag = data.get("kind") if isinstance(data, dict) else None
    named = [struct for struct in structs if struct.__struct_config__.tag == tag]
    return next(iter(named or structs), None)


def _keys(annotation: Any, data: Any) -> list[str]:
    struct = _chosen(annotation, data)
    assert struct is not None
    keys = [field.encode_name for field in msgspec.structs.fields(struct)]
    tag_field = struct.__struct_config__.tag_field
    return keys if tag_field is None else [tag_field, *keys]


def _below(annotation: Any, data: Any, step: str | int) -> tuple[Any, Any]:
    """The annotation and the value one step further in; `None` where there is no value."""
    if isinstance(step, int):
        return get_args(annotation)[0], data[step]
    value = data.get(step) if isinstance(data, dict) else getattr(data, step, None)
    struct = _chosen(annotation, data)
    assert struct is not None
    for field in msgspec.structs.fields(struct):
        if field.encode_name == step:
            return field.type, value
    members = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return Literal[tuple(_tags(members))], value
