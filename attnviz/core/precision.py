"""The precision of arithmetic where it differs from that of the stored numbers."""

from __future__ import annotations

from typing import Any

from attnviz.core.dims import Array


def at_least_single(xp: Any, x: Array) -> Array:
    """Widen `x` to float32 if its dtype is float16 or bfloat16; float32 and float64 are returned uncopied.

    The square of 256 overflows in float16. Operands of squares, sums and exponentials are therefore widened
    first and the result is rounded once, as ONNX (`stash_type` 1) and torch's own kernels do.
    """
    # looking up the wider dtype takes longer than the norm of a small array
    if x.dtype in (xp.float32, xp.float64):
        return x
    return xp.asarray(x, dtype=xp.result_type(x.dtype, xp.float32))


def rounded(xp: Any, result: Array, x: Array) -> Array:
    """Cast `result`, computed from `x`, to the dtype of `x`; uncopied if it has that dtype."""
    if result.ndim and result.dtype == x.dtype:
        return result
    # asarray instead of astype: NumPy's arithmetic returns scalars for arrays without axes.
    return xp.asarray(result, dtype=x.dtype)
