"""`QK_NORMS`: the ways in which queries and keys can be normalised, for forms, formulas and tests."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.i18n import N_
from attnviz.model.spec.parts import QKNormKind


@dataclass(frozen=True)
class QKNormRow:
    """One way; `title` and `hint` are messages. `formula` is written for x, which is q or k of one head."""

    id: QKNormKind
    title: str
    hint: str
    formula: str


QK_NORMS: tuple[QKNormRow, ...] = (
    QKNormRow("rms", N_("RMS"), N_("Divides each q and k by its root mean square"), "x ÷ √(Σ x² ÷ d + ε)"),
    QKNormRow(
        "layer",
        N_("layer"),
        N_("Subtracts the mean of each q and k and divides by its standard deviation"),
        N_("(x − mean) ÷ √(Σ (x − mean)² ÷ d + ε)"),
    ),
    QKNormRow("l2", N_("length 1"), N_("Divides each q and k by its length"), "x ÷ √(Σ x² + ε)"),
)

QK_NORM_BY_ID = {row.id: row for row in QK_NORMS}
