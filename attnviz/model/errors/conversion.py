"""Conversion of msgspec's messages about data that does not fit an annotation into a `FieldError`.

msgspec checks types, bounds and keys and describes the fault and its place in an English sentence. The place
is read from the sentence; the requirement is read from the annotation.
"""

from __future__ import annotations

import re
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from attnviz.errors import FieldError, Message, among, listed, message_of, missing, must_be, verbatim
from attnviz.model.spec.arrays import WHERE as IN_A_MATRIX
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.field import fields_of, plain

_PLACE = re.compile(r"^(?P<what>.*) - at `\$(?P<steps>.*)`$", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_UNKNOWN = re.compile(r"^Object contains unknown field `(.*)`$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(\w+)`$")
_PLAIN = {
    str: Message("a text"),
    bool: Message("true or false"),
    NoneType: verbatim("null"),
    Matrix: Message("a list of rows, each a list of numbers"),
    Any: Message("a value"),
}


def field_error(error: Exception, annotation: Any, data: Any, path: str) -> FieldError:
    """The error that msgspec raised while it converted `data` to `annotation`.

    `path` is the path of `data` itself; deeper fields are appended to it, as in `path.heads[2]`.
    """
    sentence = str(error)
    steps: list[tuple[str, str]] = []
    if place := _PLACE.match(sentence):
        steps, sentence = _STEP.findall(place["steps"]), place["what"]
    for key, index in steps:
        annotation, data = _below(annotation, data, key or int(index))
        annotation = plain(annotation)
        path += f".{key}" if key else f"[{index}]"
    cause = error.__cause__ if isinstance(error, msgspec.ValidationError) else error
    if isinstance(cause, FieldError):
        return _inside(cause, annotation, data).below(path)
    if cause is not None:
        return FieldError(path, data, must_be(message_of(cause)))
    if unknown := _UNKNOWN.match(sentence):
        name = unknown[1][:60]
        value = data.get(unknown[1]) if isinstance(data, dict) else None
        return FieldError(f"{path}.{name}", value, a_key_of(_keys(annotation, data)))
    if absent := _MISSING.match(sentence):
        return missing(f"{path}.{absent[1]}", requirement(_below(annotation, data, absent[1])[0]))
    return FieldError(path, data, requirement(annotation))


def _inside(error: FieldError, annotation: Any, data: Any) -> FieldError:
    """An error of a part or a matrix that checked itself, with its path as seen from there."""
    prefix = getattr(_chosen(annotation, data), "where", "")
    inner = error.path.removeprefix(prefix) if prefix else error.path
    if inner == error.path and (inner + "[").startswith((IN_A_MATRIX + "[", IN_A_MATRIX + ".")):
        inner = inner.removeprefix(IN_A_MATRIX)
    return FieldError(inner, error.value, error.requirement)


def a_key_of(names: list[str]) -> Message:
    """The requirement of a key that nothing is known of."""
    return must_be("one of the keys {keys}", keys=", ".join(names))


def requirement(annotation: Any) -> Message:
    """Requirement of an annotation."""
    return must_be(_noun(annotation))


def _noun(annotation: Any) -> Message:
    """An annotation as a noun phrase."""
    annotation = plain(annotation)
    if get_origin(annotation) is Annotated:
        base, *extras = get_args(annotation)
        return _number(base, next(extra for extra in extras if isinstance(extra, Meta)))
    if annotation in (int, float):
        return _number(annotation, Meta())
    if get_origin(annotation) is Literal:
        return _choice(get_args(annotation))
    if get_origin(annotation) is tuple:
        of, *rest = get_args(annotation)
        if rest == [...]:
            return Message("a list in which each item is {what}", what=_noun(of))
        return Message("a list of {n} in which each item is {what}", n=1 + len(rest), what=_noun(of))
    if get_origin(annotation) in (Union, UnionType):
        return _one_of(get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return Message("an object with the keys {keys}", keys=", ".join(_keys(annotation, {})))
    return _PLAIN[annotation]


def _choice(choices: tuple[Any, ...]) -> Message:
    what = among(choices).arguments["what"]
    assert isinstance(what, Message)
    return what


def _number(base: type, bounds: Meta) -> Message:
    is_whole = base is int
    if bounds.ge is None:
        return Message("a whole number") if is_whole else Message("a number")
    if bounds.le is None:
        if is_whole:
            return Message("a whole number of at least {least}", least=bounds.ge)
        return Message("a number of at least {least}", least=bounds.ge)
    if is_whole:
        return Message("a whole number from {least:,} to {most:,}", least=bounds.ge, most=bounds.le)
    return Message("a number from {least} to {most}", least=bounds.ge, most=bounds.le)


def _one_of(members: tuple[Any, ...]) -> Message:
    tags = _tags(members)
    nouns = [_noun(member) for member in members if not _is_tagged(member)]
    if tags:
        nouns.insert(0, Message("an object whose kind is one of {choices}", choices=listed(tags)))
    choice = nouns[0]
    for noun in nouns[1:]:
        choice = Message("{one} or {other}", one=choice, other=noun)
    return choice


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
    keys = [field.encode_name for field in fields_of(struct)]
    tag_field = struct.__struct_config__.tag_field
    return keys if tag_field is None else [tag_field, *keys]


def _below(annotation: Any, data: Any, step: str | int) -> tuple[Any, Any]:
    """The annotation and the value one step deeper in the path; `None` for a missing value."""
    if isinstance(step, int):
        return get_args(annotation)[0], data[step]
    value = data.get(step) if isinstance(data, dict) else getattr(data, step, None)
    struct = _chosen(annotation, data)
    assert struct is not None
    for field in fields_of(struct):
        if field.encode_name == step:
            return field.type, value
    members = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return Literal[tuple(_tags(members))], value
