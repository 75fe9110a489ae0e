"""Floating-point operations of one site, from which those of a pass, a step or a whole decoding follow.

A multiplication and an addition count as two. Operations say what a stage costs (`Operation.flops`); here
they are counted for one token, and for one pair of a query and a key. Rotations, positions, QK norms, masks
and dropout are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.model.binding import bind
from attnviz.model.sites.stages import AXES, site_stages
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID, inputs, of_phase, result_of


@dataclass(frozen=True)
class SiteFlops:
    """FLOPs of one attention and its block for each kind of input.

    A token that passes through; one that keys and values are projected from; a latent that is read; a (query,
    key) pair, all heads together; a token with logits.
    """

    per_token: int
    per_projected: int
    per_read: int
    per_pair: int
    per_readout: int

    def of(self, tokens: int, projected: int, read: int, pairs: int, readouts: int) -> int:
        """All together."""
        return (
            tokens * self.per_token
            + projected * self.per_projected
            + read * self.per_read
            + pairs * self.per_pair
            + readouts * self.per_readout
        )


def site_flops(site: Site) -> SiteFlops:
    """The FLOPs of a site."""
    found = stage_flops(site)
    totals = dict.fromkeys(SiteFlops.__dataclass_fields__, 0)
    for stage, flops in found.items():
        totals[_counted(stage, tuple(found))] += flops
    return SiteFlops(**totals)


def around(site: Site) -> int:
    """FLOPs of one token in everything around a site's attention: norms, residuals, feed-forward layer."""
    found, beside = stage_flops(site), of_phase("input", "block", "read-out")
    per_token = (stage for stage in found if _counted(stage, tuple(found)) == "per_token")
    return sum(found[stage] for stage in per_token if stage in beside)


def stage_flops(site: Site) -> dict[str, int]:
    """FLOPs of every stage of a site for one token, or one query and one key."""
    stages = site_stages(site)
    return {
        stage: 0
        if _keeps_heads(stage, stages)
        else bind(site, stage).flops(
            _of_one(site, stage), *(_of_one(site, read) for read in inputs(stage, stages))
        )
        for stage in stages
    }


def _of_one(site: Site, stage: str) -> tuple[int, ...]:
    """The shape of a stage of one token."""
    tokens = ("token", "query", "key", "memory")
    axes = STAGE_BY_ID[stage].axes
    return tuple(1 if axis in tokens else AXES[axis].length(site, stage) for axis in axes)


def _keeps_heads(stage: str, stages: tuple[str, ...]) -> bool:
    """True for other forms of queries, keys and values: rotated, normalised, times a factor."""
    read = inputs(stage, stages)
    return stage in of_phase("heads") and bool(read) and all(STAGE_BY_ID[one].per_head for one in read)


def _counted(stage: str, stages: tuple[str, ...]) -> str:
    """The field of `SiteFlops` that counts a stage."""
    row, read = STAGE_BY_ID[stage], [STAGE_BY_ID[one] for one in inputs(stage, stages)]
    if row.score_shaped or any(one.score_shaped for one in read):
        return "per_pair"
    if row.axes[-2] in ("key", "memory"):
        is_expanded = row.per_head and any(one.phase == "heads" for one in read)
        return "per_read" if is_expanded else "per_projected"
    return "per_readout" if row.phase == "read-out" and stage != result_of(stages) else "per_token"
