"""The mean of the heads: for each query and key, the mean of their weights."""

from __future__ import annotations

import numpy as np

from attnviz.core.levels import Ends, levels
from attnviz.model.links import LINED
from attnviz.model.ranges import range_ends
from attnviz.model.spec.view import View
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace

MOST_CELLS = 1 << 24
"""Weights of all heads together up to which their mean is offered: the window's thread may compute it."""


def has_mean(site: SiteTrace, stage: str) -> bool:
    """True for the weights of several heads, if these are values."""
    is_shared = stage in LINED and site.has_shares(stage)
    return is_shared and 1 < site.shape(stage)[0] and int(np.prod(site.shape(stage))) <= MOST_CELLS


def shows_mean(site: SiteTrace, view: View, stage: str) -> bool:
    """True if the view draws the mean of the heads of a stage."""
    return view.picture == "mean" and has_mean(site, stage)


def mean_ends(site: SiteTrace, stage: str, range_id: str) -> Ends:
    """The ends of the colours of the mean; those of all heads for "global", so that both can be compared."""
    if range_id == "global":
        return range_ends(site, stage, range_id, ())
    row = STAGE_BY_ID[stage]
    return levels(site.mean(stage), range_id, row.signed, site.hatched(stage), row.token_axis)


def largest_head(site: SiteTrace, stage: str, row: int, column: int) -> int:
    """The head with the largest number in a cell: the first of equal ones."""
    cell = slice(row, row + 1), slice(column, column + 1)
    values = [float(site.window(stage, head, *cell)[0, 0]) for head in range(site.shape(stage)[0])]
    return int(np.argmax(np.nan_to_num(values)))
