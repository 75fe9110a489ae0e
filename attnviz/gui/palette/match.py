"""Search of the palette: entries whose words hold every term of the query, the closest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from attnviz.gui.palette.entry import Entry

OTHER_WORDS = 40
"""Points that a term loses where it is found in further words only, and not in the text that shows.

Letters that stand apart have no more: in a sentence nearly every word has its letters so.
"""

_LOOSEST = 3
"""Letters of a term may stand this many times further apart than in the term itself."""


class Found(NamedTuple):
    """An entry, its points, and the places of its text that the query named."""

    entry: Entry
    points: int
    places: frozenset[int]


def search(query: str, entries: Iterable[Entry]) -> list[Found]:
    """The entries that hold every term of `query`, by points; equal ones keep their order."""
    terms = query.casefold().split()
    matches = (_found(terms, entry) for entry in entries)
    return sorted((one for one in matches if one is not None), key=lambda one: -one.points)


def _found(terms: Sequence[str], entry: Entry) -> Found | None:
    points, places = 0, set[int]()
    for term in terms:
        shown = match(term, entry.text)
        hidden = max((scored(term, word) for word in entry.words), default=0) - OTHER_WORDS
        if shown is None and hidden <= 0:
            return None
        if shown is not None and shown[0] >= hidden:
            points, places = points + shown[0], places | set(shown[1])
        else:
            points += hidden
    return Found(entry, points - entry.costs * len(terms), frozenset(places))


def scored(term: str, text: str) -> int:
    """Points of a term in a text; 0 if the text does not hold it."""
    matched = match(term, text)
    return 0 if matched is None else matched[0]


def match(term: str, text: str) -> tuple[int, range | tuple[int, ...]] | None:
    """Points of a term in a text, and the places of its letters; None if the text does not hold it.

    Most for the whole text, then for its beginning, for that of a word, for any place, and last for letters
    that stand apart in the same order.
    """
    plain = text.casefold()
    at = _best_place(term, plain)
    if at >= 0:
        whole = 20 if term == plain else 0
        start = 20 if at == 0 else 10 if _begins_word(plain, at) else 0
        return 60 + whole + start - min(len(plain) - len(term), 9), range(at, at + len(term))
    places = _apart(term, plain)
    return None if places is None else (40 - min(places[-1] - places[0] - len(term), 9), places)


def _best_place(term: str, text: str) -> int:
    """Place of the term in the text: at the beginning of a word rather than inside one; −1 for nowhere."""
    at = first = text.find(term)
    while at >= 0 and not _begins_word(text, at):
        at = text.find(term, at + 1)
    return at if at >= 0 else first


def _begins_word(text: str, at: int) -> bool:
    return at == 0 or not text[at - 1].isalnum() or not text[at].isascii()


def _apart(term: str, text: str) -> tuple[int, ...] | None:
    """Places of the term's letters in their order, the first at the beginning of a word."""
    for start in range(len(text)):
        if text[start] != term[0] or not _begins_word(text, start):
            continue
        places = [start]
        for letter in term[1:]:
            at = text.find(letter, places[-1] + 1)
            if at < 0:
                return None
            places.append(at)
        if places[-1] - start < _LOOSEST * len(term):
            return tuple(places)
    return None
