"""The stages of a site, before anything is computed."""

from __future__ import annotations

from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID

Stages = tuple[str, ...]


def site_stages(site: Site) -> Stages:
    """Ids of all stages that a site computes, in the order of its trace."""
    numbers = {stage: number for number, stage in enumerate(STAGE_BY_ID)}
    places = []
    for stage, row in STAGE_BY_ID.items():
        if row.when(site):
            after = row.after(site)
            places.append((numbers[after or stage], bool(after), numbers[stage], stage))
    return tuple(stage for *_place, stage in sorted(places))


def map_of(present: Stages) -> str:
    """The stage that is the map: the coefficients with which the queries mix the values."""
    return _maps(present)[-1]


def raw_map_of(present: Stages) -> str:
    """The map as it is before a dropout or a difference: what panels open with and studies measure."""
    return _maps(present)[0]


def _maps(present: Stages) -> Stages:
    return tuple(stage for stage in present if STAGE_BY_ID[stage].phase == "weights")


def score_stages(site: Site) -> Stages:
    """Ids of the score-shaped stages that a site computes, in order."""
    return tuple(stage for stage, row in STAGE_BY_ID.items() if row.score_shaped and row.when(site))


def token_stages(site: Site) -> Stages:
    """Ids of the stages of a site whose heads have a matrix for each token."""
    return tuple(stage for stage, row in STAGE_BY_ID.items() if row.by_token and row.when(site))
