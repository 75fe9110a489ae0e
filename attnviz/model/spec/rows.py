"""Rows of numbers that belong to a weight: biases and gains, explicit or seeded."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import Message, must_be, of_length
from attnviz.i18n import N_
from attnviz.model.operands.draws import Drawn
from attnviz.model.spec.arrays import in_float64
from attnviz.model.spec.bounds import Seed
from attnviz.model.spec.field import Field
from attnviz.model.spec.source import Source, Written
from attnviz.model.spec.value import require

__all__ = [
    "DrawnRow",
    "WrittenRow",
]


class WrittenRow(Written, frozen=True, tag_field="kind", tag="explicit"):
    """Explicit numbers: one row, (1, features)."""

    where: ClassVar[str] = "row."

    def check(self) -> None:
        rows = self.values.shape[0]
        require(rows == 1, "row.values", Message("{n} rows", n=rows), must_be("one row"))

    def check_shape(self, field: str, shape: tuple[int, int], fitting: Message) -> None:
        width = self.values.shape[1]
        require(width == shape[1], f"{field}.values", of_length(width), fitting)


class DrawnRow(Source, frozen=True, tag_field="kind", tag="seeded"):
    """Numbers drawn: mean + std · `default_rng(seed).standard_normal(features)`."""

    where: ClassVar[str] = "row."
    is_drawn: ClassVar[bool] = True

    seed: Seed = 0
    mean: Annotated[float, Field(N_("Mean"), N_("Mean of the random values"))] = 0.0
    std: Annotated[float, Field(N_("Standard deviation"), N_("Standard deviation of the random values"))] = (
        1.0
    )

    def numbers(self, shape: tuple[int, int]) -> NDArray[np.float64]:
        return _drawn(self.seed, self.mean, self.std, shape[1])


Row = WrittenRow | DrawnRow


def check_row(field: str, row: Row | None, features: int) -> None:
    """Raise for an explicit row of another length than `features`."""
    if row is not None and row.written is not None:
        row.check_shape(field, (1, features), Message("must have length {n}", n=features))


def row_array(row: Row, features: int) -> NDArray[np.float64]:
    """The numbers of a row, (features,), read-only."""
    numbers = in_float64(held_row(row, features))
    numbers.setflags(write=False)
    return numbers[0] if numbers.ndim == 2 else numbers


def held_row(row: Row, features: int) -> NDArray[np.float64]:
    """The array that holds the numbers of a row, (features,) or (1, features), read-only.

    For repeated computation: an engine recognises it at once, whereas a view requires a look at its memory.
    """
    return row.numbers((1, features))


@Drawn
def _drawn(seed: int, mean: float, std: float, features: int) -> NDArray[np.float64]:
    return mean + std * np.random.default_rng(seed).standard_normal(features)
