"""The result of a survey: the distribution of each score of each head, and the texts that excite it most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import MsgspecError, Struct, json
from numpy.typing import NDArray

from attnviz.core.head_scores import HEAD_SCORE_BY_ID
from attnviz.errors import FieldError, among
from attnviz.study.survey.store import COLUMNS, RECORD, TEXTS, not_a_survey, read_table

if TYPE_CHECKING:
    import pyarrow

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_TEXTS = 5
BINS = 16
"""Intervals of a histogram."""
MOST_HEADS = 2**16
"""More heads than an attention has."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeadSummary:
    """One head by one score: mean and `QUANTILES` over the texts that have it, and the highest texts."""

    site: str
    head: int
    n_texts: int
    mean: float
    quantiles: tuple[float, ...]
    highest: tuple[tuple[int, float], ...]
    """(number of the text, score), the highest first; of effects the largest, of either sign."""
    counts: tuple[int, ...]
    """Number of texts in each interval of the summary's `edges`."""


@dataclass(frozen=True, eq=False)
class Summary:
    """All heads of a survey by one score; `columns` are the scores that it has.

    `edges` are those of the intervals of all histograms: from 0 to 1 for a score, symmetric for an effect.
    `texts` are the highest texts by number (none in a file of an earlier version), `model` is the name of the
    model, and `most_tokens` the number of tokens that it read of a text.
    """

    score: str
    columns: tuple[str, ...]
    n_texts: int
    heads: tuple[HeadSummary, ...]
    edges: tuple[float, ...]
    texts: dict[int, str]
    model: str
    most_tokens: int


class _Plan(Struct):
    """The part of the plan that a summary needs."""

    model: str
    n_tokens: int


def summary(path: str | Path, score: str = "") -> Summary:
    """Read a survey and sum up one score of every head; empty is its first score.

    Raises `FieldError` for a score that it lacks, `InputError` for another file, and `OSError`.
    """
    table = read_table(path)
    try:
        plan = json.decode(table.schema.metadata[RECORD], type=_Plan)
        texts = json.decode(table.schema.metadata.get(TEXTS, b"{}"), type=dict[int, str])
    except (ValueError, MsgspecError, RecursionError):
        raise not_a_survey(path) from None
    columns = _columns(table)
    chosen = score or columns[0]
    if chosen not in columns:
        raise FieldError("score", score, among(columns))
    numbers, values = _texts(table), _values(table, chosen)
    most = 1.0 if chosen in HEAD_SCORE_BY_ID else float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    edges = np.linspace(0.0 if chosen in HEAD_SCORE_BY_ID else -most, most, BINS + 1)
    heads = tuple(_head(site, head, numbers[rows], values[rows], edges) for site, head, rows in _heads(table))
    return Summary(
        chosen,
        columns,
        len(np.unique(numbers)),
        heads,
        tuple(edges.tolist()),
        texts,
        plan.model,
        plan.n_tokens,
    )


def numbers_of_highest(table: pyarrow.Table) -> set[int]:
    """The numbers of the texts that are among the highest of some head by some score."""
    numbers, heads = _texts(table), [rows for _site, _head, rows in _heads(table)]
    texts = set[int]()
    for column in _columns(table):
        values = _values(table, column)
        for rows in heads:
            texts.update(number for number, _value in _highest(numbers[rows], values[rows]))
    return texts


def _columns(table: pyarrow.Table) -> tuple[str, ...]:
    return tuple(name for name in table.column_names if name not in COLUMNS)


def _texts(table: pyarrow.Table) -> NDArray[Any]:
    return table["text"].to_numpy()


def _values(table: pyarrow.Table, column: str) -> Floats:
    values = table[column].to_numpy(zero_copy_only=False).astype(np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def _heads(table: pyarrow.Table) -> Iterator[tuple[str, int, NDArray[Any]]]:
    """Each head with its rows, in the order of the first ones."""
    sites = table["site"].combine_chunks().dictionary_encode()
    names = sites.dictionary.to_pylist()
    places = sites.indices.to_numpy().astype(np.int64) * MOST_HEADS + table["head"].to_numpy()
    heads, first, counts = np.unique(places, return_index=True, return_counts=True)
    rows = np.split(np.argsort(places, kind="stable"), np.cumsum(counts)[:-1])
    for at in np.argsort(first):
        yield names[heads[at] // MOST_HEADS], int(heads[at] % MOST_HEADS), rows[at]


def _head(site: str, head: int, texts: NDArray[Any], values: Floats, edges: Floats) -> HeadSummary:
    known = values[~np.isnan(values)]
    if not known.size:
        nan = float("nan")
        return HeadSummary(site, head, 0, nan, (nan,) * len(QUANTILES), (), (0,) * BINS)
    quantiles = tuple(float(one) for one in np.quantile(known, QUANTILES))
    counts = np.histogram(np.clip(known, edges[0], edges[-1]), edges)[0]
    return HeadSummary(
        site,
        head,
        len(known),
        float(known.mean()),
        quantiles,
        _highest(texts, values),
        tuple(counts.tolist()),
    )


def _highest(texts: NDArray[Any], values: Floats) -> tuple[tuple[int, float], ...]:
    """The texts with the highest values, the highest first; of effects the largest, of either sign."""
    known = ~np.isnan(values)
    texts, values = texts[known], values[known]
    first = np.argsort(-np.abs(values), kind="stable")[:MOST_TEXTS]
    return tuple((int(texts[at]), float(values[at])) for at in first)
