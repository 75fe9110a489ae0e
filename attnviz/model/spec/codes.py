"""`Codes`: a matrix as whole numbers of 4 or 8 bits with shared factors, laid out for a product with one row.

A quantised file has a number as q · f + o: the whole number q, the factor f and perhaps the offset o of the
16 or 32 numbers that lie together. One row is multiplied as fast as the matrix comes from memory, and codes
have less than a third of the bytes of float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LANES = 64
"""Outputs that lie side by side: their sums are made together."""


@dataclass(frozen=True, eq=False)
class Codes:
    """The numbers q · f + o of (output, input), in blocks of `LANES` outputs; zeros fill up the last block.

    `whole` holds q: int8 (block, input, lane), or, in 4 bits, uint8 (block, pair of inputs, lane). The low
    bits of a byte hold q of an input in the first half of its group, the high bits q of the input half a
    group later. `factors` f and `offsets` o are float32 (block, group of inputs, lane).
    """

    whole: NDArray[np.int8] | NDArray[np.uint8]
    factors: NDArray[np.float32]
    offsets: NDArray[np.float32] | None

    @property
    def nbytes(self) -> int:
        """Bytes of all of them."""
        of_offsets = 0 if self.offsets is None else self.offsets.nbytes
        return self.whole.nbytes + self.factors.nbytes + of_offsets

    @property
    def are_halves(self) -> bool:
        """True if the whole numbers have 4 bits."""
        return self.whole.dtype == np.uint8

    @property
    def n_inputs(self) -> int:
        """Inputs of every output."""
        return self.whole.shape[1] * (2 if self.are_halves else 1)

    def of(self, blocks: slice) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.float32] | None]:
        """`whole`, `factors` and `offsets` of some blocks."""
        offsets = None if self.offsets is None else self.offsets[blocks]
        return self.whole[blocks], self.factors[blocks], offsets


def most_bytes(n_outputs: int, n_inputs: int) -> int:
    """Bytes of the codes at most: one for each q, a quarter for its share of f and o."""
    return 5 * _padded(n_outputs) * n_inputs // 4


def _padded(n_outputs: int) -> int:
    """Outputs of whole blocks."""
    return -(-n_outputs // LANES) * LANES


def codes_of_rows(
    whole: NDArray[np.int8] | NDArray[np.uint8],
    factors: NDArray[np.float32],
    offsets: NDArray[np.float32] | None,
) -> Codes:
    """The codes of whole numbers (output, input), or pairs of them in bytes without a sign, with the factors
    and offsets of groups (output, group). Pairs need offsets.
    """
    of_groups = None if offsets is None else _side_by_side(offsets)
    return Codes(_side_by_side(whole), _side_by_side(factors), of_groups)


def _side_by_side(rows: NDArray[Any]) -> NDArray[Any]:
    """(output, n) as (block, n, lane)."""
    n_outputs, n = rows.shape
    missing = _padded(n_outputs) - n_outputs
    if missing:
        rows = np.concatenate((rows, np.zeros((missing, n), rows.dtype)))
    blocks = np.ascontiguousarray(rows.reshape(-1, LANES, n).swapaxes(1, 2))
    blocks.setflags(write=False)
    return blocks
