"""Masks: the keys that a query may attend to, as functions of absolute positions.

Convention, everywhere in attnviz: **True means blocked**. Positions count from 0 at the first token of the
sequence, cached tokens included, so a decoding step and a full pass call the same functions. A window of
`left` and `right` allows `left` earlier and `right` later keys *besides* the query's own position. Every
function returns (..., query, key) for positions (..., query) and (..., key). A fully blocked row has weights
of zero (or NaN, on request) and is flagged.

Other programs differ: in torch's scaled_dot_product_attention and flex_attention and in ONNX a boolean
True *allows*; transformers' sliding window of W counts the query's own position, which is `left` = W - 1
here; Longformer's window of w spans both sides, which is `left` = `right` = w / 2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.int64]
Blocked = NDArray[np.bool_]


def causal(q_positions: Positions, k_positions: Positions) -> Blocked:
    """Blocked where the key comes after the query: k > q. Vaswani et al. 2017, section 3.2.3."""
    return k_positions[..., None, :] > q_positions[..., :, None]


def prefix(q_positions: Positions, k_positions: Positions, n: int) -> Blocked:
    """Blocked where the key comes after the query and is not among the first `n`: k > q and k >= n.

    The first `n` tokens attend to each other in both directions, later ones to all before them: the prefix
    language model of Raffel et al. 2020 (T5), section 3.2. n = 0 is the causal mask.
    """
    return causal(q_positions, k_positions) & (k_positions >= n)[..., None, :]


def padding(q_positions: Positions, k_positions: Positions, tokens: Sequence[int]) -> Blocked:
    """Blocked for every query where the key's position is one of `tokens`."""
    columns = np.isin(k_positions, np.asarray(tokens, dtype=np.int64))[..., None, :]
    shape = np.broadcast_shapes(columns.shape, (*q_positions.shape, 1))
    return np.broadcast_to(columns, shape)


def window(q_positions: Positions, k_positions: Positions, left: int, right: int) -> Blocked:
    """Blocked where q - k > left or k - q > right. Beltagy et al. 2020 (Longformer), section 3.1."""
    distance = q_positions[..., :, None] - k_positions[..., None, :]
    return (distance > left) | (-distance > right)


def dilated(q_positions: Positions, k_positions: Positions, left: int, right: int, dilation: int) -> Blocked:
    """A window with gaps: keys k = q - i·dilation for i = -right ... left are visible, all others blocked.

    `left` and `right` count keys, not positions, besides the query's own; dilation 1 is `window`.
    Beltagy et al. 2020 (Longformer), section 3.1, where gaps of size d mean every d-th key.
    """
    distance = q_positions[..., :, None] - k_positions[..., None, :]
    return (distance % dilation != 0) | window(q_positions, k_positions, left * dilation, right * dilation)


def strided(q_positions: Positions, k_positions: Positions, stride: int) -> Blocked:
    """Every `stride`-th earlier key is visible, k = q, q - stride, q - 2·stride ...; all others are blocked.

    The second of the two patterns of strided attention in Child et al. 2019 (Sparse Transformer), section
    4.3; the first is a window of the same length, and the two are combined by "or" (or use different heads).
    """
    distance = q_positions[..., :, None] - k_positions[..., None, :]
    return (distance < 0) | (distance % stride != 0)


def blocks(q_positions: Positions, k_positions: Positions, size: int, previous: int = 0) -> Blocked:
    """Blocked unless the key is in the query's block of `size` tokens, or in one of the `previous` blocks
    before.

    Blocks begin at position 0: block = position // size. Alone, blocks are bidirectional inside; with
    a causal mask they are the chunks of Llama 4. Child et al. 2019, section 4.3 ("fixed"); Qiu et al. 2020.
    """
    behind = q_positions[..., :, None] // size - k_positions[..., None, :] // size
    return (behind < 0) | (behind > previous)


def global_tokens(q_positions: Positions, k_positions: Positions, tokens: Sequence[int]) -> Blocked:
    """Blocked unless the query or the key is one of `tokens`, which attend to all and are visible to all.

    Meant to be combined with another pattern by "or". Beltagy et al. 2020 (Longformer), section 3.1; Zaheer
    et al. 2020 (BigBird), section 2.
    """
    chosen = np.asarray(tokens, dtype=np.int64)
    return ~(np.isin(q_positions, chosen)[..., :, None] | np.isin(k_positions, chosen)[..., None, :])


def documents(q_positions: Positions, k_positions: Positions, starts: Sequence[int]) -> Blocked:
    """Blocked where query and key belong to different documents, which begin at the ascending `starts`.

    Tokens before the first start are a document of their own. Packing without cross-contamination: Krell
    et al. 2021; with a causal mask, the document mask of Llama 3 (Dubey et al. 2024, section 3.2).
    """
    edges = np.asarray(starts, dtype=np.int64)
    of_query = np.searchsorted(edges, q_positions, side="right")
    of_key = np.searchsorted(edges, k_positions, side="right")
    return np.asarray(of_query[..., :, None] != of_key[..., None, :])


def painted(q_positions: Positions, k_positions: Positions, cells: Sequence[tuple[int, int]]) -> Blocked:
    """Blocked at the listed (query position, key position) pairs."""
    listed = np.asarray(cells, dtype=np.int64).reshape(-1, 2)
    none = listed.max(axis=0, initial=0) + 1  # a position that is not listed
    table = np.zeros(none + 1, dtype=np.bool_)
    table[listed[:, 0], listed[:, 1]] = True
    rows, columns = (
        np.where((positions >= 0) & (positions < end), positions, end)
        for positions, end in zip((q_positions, k_positions), none, strict=True)
    )
    return np.asarray(table[rows[..., :, None], columns[..., None, :]])
