"""Attention as usually written in torch, on the CPU, with all stages stored; and torch's fused one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.bench.cases import Size

Floats = NDArray[Any]


@cache
def torch_threads() -> int:
    """Torch's own number of threads, read at the first call, before anything sets it.

    Raises `ImportError` and whatever else a broken torch raises.
    """
    import torch

    return int(torch.get_num_threads())


def plain_torch(
    size: Size, x: Floats, matrices: tuple[Floats, ...] | None, is_causal: bool = False
) -> Callable[[int], tuple[Any, Any, Any]]:
    """A call, by number of threads: scores and weights (head, query, key), and output (n, d_model).

    `matrices` are W_q, W_k, W_v and W_o, (in, out); None omits the projections. `is_causal` fills the
    scaled scores of later keys with -inf.
    """
    import torch

    x_tf = torch.tensor(x)
    later = torch.ones(size.n, size.n, dtype=torch.bool).triu(1)
    maps = None if matrices is None else tuple(torch.tensor(matrix) for matrix in matrices)

    def heads(rows: Any) -> Any:
        return rows.reshape(size.n, size.heads, size.d_head).transpose(0, 1)

    def call(threads: int) -> tuple[Any, Any, Any]:
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        with torch.inference_mode():
            q, k, v = (heads(x_tf if maps is None else x_tf @ maps[i]) for i in range(3))
            scores = q @ k.transpose(-1, -2)
            scaled = scores * size.d_head**-0.5
            if is_causal:
                scaled = scaled.masked_fill(later, -torch.inf)
            weights = torch.softmax(scaled, dim=-1)
            output = (weights @ v).transpose(0, 1).reshape(size.n, -1)
            return scores, weights, output if maps is None else output @ maps[3]

    return call


def fused_torch(q: Floats, k: Floats, v: Floats) -> Callable[[], Floats]:
    """A call of torch's fused causal attention over q, k and v, each (head, token, feature)."""
    import torch

    queries, keys, values = (torch.from_numpy(part)[None] for part in (q, k, v))

    def call() -> Floats:
        with torch.inference_mode():
            mixed = torch.nn.functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        return np.asarray(mixed[0].numpy())

    return call
