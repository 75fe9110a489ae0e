"""Effect of a cache on its contents: the rows that are read back beside the appended rows.

A row is one projection of one token for one head: its key, its value, its latent or its RoPE key. A quantised
cache reads back other numbers, by at most half a step of the row (`core.quantise`). For a cache that evicts
positions, the module also computes the share of the full pass's attention on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.matrix import windows
from attnviz.core.quantise import quantise
from attnviz.engines.decode.run import Decoding
from attnviz.engines.decode.step import SiteStep
from attnviz.engines.program import Check, never_cancelled
from attnviz.model.caches import Cache, QuantisedCache
from attnviz.model.stages import as_read
from attnviz.model.trace import SiteTrace

Numbers = NDArray[Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StoredError:
    """Error of the rows that are read back, and the place of the greatest one.

    `greatest` is max |read − made| and `rms` the root of the mean square, over the numbers of all rows.
    `head`, `position` and `feature` locate the greatest; `made` and `read` are the two numbers there, and
    `half_step` bounds the error of that row (NaN if the cache is not quantised), apart from the rounding of
    16-bit numbers on reading.
    """

    greatest: float
    rms: float
    head: int
    position: int
    feature: int
    made: float
    read: float
    half_step: float


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Errors of one array of a cache, `name` being k, v, latent or rope_key: the greatest of each row.

    All arrays are (g, position): `feature` and the numbers `made` and `read` there, the mean square of the
    row's errors, half a step of the row.
    """

    name: str
    feature: NDArray[np.int64]
    made: Floats
    read: Floats
    mean_squares: Floats
    half_steps: Floats

    def up_to(self, length: int) -> StoredError:
        """The error of the first `length` positions, at least one."""
        apart = np.abs(self.read - self.made)[:, :length]
        head, position = (int(index) for index in np.unravel_index(np.argmax(apart), apart.shape))
        return StoredError(
            greatest=float(apart[head, position]),
            rms=math.sqrt(float(self.mean_squares[:, :length].mean())),
            head=head,
            position=position,
            feature=int(self.feature[head, position]),
            made=float(self.made[head, position]),
            read=float(self.read[head, position]),
            half_step=float(self.half_steps[head, position]),
        )


@dataclass(frozen=True, eq=False)
class StepErrors:
    """Distance of every step's row from that of a full pass: max |Δ| and root mean square, (step,) each."""

    greatest: Floats
    rms: Floats


def stored_rows(decoding: Decoding, name: str) -> tuple[StoredRows, ...]:
    """Rows that a site's cache reads back after the last step, beside those that the site computed at every
    step.

    Empty where a comparison is impossible: a memory's keys and values are computed before the first step, and
    evicted positions cannot be read.
    """
    steps = [step.site(name) for step in decoding.steps]
    last = steps[-1]
    if last.experiment.memory is not None or len(last.key_positions) < last.seen:
        return ()
    cache = _cache(decoding)
    bits = cache.bits if isinstance(cache, QuantisedCache) else 0
    appended = [np.stack(rows, axis=1) for rows in zip(*map(_put_in, steps), strict=True)]
    names = ("k", "v") if last.experiment.latent is None else ("latent", "rope_key")
    return tuple(_beside(*pair, bits) for pair in zip(names, appended, decoding.held(name), strict=False))


def evicted_attention(decoding: Decoding, site: SiteTrace, check: Check = never_cancelled) -> Floats:
    """The share of a full pass's weights on evicted positions at every step, (head, step).

    Σ of w[t, j] over the positions j ≤ t that were evicted before step t; `site` is the full pass's.
    """
    cache, n_steps = _cache(decoding), len(decoding.steps)
    shares = np.zeros((site.experiment.heads.n_heads, n_steps))
    if cache is None or site.experiment.memory is not None:
        return shares
    kept = [cache.kept(length) for length in range(1, n_steps + 1)]
    gone = [range(len(first), last.start) for first, last in kept]
    for head in range(len(shares)) if any(gone) else ():  # recomputing the weights is slow
        check()
        for rows, weights in windows(site.matrix(site.raw_map, head)):
            for step, row in zip(range(rows.start, min(rows.stop, n_steps)), weights, strict=False):
                shares[head, step] = row[gone[step].start : gone[step].stop].sum(dtype=np.float64)
    return shares


def step_errors(rows: list[Numbers], whole: Numbers) -> StepErrors:
    """Compare the steps' rows, (feature,) each, with those of the full pass, (step or more, feature)."""
    apart = [
        np.abs(np.asarray(row, np.float64) - full.astype(np.float64))
        for row, full in zip(rows, whole, strict=False)
    ]
    greatest = [row.max(initial=0.0) for row in apart]
    return StepErrors(np.array(greatest), np.array([math.sqrt(np.mean(row * row)) for row in apart]))


def _cache(decoding: Decoding) -> Cache | None:
    writing = decoding.experiment.writing
    return None if writing is None else writing.cache


def _put_in(site: SiteStep) -> tuple[Numbers, ...]:
    """Rows that one step appended, (g, numbers) each."""
    keys = site[as_read("k", site.stages)]
    if site.experiment.latent is None:
        return keys, site[as_read("v", site.stages)]
    # Every head appends the same RoPE key to its content.
    return site["latent"][None, :], keys[:1, site.experiment.heads.d_head :]


def _beside(name: str, appended: Numbers, read: Numbers, bits: int) -> StoredRows:
    """Compare (g, position, numbers) as appended with those read back."""
    put, got = np.asarray(appended, np.float64), np.asarray(read, np.float64)
    apart = np.abs(got - put)
    feature = np.argmax(apart, axis=-1)
    there = feature[..., None]
    half = quantise(np, put, bits)[1][..., 0] / 2 if bits else np.full(feature.shape, math.nan)
    return StoredRows(
        name,
        feature,
        np.take_along_axis(put, there, axis=-1)[..., 0],
        np.take_along_axis(got, there, axis=-1)[..., 0],
        (apart * apart).mean(axis=-1),
        half,
    )
