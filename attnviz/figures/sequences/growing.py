"""A trace as it stands after some of its tokens: the cells of later ones are hidden."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import ALL, SiteTrace, Trace

Bools = NDArray[np.bool_]

OWN_AXES = ("token", "query")
KEY_AXES = ("key", "memory")


def grown(trace: Trace, count: int) -> Trace:
    """The trace after `count` tokens; an encoder is complete before the first one."""
    sites = tuple(
        trace.site(name) if name.startswith("encoder.") else Grown(trace.site(name), count)
        for name in trace.sites
    )
    where = {"engine": trace.engine, "device": trace.device}
    return Trace(trace.experiment, sites, **where, seconds=trace.seconds, notices=trace.notices)


class Grown(SiteTrace):
    """A site after `count` of its tokens: later ones have no labels, and their cells are hatched.

    The numbers of earlier tokens do not depend on later ones, as the experiment of a decoding is causal.
    """

    def __init__(self, whole: SiteTrace, count: int) -> None:
        super().__init__(whole.name, whole.experiment, _Source(whole), whole.given)
        self._whole, self._count = whole, count

    def hatched(self, stage: str, head: int | None = None) -> Bools | None:
        """Blocked cells, and those of later tokens."""
        before, later = self._whole.hatched(stage, head), self.later(stage)
        return later if before is None else before | later

    def labels(self, axis: str) -> tuple[str, ...]:
        """The labels of the tokens so far, and empty ones."""
        known = super().labels(axis)
        grows = axis in OWN_AXES or (axis in KEY_AXES and self.experiment.memory is None)
        return (*known[: self._count], *[""] * (len(known) - self._count)) if grows else known

    def all_labels(self, axis: str) -> tuple[str, ...]:
        """The labels of all tokens."""
        return super().labels(axis)

    def later(self, stage: str) -> Bools:
        """True for the cells of later tokens, in one head of a stage."""
        axes, shape = STAGE_BY_ID[stage].axes[-2:], self.shape(stage)[-2:]
        growing = [*OWN_AXES, *(KEY_AXES if self.experiment.memory is None else ())]
        rows, columns = (
            np.arange(length) >= (self._count if axis in growing else length)
            for axis, length in zip(axes, shape, strict=True)
        )
        return np.asarray(rows[:, None] | columns[None, :])


class _Source:
    """The numbers of another site."""

    def __init__(self, whole: SiteTrace) -> None:
        self._whole, self.stages, self.most_cells = whole, whole.stages, whole.most_cells

    def window(self, stage: str, head: int, rows: slice, columns: slice) -> NDArray[Any]:
        """The same numbers."""
        return self._whole.window(stage, head, rows, columns)

    def blocked(self, rows: slice = ALL, columns: slice = ALL) -> Bools | None:
        """The same cells."""
        return self._whole.blocked(rows, columns)
