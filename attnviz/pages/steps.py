"""The steps of a generation as a page has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnviz.model.text import shown_token

if TYPE_CHECKING:
    from attnviz.engines.decode.run import Decoding

TOP = 5
"""Next tokens that are shown at a step."""


def steps(decoding: Decoding) -> list[dict[str, Any]]:
    """The tokens of a decoding, the probability of each generated one, and what could follow it."""
    found: list[dict[str, Any]] = []
    before: Any = None
    names, vocabulary = decoding.vocabulary, decoding.experiment.vocabulary
    for step in decoding.steps:
        probability = None
        if step.generated and before is not None and step.token in names:
            probability = float(before[names.index(step.token)])
        order: Any = np.argsort(-step.probabilities, kind="stable")[:TOP] if len(step.probabilities) else []
        found.append(
            {
                "token": shown_token(vocabulary, step.token),
                "p": probability,
                "next": [[shown_token(vocabulary, names[i]), float(step.probabilities[i])] for i in order],
            }
        )
        before = step.probabilities if len(step.probabilities) else None
    return found
