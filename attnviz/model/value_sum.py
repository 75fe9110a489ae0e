"""The output of one query in one head as a sum of vectors: every value times its weight, head to tail.

The weights can be mixed with those of a query that attends to itself alone, so that a picture shows how the
others pull its vector. The window, the figures and the animation share this sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from attnviz.core.head_measures import entropy_bits
from attnviz.core.planes import kept_share, pair_plane, principal_plane
from attnviz.model.stages import as_read
from attnviz.model.trace import SiteTrace

FEW = 6
"""Keys up to which the plane is that of all values, and each has a colour and its numbers."""
NAMED = 0.05
"""Weight from which the value of a key has a label beside those of the query and of the strongest key."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ValueSum:
    """`weights` (keys,) are the row of the map and `values` (keys, d_v) the vectors that it mixes.

    `result` (d_v,) is the row of the mixture as the trace has it: Σ w v, or zero where the head `is_off`.
    `own` is the key of the query itself; −1 if it has none: the keys are those of a memory, or a mask
    blocks it. `hidden` (keys,) are the keys that a mask blocks.
    """

    site: SiteTrace
    head: int
    query: int
    weights: Floats
    values: Floats
    result: Floats
    hidden: NDArray[np.bool_]
    own: int

    @property
    def keys(self) -> tuple[str, ...]:
        """The words whose values are mixed."""
        return self.site.names("key")

    @property
    def is_off(self) -> bool:
        """True if the head is switched off: its result is zero, whatever its weights are."""
        return self.head in self.site.experiment.heads.off

    @property
    def start(self) -> Floats:
        """The weights of a query that attends to itself alone, (keys,); zero without such a key."""
        start = np.zeros(len(self.weights))
        if self.own >= 0:
            start[self.own] = 1.0
        return start

    def mixed(self, part: float) -> Floats:
        """(1 − t) · start + t · weights with t = `part`, from 0 to 1; (keys,)."""
        return (1.0 - part) * self.start + part * self.weights

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The keys that add something, the largest weight first."""
        order = np.argsort(-np.abs(self.weights), kind="stable")
        return tuple(order[self.weights[order] != 0].tolist())

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """The keys in the order in which the sum adds them, the same at every part, so that nothing jumps.

        The query's own is the first, where the way begins; the others are as in `order`.
        """
        own = (self.own,) if self.own >= 0 else ()
        return (*own, *(key for key in self.order if key != self.own))

    @cached_property
    def projected(self) -> Floats:
        """The values in the plane, (keys, 2)."""
        return self.values @ self.plane

    def path(self, part: float = 1.0) -> Floats:
        """Tips of the vectors w v in the plane, head to tail as in `steps`, from zero: (1 + steps, 2).

        Every tip moves evenly from the first part to the last one, as the weights do.
        """
        first, last = self._paths
        return (1.0 - part) * first + part * last

    @cached_property
    def _paths(self) -> tuple[Floats, Floats]:
        """The tips of the first part, where only the own value has a weight, and of the last one."""
        order = list(self.steps)
        first, last = np.zeros((2, 1 + len(order), 2))
        if self.own >= 0:
            first[1:] = self.projected[self.own]
        np.cumsum(self.weights[order, None] * self.projected[order], axis=0, out=last[1:])
        return first, last

    @cached_property
    def named(self) -> tuple[int, ...]:
        """At most `FEW` keys whose values have a label: all of few, else the query's own, the strongest and
        those with a weight of at least `NAMED`.
        """
        if self.has_few:
            return tuple(np.flatnonzero(~self.hidden).tolist())
        first = [key for key in (self.own, self.strongest) if key >= 0]
        large = [key for key in self.order if abs(self.weights[key]) >= NAMED]
        return tuple(dict.fromkeys((*first, *large)))[:FEW]

    @cached_property
    def strongest(self) -> int:
        """The key with the largest weight beside the query's own; −1 without another one."""
        others = np.where(self.hidden, -1.0, np.abs(self.weights))
        if self.own >= 0:
            others[self.own] = -1.0
        return int(others.argmax()) if others.max() >= 0 else -1

    @property
    def has_few(self) -> bool:
        """True if the plane is that of all values."""
        return len(self.weights) <= FEW

    @cached_property
    def lengths(self) -> Floats:
        """The length of each value, (keys,)."""
        return np.linalg.norm(self.values, axis=1)

    def vector(self, part: float = 1.0) -> Floats:
        """The sum at `part`, (d_v,); the last one is that of the trace."""
        return self.result if part == 1.0 or self.is_off else self.mixed(part) @ self.values

    def length(self, part: float = 1.0) -> float:
        """The length of that sum."""
        return float(np.linalg.norm(self.vector(part)))

    def rest(self, shown: Sequence[int], part: float = 1.0) -> tuple[int, float]:
        """The number of the visible keys that are not among `shown`, and the sum of their weights."""
        others = ~self.hidden
        others[list(shown)] = False
        return int(others.sum()), float(self.mixed(part)[others].sum())

    @cached_property
    def entropy(self) -> float:
        """Entropy of the weights in bits; NaN where they are no shares."""
        return float(entropy_bits(self.weights[None])[0])

    @cached_property
    def through(self) -> tuple[int, int] | None:
        """The keys whose values span the plane; None where it is that of all values."""
        if self.has_few or self.strongest < 0:
            return None
        if self.own >= 0:
            return self.own, self.strongest
        others = np.where(self.hidden, -1.0, np.abs(self.weights))
        others[self.strongest] = -1.0
        return int(others.argmax()), self.strongest

    @cached_property
    def plane(self) -> Floats:
        """An orthonormal basis (d_v, 2) of the plane in which the sum is drawn.

        Of at most `FEW` values, the one that keeps most of their squared length; of more, that through the
        strongest value, which points to the right, and the query's own, or the next strongest one.
        """
        if self.through is None:
            return principal_plane(self.values)
        second, first = self.through
        return pair_plane(self.values[first], self.values[second])

    @cached_property
    def share(self) -> float:
        """Share of the squared length of the result in the plane; NaN for a result of zero."""
        return kept_share(self.result[None], self.plane)


def value_sum(site: SiteTrace, head: int, query: int) -> ValueSum | None:
    """The sum of one query in one head; None for an attention without values, or with zeros in their place,
    as one that is made of weights alone.

    A weight that is not a number counts as 0. Raises `IndexError` for another head or query.
    """
    read = as_read("v", site.stages)
    if not read:
        return None
    row = slice(query, query + 1)
    weights = np.nan_to_num(site.window(site.map, head, row)[0].astype(np.float64))
    values = site.window(read, head // site.experiment.heads.group_size).astype(np.float64)
    if not values.any():
        return None
    result = site.window("mixed", head, row)[0].astype(np.float64)
    blocked = site.unseen(head, rows=row, by_masks=not site.experiment.adds_to_blocked)
    hidden = np.zeros(len(weights), np.bool_) if blocked is None else np.asarray(blocked[0])
    is_one = site.experiment.memory is None and site.names("query") == site.names("key")
    own = query if is_one and not hidden[query] else -1
    return ValueSum(site, head, query, weights, values, result, hidden, own)
