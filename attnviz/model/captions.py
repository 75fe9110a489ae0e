"""The caption of a document: a sentence whose words may refer to tokens, as `[she] attends to [Lily](key)`.

`[word]` names the query of that token, `[word](key)` its key, `[word](query 3)` the token at a position, and
`[word](key Tom)` another token than the word. A word may be a control, as `[he](type)` (see `controls.py`). A
backslash keeps a bracket. Everything else is plain text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from attnviz.errors import InputError, Message, quoted
from attnviz.model.controls import CONTROLS, TARGET, Control, control_of

Axis = Literal["query", "key"]

_LINK = re.compile(
    r"\\(?P<kept>[\[\]\\])"
    r"|\[(?P<word>(?:[^\[\]]|\[[^\[\]]*\])+)\]"
    r"(?:\((?P<axis>query|key)(?: (?P<token>[^()]*[^() ]))?\)"
    rf"|\((?P<control>{TARGET})\))?"
)
_TARGET = re.compile(r"\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_SPACES = " \u2581\u0120"
"""A space, and the signs that vocabularies write for it."""


@dataclass(frozen=True)
class Anchor:
    """A token that a word refers to: along the query or the key axis, by its text or by its position."""

    axis: Axis
    token: str
    position: int | None = None

    def position_in(self, tokens: Sequence[str]) -> int | None:
        """Position of the token among `tokens`; None without it.

        Of several equal tokens, the last is the query and the first the key. A word of several tokens has the
        position of its last one.
        """
        if self.position is not None:
            return self.position if self.position < len(tokens) else None
        starts = range(len(tokens))
        for start in reversed(starts) if self.axis == "query" else starts:
            end = self._end_of_word(tokens, start)
            if end is not None:
                return end
        return None

    def live_in(self, tokens: Sequence[str], written: Sequence[str]) -> int | None:
        """Position of the token named in the text `written`; None if `tokens` lack it there."""
        now = self.position_in(tokens)
        if now is None or self.position is None or now >= len(written):
            return now
        return now if tokens[now] == written[now] else None

    def has_lost(self, tokens: Sequence[str], written: Sequence[str], typed: Sequence[str] = ()) -> bool:
        """True if the anchor names a token of the text `written` that `tokens` no longer have.

        A word that the caption itself offers to type, one of `typed`, may stand in its place.
        """
        before = self.position_in(written)
        if before is None or self.live_in(tokens, written) is not None:
            return False
        there = tokens[before].strip(_SPACES) if before < len(tokens) else ""
        return not there or not any(word.startswith(there) for word in typed)

    def _end_of_word(self, tokens: Sequence[str], start: int) -> int | None:
        """Position of the last token of the word, if it begins at `start`."""
        read = ""
        for index in range(start, len(tokens)):
            read += tokens[index] if read else tokens[index].lstrip(_SPACES)
            if read.rstrip(_SPACES) == self.token:
                return index
            if not self.token.startswith(read):
                return None
        return None


@dataclass(frozen=True)
class Piece:
    """Some text of a caption, and the token that it refers to, or the control that it is."""

    text: str
    anchor: Anchor | None = None
    control: Control | None = None


def pieces(caption: str) -> tuple[Piece, ...]:
    """The caption as its pieces of text, in order. Raises `InputError` for a wrong control."""
    parts: list[Piece] = []
    plain, end = "", 0
    for link in _LINK.finditer(caption):
        plain += caption[end : link.start()] + (link["kept"] or "")
        end = link.end()
        if link["kept"] is None:
            parts += [Piece(plain)] if plain else []
            parts.append(_linked(link))
            plain = ""
    plain += caption[end:]
    return (*parts, Piece(plain)) if plain else tuple(parts)


def check_links(caption: str) -> None:
    """Raise `InputError` for a word whose target is neither a token nor a control.

    A caption that is read keeps such a target as plain text; one that is written has mistyped it.
    """
    for link in _LINK.finditer(caption):
        stray = _TARGET.match(caption, link.end())
        if stray is not None and link["word"] is not None and caption[link.end() - 1] == "]":
            raise InputError(
                Message(
                    "The link of {word} must be query, key or one of the controls {controls}; got {target}.",
                    word=quoted(link["word"]),
                    controls=", ".join(CONTROLS),
                    target=quoted(stray[1]),
                )
            )


def plain_caption(caption: str) -> str:
    """The caption without its marks."""
    return "".join(piece.text for piece in pieces(caption))


def _linked(link: re.Match[str]) -> Piece:
    if link["control"] is not None:
        return Piece(link["word"], control=control_of(link["control"], link["word"]))
    return Piece(link["word"], _anchor(link["word"], link["axis"], link["token"]))


def _anchor(word: str, axis: str | None, token: str | None) -> Anchor:
    which: Axis = "key" if axis == "key" else "query"
    if token is not None and token.isdecimal() and len(token) < 10:
        return Anchor(which, word, int(token))
    return Anchor(which, token or word)
