"""Names of dimensions, and the reshapes between them.

Shape suffixes name the axes of an array inside numerics:
`t` token, `f` feature of the model, `g` key/value group, `r` query head within its group,
`q` query position, `k` key position, `d` feature of a head. Query head h is (g, r) = divmod(h, n_r),
so multi-head (n_r = 1), grouped-query and multi-query (n_g = 1) attention are one formula.
"""

from __future__ import annotations

from typing import Any

Array = Any
"""An array of the engine's library (the Python array API standard)."""


def group_counts(n_heads: int) -> tuple[int, ...]:
    """Numbers of key/value heads that `n_heads` query heads can share evenly: the divisors, ascending."""
    return tuple(n for n in range(1, n_heads + 1) if n_heads % n == 0)


def head_axes(shape: tuple[int, ...], n_heads: int) -> int:
    """The number of axes before (token, d) that together count the heads."""
    count, found = 0, 1
    while found < n_heads:
        count += 1
        found *= shape[-2 - count]
    return count


def side_by_side(xp: Any, x_htd: Array, n_axes: int) -> Array:
    """Reshape (..., token, d), heads in the `n_axes` axes before, to (..., token, heads·d)."""
    n_tokens, d_head = x_htd.shape[-2:]
    leading = tuple(x_htd.shape[: x_htd.ndim - 2 - n_axes])
    flat = x_htd.reshape(*leading, -1, n_tokens, d_head)
    return flat.swapaxes(-3, -2).reshape(*leading, n_tokens, -1)


def in_heads(xp: Any, x_tf: Array, shape: tuple[int, ...]) -> Array:
    """Reshape (..., token, heads·d) back to `shape`, (..., heads, token, d)."""
    return x_tf.reshape(*x_tf.shape[:-1], -1, shape[-1]).swapaxes(-3, -2).reshape(shape)


def join_heads(xp: Any, y_grqd: Array) -> Array:
    """Reshape (..., g, r, q, d) to (..., q, g·r·d): the heads' outputs side by side."""
    *leading, n_groups, group_size, n_queries, d_head = y_grqd.shape
    y_hqd = y_grqd.reshape(*leading, n_groups * group_size, n_queries, d_head)
    return y_hqd.swapaxes(-3, -2).reshape(*leading, n_queries, n_groups * group_size * d_head)


def over_rows(xp: Any, x: Array) -> Array:
    """The sum (feature,) of all rows of (..., feature)."""
    return xp.sum(x.reshape(-1, x.shape[-1]), axis=0)
