"""`NORMALISERS`: the functions from scores to weights, each with a row here and code in `core.normalise`.

The program, the form, formulas on the screen and the tests read this table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.core.normalise import (
    pull_relu_squared_,
    pull_sigmoid_,
    pull_softmax_,
    relu_squared_,
    sigmoid_,
)
from attnviz.i18n import N_
from attnviz.model.spec.parts import Normaliser


@dataclass(frozen=True)
class NormaliserRow:
    """One way from scores to weights. `title` and `hint` are messages.

    `is_shared`: the weights of a row share one, so that they sum to one and each depends on all scores of the
    row; otherwise each depends on its own score and on how many keys the row sees. `apply(xp, scores,
    n_visible)` works in place; None is the engine's own softmax. `pull_(xp, weights, gradient, n_visible)`
    turns the gradient by the weights into that by the scores, in place.
    """

    id: Normaliser
    title: str
    hint: str
    formula: str
    source: str
    is_shared: bool
    apply: Callable[[Any, Array, Array], None] | None
    pull_: Callable[[Any, Array, Array, Array], None]


NORMALISERS: tuple[NormaliserRow, ...] = (
    NormaliserRow(
        "softmax",
        N_("softmax"),
        N_("exp(s) ÷ Σ exp(s): the weights of a row sum to one"),
        "w = exp(s) ÷ Σ exp(s)",
        "Vaswani et al. 2017, equation 1",
        is_shared=True,
        apply=None,
        pull_=pull_softmax_,
    ),
    NormaliserRow(
        "sigmoid",
        N_("sigmoid"),
        N_(
            "σ(s − log n) for each key separately; n: the number of keys visible to the row. Rows "
            "need not sum to one"
        ),
        "w = σ(s − log n)",
        "Ramapuram et al. 2024, Sigmoid Self-Attention; n counted for each row",
        is_shared=False,
        apply=sigmoid_,
        pull_=pull_sigmoid_,
    ),
    NormaliserRow(
        "relu_squared",
        N_("ReLU²"),
        N_(
            "max(0, s)² ÷ n for each key separately; n: the number of keys visible to the row. Rows "
            "need not sum to one"
        ),
        "w = max(0, s)² ÷ n",
        "So et al. 2021 (Primer); on scores: Hua et al. 2022 (FLASH); n counted for each row",
        is_shared=False,
        apply=relu_squared_,
        pull_=pull_relu_squared_,
    ),
)

NORMALISER_BY_ID = {row.id: row for row in NORMALISERS}

SINK_FORMULA = N_("w = exp(s) ÷ (exp(sink) + Σ exp(s))")


def n_visible(hidden: NDArray[np.bool_] | None, n_queries: int, n_keys: int) -> NDArray[np.float64]:
    """Number of visible keys of each row, (..., query), from `hidden` (..., query, key); all of them if
    nothing is hidden from the normaliser.

    A fully masked row counts one here; `fully_masked_row` determines its weights.
    """
    if hidden is None:
        return np.full(n_queries, float(n_keys))
    return np.maximum(n_keys - hidden.sum(axis=-1), 1).astype(np.float64)
