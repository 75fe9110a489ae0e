"""`Codes`: a matrix as whole numbers of 8 bits with shared factors, laid out for its product with one row.

A quantised file has a number as q · f + o: the whole number q of 4 to 8 bits, the factor f and perhaps the
offset o of the 16 or 32 numbers that lie together. One row is multiplied as fast as the matrix comes from
memory, and codes have less than a third of the bytes of float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LANES = 64
"""Outputs that lie side by side: their sums are made together."""

MOST_BYTES = 1.25
"""Bytes of a number at most: one for q, and a share of f and o in float32."""


@dataclass(frozen=True, eq=False)
class Codes:
    """The numbers q · f + o of (output, input), in blocks of `LANES` outputs; zeros fill up the last block.

    `whole` are q, int8 (block, input, lane); `factors` f and `offsets` o, float32 (block, group of inputs,
    lane).
    """

    whole: NDArray[np.int8]
    factors: NDArray[np.float32]
    offsets: NDArray[np.float32] | None

    @property
    def nbytes(self) -> int:
        """Bytes of all of them."""
        of_offsets = 0 if self.offsets is None else self.offsets.nbytes
        return self.whole.nbytes + self.factors.nbytes + of_offsets

    def of(self, blocks: slice) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.float32] | None]:
        """`whole`, `factors` and `offsets` of some blocks."""
        offsets = None if self.offsets is None else self.offsets[blocks]
        return self.whole[blocks], self.factors[blocks], offsets


def codes_of_rows(
    whole: NDArray[np.int8], factors: NDArray[np.float32], offsets: NDArray[np.float32] | None
) -> Codes:
    """The codes of whole numbers (output, input) with the factors and offsets of groups (output, group)."""
    of_groups = None if offsets is None else _side_by_side(offsets)
    return Codes(_side_by_side(whole), _side_by_side(factors), of_groups)


def _side_by_side(rows: NDArray[Any]) -> NDArray[Any]:
    """(output, n) as (block, n, lane)."""
    n_outputs, n = rows.shape
    blocks = -(-n_outputs // LANES)
    if n_outputs < blocks * LANES:
        rows = np.concatenate((rows, np.zeros((blocks * LANES - n_outputs, n), rows.dtype)))
    made = np.ascontiguousarray(rows.reshape(blocks, LANES, n).swapaxes(1, 2))
    made.setflags(write=False)
    return made
