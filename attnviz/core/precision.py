"""In which precision arithmetic is done, where that is not the one its numbers are kept in."""

from __future__ import annotations

from typing import Any

from attnviz.core.dims import Array


def at_least_single(xp: Any, x: Array) -> Array:
    """`x` in float32 where its dtype is float16 or bfloat16; float32 and float64 stay as they are, uncopied.

    The square of 256 overflows in float16. What is squared, summed or exponentiated is therefore widened
    first and rounded once at the end, as ONNX does (`stash_type` 1) and as torch's own kernels do.
    """
    if x.dtype in (xp.float32, xp.float64):  # asking what to widen to takes longer than a small array's norm
        return x
    return xp.asarray(x, dtype=xp.result_type(x.dtype, xp.float32))


def rounded(xp: Any, result: Array, x: Array) -> Array:
    """`result`, which was computed from `x`, in the dtype of `x`; uncopied where it has it already."""
    if result.ndim and result.dtype == x.dtype:
        return result
    # asarray and not astype: NumPy's arithmetic makes scalars of arrays without axes.
    return xp.asarray(result, dtype=x.dtype)
