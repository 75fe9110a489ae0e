"""Pairs of tokens that the attentions of an experiment compare, and the text of their sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from attnviz.i18n import _
from attnviz.model.masks import visible_pairs
from attnviz.model.spec.site import Site


@dataclass(frozen=True)
class Pairs:
    """The (query, key) pairs of one attention, and the number of visible ones."""

    n_queries: int
    n_keys: int
    visible: int

    @property
    def total(self) -> int:
        """N² of a self-attention, N · M of a cross-attention."""
        return self.n_queries * self.n_keys

    @property
    def product(self) -> str:
        """The multiplication with its digits: "6 × 4 = 24 pairs"."""
        return _("{queries} × {keys} = {total} pairs").format(
            queries=self.n_queries, keys=self.n_keys, total=self.total
        )

    @property
    def visible_of_total(self) -> str:
        """ "21 of 36 visible", or empty without a mask."""
        if self.visible == self.total:
            return ""
        return _("{visible} of {total} visible").format(visible=self.visible, total=self.total)


def pairs_of(site: Site) -> Pairs:
    """The pairs of a site."""
    return Pairs(site.n_queries, site.n_keys, visible_pairs(site))


def sum_of_pairs(sites: Iterable[Pairs]) -> str:
    """The sum over attentions with its digits: "2 × 36 + 16 = 88 pairs, 70 visible"."""
    counted = tuple(sites)
    times = Counter(pairs.total for pairs in counted)
    terms = " + ".join(str(total) if n == 1 else f"{n} × {total}" for total, n in times.items())
    if len(counted) == 1:
        return counted[0].product
    total, seen = sum(pairs.total for pairs in counted), sum(pairs.visible for pairs in counted)
    if seen == total:
        return _("{terms} = {total} pairs").format(terms=terms, total=total)
    return _("{terms} = {total} pairs, {visible} visible").format(terms=terms, total=total, visible=seen)
