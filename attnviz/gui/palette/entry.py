"""`Entry`: one line of the command palette."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A line of the palette: `run` does what `text` says.

    `key` names the entry for good, whatever the language. `kind` stands at its left, `shortcut` at its right.
    `words` are further texts that the search reads: the other language, an id, a description. Each term that
    a sentence holds `costs` points: the names of things come before it.
    """

    key: str
    text: str
    run: Callable[[], object]
    words: tuple[str, ...] = ()
    shortcut: str = ""
    kind: str = ""
    costs: int = 0
