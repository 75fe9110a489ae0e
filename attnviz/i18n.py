"""Translated messages: one gettext function for core, figures, CLI and window.

`_` translates at the moment it is called, so a text shown again after `set_language` is in the new language.
English messages are their own keys; `resources/i18n` holds one catalogue for each other language. Standard
library only.
"""

from __future__ import annotations

import gettext as _gettext
import locale
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache

from attnviz import resources

DOMAIN = "attnviz"


@dataclass(frozen=True)
class Language:
    """A supported language: its locale code and its native name."""

    code: str
    own_name: str


LANGUAGES = (Language("en", "English"), Language("zh_CN", "简体中文"))


def system_language() -> str:
    """The code of the first of `LANGUAGES` that the user's locale requests, else `en`.

    Reads LANGUAGE, LC_ALL, LC_MESSAGES and LANG in gettext's order, then what the operating system reports.
    """
    wanted = os.environ.get("LANGUAGE", "").split(":")
    wanted += [os.environ.get(name, "") for name in ("LC_ALL", "LC_MESSAGES", "LANG")]
    wanted.append(locale.getlocale()[0] or "")
    first = next((name for name in wanted if name), "en")
    # Windows spells it "Chinese (Simplified)_China". Script and region are ignored: one Chinese is better
    # than none.
    return "zh_CN" if first.lower().startswith(("zh", "chinese")) else "en"


@cache
def _load(code: str) -> _gettext.NullTranslations:
    if code == "en":
        return _gettext.NullTranslations()
    return _gettext.translation(DOMAIN, resources.path("i18n"), languages=[code])


_active: tuple[str, _gettext.NullTranslations] | None = None


_here: ContextVar[tuple[str, _gettext.NullTranslations] | None] = ContextVar("language", default=None)
"""The language of a part of the program, such as a page that has all of them; None for the active one."""


@contextmanager
def language(code: str) -> Iterator[None]:
    """Make `code` the language of every `_` inside, in this thread alone."""
    token = _here.set((code, _load(code)))
    try:
        yield
    finally:
        _here.reset(token)


def _current() -> tuple[str, _gettext.NullTranslations]:
    global _active
    here = _here.get()
    if here is not None:
        return here
    if _active is None:
        code = system_language()
        _active = code, _load(code)
    return _active


def current_language() -> str:
    """The code of the active language; the system's until `set_language` was called."""
    return _current()[0]


def set_language(code: str) -> None:
    """Make `code` the language of every later `_`.

    Raises:
        ValueError: `code` is none of `LANGUAGES`.
    """
    global _active
    codes = [language.code for language in LANGUAGES]
    if code not in codes:
        raise ValueError(f"language must be one of {', '.join(codes)}; got {code!r}.")
    _active = code, _load(code)


def _(message: str) -> str:
    """Translate `message` into the active language; unknown messages are returned unchanged."""
    # The empty message is the key of the catalogue's header.
    return _current()[1].gettext(message) if message else ""


@cache
def in_every_language(message: str) -> tuple[str, ...]:
    """The message in each of `LANGUAGES`, in their order: a search finds it by any of them."""
    return tuple(_load(language.code).gettext(message) for language in LANGUAGES) if message else ()


def N_(message: str) -> str:
    """Mark `message` for extraction where it is stored; translate it with `_` where it is shown."""
    return message


def ngettext(singular: str, plural: str, n: int) -> str:
    """The form of the message for `n` things in the active language; fill `{n}` with `str.format`."""
    return _current()[1].ngettext(singular, plural, n)
