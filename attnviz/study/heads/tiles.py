"""The heads of a run as small matrices: one tile for each head of each attention."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from attnviz.core.head_scores import HEAD_SCORES, Head, HeadScore, Repeats
from attnviz.core.matrix import AnyMatrix, column_means
from attnviz.core.overview import overview
from attnviz.core.text import visible
from attnviz.model.sites.sites import places
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Place
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Look:
    """The key that gets most of a head's weight, and its mean weight over the queries."""

    key: str
    position: int
    weight: float


@dataclass(frozen=True, eq=False)
class Facts:
    """Scores of one head, and the key that it attends to most.

    `scores` are those of `HEAD_SCORES`, by id; NaN where one has no meaning.
    """

    scores: dict[str, float]
    look: Look | None


@dataclass(frozen=True, eq=False)
class Tile:
    """One head of one attention, (rows, columns), reduced to at most the requested side.

    Each block of cells is its value furthest from zero (`core.overview`), so that single bright cells
    survive. `facts` are None where they were not requested: they take most of the time.
    """

    site: str
    head: int
    values: NDArray[np.floating]
    hidden: Bools | None
    shape: tuple[int, int]
    facts: Facts | None = None


@dataclass(frozen=True)
class Group:
    """The attentions of one kind, in the order of their layers: one grid."""

    stack: str
    kind: str
    places: tuple[Place, ...]


def groups(experiment: Experiment) -> tuple[Group, ...]:
    """The attentions of an experiment, one group for each stack and kind."""
    by_kind: dict[tuple[str, str], list[Place]] = {}
    for place in places(experiment):
        by_kind.setdefault((place.stack, place.kind), []).append(place)
    return tuple(Group(stack, kind, tuple(own)) for (stack, kind), own in by_kind.items())


def grid_stage(site: SiteTrace, wanted: str) -> str:
    """The stage that a grid shows: `wanted` if it is one of queries and keys, else the weights."""
    return wanted if wanted in site.stages and STAGE_BY_ID[wanted].score_shaped else site.raw_map


def tiles(site: SiteTrace, stage: str, side: int, with_facts: bool = False) -> tuple[Tile, ...]:
    """One tile for each head of a stage of queries and keys, from the numbers of the run."""
    return tuple(_tile(site, stage, head, side, with_facts) for head in range(site.shape(stage)[0]))


def _tile(site: SiteTrace, stage: str, head: int, side: int, with_facts: bool) -> Tile:
    values = site.matrix(stage, head, keep=False)
    small, hidden = overview(values, site.hatched(stage, head), side)
    facts = facts_of(site, head) if with_facts else None
    n_rows, n_columns = site.shape(stage)[-2:]
    return Tile(site.name, head, small, hidden, (n_rows, n_columns), facts)


def facts_of(site: SiteTrace, head: int) -> Facts:
    """The scores of one head, and the key that it attends to most."""
    weights = site.matrix(site.raw_map, head, keep=False)
    measured = _measured(site, head, weights)
    return Facts({row.id: _score(site, measured, row) for row in HEAD_SCORES}, _look(site, weights))


def score_of(site: SiteTrace, head: int, score: HeadScore) -> float:
    """One score of one head; NaN where it has no meaning."""
    return _score(site, _measured(site, head, site.matrix(site.raw_map, head, keep=False)), score)


def _measured(site: SiteTrace, head: int, weights: AnyMatrix) -> Head:
    return Head(weights, site.unseen(head), _repeats(site.labels("key")), site.experiment.references)


def _score(site: SiteTrace, head: Head, score: HeadScore) -> float:
    has_own_keys = site.experiment.memory is None
    return score.of(head) if has_own_keys or not score.needs_own_keys else float("nan")


@lru_cache(maxsize=4)
def _repeats(tokens: tuple[str, ...]) -> Repeats:
    """The repeats of a text, which all its heads share."""
    numbers: dict[str, int] = {}
    return Repeats(np.array([numbers.setdefault(token, len(numbers)) for token in tokens]))


def _look(site: SiteTrace, weights: AnyMatrix) -> Look | None:
    """None if some weight is not a number."""
    means = column_means(weights, np.float64)
    if not means.size or not np.isfinite(means).all():
        return None
    at = int(np.argmax(means))
    return Look(visible(site.names("key")[at]), at, float(means[at]))
