"""`HEAD_ORDERS`: the orders in which the heads of an attention are shown; the number stays the name."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.core.head_measures import mean_distance, mean_entropy, overlap
from attnviz.core.head_scores import HEAD_SCORES, HeadScore
from attnviz.core.matrix import taken
from attnviz.i18n import N_
from attnviz.model.trace import SiteTrace
from attnviz.study.heads.tiles import score_of

Rows = NDArray[np.int64]
Measure = Callable[[SiteTrace, Rows, int, int], float]
"""A number of one head: from the site, the rows that count, the head and the chosen head."""

MOST_CELLS = 1 << 18
"""Weights that are read for an order; of more, evenly spaced rows stand for all."""


@dataclass(frozen=True)
class HeadOrder:
    """One order. `unit` is a message with a field `{value}`; `falls` puts the largest number first."""

    id: str
    title: str
    hint: str
    measure: Measure | None = None
    unit: str = ""
    falls: bool = False


def _weights(site: SiteTrace, rows: Rows, head: int) -> NDArray[np.floating]:
    if len(rows) == site.experiment.n_queries:
        return taken(site.matrix(site.raw_map, head))  # of at most `MOST_CELLS`
    return np.concatenate([site.window(site.raw_map, head, slice(row, row + 1)) for row in rows.tolist()])


def _measure_of(score: HeadScore) -> Measure:
    """A score of the heads as their order; it needs all rows."""

    def measure(site: SiteTrace, rows: Rows, head: int, chosen: int) -> float:
        return score_of(site, head, score) if len(rows) == site.experiment.n_queries else math.nan

    return measure


HEAD_ORDERS: tuple[HeadOrder, ...] = (
    HeadOrder("number", N_("by number"), N_("Orders heads as the document numbers them")),
    HeadOrder(
        "entropy",
        N_("by entropy"),
        N_("Orders heads by the mean entropy of their rows, sharpest first"),
        lambda site, rows, head, chosen: mean_entropy(_weights(site, rows, head)),
        N_("{value} bit"),
    ),
    HeadOrder(
        "locality",
        N_("by locality"),
        N_("Orders heads by the mean distance between a query and its keys, nearest first"),
        lambda site, rows, head, chosen: mean_distance(_weights(site, rows, head), rows),
        N_("distance {value}"),
    ),
    HeadOrder(
        "similarity",
        N_("by similarity"),
        N_("Orders heads by their share of weight on the same cells as the selected head"),
        lambda site, rows, head, chosen: overlap(_weights(site, rows, head), _weights(site, rows, chosen)),
        N_("overlap {value}"),
        falls=True,
    ),
    *(
        HeadOrder(score.id, score.title, score.hint, _measure_of(score), N_("score {value}"), falls=True)
        for score in HEAD_SCORES
        if score.id not in ("entropy", "distance")  # in bits and in positions above
    ),
)
HEAD_ORDER_BY_ID = {row.id: row for row in HEAD_ORDERS}


def sampled_rows(site: SiteTrace) -> Rows:
    """The queries whose rows are read: all of them, or evenly spaced ones of a long run."""
    experiment = site.experiment
    most = max(MOST_CELLS // (experiment.heads.n_heads * experiment.n_keys), 1)
    if experiment.n_queries <= most:
        return np.arange(experiment.n_queries)
    return np.linspace(0, experiment.n_queries - 1, most).round().astype(np.int64)


def measured(site: SiteTrace, order: HeadOrder, chosen: int) -> tuple[float, ...]:
    """The number of every head; empty for an order without a measure. `chosen` is the selected head."""
    if order.measure is None:
        return ()
    rows = sampled_rows(site)
    return tuple(order.measure(site, rows, head, chosen) for head in range(site.experiment.heads.n_heads))


def ordered(values: tuple[float, ...], order: HeadOrder, n_heads: int) -> tuple[int, ...]:
    """The heads in an order; equal ones by number, those without a number last."""

    def key(head: int) -> tuple[bool, float, int]:
        value = values[head] if head < len(values) else 0.0
        return math.isnan(value), -value if order.falls else value, head

    return tuple(sorted(range(n_heads), key=key))
