"""Queries that attend to nothing, in words: most often their mask is inverted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import Message
from attnviz.model.memo import WeakMemo
from attnviz.model.sites.by_hand import still_hidden
from attnviz.model.sites.sites import sites
from attnviz.model.sites.titles import site_message
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Causal, Padding
from attnviz.model.trace import SiteTrace, Trace


def empty_rows_notice(trace: Trace) -> Message | None:
    """One sentence of the first site in which a query has no visible key; None where each has one."""
    for name in _possible(trace.experiment):
        site = trace.site(name)
        rows = np.flatnonzero(_empty(site))
        if rows.size:
            says = _said(int(rows[0]) + 1, int(rows.size), site.experiment.n_queries)
            where = site_message(trace.experiment, name)
            return says if len(trace.sites) == 1 else Message("{where} · {title}", where=where, title=says)
    return None


@WeakMemo
def _possible(experiment: Experiment) -> tuple[str, ...]:
    """One site of each set of masks that may hide all keys of a query; a causal one leaves it the first."""
    found = dict[Any, str]()
    for place, site in sites(experiment).items():
        if site.additive_mask is not None or not all(isinstance(mask, Causal) for mask in site.masks):
            masks = site.masks, site.mask_bias, site.mask_placement, site.additive_mask, site.edits
            found.setdefault((masks, site.query_offset, site.n_queries, site.n_keys), place.name)
    return tuple(found.values())


def _said(first: int, count: int, total: int) -> Message:
    if count == 1:
        return Message("Query {n} attends to nothing; is the mask inverted?", n=first)
    return Message(
        "{count} of {total} queries attend to nothing, query {n} first; is the mask inverted?",
        count=count,
        total=total,
        n=first,
    )


def _empty(site: SiteTrace) -> NDArray[np.bool_]:
    """True for the queries without a visible key, perhaps in one head alone, (query,); not for padding."""
    record, mask = site.experiment, site.experiment.additive_mask
    found = np.zeros(record.n_queries, dtype=np.bool_)
    own_edits = any(edit.head is not None for edit in record.edits)
    for head in range(record.heads.n_heads if own_edits or (mask is not None and mask.per_head) else 1):
        hidden = still_hidden(record, site.raw_map, head, site.hatched(site.raw_map, head))
        if hidden is not None:
            found |= hidden.all(axis=1)
    for padding in record.masks:
        if isinstance(padding, Padding) and record.memory is None:
            own = np.arange(record.n_queries) + record.query_offset
            found &= ~np.isin(own, padding.tokens)  # nobody reads what padding attends to
    return found
