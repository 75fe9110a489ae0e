"""Parity of decoding with a cache and a full pass: every stage of every site, number by number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.matrix import part_of, windows
from attnviz.core.progress import Progress, progress_of
from attnviz.engines.decode.run import Decoding
from attnviz.engines.decode.step import rows_of
from attnviz.engines.program import Check, never_cancelled
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace, Trace

Numbers = NDArray[Any]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Compared:
    """Largest absolute difference of one stage, and the largest finite number that it has in a full pass.

    `undefined` counts the numbers, of `total`, that are NaN on both sides: neither equal nor different.
    """

    difference: float
    size: float
    undefined: int = 0
    total: int = 0

    def beside(self, other: Compared) -> Compared:
        """Both together."""
        return Compared(
            max(self.difference, other.difference),
            max(self.size, other.size),
            self.undefined + other.undefined,
            self.total + other.total,
        )


def parity(decoding: Decoding, trace: Trace) -> dict[str, float]:
    """Largest absolute difference between the steps and a full pass for every stage; see `compared`.

    Numbers that are NaN on both sides are left out.
    """
    return {stage: found.difference for stage, found in compared(decoding, trace).items()}


def compared(decoding: Decoding, trace: Trace, check: Check = never_cancelled) -> dict[str, Compared]:
    """Compare the steps with a full pass, every stage of every site, named with its site if several exist.

    `trace` is a run of `decoding.experiment`. Stages that an encoder and the attentions to the memory compute
    before the first step are compared as a whole. Weights that a step cannot see yet must be zero in the full
    pass. NaN on both sides is counted and not compared; a NaN on one side only is an infinite difference.
    """
    result, progress, n_sites = {}, progress_of(check), len(trace.sites)
    for index, name in enumerate(trace.sites):
        prefix = "" if n_sites == 1 else f"{name}."
        for stage, found in _stages(decoding, trace.site(name), progress.step(index, n_sites)):
            result[prefix + stage] = found
    return result


def _stages(decoding: Decoding, site: SiteTrace, progress: Progress) -> Iterator[tuple[str, Compared]]:
    """The stages of one site, in data-flow order."""
    first = decoding.steps[0].sites.get(site.name)
    for index, stage in enumerate(site.stages):
        progress.at(index / len(site.stages))
        if first is None:
            assert decoding.encoder is not None
            made = decoding.encoder.site(site.name.replace("encoder.", "layers."))
            yield stage, _whole(made, site, stage)
        elif stage in first.stages:
            yield stage, _over_steps(decoding, site, stage, progress)
        else:
            yield stage, compare(decoding.of_memory(site.name, stage), site[stage])


def _whole(made: SiteTrace, site: SiteTrace, stage: str) -> Compared:
    """A stage of an encoder, head by head."""
    found = Compared(0.0, 0.0)
    for head in range(site.shape(stage)[0] if STAGE_BY_ID[stage].per_head else 1):
        both = (windows(one.matrix(stage, head, keep=False)) for one in (made, site))
        for (_rows, values), (_same, whole) in zip(*both, strict=True):
            found = found.beside(compare(values, whole))
    return found


def _over_steps(decoding: Decoding, site: SiteTrace, stage: str, check: Check) -> Compared:
    sites = [step.sites[site.name] for step in decoding.steps]
    rows = rows_of(sites, stage)
    row = STAGE_BY_ID[stage]
    if row.by_token:
        return compare(np.stack(rows, axis=-3), site[stage][..., : len(rows), :, :])
    if not row.score_shaped:
        return compare(np.stack(rows, axis=-2), site[stage][..., : len(rows), :])
    found, keys = Compared(0.0, 0.0), [made.key_positions for made in sites]
    for head in range(site.shape(stage)[0]):
        check()
        for part, whole in windows(part_of(site.matrix(stage, head), slice(len(rows)))):
            own = [one[head] for one in rows[part]]
            made = _as_a_whole(own, keys[part], whole, row.phase == "weights")
            found = found.beside(compare(made, whole))
    return found


def _as_a_whole(rows: list[Numbers], keys: list[Ints], whole: Numbers, is_zero_unseen: bool) -> Numbers:
    """The rows of one head, (query, key), padded with the full pass's values at invisible keys.

    Those are zero for weights, but NaN in a row of NaN alone; before the softmax, any value. `keys` are the
    positions that each row attends to: those of the cache.
    """
    made = np.zeros_like(whole) if is_zero_unseen else whole.copy()
    for index, (row, seen) in enumerate(zip(rows, keys, strict=True)):
        if is_zero_unseen and np.isnan(row).all():
            made[index] = np.where(np.isnan(whole[index]), whole[index], 0.0)
        made[index, seen] = row
    return made


def compare(made: Numbers, whole: Numbers) -> Compared:
    """Two arrays of one shape; NaN is infinitely far from any number, and undefined where both are."""
    a, b = made.astype(np.float64, copy=False), whole.astype(np.float64, copy=False)
    size = float(np.max(np.abs(b), initial=0.0))
    if math.isfinite(size):
        difference = float(np.max(np.abs(a - b), initial=0.0))
        return Compared(math.inf if math.isnan(difference) else difference, size, 0, a.size)
    undefined = np.isnan(a) & np.isnan(b)
    with np.errstate(invalid="ignore"):
        apart = np.where((a == b) | undefined, 0.0, np.abs(a - b))
    difference = float(np.max(np.where(np.isnan(apart), np.inf, apart), initial=0.0))
    size = float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b)))
    return Compared(difference, size, int(np.count_nonzero(undefined)), a.size)
