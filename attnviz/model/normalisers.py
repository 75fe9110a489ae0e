"""`NORMALISERS`: the functions from scores to weights; the rule of each is in `operations.normaliser`.

The program, the form, formulas on the screen and the tests read this table.
"""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.i18n import N_
from attnviz.model.spec.parts import Normaliser
from attnviz.operations.normaliser import RELU_SQUARED, SIGMOID, SOFTMAX, Rule


@dataclass(frozen=True)
class NormaliserRow:
    """One way from scores to weights, and what is said of it. `title` and `hint` are messages."""

    id: Normaliser
    title: str
    hint: str
    formula: str
    source: str
    rule: Rule


NORMALISERS: tuple[NormaliserRow, ...] = (
    NormaliserRow(
        "softmax",
        N_("softmax"),
        N_("exp(s) ÷ Σ exp(s): the weights of a row sum to one"),
        "w = exp(s) ÷ Σ exp(s)",
        "Vaswani et al. 2017, equation 1",
        rule=SOFTMAX,
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
        rule=SIGMOID,
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
        rule=RELU_SQUARED,
    ),
)

NORMALISER_BY_ID = {row.id: row for row in NORMALISERS}

SINK_TEXTS = N_("w = exp(s) ÷ (exp(sink) + Σ exp(s))"), N_("softmax + sink")
"""The formula and the title of a softmax with sinks."""
