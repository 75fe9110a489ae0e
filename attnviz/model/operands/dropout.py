"""The factors of dropout: 0 of a dropped number, 1 or 1/(1 − p) of a kept one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dropout import PLACES, keep
from attnviz.model.spec.parts import Dropout
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell

Ints = NDArray[np.int64]


def survivor_factor(dropout: Dropout) -> float:
    """The factor of the kept numbers."""
    return 1.0 / (1.0 - dropout.p) if dropout.rescale else 1.0


def weight_factors(dropout: Dropout, heads: Ints, q_positions: Ints, k_positions: Ints) -> NDArray[Any]:
    """The factor of each weight of these heads (...): (..., q, k)."""
    survives = keep(dropout.seed, dropout.p, heads, q_positions, k_positions)
    return survives.astype(np.float64) * survivor_factor(dropout)


def feature_factors(dropout: Dropout, stage: str, positions: Ints, n_features: int) -> NDArray[Any]:
    """The factor of each number of a stage of `PLACES`, (token, feature)."""
    return weight_factors(dropout, np.array(PLACES[stage]), positions, np.arange(n_features))


def dropout_of(site: Site, stage: str) -> Dropout:
    """The dropout that makes a stage: that of the weights, or that of the block."""
    if stage == "dropped":
        return site.dropout
    assert site.block is not None
    return site.block.dropout


def factor_of(site: Site, cell: Cell) -> float:
    """The factor of one cell of a stage that dropout makes."""
    place = np.array(PLACES.get(cell.stage, cell.head))
    at = place, np.array([cell.row]), np.array([cell.column])
    return float(weight_factors(dropout_of(site, cell.stage), *at)[0, 0])
