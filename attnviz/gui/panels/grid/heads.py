"""The places of the heads of a run in the grid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from attnviz.gui.panels.grid.canvas import Place
from attnviz.gui.panels.grid.layout import Block
from attnviz.i18n import N_, _
from attnviz.model.trace import Trace
from attnviz.study.heads.tiles import groups

One = TypeVar("One")

GROUP_TITLES = {
    ("layers", "self"): N_("self-attention"),
    ("layers", "cross"): N_("cross-attention"),
    ("encoder", "self"): N_("encoder"),
    ("decoder", "self"): N_("decoder self-attention"),
    ("decoder", "cross"): N_("decoder cross-attention"),
}


@dataclass(frozen=True)
class Heads:
    """The group, the layer and the number of heads of each attention, and the groups with their kinds."""

    sites: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    kinds: tuple[tuple[str, str], ...] = ()
    off: frozenset[Place] = frozenset()
    """Heads that are switched off."""

    @classmethod
    def of(cls, trace: Trace) -> Heads:
        """Those of a run."""
        own = groups(trace.experiment)
        heads = {name: trace.site(name).experiment.heads for name in trace.sites}
        sites = {
            place.name: (group, layer, heads[place.name].n_heads)
            for group, stack in enumerate(own)
            for layer, place in enumerate(stack.places)
        }
        off = {(*sites[name][:2], head) for name in sites for head in heads[name].off}
        return cls(sites, tuple((stack.stack, stack.kind) for stack in own), frozenset(off))

    @property
    def count(self) -> int:
        """The number of all heads."""
        return sum(n_heads for _group, _layer, n_heads in self.sites.values())

    @property
    def blocks(self) -> list[Block]:
        """The layers and heads of each group."""
        counts = [[n for own, _layer, n in self.sites.values() if own == at] for at in range(len(self.kinds))]
        return [Block(len(heads), max(heads)) for heads in counts]

    @property
    def titles(self) -> list[str]:
        """The names of the groups."""
        return [_(GROUP_TITLES[kind]) for kind in self.kinds]

    def place(self, site: str, head: int) -> Place | None:
        """The place of a head; None of an attention that the run does not have."""
        if site not in self.sites:
            return None
        group, layer, n_heads = self.sites[site]
        return group, layer, min(head, n_heads - 1)

    def site_at(self, place: Place) -> str:
        """The attention at a place."""
        return next(site for site, (*at, _count) in self.sites.items() if tuple(at) == place[:2])

    def placed(self, values: Iterable[tuple[str, int, One]]) -> dict[Place, One]:
        """Values of heads, (site, head, value), by their places."""
        placed = {self.place(site, head): value for site, head, value in values}
        return {place: value for place, value in placed.items() if place is not None}
