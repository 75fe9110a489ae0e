"""Search for heads: how strongly each of them lets one word attend to another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnviz.core.matrix import cells
from attnviz.core.text import visible
from attnviz.model.trace import SiteTrace

_ARROW = re.compile(r"\s*(?:→|->|>|\s)\s*")
_SPACE = visible(" ")


@dataclass(frozen=True)
class Wanted:
    """A query and a key, as they are typed; without a query, any query will do."""

    query: str
    key: str


@dataclass(frozen=True)
class Found:
    """The greatest weight that a head gives from a wanted query to a wanted key, and where."""

    site: str
    head: int
    query: int
    key: int
    weight: float


def wanted(text: str) -> Wanted | None:
    """Query and key of a line: "she → Lily", "she Lily", or a key alone; None for an empty line."""
    words = [word for word in _ARROW.split(text.strip()) if word]
    if not words:
        return None
    return Wanted(words[0] if len(words) > 1 else "", words[-1])


def positions(labels: Sequence[str], word: str) -> list[int]:
    """The tokens that are a word, spaces and case aside; if none is, those that begin with it.

    An empty word is every token.
    """
    plain = [_plain(label) for label in labels]
    sought = _plain(word)
    exact = [index for index, label in enumerate(plain) if label == sought]
    return exact or [index for index, label in enumerate(plain) if label.startswith(sought)]


def search(site: SiteTrace, sought: Wanted) -> tuple[Found, ...]:
    """The greatest weight of each head at the wanted places; empty if the text has no such tokens."""
    queries = positions(site.names("query"), sought.query) if sought.query else None
    keys = positions(site.names("key"), sought.key)
    if not keys or queries == []:
        return ()
    n_heads, n_queries, _n_keys = site.shape(site.raw_map)
    rows = range(n_queries) if queries is None else queries
    return tuple(_greatest(site, head, rows, keys) for head in range(n_heads))


def _greatest(site: SiteTrace, head: int, rows: Sequence[int], keys: list[int]) -> Found:
    weights = cells(site.matrix(site.raw_map, head, keep=False), *np.ix_(rows, keys))
    at, key = np.unravel_index(int(np.argmax(np.nan_to_num(weights, nan=-1.0))), weights.shape)
    return Found(site.name, head, rows[int(at)], keys[int(key)], float(weights[at, key]))


def _plain(label: str) -> str:
    """A token without the spaces around it, in lower case."""
    return label.replace(_SPACE, " ").strip().casefold()
