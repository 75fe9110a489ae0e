"""The selected query and key, and their score before and after rotation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.model.provenance import kv_head, tokens_of
from attnviz.model.spec.document import Document
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace


@dataclass(frozen=True)
class Pair:
    """One query position and one key position of one query head."""

    head: int
    query: int
    key: int


def pair_in_focus(document: Document, hover: Cell | None) -> Pair:
    """The pair of the hovered cell, else of the locked one, else of the view's query and the first key.

    A locked cell of another attention says nothing here. A cell with only one of the two positions (one of q,
    say) does not change the other. Positions past the end become the last ones.
    """
    experiment, view = document.attention, document.view
    head, query, key = view.head, view.query, 0
    for cell in (document.locked_here, hover):
        if cell is None:
            continue
        queries, keys = tokens_of(cell)
        query, key = (queries or (query,))[0], (keys or (key,))[0]
        if STAGE_BY_ID[cell.stage].per_head:
            is_query_head = STAGE_BY_ID[cell.stage].axes[0] == "head"
            head = cell.head if is_query_head else cell.head * experiment.heads.group_size
    last_head = experiment.heads.n_heads - 1
    return Pair(min(head, last_head), min(query, experiment.n_queries - 1), min(key, experiment.n_keys - 1))


def distance_of(site: Site, pair: Pair) -> int:
    """Key position minus query position."""
    return pair.key - pair.query - site.query_offset


def pair_scores(site: SiteTrace, pair: Pair) -> tuple[float, float] | None:
    """(q·k of the unrotated vectors, q·k as the scores have it); None where the site lacks the pair."""
    experiment = site.experiment
    inside = pair.query < experiment.n_queries and pair.key < experiment.n_keys
    if not inside or pair.head >= experiment.heads.n_heads:
        return None
    query, key = slice(pair.query, pair.query + 1), slice(pair.key, pair.key + 1)
    q = site.window("q" if experiment.qk_norm is None else "q_normed", pair.head, query)[0]
    k = site.window("k" if experiment.qk_norm is None else "k_normed", kv_head(experiment, pair.head), key)[0]
    with np.errstate(all="ignore"):  # past float64's range it is shown as it is
        plain = float(np.dot(q.astype(np.float64), k.astype(np.float64)))
    return plain, float(site.window("scores", pair.head, query, key)[0, 0])
