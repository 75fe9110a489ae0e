"""Differential attention: the weights of a head minus λ times those of its partner in the other half.

Ye et al. 2024, "Differential Transformer", arXiv:2410.05258, equations 1 to 3. Head j and head j + h ÷ 2 are
partners: both mix their values by w_j − λ w_(j + h ÷ 2), and their outputs side by side, twice d_head wide,
have an RMSNorm without gain, times 1 − λ₀. In the paper the two together are one head with values of twice
the width.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from attnviz.i18n import N_
from attnviz.model.spec.field import Field
from attnviz.model.spec.parts import EPS
from attnviz.model.spec.rows import DrawnRow, Row, check_row, row_array
from attnviz.model.spec.value import Value

LAMBDA_ROWS = ("query_1", "key_1", "query_2", "key_2")
"""The vectors of λ, in the order of the formula."""

SPREAD = 0.1
"""Standard deviation of the vectors of λ at the beginning of a training, as published."""


def _vector(letter: str) -> Field:
    return Field(letter, N_("Vector of d_head numbers from which λ is computed"))


class Differential(Value, frozen=True):
    """λ = exp(λ_Q1 · λ_K1) − exp(λ_Q2 · λ_K2) + λ₀, one number for all heads, and the norm of each pair.

    The four vectors have d_head numbers each. `initial` is λ₀; published models have 0.8 − 0.6 exp(−0.3 l)
    in layer l, counted from 0.
    """

    where: ClassVar[str] = "differential."

    initial: Annotated[
        float,
        Field(
            N_("Initial λ"),
            N_("Constant part of λ; its complement to 1 multiplies the normalised heads"),
            usual=(0, 1),
            typed=(-100, 100),
            digits=3,
            step=0.01,
            normal=0.8,
        ),
    ] = 0.8
    query_1: Annotated[Row, _vector(N_("λ_Q1"))] = DrawnRow(17, 0.0, SPREAD)
    key_1: Annotated[Row, _vector(N_("λ_K1"))] = DrawnRow(18, 0.0, SPREAD)
    query_2: Annotated[Row, _vector(N_("λ_Q2"))] = DrawnRow(19, 0.0, SPREAD)
    key_2: Annotated[Row, _vector(N_("λ_K2"))] = DrawnRow(20, 0.0, SPREAD)
    eps: Annotated[float, EPS] = 1e-5

    def exponentials(self, d_head: int) -> tuple[float, float]:
        """The exponentials of the two dot products."""
        first, other = (
            float(np.exp(row_array(query, d_head) @ row_array(key, d_head)))
            for query, key in ((self.query_1, self.key_1), (self.query_2, self.key_2))
        )
        return first, other

    def factor(self, d_head: int) -> float:
        """λ."""
        first, other = self.exponentials(d_head)
        return first - other + self.initial

    def slopes(self, d_head: int) -> dict[str, NDArray[np.float64]]:
        """The derivatives of λ by the numbers of each vector, (d_head,)."""
        first, other = self.exponentials(d_head)
        rows = {name: row_array(getattr(self, name), d_head) for name in LAMBDA_ROWS}
        return {
            "query_1": first * rows["key_1"],
            "key_1": first * rows["query_1"],
            "query_2": -other * rows["key_2"],
            "key_2": -other * rows["query_2"],
        }

    def check_size(self, d_head: int) -> None:
        """Refuse explicit vectors of another length."""
        for name in LAMBDA_ROWS:
            check_row(f"differential.{name}", getattr(self, name), d_head)


def partners(head: int, n_heads: int) -> tuple[int, int]:
    """The head whose weights are kept and the one whose weights are subtracted, for either of the two."""
    first = head % (n_heads // 2)
    return first, first + n_heads // 2
