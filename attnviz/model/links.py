"""Attention as lines between tokens: the weights of one query or of all, of one head or of several."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from attnviz.core.matrix import taken
from attnviz.model.spec.view import View, shown_head
from attnviz.model.stages import STAGE_BY_ID, of_phase
from attnviz.model.trace import SiteTrace, Trace

LINED = tuple(stage for stage in of_phase("weights") if STAGE_BY_ID[stage].has_sums)
"""Stages that can be drawn as lines: shares that each query gives to the keys."""


def shares_of(present: tuple[str, ...]) -> str:
    """The shares of a site that mix its values, after a dropout where one acts."""
    return next(stage for stage in reversed(LINED) if stage in present)


LEAST = 0.01
"""Smallest weight that is a line, as a share of the largest one."""
MOST_LINES = 600
"""Lines of all heads together; of more, the strongest: more are no picture."""
MOST_CELLS = 256 * 256
"""Pairs up to which the lines of all queries are drawn; of a longer text, those of one query."""


@dataclass(frozen=True, eq=False)
class Links:
    """The lines of one head: the query, the key and the weight of each, the strongest last."""

    head: int
    queries: NDArray[np.intp]
    keys: NDArray[np.intp]
    weights: NDArray[np.float64]

    def part(self, kept: NDArray[np.bool_]) -> Links:
        """Those lines for which `kept` is True."""
        return Links(self.head, self.queries[kept], self.keys[kept], self.weights[kept])


@dataclass(frozen=True, eq=False)
class WordLines:
    """The lines between the words of one attention; they start from `query`, or from all queries if None."""

    site: SiteTrace
    stage: str
    heads: tuple[int, ...]
    query: int | None

    @property
    def queries(self) -> tuple[str, ...]:
        """The words at the left."""
        return self.site.names("query")

    @property
    def keys(self) -> tuple[str, ...]:
        """The words at the right."""
        return self.site.names("key")

    def links(self) -> tuple[Links, ...]:
        """The lines of each head: weights of at least `LEAST` of the largest, the `MOST_LINES` strongest."""
        first = 0 if self.query is None else self.query
        rows = slice(None) if self.query is None else slice(first, first + 1)
        windows = [self._weights(head, rows) for head in self.heads]
        largest = max((float(values.max(initial=0.0)) for values in windows), default=0.0)
        least = _least(windows, max(LEAST * largest, np.finfo(np.float64).tiny))
        return tuple(
            _links(head, values, first, least) for head, values in zip(self.heads, windows, strict=True)
        )

    def of_query(self, query: int) -> WordLines:
        """The lines of one query."""
        return replace(self, query=query)

    def given(self, query: int) -> NDArray[np.float64]:
        """The weights that a query gives to each key, (heads, keys)."""
        rows = slice(query, query + 1)
        return np.stack([self._weights(head, rows)[0] for head in self.heads])

    def hidden(self, query: int) -> NDArray[np.bool_]:
        """True for the keys that the masks block for a query, in all of the heads; (keys,)."""
        rows, by_masks = slice(query, query + 1), not self.site.experiment.adds_to_blocked
        blocked = self.site.unseen(*self.heads, rows=rows, by_masks=by_masks)
        if blocked is None:
            return np.zeros(len(self.keys), dtype=np.bool_)
        return np.asarray(blocked[0])

    def received(self, key: int) -> NDArray[np.float64]:
        """The weights that a key gets from each query, (heads, queries)."""
        columns = slice(key, key + 1)
        return np.stack([self._weights(head, slice(None), columns)[:, 0] for head in self.heads])

    def _weights(self, head: int, rows: slice, columns: slice = slice(None)) -> NDArray[np.float64]:
        if rows == columns == slice(None):
            values = taken(self.site.matrix(self.stage, head))  # of at most `MOST_CELLS`
        else:
            values = self.site.window(self.stage, head, rows, columns)
        return np.nan_to_num(values.astype(np.float64))


def word_lines(site: SiteTrace, view: View, stage: str, heads: tuple[int, ...] = ()) -> WordLines:
    """The lines that a view draws of `stage`, one of `LINED`; of its own heads if `heads` is empty."""
    if not heads and view.lines.heads == "all":
        heads = tuple(range(site.shape(stage)[0]))
    heads = heads or (shown_head(site.experiment, view, stage),)
    n_queries, n_keys = site.shape(stage)[-2:]
    is_all = view.lines.queries == "all" and n_queries * n_keys <= MOST_CELLS
    return WordLines(site, stage, heads, None if is_all else min(view.query, n_queries - 1))


MOST_HEADS = 16
"""Heads of a model up to which the rows of all of them stand below each other; of more, those of one site."""


@dataclass(frozen=True, eq=False)
class HeadRow:
    """The weights that one query gives in one head, (keys,)."""

    site: str
    head: int
    weights: NDArray[np.float64]


def head_rows(trace: Trace, here: SiteTrace, stage: str, query: int) -> tuple[HeadRow, ...]:
    """The row of a query in every head of the attentions of the same tokens; past `MOST_HEADS`, of `here`."""
    places = here.labels("query"), here.labels("key")
    sites = [trace.site(name) for name in trace.sites]
    alike = [site for site in sites if (site.labels("query"), site.labels("key")) == places]
    if sum(site.shape(site.raw_map)[0] for site in alike) > MOST_HEADS:
        alike = [here]
    rows = slice(query, query + 1)
    return tuple(
        HeadRow(site.name, head, np.nan_to_num(site.window(shown, head, rows)[0].astype(np.float64)))
        for site in alike
        for shown in (stage if stage in site.stages else site.raw_map,)
        for head in range(site.shape(shown)[0])
    )


def _least(windows: list[NDArray[np.float64]], least: float) -> float:
    """The smallest weight that is a line, so that few enough are."""
    shown = np.concatenate([values[values >= least] for values in windows])
    return least if shown.size <= MOST_LINES else float(np.partition(shown, -MOST_LINES)[-MOST_LINES])


def _links(head: int, weights: NDArray[np.float64], first: int, least: float) -> Links:
    rows, keys = np.nonzero(weights >= least)
    values = weights[rows, keys]
    order = np.argsort(values, kind="stable")
    return Links(head, rows[order] + first, keys[order], values[order])
