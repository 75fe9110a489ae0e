"""The words of a control, bound once by `says`: they follow the language.

A widget whose texts depend on its state has a method `retranslate` besides; nobody need call it but `speak`.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from attnviz.errors import Message
from attnviz.i18n import _

Words = str | Callable[[], str]
"""A text marked by `N_`, a message with arguments, or what says a text in the present language.

A function must not hold the widget that says it: both would live as long as the program.
"""
Option = tuple[str, Words, Words]
"""One choice of several: id, label, tooltip."""

_Target = TypeVar("_Target", bound=QObject)
_LABELS = ("set_label", "set_title", "set_text", "setText", "setTitle", "setWindowTitle")
"""Methods that take the text of a control, in the order of preference."""


def in_words(words: Words) -> str:
    """The text in the present language."""
    if callable(words):
        return words()
    return words.text() if isinstance(words, Message) else _(words)


def composed(how: Callable[..., str], *words: Words) -> Words:
    """Words that `how` makes of others, each in the present language."""
    return lambda: how(*map(in_words, words))


def plain_tooltip(text: str) -> str:
    """`text` for `setToolTip`: markup in it shows literally and long text wraps."""
    return f"<qt>{html.escape(text)}</qt>" if text else ""


def _label(target: Any, words: Words) -> None:
    method = next(getattr(target, name) for name in _LABELS if hasattr(target, name))
    method(in_words(words))


def _name(target: Any, words: Words) -> None:
    target.setAccessibleName(in_words(words))


def _tip(target: Any, words: Words) -> None:
    text = in_words(words)
    if isinstance(target, QAction):
        target.setToolTip(text)
    elif hasattr(target, "set_tooltip"):  # a control shows why it is unavailable instead
        target.set_tooltip(text)
    else:
        target.setToolTip(plain_tooltip(text))


def _placeholder(target: Any, words: Words) -> None:
    target.setPlaceholderText(in_words(words))


def _options(target: Any, options: Iterable[Option]) -> None:
    target.set_options([(id_, in_words(label), in_words(tip)) for id_, label, tip in options])


_Say = Callable[[Any, Any], None]
_SAID: WeakKeyDictionary[QObject, dict[_Say, Any]] = WeakKeyDictionary()
"""The words of each control, by the function that says them. A label comes first: it sets a name as well."""


def says(
    target: _Target,
    label: Words = "",
    *,
    id: str = "",
    name: Words = "",
    tip: Words | bool = "",
    placeholder: Words = "",
    options: Iterable[Option] = (),
) -> _Target:
    """Bind the words of a control or an action, now and in every later language; returns the control.

    `id` is its object name, `name` its name for screen readers, where that is not its label. A `tip` that is
    True repeats the name. Words bound before stay, unless these replace them.
    """
    if id:
        target.setObjectName(id)
    given: dict[_Say, Any] = {_label: label, _name: name, _tip: name if tip is True else tip}
    given |= {_placeholder: placeholder, _options: tuple(options)}
    said = {say: words for say, words in given.items() if words}
    for say, words in said.items():
        say(target, words)
    _SAID.setdefault(target, {}).update(said)
    return target


def speak() -> None:
    """Say everything in the present language: the words bound by `says`, then what depends on a state."""
    for target, said in list(_SAID.items()):
        if isValid(target):
            for say, words in said.items():
                say(target, words)
    for widget in QApplication.topLevelWidgets():
        if widget.parent() is None:
            retranslate(widget)
    for widget in QApplication.allWidgets():
        widget.update()  # many paint words


def retranslate(root: QWidget) -> None:
    """Have each widget inside `root`, and last `root`, set the texts that depend on its state."""
    for widget in (*reversed(root.findChildren(QWidget)), root):
        if hasattr(widget, "retranslate") and isValid(widget):
            widget.retranslate()
