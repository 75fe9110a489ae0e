"""The floor: the minimal work of attention in NumPy: two products, one pass of exp over the scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.bench.cases import Size

Floats = NDArray[Any]


def floor(size: Size, x: Floats, matrices: tuple[Floats, ...] | None) -> Callable[[], Any]:
    """A call that does the work and keeps scores and result. `matrices`: W_q, W_k, W_v, W_o, or None.

    With matrices, their four products are included. Maximum, scale, sum and division are omitted, so the
    numbers are meaningless; x is small so that exp cannot overflow.
    """
    small = x * np.float32(0.1)

    def heads(rows: Floats) -> Floats:
        return rows.reshape(size.n, size.heads, size.d_head).transpose(1, 0, 2)

    def call() -> Any:
        q, k, v = (heads(small if matrices is None else small @ matrices[i]) for i in range(3))
        scores = q @ k.transpose(0, 2, 1)
        np.exp(scores, out=scores)
        mixed = scores @ v
        if matrices is None:
            return scores, mixed
        return scores, mixed.transpose(1, 0, 2).reshape(size.n, -1) @ matrices[3]

    return call
