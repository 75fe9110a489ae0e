"""Tokens that two attentions share: a token is the same wherever it is attended to.

Two sequences exist: the memory, which encoder layers read and cross-attentions read keys from, and the
tokens, which all others read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from attnviz.model.spec.site import Place

Sequence = Literal["tokens", "memory"]
Places = frozenset[int]


def query_sequence(place: Place) -> Sequence:
    """The sequence along the query axis of a site."""
    return "memory" if place.stack == "encoder" else "tokens"


def key_sequence(place: Place) -> Sequence:
    """The sequence along the key axis of a site."""
    return "memory" if place.stack == "encoder" or place.kind == "cross" else "tokens"


def tokens_in(sequence: Sequence, source: Place, queries: Iterable[int], keys: Iterable[int]) -> Places:
    """The tokens of a sequence at the `queries` and `keys` of a site."""
    tokens = set(queries) if query_sequence(source) == sequence else set()
    return frozenset(tokens | set(keys) if key_sequence(source) == sequence else tokens)


def same_tokens(
    source: Place, queries: Iterable[int], keys: Iterable[int], target: Place
) -> tuple[Places, Places]:
    """(queries, keys) of the site `target` that are the tokens at `queries` and `keys` of `source`.

    Between two self-attentions of one sequence a query stays a query and a key a key; otherwise a token has
    every role it has there.
    """
    asking, offered = query_sequence(target), key_sequence(target)
    if asking != offered:
        return tokens_in(asking, source, queries, keys), tokens_in(offered, source, queries, keys)
    rows = frozenset(queries) if query_sequence(source) == asking else frozenset()
    columns = frozenset(keys) if key_sequence(source) == offered else frozenset()
    return rows or columns, columns or rows
