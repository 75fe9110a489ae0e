"""Scores of a head: how its weights are spread, and where they go, as numbers from 0 to 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.entropy import entropy_bits
from attnviz.i18n import N_

Weights = NDArray[np.floating]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class HeadScore:
    """One score. `title` and `hint` (one sentence) are messages.

    `of(weights, blocked)` is the score of one head, (query, key), from 0 to 1; NaN where it has no meaning.
    `needs_own_keys`: it compares positions of queries and keys, so they must be the same tokens.
    """

    id: str
    title: str
    hint: str
    of: Callable[[Weights, Bools | None], float]
    needs_own_keys: bool = False


def spread(weights: Weights, blocked: Bools | None) -> float:
    """Mean over the queries of H ÷ log₂ n, with n visible keys and the entropy H of the row in bits.

    0 if every query attends to one key, 1 if all keys get the same weight. Queries with less than two keys do
    not count. Shannon 1948.
    """
    n_visible = np.full(len(weights), weights.shape[1]) if blocked is None else (~blocked).sum(axis=1)
    counted = n_visible > 1
    if not counted.any():
        return float("nan")
    shares = entropy_bits(weights[counted]) / np.log2(n_visible[counted])
    return _mean(np.minimum(shares, 1.0))


def on_previous(weights: Weights, blocked: Bools | None) -> float:
    """Mean weight of key i − 1 over the queries i ≥ 1: 1 for a head that copies the previous token.

    "Previous token head": Elhage et al. 2021, A Mathematical Framework for Transformer Circuits.
    """
    return _mean(np.diagonal(weights, -1))


def on_first(weights: Weights, blocked: Bools | None) -> float:
    """Mean weight of the first key over the queries i ≥ 1: 1 for a head that rests on the first token.

    "Attention sink": Xiao et al. 2024.
    """
    return _mean(weights[1:, :1])


def _mean(values: NDArray[Any]) -> float:
    """Mean of all numbers; NaN of none."""
    return float(np.mean(values, dtype=np.float64)) if values.size else float("nan")


HEAD_SCORES: tuple[HeadScore, ...] = (
    HeadScore(
        "previous", N_("previous token"), N_("Mean weight of the token before the query"), on_previous, True
    ),
    HeadScore("first", N_("first token"), N_("Mean weight of the first key: an attention sink"), on_first),
    HeadScore(
        "entropy", N_("entropy"), N_("Entropy of the weights as a share of the greatest possible one"), spread
    ),
)

HEAD_SCORE_BY_ID = {row.id: row for row in HEAD_SCORES}
