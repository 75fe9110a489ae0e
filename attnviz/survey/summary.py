"""The result of a survey: the distribution of each score of each head, and the texts that excite it most."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import FieldError, among
from attnviz.survey.store import RECORD, read_table

PLACES = ("text", "key", "n_tokens", "site", "head")
"""Columns that are no score."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_TEXTS = 5


@dataclass(frozen=True, eq=False)
class HeadSummary:
    """One head by one score: mean and `QUANTILES` over the texts that have it, and the highest texts."""

    site: str
    head: int
    n_texts: int
    mean: float
    quantiles: tuple[float, ...]
    highest: tuple[tuple[int, float], ...]
    """(number of the text, score), the highest first."""


@dataclass(frozen=True, eq=False)
class Summary:
    """All heads of a survey by one score; `columns` are the scores that it has."""

    score: str
    columns: tuple[str, ...]
    n_texts: int
    heads: tuple[HeadSummary, ...]


def summary(path: str | Path, score: str = "") -> Summary:
    """Read a survey and sum up one score of every head; empty is its first score.

    Raises `FieldError` for a score that it lacks, `InputError` for another file, and `OSError`.
    """
    table = read_table(path)
    columns = tuple(name for name in table.column_names if name not in PLACES)
    assert RECORD in table.schema.metadata
    chosen = score or columns[0]
    if chosen not in columns:
        raise FieldError("score", score, among(columns))
    texts, heads = (table[name].to_numpy() for name in ("text", "head"))
    sites = np.asarray(table["site"].to_pylist())
    values = table[chosen].to_numpy(zero_copy_only=False).astype(np.float64)
    order = list(dict.fromkeys(zip(sites.tolist(), heads.tolist(), strict=True)))
    found = []
    for site, head in order:
        own = (sites == site) & (heads == head)
        found.append(_head(site, head, texts[own], values[own]))
    return Summary(chosen, columns, len(np.unique(texts)), tuple(found))


def _head(site: str, head: int, texts: NDArray[Any], values: NDArray[np.float64]) -> HeadSummary:
    known = ~np.isnan(values)
    texts, values = texts[known], values[known]
    if not values.size:
        nan = float("nan")
        return HeadSummary(site, head, 0, nan, (nan,) * len(QUANTILES), ())
    first = np.argsort(-values, kind="stable")[:MOST_TEXTS]
    highest = tuple((int(texts[at]), float(values[at])) for at in first)
    quantiles = tuple(float(one) for one in np.quantile(values, QUANTILES))
    return HeadSummary(site, head, len(values), float(values.mean()), quantiles, highest)
