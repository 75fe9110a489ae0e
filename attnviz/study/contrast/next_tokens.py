"""The next tokens of two runs: the most probable ones of either, with both probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from attnviz.model.operands.matrices import classes_of
from attnviz.model.text import shown_token
from attnviz.model.trace import SiteTrace, Trace

STAGE = "probabilities"


@dataclass(frozen=True)
class NextToken:
    """A token, as it is shown, and its probability after the last token, in A and in B; None where it cannot
    follow.
    """

    token: str
    first: float | None
    second: float | None


def next_tokens(first: Trace, second: Trace, most: int) -> tuple[NextToken, ...]:
    """The `most` most probable next tokens of the two runs, by the greater of their two probabilities.

    Tokens are matched by their texts. Empty unless both runs have a read-out.
    """
    sides = [_last_row(trace) for trace in (first, second)]
    if sides[0] is None or sides[1] is None:
        return ()
    (a_labels, a_row), (b_labels, b_row) = sides[0], sides[1]
    wanted = dict.fromkeys(
        labels[at] for labels, row in (sides[0], sides[1]) for at in np.argsort(-row, kind="stable")[:most]
    )
    places = _places(a_labels, wanted), _places(b_labels, wanted)
    tokens = [
        NextToken(token, _at(a_row, places[0], token), _at(b_row, places[1], token)) for token in wanted
    ]
    tokens.sort(key=lambda one: -max(_known(one.first), _known(one.second)))
    vocabulary = second.experiment.vocabulary
    return tuple(replace(one, token=shown_token(vocabulary, one.token)) for one in tokens[:most])


def _last_row(trace: Trace) -> tuple[tuple[str, ...], NDArray[np.float64]] | None:
    site: SiteTrace = trace.site(trace.sites[-1])
    if STAGE not in site.stages or classes_of(site.experiment) is not None:
        return None
    n, width = site.shape(STAGE)[-2:]
    row = site.window(STAGE, 0, slice(n - 1, n), slice(0, width))[0]
    return site.labels("vocabulary"), np.asarray(row, np.float64)


def _places(labels: tuple[str, ...], wanted: Mapping[str, None]) -> dict[str, int]:
    """The index of each wanted token: the first of that text."""
    places: dict[str, int] = {}
    for index, label in enumerate(labels):
        if label in wanted:
            places.setdefault(label, index)
    return places


def _at(row: NDArray[np.float64], places: dict[str, int], token: str) -> float | None:
    return float(row[places[token]]) if token in places else None


def _known(probability: float | None) -> float:
    """A probability to sort by: NaN and none come last."""
    return probability if probability is not None and probability == probability else -1.0
