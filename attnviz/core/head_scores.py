"""Scores of a head: how its weights are spread, and where they go, as numbers from 0 to 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.head_measures import entropy_bits
from attnviz.core.matrix import AnyMatrix, by_rows, cells, windows
from attnviz.i18n import N_

Weights = AnyMatrix
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


class Repeats:
    """The positions at which tokens of a text recur; computed once for all heads.

    `tokens` has a number for each token, equal ones for equal tokens.
    """

    def __init__(self, tokens: Ints) -> None:
        same = np.tril(tokens[:, None] == tokens, -1)
        after = np.zeros_like(same)
        after[:, 1:] = same[:, :-1]
        self.same = np.nonzero(same)
        """Cells (query, key) with an earlier key of the query's token, as two arrays of indices."""
        self.after = np.nonzero(np.tril(after, -1))
        """Cells with the key after such a key; the query itself does not count."""


@dataclass(frozen=True, eq=False)
class Head:
    """One head: its weights (query, key), the blocked cells or None, and the repeats of its keys' tokens.

    `references` are the cells (query, key) of a pronoun and a token of the name that it refers to, each once.
    """

    weights: Weights
    blocked: Bools | None
    repeats: Repeats
    references: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class HeadScore:
    """One score. `title` and `hint` (one sentence) are messages.

    `of(head)` is a number from 0 to 1; NaN where it has no meaning. `needs_own_keys`: it compares positions
    of queries and keys, so they must be the same tokens. `needs_references`: it is of labels, which a
    document may have and a text alone has not.
    """

    id: str
    title: str
    hint: str
    of: Callable[[Head], float]
    needs_own_keys: bool = False
    needs_references: bool = False


def spread(head: Head) -> float:
    """Mean over the queries of H ÷ log₂ n, with n visible keys and the entropy H of the row in bits.

    0 if every query attends to one key, 1 if all keys get the same weight. Queries with less than two keys do
    not count. Shannon 1948.
    """
    weights, blocked = head.weights, head.blocked
    n_visible = np.full(len(weights), weights.shape[1]) if blocked is None else (~blocked).sum(axis=1)
    counted = n_visible > 1
    if not counted.any():
        return float("nan")
    shares = by_rows(entropy_bits, weights)[counted] / np.log2(n_visible[counted])
    return _mean(np.minimum(shares, 1.0))


def on_previous(head: Head) -> float:
    """Mean weight of key i − 1 over the queries i ≥ 1: 1 for a head that copies the previous token.

    "Previous token head": Elhage et al. 2021, A Mathematical Framework for Transformer Circuits.
    """
    return _mean(_diagonal(head.weights, -1))


def on_first(head: Head) -> float:
    """Mean weight of the first key over the queries i ≥ 1: 1 for a head that rests on the first token.

    "Attention sink": Xiao et al. 2024.
    """
    return _mean(by_rows(lambda rows: rows[:, :1], head.weights)[1:])


def on_same(head: Head) -> float:
    """Mean weight on all earlier occurrences of the query's token, over the queries whose token has any.

    "Duplicate token head": Wang et al. 2022, Interpretability in the Wild.
    """
    return _on(head.weights, head.repeats.same)


def on_next_of_same(head: Head) -> float:
    """Mean weight on the keys after earlier occurrences, over the queries whose token has any.

    "Induction head": Olsson et al. 2022, In-context Learning and Induction Heads.
    """
    return _on(head.weights, head.repeats.after)


def on_name(head: Head) -> float:
    """Mean over the pronouns p of Σ_j w_pj, over the tokens j of the name that p refers to.

    A name of several tokens, or one that occurs several times, counts with all tokens that have a label: 1
    for a head that attends from each pronoun to its name alone. The heads of Clark et al. 2019, What Does
    BERT Look At?, section 4.3; theirs is the share of mentions that attend most to an antecedent, this is
    the weight itself.
    """
    pronouns, names = np.array(head.references, np.int64).reshape(-1, 2).T
    return _on(head.weights, (pronouns, names))


NEAR = 2
"""Keys at most this far from the query are near."""


def on_near(head: Head) -> float:
    """Mean weight of the keys at most `NEAR` positions from the query, itself included, from query 3 on.

    Earlier queries of a causal text see no others.
    """
    weights, n = head.weights, len(head.weights)
    bands = [_diagonal(weights, by)[NEAR + 1 + min(by, 0) :] for by in range(-NEAR, NEAR + 1)]
    total = sum(float(np.sum(band, dtype=np.float64)) for band in bands)
    return total / (n - NEAR - 1) if n > NEAR + 1 else float("nan")


def distance(head: Head) -> float:
    """Mean over the queries of Σ_j w_ij |i − j| ÷ max_j |i − j|, over the visible keys j.

    0 if every query attends to its own token, 1 if each attends to the furthest key that it sees. Queries
    that see no other token do not count. "Mean attention distance": Vig and Belinkov 2019, here as a share.
    """
    weights, blocked = head.weights, head.blocked
    apart = _apart(*weights.shape)
    furthest = (apart if blocked is None else np.where(blocked, 0.0, apart)).max(axis=1)
    counted = furthest > 0
    means = [(part * apart[rows]).sum(axis=1, dtype=np.float64) for rows, part in windows(weights)]
    return _mean(np.concatenate(means)[counted] / furthest[counted])


def _diagonal(weights: Weights, by: int) -> NDArray[Any]:
    """The weights of the keys at i + `by`."""
    if isinstance(weights, np.ndarray):
        return np.diagonal(weights, by)
    n_rows, n_keys = weights.shape
    rows = np.arange(max(0, -by), min(n_rows, n_keys - by))
    return cells(weights, rows, rows + by)


@lru_cache(maxsize=2)
def _apart(n_queries: int, n_keys: int) -> NDArray[np.float64]:
    """|i − j| of each cell, which all heads of a text share."""
    apart = np.abs(np.arange(float(n_queries))[:, None] - np.arange(float(n_keys)))
    apart.setflags(write=False)
    return apart


def _on(weights: Weights, places: tuple[Ints, ...]) -> float:
    """Mean over the rows with such cells of their weight on them; NaN without."""
    rows, columns = places
    n_rows = len(np.unique(rows))
    return float(np.sum(cells(weights, rows, columns), dtype=np.float64)) / n_rows if n_rows else float("nan")


def _mean(values: NDArray[Any]) -> float:
    """Mean of all numbers; NaN of none."""
    return float(np.mean(values, dtype=np.float64)) if values.size else float("nan")


HEAD_SCORES: tuple[HeadScore, ...] = (
    HeadScore(
        "previous", N_("previous token"), N_("Mean weight of the token before the query"), on_previous, True
    ),
    HeadScore(
        "same", N_("same token"), N_("Mean weight of earlier occurrences of the query's token"), on_same, True
    ),
    HeadScore(
        "induction",
        N_("induction"),
        N_("Mean weight of the tokens that followed earlier occurrences of the query's token"),
        on_next_of_same,
        True,
    ),
    HeadScore(
        "reference",
        N_("pronoun → name"),
        N_("Mean weight of the name to which a pronoun refers"),
        on_name,
        True,
        True,
    ),
    HeadScore(
        "near", N_("near tokens"), N_("Mean weight of the keys at most two positions away"), on_near, True
    ),
    HeadScore("first", N_("first token"), N_("Mean weight of the first key: an attention sink"), on_first),
    HeadScore(
        "distance",
        N_("distance"),
        N_("Mean distance of the attended keys as a share of the greatest possible one"),
        distance,
        True,
    ),
    HeadScore(
        "entropy", N_("entropy"), N_("Entropy of the weights as a share of the greatest possible one"), spread
    ),
)

HEAD_SCORE_BY_ID = {row.id: row for row in HEAD_SCORES}

SCORES_OF_TEXT = tuple(row for row in HEAD_SCORES if not row.needs_references)
"""Scores that need nothing but a text."""
