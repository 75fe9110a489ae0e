"""Sources of the numbers of a weight and of a learned table: the interface of every kind."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.errors import FieldError, Message, size
from attnviz.i18n import N_
from attnviz.model.operands.draws import Drawn
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.bounds import Seed
from attnviz.model.spec.field import Field
from attnviz.model.spec.value import Value

__all__ = ["DrawnTable", "WrittenTable"]


class Source(Value, frozen=True):
    """Source of an array's numbers. Most kinds compute them in any shape."""

    is_identity: ClassVar[bool] = False
    """Whether the matrix is an identity, which returns its operand unchanged."""
    is_drawn: ClassVar[bool] = False
    """Whether the numbers are sampled from a seed."""

    @property
    def written(self) -> Matrix | None:
        """The explicit numbers, if any; else None."""
        return None

    @property
    def lies_in_file(self) -> bool:
        """True if the numbers stay in a file, and are converted as they are used."""
        return self.written is not None and self.written.lies_in_file

    @property
    def tied_to(self) -> Any:
        """The role of the projection that has this matrix; None if it is its own."""
        return None

    def check_shape(self, field: str, shape: tuple[int, int], fitting: Message) -> None:
        """Refuse numbers of another shape than `shape`; `fitting` is the requirement."""

    def fitted(self, shape: tuple[int, int]) -> Self:
        """The same source for another shape."""
        return self

    def numbers(self, shape: tuple[int, int]) -> NDArray[Any]:
        """The numbers, of `shape`, read-only."""
        raise NotImplementedError


class Written(Source, frozen=True):
    """Explicit numbers, with a shape of their own."""

    values: Annotated[Matrix, Field(N_("Values"), N_("Explicit numbers, row by row"))]

    @property
    def written(self) -> Matrix | None:
        return self.values

    def check_shape(self, field: str, shape: tuple[int, int], fitting: Message) -> None:
        if self.values.shape != shape:
            raise FieldError(f"{field}.values", size(self.values.shape), fitting)

    def fitted(self, shape: tuple[int, int]) -> Self:
        """Cut if it is too large, padded with zeros if it is too small."""
        return self if self.values.shape == shape else replace(self, values=self.values.fitted(shape))

    def numbers(self, shape: tuple[int, int]) -> NDArray[Any]:
        return self.values.array


class DrawnTable(Source, frozen=True, tag_field="kind", tag="seeded"):
    """Normal numbers of standard deviation `std`: `default_rng(seed).standard_normal(shape) * std`.

    A longer table of the same seed begins with the same rows.
    """

    where: ClassVar[str] = "position.table."
    is_drawn: ClassVar[bool] = True

    seed: Seed = 0
    std: Annotated[
        float,
        Field(
            N_("Standard deviation"),
            N_("Standard deviation of the random values"),
            least=0,
            usual=(0, 3),
            typed=(0, 100),
        ),
    ] = 1.0

    def numbers(self, shape: tuple[int, int]) -> NDArray[np.float64]:
        return _normal(shape, self.seed, self.std)


@Drawn
def _normal(shape: tuple[int, int], seed: int, std: float) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal(shape) * std


class WrittenTable(Written, frozen=True, tag_field="kind", tag="explicit"):
    """An explicit table, as a trained model has it."""

    where: ClassVar[str] = "position.table."


Table = DrawnTable | WrittenTable
