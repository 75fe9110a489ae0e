"""Scores of every head of a trace, by `HEAD_SCORES`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnviz.core.head_scores import HEAD_SCORES
from attnviz.model.trace import Trace
from attnviz.study.heads.tiles import facts_of


def head_scores(trace: Trace) -> dict[str, dict[str, NDArray[np.float64]]]:
    """The scores of every head by score and site: `head_scores(trace)["induction"]["layers.0.self"]` (head,).

    NaN where a score has no meaning: for keys that are not the queries' own tokens, and for a text without
    what it asks for, such as a token said twice, or `references` of the experiment for "reference".
    """
    by_score: dict[str, dict[str, NDArray[np.float64]]] = {row.id: {} for row in HEAD_SCORES}
    for name in trace.sites:
        site = trace.site(name)
        of_heads = [facts_of(site, head).scores for head in range(site.experiment.heads.n_heads)]
        for id_, by_site in by_score.items():
            by_site[name] = np.array([scores[id_] for scores in of_heads])
    return by_score
