"""Stages that repeat the numbers of another one, up to a factor and the blocked cells.

A page stores them once: scaled scores are scores times a factor, masked ones the same with −∞ where a mask
blocks. Each repeat is compared cell by cell before it is taken for one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.model.stages import STAGE_BY_ID, inputs
from attnviz.model.trace import SiteTrace

Floats = NDArray[Any]
ULPS = 2
"""Neighbours of the quotient of two numbers that may be the factor; the quotient is rounded."""


@dataclass(frozen=True)
class Repeat:
    """The numbers of `stage` times `factor` in its own precision; `blocked` where a mask blocks, if given."""

    stage: str
    factor: float
    blocked: float | None


def repeat_of(site: SiteTrace, stage: str) -> Repeat | None:
    """The stage that a score-shaped stage repeats in every head; None if it has numbers of its own."""
    for source in inputs(stage, site.stages):
        if STAGE_BY_ID[stage].score_shaped and STAGE_BY_ID[source].axes == STAGE_BY_ID[stage].axes:
            found = _repeat(site, source, stage)
            if found is not None:
                return found
    return None


def _repeat(site: SiteTrace, source: str, stage: str) -> Repeat | None:
    hidden = site.hatched(stage)
    kept = np.True_ if hidden is None else ~hidden
    factor = blocked = None
    for head in range(site.shape(stage)[0]):
        before, after = site.window(source, head), site.window(stage, head)
        if hidden is not None and hidden.any():
            blocked = float(after[hidden][0]) if blocked is None else blocked
            if not _are_equal(after[hidden], after.dtype.type(blocked)):
                return None
        visible, wanted = (before[kept], after[kept]) if hidden is not None else (before, after)
        factor = _factor(visible, wanted) if factor is None else factor
        if factor is None or not _are_equal(_times(visible, factor), wanted):
            return None
    return None if factor is None else Repeat(source, factor, blocked)


def _times(values: Floats, factor: float) -> Floats:
    """The product in the precision of the values, as the page computes it."""
    with np.errstate(over="ignore", invalid="ignore"):
        return values if factor == 1.0 else values * values.dtype.type(factor)


def _factor(before: Floats, after: Floats) -> float | None:
    """The factor between the largest number and its product; None without a number to tell it by."""
    size = np.where(np.isfinite(before) & np.isfinite(after), np.abs(before), 0)
    at = int(np.argmax(size)) if size.size else 0
    if not size.size or size.ravel()[at] == 0:
        return None
    near = after.dtype.type(float(after.ravel()[at]) / float(before.ravel()[at]))
    below = above = near
    tried = [near]
    for _step in range(ULPS):
        below, above = (
            np.nextafter(below, -math.inf, dtype=near.dtype),
            np.nextafter(above, math.inf, dtype=near.dtype),
        )
        tried += [below, above]
    # 1 first: an equal stage is equal, not a product.
    for candidate in (near.dtype.type(1), *tried):
        if _are_equal(_times(before, float(candidate)), after):
            return float(candidate)
    return None


def _are_equal(left: Floats, right: Any) -> bool:
    return bool(np.array_equal(left, np.broadcast_to(right, left.shape), equal_nan=True))
