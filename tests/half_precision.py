"""Numbers of float16 judged against the exact value, by what any processor's kernels may do to them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

_PATTERNS = np.arange(2**16, dtype=np.uint16).view(np.float16)
EVERY_HALF: NDArray[np.float16] = _PATTERNS[~np.isnan(_PATTERNS)]
"""All numbers that float16 has, and both infinities."""

SMALLEST_NORMAL = float(np.finfo(np.float16).smallest_normal)
STEEP = 16.0
"""Beyond it a function of the block is at its limit, to the last digit of float32."""


def grid_step(exact: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distance of float16's numbers around `exact`: 2⁻²⁴ at least, where they are subnormal."""
    _fraction, exponent = np.frexp(np.abs(exact))
    return np.ldexp(1.0, np.maximum(exponent - 11, -24))


def input_step(x: NDArray[Any]) -> NDArray[np.float64]:
    """The distance of float32's numbers around `x`, the scale on which a share of `x` is known.

    A function such as GELU is x times a share, and the share comes from a number near 1 (1 + erf), which one
    library rounds up and another down.
    """
    return np.spacing(np.minimum(np.abs(x.astype(np.float32)), np.float32(STEEP))).astype(np.float64)


def assert_rounded(
    found: NDArray[Any], exact: NDArray[np.float64], x: NDArray[Any], may_flush: bool = False
) -> None:
    """Each float16 of `found` is a neighbour of the exact value, give or take a float32 step of its input.

    `may_flush` lets 0 stand for what is below the normal numbers: some kernels flush those.
    """
    wide = found.astype(np.float64)
    finite = np.isfinite(exact)
    assert_array_equal(wide[~finite], exact[~finite])
    error = np.abs(wide[finite] - exact[finite])
    good = error <= grid_step(exact[finite]) + input_step(x[finite])
    if may_flush:
        good |= (wide[finite] == 0) & (np.abs(exact[finite]) < SMALLEST_NORMAL)
    worst = np.argmax(np.where(good, -1.0, error))
    assert good.all(), (
        f"{np.count_nonzero(~good)} of {good.size} are wrong; the worst: "
        f"{wide[finite][worst]} for {exact[finite][worst]}, the function of {x[finite][worst]}"
    )
