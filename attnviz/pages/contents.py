"""The stages that a page holds, and their precision: all as they are where they fit.

A stage that repeats the numbers of another one, up to a factor and the blocked cells, is not stored: scaled
scores are scores times a factor, masked ones the same with −∞ where a mask blocks. Each repeat is compared
cell by cell before it is taken for one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.model.stages import STAGE_BY_ID, inputs
from attnviz.model.trace import SiteTrace, Trace

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
            repeat = _repeat(site, source, stage)
            if repeat is not None:
                return repeat
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


ROOM = 24 * 2**20
"""Bytes of numbers in a page before compression: they make a file of 30 MB at most."""
HALF = 2
"""Bytes of a number in half precision."""
MOST_TOKENS = 512
"""Columns of logits up to which a page has them."""


@dataclass(frozen=True)
class Content:
    """A stage of a site, `width` bytes each number; `repeat` names the stage that has its numbers."""

    site: SiteTrace
    stage: str
    width: int
    repeat: Repeat | None

    @property
    def name(self) -> tuple[str, str]:
        """Site and stage."""
        return self.site.name, self.stage

    @property
    def nbytes(self) -> int:
        """Bytes of its own numbers."""
        return 0 if self.repeat is not None else math.prod(self.site.shape(self.stage)) * self.width


def contents(trace: Trace, shown: str) -> dict[str, tuple[Content, ...]]:
    """The stages of each site of a trace, in data-flow order; `shown` names the selected site.

    All numbers are as they are if that fits into `ROOM`; else those of queries and keys are in half
    precision; else, besides the weights of the selected site, as many stages as fit: weights first, then
    those of the selected site, then those of heads, then the smaller ones.
    """
    stored = [content for name in trace.sites for content in _of_site(trace.site(name))]
    if not _fits(stored):
        stored = [_halved(content) for content in stored]
    kept = {one.name for one in stored} if _fits(stored) else _fitting(stored, shown)
    return {
        name: tuple(one for one in stored if one.site.name == name and one.name in kept)
        for name in trace.sites
    }


def _of_site(site: SiteTrace) -> list[Content]:
    return [
        Content(site, stage, site.window(stage).dtype.itemsize, repeat_of(site, stage))
        for stage in site.stages
        if not STAGE_BY_ID[stage].by_token
        and (STAGE_BY_ID[stage].axes[-1] != "vocabulary" or site.shape(stage)[-1] <= MOST_TOKENS)
    ]


def _fits(several: list[Content]) -> bool:
    return sum(content.nbytes for content in several) <= ROOM


def _halved(content: Content) -> Content:
    is_score = STAGE_BY_ID[content.stage].score_shaped
    return replace(content, width=HALF) if is_score else content


def _fitting(several: list[Content], shown: str) -> set[tuple[str, str]]:
    """Names of the contents that fit."""

    def rank(content: Content) -> tuple[bool, bool, bool, int]:
        is_of_heads = STAGE_BY_ID[content.stage].per_head
        is_map = content.stage == content.site.raw_map
        return not is_map, content.site.name != shown, not is_of_heads, content.nbytes

    kept: set[tuple[str, str]] = set()
    size = 0
    for content in sorted((one for one in several if one.repeat is None), key=rank):
        if content.name == (shown, content.site.raw_map) or size + content.nbytes <= ROOM:
            kept.add(content.name)
            size += content.nbytes
    for content in several:
        if content.repeat is not None and (content.site.name, content.repeat.stage) in kept:
            kept.add(content.name)
    return kept
