"""The stages that a page holds, and their precision: all as they are where they fit."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace, Trace
from attnviz.pages.repeats import Repeat, repeat_of

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
    found = [content for name in trace.sites for content in _of_site(trace.site(name))]
    if not _fits(found):
        found = [_halved(content) for content in found]
    kept = {one.name for one in found} if _fits(found) else _fitting(found, shown)
    return {
        name: tuple(one for one in found if one.site.name == name and one.name in kept)
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
