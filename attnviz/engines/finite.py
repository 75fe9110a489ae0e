"""Overflow of a precision: the first stage of a run that is not finite, in words."""

from __future__ import annotations

import numpy as np

from attnviz.errors import Message
from attnviz.model.sites.titles import site_message
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace, Trace


def range_notice(trace: Trace, dtype: str) -> Message | None:
    """One sentence where numbers overflow `dtype`; None where all are finite.

    Also None if a fully masked row is NaN because the document says so.
    """
    for name in trace.sites:
        site = trace.site(name)
        if site.experiment.fully_masked_row == "nan" and site.fully_masked().any():
            return None
        stage = _first(site)
        if stage:
            title = Message(STAGE_BY_ID[stage].title)
            if len(trace.sites) > 1:
                where = site_message(trace.experiment, name)
                title = Message("{where} · {title}", where=where, title=title)
            return Message(
                "Numbers exceed the range of {dtype}: the first stage that is not finite is {stage}.",
                dtype=dtype,
                stage=title,
            )
    return None


def _first(site: SiteTrace) -> str:
    """The first stage of a site that is not finite, in data-flow order; empty if all are finite.

    What follows such a stage is NaN or infinite: of scores, only a row that ends so is read.
    """
    ends = np.flatnonzero(~np.isfinite(site.window("attention_output")).all(axis=1))
    if not ends.size:
        return ""
    row = slice(int(ends[0]), int(ends[0]) + 1)
    for stage in site.stages:
        kind = STAGE_BY_ID[stage]
        if STAGE_BY_ID[stage].is_infinite:
            continue
        rows = row if kind.score_shaped else slice(None)
        heads = range(site.n_matrices(stage))
        if not all(np.isfinite(site.window(stage, head, rows)).all() for head in heads):
            return stage
    return ""
