"""The key with the largest weight in a row, head by head."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.model.provenance import tokens_of
from attnviz.model.spec.view import Cell, View
from attnviz.model.trace import SiteTrace


@dataclass(frozen=True)
class Look:
    """The key that one query of a head gives most weight to, and the weight."""

    key: int
    weight: float


def query_in_focus(site: SiteTrace, view: View, focus: Cell | None) -> int:
    """The query of the cell in focus, else that of the view."""
    queries = () if focus is None else tokens_of(focus)[0]
    return min((queries or (view.query,))[0], site.experiment.n_queries - 1)


def look_of(site: SiteTrace, head: int, query: int) -> Look | None:
    """The first largest weight of a row; None for a row without weight, or with one that is not finite."""
    row = site.window(site.raw_map, head, slice(query, query + 1))[0]
    key = int(np.argmax(row))
    weight = float(row[key])
    return Look(key, weight) if weight > 0 and np.isfinite(row).all() else None
