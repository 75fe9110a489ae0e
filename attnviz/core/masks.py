"""Masks: which key a query may see, as functions of absolute positions.

Convention, everywhere in attnviz: **True means blocked**. Positions count from 0 at the first token
of the sequence, cached tokens included, so a decoding step and a full pass call the same functions.
A window of `left` and `right` allows `left` earlier and `right` later keys *besides* the query's own
position. A row that is blocked as a whole has weights of zero (or NaN, on request) and is flagged.

Other programs differ: in torch's scaled_dot_product_attention and in ONNX a boolean True *allows*;
transformers' sliding window of W counts the query's own position, which is `left` = W - 1 here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.int64]
Blocked = NDArray[np.bool_]


def causal(q_positions: Positions, k_positions: Positions) -> Blocked:
    """Blocked where the key comes after the query: k > q. Shape (q, k)."""
    return k_positions[None, :] > q_positions[:, None]


def padding(q_positions: Positions, k_positions: Positions, tokens: Sequence[int]) -> Blocked:
    """Blocked for every query where the key's position is one of `tokens`. Shape (q, k)."""
    columns = np.isin(k_positions, np.asarray(tokens, dtype=np.int64))
    return np.broadcast_to(columns[None, :], (len(q_positions), len(k_positions)))


def window(q_positions: Positions, k_positions: Positions, left: int, right: int) -> Blocked:
    """Blocked where q - k > left or k - q > right. Shape (q, k)."""
    distance = q_positions[:, None] - k_positions[None, :]
    return (distance > left) | (-distance > right)


def painted(q_positions: Positions, k_positions: Positions, cells: Sequence[tuple[int, int]]) -> Blocked:
    """Blocked at the listed (query position, key position) pairs. Shape (q, k)."""
    blocked = np.zeros((len(q_positions), len(k_positions)), dtype=np.bool_)
    if not cells:
        return blocked
    queries, keys = np.asarray(cells, dtype=np.int64).T
    rows = {int(position): row for row, position in enumerate(q_positions)}
    columns = {int(position): column for column, position in enumerate(k_positions)}
    for query, key in zip(queries.tolist(), keys.tolist(), strict=True):
        if query in rows and key in columns:
            blocked[rows[query], columns[key]] = True
    return blocked
