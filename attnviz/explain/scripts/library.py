"""`LIBRARIES`: the array libraries in which a document can be written, each with its own words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LibraryId = Literal["numpy", "torch"]


@dataclass(frozen=True)
class Library:
    """The words in which two libraries differ. `name` is that of the module in the code.

    `axis` and `keep` are the names of the arguments of a sum; `join` and `repeat` those of functions.
    """

    id: LibraryId
    title: str
    name: str
    imports: tuple[str, ...]
    axis: str
    keep: str
    join: str

    @property
    def is_numpy(self) -> bool:
        """True if NumPy's arrays need no conversion."""
        return self.id == "numpy"

    def array(self, numbers: str) -> str:
        """An array of explicit numbers."""
        return f"np.array({numbers})" if self.is_numpy else f"torch.tensor({numbers})"

    def of_numpy(self, expression: str) -> str:
        """An array that NumPy makes, such as one of its random generator."""
        return expression if self.is_numpy else f"torch.from_numpy({expression})"

    def last(self, keeps: bool = True) -> str:
        """The arguments of a sum over the last axis."""
        return f"{self.axis}=-1, {self.keep}=True" if keeps else f"{self.axis}=-1"

    def split_heads(self, matrix: str, n_tokens: int, n_heads: int, width: int) -> str:
        """(token, heads side by side) as (head, token, feature)."""
        if self.is_numpy:
            return f"{matrix}.reshape({n_tokens}, {n_heads}, {width}).transpose(1, 0, 2)"
        return f"{matrix}.view({n_tokens}, {n_heads}, {width}).permute(1, 0, 2)"

    def join_heads(self, array: str, n_tokens: int, width: int) -> str:
        """(head, token, feature) as (token, heads side by side)."""
        swap = "transpose" if self.is_numpy else "permute"
        return f"{array}.{swap}(1, 0, 2).reshape({n_tokens}, {width})"

    def repeat(self, array: str, times: int) -> str:
        """Each entry of the first axis several times."""
        if self.is_numpy:
            return f"np.repeat({array}, {times}, axis=0)"
        return f"{array}.repeat_interleave({times}, dim=0)"

    def softmax(self, array: str) -> str:
        """Softmax over the last axis; NumPy's is a function of the script, see `SOFTMAX`."""
        return f"softmax({array})" if self.is_numpy else f"torch.softmax({array}, dim=-1)"

    def grid(self, rows: int, columns: int) -> str:
        """Row and column of each cell of a matrix."""
        if self.is_numpy:
            return f"np.indices(({rows}, {columns}))"
        return f'torch.meshgrid(torch.arange({rows}), torch.arange({columns}), indexing="ij")'

    def blank(self, array: str, where: str, value: str) -> str:
        """The array with one value in the cells of a mask."""
        if self.is_numpy:
            return f"np.where({where}, {value}, {array})"
        return f"{array}.masked_fill({where}, {value})"

    def copy(self, array: str) -> str:
        """An array of its own."""
        return f"{array}.copy()" if self.is_numpy else f"{array}.clone()"

    def shape(self, array: str) -> str:
        """The shape as a tuple."""
        return f"{array}.shape" if self.is_numpy else f"tuple({array}.shape)"


LIBRARIES: tuple[Library, ...] = (
    Library("numpy", "NumPy", "np", (), "axis", "keepdims", "np.concatenate"),
    Library("torch", "PyTorch", "torch", ("import torch",), "dim", "keepdim", "torch.cat"),
)

LIBRARY_BY_ID = {row.id: row for row in LIBRARIES}
