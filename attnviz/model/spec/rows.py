"""Rows of numbers that belong to a weight: biases and gains, written out or drawn."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import Message, must_be, of_length
from attnviz.i18n import N_
from attnviz.model.operands.draws import Drawn
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.bounds import Seed
from attnviz.model.spec.field import Field
from attnviz.model.spec.value import Value, require


class WrittenRow(Value, frozen=True, tag_field="kind", tag="explicit"):
    """Numbers written out: one row, (1, features)."""

    where: ClassVar[str] = "row."

    values: Annotated[Matrix, Field(N_("Values"), N_("The row written out, one number per feature"))]

    def check(self) -> None:
        rows = self.values.shape[0]
        require(rows == 1, "row.values", Message("{n} rows", n=rows), must_be("one row"))


class DrawnRow(Value, frozen=True, tag_field="kind", tag="seeded"):
    """Numbers drawn: mean + std · `default_rng(seed).standard_normal(features)`."""

    where: ClassVar[str] = "row."

    seed: Seed = 0
    mean: Annotated[float, Field(N_("Mean"), N_("Mean of the random values"))] = 0.0
    std: Annotated[float, Field(N_("Standard deviation"), N_("Standard deviation of the random values"))] = (
        1.0
    )


Row = WrittenRow | DrawnRow


def check_row(field: str, row: Row | None, features: int) -> None:
    """Refuse a row that is written out with another length than `features`."""
    if isinstance(row, WrittenRow):
        found = row.values.shape[1]
        requirement = Message("must have length {n}", n=features)
        require(found == features, f"{field}.values", of_length(found), requirement)


def row_array(row: Row, features: int) -> NDArray[np.float64]:
    """The numbers of a row, (features,), read-only."""
    if isinstance(row, WrittenRow):
        return row.values.array[0]
    return _drawn(row.seed, row.mean, row.std, features)


def held_row(row: Row, features: int) -> NDArray[np.float64]:
    """The very array that holds the numbers of a row, (features,) or (1, features), read-only.

    For what is computed again and again: an engine knows it at once, where a view takes a look at its memory.
    """
    return row.values.array if isinstance(row, WrittenRow) else row_array(row, features)


@Drawn
def _drawn(seed: int, mean: float, std: float, features: int) -> NDArray[np.float64]:
    return mean + std * np.random.default_rng(seed).standard_normal(features)
