"""Errors as values: the field, its value, its requirement; text only where somebody reads it.

A `Message` is its English text, for scripts, logs and tests, and keeps the template and the arguments that it
was filled from; `text` returns the active language and translates at that moment, so that a window shows a
persistent error in a new language, too. Every error that a user can cause carries one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from string import Formatter
from typing import Any

from attnviz.i18n import N_, _, ngettext

LONGEST = 60
"""Largest number of characters of a value that a message quotes."""

_JSON = {None: "null", True: "true", False: "false"}
_VERBATIM = "{text}"
_MEETING = re.compile(r"[\u4e00-\u9fff][A-Za-z0-9'\"]|[A-Za-z0-9'\"\]][\u4e00-\u9fff]")

OF_THE_SYSTEM = (
    N_("No such file or directory"),
    N_("Permission denied"),
    N_("Is a directory"),
    N_("Not a directory"),
    N_("File name too long"),
    N_("No space left on device"),
    N_("Read-only file system"),
    N_("File exists"),
    N_("Input/output error"),
    N_("Operation not permitted"),
    N_("Too many open files"),
    N_("Too many levels of symbolic links"),
    N_("Device or resource busy"),
    N_("Disk quota exceeded"),
    N_("File too large"),
    N_("Cannot allocate memory"),
    N_("Invalid argument"),
)
"""Messages of the operating system about files, which are in English."""


class FieldName(str):
    """The path of a field inside a message: a window replaces it by the title of its control."""


class Message(str):
    """A template with named fields, filled with its arguments: texts, numbers and other messages.

    The catalogues find templates as the first argument of this class or of `must_be`.
    """

    __slots__ = ("arguments", "template")

    template: str
    arguments: Mapping[str, object]

    def __new__(cls, template: str, **arguments: object) -> Message:
        message = super().__new__(cls, _filled(template, arguments))
        message.template, message.arguments = template, arguments
        return message

    def text(self, name: Callable[[str], str] = str) -> str:
        """The message in the active language; `name` maps a field's path to its title."""

        def shown(value: object) -> object:
            if isinstance(value, Message):
                return value.text(name)
            return name(value) if isinstance(value, FieldName) else value

        return _filled(_(self.template), {key: shown(value) for key, value in self.arguments.items()})


class TokenCount(Message):
    """A number of tokens, with the plural of the language; see `token_count`."""

    __slots__ = ()

    def text(self, name: Callable[[str], str] = str) -> str:
        n: Any = self.arguments["n"]
        return ngettext("{n} token", "{n} tokens", n).format(n=f"{n:,}")


def token_count(n: int) -> TokenCount:
    """The part "1 token" or "8,192 tokens" of a message."""
    return TokenCount("{n:,} token" if n == 1 else "{n:,} tokens", n=n)


def _filled(template: str, values: Mapping[str, object]) -> str:
    """`template` with its fields filled; as it is without `values`: a text from elsewhere may have braces."""
    return spaced(template, values) if values else template


def spaced(template: str, values: Mapping[str, object]) -> str:
    """`template` with its fields filled by `values`.

    A space parts a field from its neighbours where a Chinese character meets a Latin letter, a digit or a
    quotation mark of ASCII: a translation cannot know how a value begins.
    """
    text = template.format(**values)
    if text.isascii():  # every check of a document fills some requirements
        return text
    text = ""
    for literal, name, form, _conversion in Formatter().parse(template):
        for part in (literal, "" if name is None else format(values[name], form or "")):
            meets = text[-1:] + part[:1]
            text += f" {part}" if _MEETING.fullmatch(meets) else part
    return text


# --- requirements ----------------------------------------------------------------------------------


def must_be(what: str | Message, **arguments: object) -> Message:
    """The requirement that a value is `what`: a noun phrase, as a template with its arguments."""
    return Message("must be {what}", what=what if isinstance(what, Message) else Message(what, **arguments))


def among(choices: Iterable[object], on: str = "") -> Message:
    """The requirement of a closed set; `on` names the object that these choices belong to."""
    if on:
        return must_be("one of {choices} on {engine}", choices=listed(choices), engine=on)
    found = list(choices)
    if len(found) == 1:
        return must_be(verbatim(quoted(found[0])))
    return must_be("one of {choices}", choices=listed(found))


def whole_number(least: int, most: int | None = None) -> Message:
    """The requirement of a whole number of at least `least`, and of at most `most`."""
    if least == most:
        return must_be(verbatim(str(least)))
    if most is None:
        return must_be("a whole number of at least {least}", least=least)
    return must_be("a whole number from {least:,} to {most:,}", least=least, most=most)


FINITE = must_be("a finite number")
POSITIVE = must_be("a finite number above {least}", least=0)
NOT_NEGATIVE = must_be("a finite number of at least {least}", least=0)
PROBABILITY = must_be("a number from {least} to {most}", least=0, most=1)
A_TOKEN = Message("must have at least one token")
NEEDS_MEMORY = Message("needs a memory sequence")


# --- values ----------------------------------------------------------------------------------------


def quoted(value: object) -> str:
    """`value` as a message quotes it: at most `LONGEST` characters, read from the beginning only."""
    shape = getattr(value, "shape", None)  # a struct may have a method of this name
    if isinstance(shape, tuple) and shape:
        return f"array({size(shape)})"
    if shape == ():
        value = value.item()  # type: ignore[attr-defined]
    if value is None or isinstance(value, bool):
        return _JSON[value]
    if hasattr(value, "__struct_fields__"):
        return "{…}"
    if isinstance(value, str | list | tuple):
        value = value[:LONGEST]
    text = repr(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def listed(choices: Iterable[object]) -> str:
    """Choices as a message lists them: quoted, with commas."""
    return ", ".join(map(quoted, choices))


def verbatim(text: str) -> Message:
    """A message that is the same in every language: a name, a number, a sentence from elsewhere."""
    return Message(_VERBATIM, text=text)


def size(shape: Sequence[int]) -> Message:
    """A shape, as 3x4."""
    return verbatim("x".join(map(str, shape)))


def of_length(n: int) -> Message:
    """A list described by its length."""
    return Message("length {n:,}", n=n)


def twice(name: str) -> Message:
    """A duplicate member of a list."""
    return Message("{name} twice", name=quoted(name))


# --- errors ----------------------------------------------------------------------------------------


class MessageError(Exception):
    """Base of the errors that a user can cause; `message` contains the requirement and the value."""

    def __init__(self, message: Message | str) -> None:
        super().__init__(message)
        self.message = message if isinstance(message, Message) else verbatim(message)

    def __str__(self) -> str:
        return str(self.message)


class InputError(MessageError, ValueError):
    """Unusable input."""


class FieldError(InputError):
    """The field at `path` is `value`, which breaks its `requirement`: a predicate such as `must be even`.

    A value described rather than quoted, such as `3 rows`, is a `Message`.
    """

    def __init__(self, path: str, value: object, requirement: Message) -> None:
        self.path, self.value, self.requirement = path, value, requirement
        super().__init__(
            Message(
                "{field} {requirement}; got {value}.",
                field=FieldName(path),
                requirement=requirement,
                value=value if isinstance(value, Message) else quoted(value),
            )
        )

    def below(self, path: str) -> FieldError:
        """The same error for a field inside the part at `path`."""
        inner = self.path if self.path[:1] in ("", "[", ".") else f".{self.path}"
        return FieldError(f"{path}{inner}", self.value, self.requirement)


class UnknownName(FieldError, KeyError):
    """A site, a stage or a field that does not exist."""


NOTHING = Message("nothing")
"""The value of a missing field."""


def missing(path: str, requirement: Message) -> FieldError:
    """The error of a required field that is missing."""
    return FieldError(path, NOTHING, requirement)


def suffix_error(suffix: str, known: Iterable[str]) -> FieldError:
    """The error of a file name with none of the `known` suffixes."""
    return FieldError("suffix", suffix, among(known))


def about(where: object, problem: Message) -> Message:
    """A message prefixed with its subject, such as a file."""
    return Message("{where}: {problem}", where=where, problem=problem)


def message_of(error: BaseException) -> Message:
    """The message of an error from any source."""
    message: Any = getattr(error, "message", None)
    if isinstance(message, Message):
        return message
    if isinstance(error, OSError) and error.strerror:
        return Message(error.strerror)
    if isinstance(error, MemoryError) and not str(error):
        return Message("Not enough memory is free.")
    return verbatim(str(error) or type(error).__name__)
