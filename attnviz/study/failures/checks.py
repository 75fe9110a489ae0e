"""`CHECKS`: properties that the stages of a sound run have, and the first stage of a run that lacks one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.core.matrix import by_rows, taken, windows
from attnviz.core.progress import Check as Cancel
from attnviz.core.progress import never_cancelled
from attnviz.core.text import isolated, number, visible
from attnviz.errors import Message, verbatim
from attnviz.i18n import N_
from attnviz.model.sites.sites import path_to
from attnviz.model.stages import STAGE_BY_ID, result_of
from attnviz.model.trace import SiteTrace, Trace

SUM_ERROR = 5e-3
"""Largest distance of a row's sum from 1 that is rounding, in float16 too."""
ALL_OF_ROW = 0.9
"""A weight from here on leaves the other keys nothing that is worth a name."""
MANY_KEYS = 3
"""A row that sees fewer keys may rest on one of them."""
FADED = 0.15
"""Share of the token vector at which the residual path counts as lost."""


@dataclass(frozen=True)
class Finding:
    """A stage of a site that goes wrong, and a sentence with the numbers that show it."""

    site: str
    stage: str
    says: Message


@dataclass(frozen=True)
class Check:
    """One property; `title` is a message. `find(trace, site)` yields the stages of a site that lack it."""

    id: str
    title: str
    find: Callable[[Trace, SiteTrace], Iterator[Finding]]


def first_finding(trace: Trace, check: Cancel = never_cancelled, lost: str = "") -> Finding | None:
    """The first place in data-flow order, through all sites and stages, that lacks the property `lost`, or
    any.

    `check` is called between the sites, and may raise.
    """
    wanted = (CHECK_BY_ID[lost],) if lost else CHECKS
    for name in trace.sites:
        check()
        site = trace.site(name)
        findings = [finding for row in wanted for finding in row.find(trace, site)]
        if findings:
            return min(findings, key=lambda finding: site.stages.index(finding.stage))
    return None


def moved(before: Trace, after: Trace) -> Finding | None:
    """The query that puts most weight on its keys which it gave to a sink before."""
    for name in before.sites:
        sites = before.site(name), after.site(name)
        heads, n_queries, _n_keys = sites[0].shape(sites[0].raw_map)
        more = np.zeros((heads, n_queries))
        for head in range(heads):
            both = (windows(site.matrix(site.raw_map, head, keep=False)) for site in sites)
            for (rows, old), (_rows, new) in zip(*both, strict=True):
                gained = new.astype(np.float64) - old.astype(np.float64)
                more[head, rows] = np.where(np.isfinite(new), gained, 0.0).clip(0).sum(axis=1)
        head, row = divmod(int(np.argmax(more)), n_queries)
        if more[head, row] > SUM_ERROR:
            says = Message(
                "Head {head}: “{token}” had {share} of its weight on the sink; its other keys share it now.",
                head=head + 1,
                token=_token(sites[1], row),
                share=verbatim(number(float(more[head, row]), 2)),
            )
            return Finding(name, sites[1].raw_map, says)
    return None


def _not_finite(trace: Trace, site: SiteTrace) -> Iterator[Finding]:
    """A number that is infinite or no number, other than the −∞ of a mask."""
    for stage in site.stages:
        if STAGE_BY_ID[stage].is_infinite:
            continue
        for head in range(site.n_matrices(stage)):
            count, row, column = 0, 0, 0
            for rows, values in windows(site.matrix(stage, head, keep=False)):
                wrong = ~np.isfinite(values)
                if not count and wrong.any():
                    row, column = (int(i) for i in np.argwhere(wrong)[0] + [rows.start, 0])
                count += int(wrong.sum())
            if count:
                says = Message(
                    "{count} numbers exceed the range of {dtype}, the first in row {row}, column {column}.",
                    dtype=site.experiment.dtype,
                    row=row + 1,
                    column=column + 1,
                    count=count,
                )
                yield Finding(site.name, stage, says)
                return


def _empty_rows(trace: Trace, site: SiteTrace) -> Iterator[Finding]:
    """A query without a key."""
    empty = np.flatnonzero(site.fully_masked())
    stage = next((stage for stage in reversed(site.stages) if STAGE_BY_ID[stage].is_infinite), "")
    if empty.size and stage:
        token = _token(site, int(empty[0]))
        yield Finding(
            site.name,
            stage,
            Message("“{token}” has no visible key: every score of its row is −∞.", token=token),
        )


def _sums(trace: Trace, site: SiteTrace) -> Iterator[Finding]:
    """Rows of softmax weights that do not sum to one, though no sink takes a share."""
    experiment = site.experiment
    if experiment.normaliser != "softmax" or experiment.sinks is not None:
        return
    counted = ~site.fully_masked()
    for head in range(site.experiment.heads.n_heads):
        weights = site.matrix(site.raw_map, head, keep=False)
        sums = by_rows(lambda rows: rows.sum(axis=1, dtype=np.float64), weights)
        wrong = counted & (np.abs(sums - 1) > SUM_ERROR)
        if wrong.any():
            row = int(np.argmax(np.where(wrong, np.abs(sums - 1), 0)))
            says = Message(
                "The weights of “{token}” sum to {sum}, not to 1.",
                token=_token(site, row),
                sum=verbatim(number(float(sums[row]), 3)),
            )
            yield Finding(site.name, site.raw_map, says)
            return


def _saturated(trace: Trace, site: SiteTrace) -> Iterator[Finding]:
    """A head whose softmax leaves nearly every row one key."""
    if site.experiment.normaliser != "softmax":
        return
    for head in range(site.experiment.heads.n_heads):
        rows = _visible(site, head) >= MANY_KEYS
        if rows.sum() < 2:
            continue
        weights = site.matrix(site.raw_map, head, keep=False)
        largest = by_rows(lambda part: part.max(axis=1), weights)[rows]
        share = float(np.mean(largest > ALL_OF_ROW))
        if share > 0.5:
            says = Message(
                "The softmax of head {head} is saturated: {count} of {n} rows give one key more than 0.9.",
                head=head + 1,
                count=int((largest > ALL_OF_ROW).sum()),
                n=int(rows.sum()),
            )
            yield Finding(site.name, site.raw_map, says)
            return


def _order(trace: Trace, site: SiteTrace) -> Iterator[Finding]:
    """A token that stands at two places and has the same scores there: the order is lost."""
    if site.experiment.memory is not None or site.blocked() is not None:
        return
    x = taken(site.matrix(site.stages[0], keep=False))
    twice = next(((i, j) for j in range(len(x)) for i in range(j) if np.array_equal(x[i], x[j])), None)
    if twice is None or site.stages[0] != "tokens_embedded":
        return
    first, second = twice
    one, other = (site.window(site.unmasked, 0, slice(row, row + 1))[0] for row in twice)
    if np.allclose(one, other, rtol=1e-5) and np.isfinite(one).all():
        says = Message(
            "“{token}” has the same scores at positions {first} and {second}: the order is lost.",
            token=_token(site, first),
            first=first,
            second=second,
        )
        yield Finding(site.name, site.unmasked, says)


def _residual_path(trace: Trace, site: SiteTrace) -> Iterator[Finding]:
    """Post-norm layers that shrink the token vectors until next to nothing of them is left.

    The derivative of a norm along the residual path is 1 ÷ σ of its row, gains apart; through all layers so
    far it is the product (Xiong et al. 2020, section 3).
    """
    shares = np.ones(site.experiment.n_queries)
    for name in path_to(trace.experiment, site.name):
        for spread in _spreads(trace.site(name)):
            shares = shares / spread
    share = float(np.mean(shares))
    if _spreads(site) and share < FADED:
        says = Message(
            "The norms have divided the residual path: {share} of a token vector, or a gradient, is left.",
            share=verbatim(number(share, 2)),
        )
        yield Finding(site.name, result_of(site.stages), says)


def _spreads(site: SiteTrace) -> list[NDArray[np.float64]]:
    """The divisors of the norms on the residual path of a post-norm layer, (token,) each."""
    block = site.experiment.layer.block
    if block is None or block.placement != "post" or not block.residual:
        return []
    spreads = []
    for stage, norm in (("residual_1", block.norm_1), ("residual_2", block.norm_2)):
        if stage in site.stages and norm is not None:
            x = taken(site.matrix(stage, keep=False)).astype(np.float64)
            x = x - x.mean(axis=1, keepdims=True) if norm.kind == "layer" else x
            spreads.append(np.sqrt((x * x).mean(axis=1) + norm.eps))
    return spreads


def _visible(site: SiteTrace, head: int) -> NDArray[np.int64]:
    """The number of keys that each query sees in a head."""
    hidden = site.unseen(head)
    n_queries, n_keys = site.shape(site.raw_map)[-2:]
    return np.full(n_queries, n_keys) if hidden is None else np.asarray((~hidden).sum(axis=1))


def _token(site: SiteTrace, row: int) -> Message:
    return verbatim(isolated(visible(site.names("query")[row])))


CHECKS: tuple[Check, ...] = (
    Check("finite", N_("Every number is finite"), _not_finite),
    Check("rows", N_("Every query has a visible key"), _empty_rows),
    Check("sums", N_("The weights of a row sum to 1"), _sums),
    Check("saturated", N_("The softmax is not saturated"), _saturated),
    Check("order", N_("The scores depend on the order"), _order),
    Check("path", N_("The residual path carries the token vectors"), _residual_path),
)
CHECK_BY_ID = {row.id: row for row in CHECKS}
