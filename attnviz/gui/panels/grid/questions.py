"""The four questions of the grid of heads, each with the function that a worker answers it by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnviz.core.progress import Progress
from attnviz.model.trace import Trace
from attnviz.study.heads.search import Found, Wanted
from attnviz.study.heads.search import search as search_in
from attnviz.study.heads.tiles import Facts, Tile, facts_of
from attnviz.study.heads.tiles import tiles as tiles_of

if TYPE_CHECKING:
    from attnviz.study.ablation import Effects


@dataclass(frozen=True, eq=False)
class TilesAsked:
    """The heads of one attention, at a stage, with at most `side` cells along a side.

    `with_facts`: the frames show a score of each head.
    """

    trace: Trace
    site: str
    stage: str
    side: int
    with_facts: bool


def tiles(asked: TilesAsked, check: Progress) -> tuple[Tile, ...]:
    """The tiles of the heads."""
    return tiles_of(asked.trace.site(asked.site), asked.stage, asked.side, asked.with_facts)


@dataclass(frozen=True)
class FactsAsked:
    """The facts of one head."""

    trace: Trace
    site: str
    head: int


def facts(asked: FactsAsked, check: Progress) -> Facts:
    """The scores of the head, and the key that it attends to most."""
    return facts_of(asked.trace.site(asked.site), asked.head)


@dataclass(frozen=True)
class SearchAsked:
    """A search through all heads of a run."""

    trace: Trace
    wanted: Wanted


def search(asked: SearchAsked, check: Progress) -> tuple[Found, ...]:
    """The greatest weight of each head at the wanted places."""
    hits = list[Found]()
    for name in asked.trace.sites:
        check()
        hits += search_in(asked.trace.site(name), asked.wanted)
    return tuple(hits)


@dataclass(frozen=True)
class EffectsAsked:
    """The effect of each head's ablation on a logit; an empty token is the most probable next one."""

    trace: Trace
    token: str
    by: str


def effects(asked: EffectsAsked, check: Progress) -> Effects:
    """The change of the logit without each head."""
    from attnviz.study.ablation import ablate
    from attnviz.study.target import Target, likeliest

    trace = asked.trace
    target = Target(asked.token or likeliest(trace.site(trace.sites[-1])))
    engine, device = trace.engine, trace.device
    return ablate(trace.experiment, target, "heads", asked.by, engine=engine, device=device, check=check)
