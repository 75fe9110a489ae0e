"""Visible cells of each kind of mask, one at a time, in plain Python: independent of attnviz.core."""

from __future__ import annotations

from collections.abc import Sequence

from attnviz.model.spec import parts as p


def sees(mask: p.Mask, query: int, key: int) -> bool:
    """True if `mask` lets the query at one position see the key at another."""
    if isinstance(mask, p.AnyOf):
        return any(sees(member, query, key) for member in mask.masks)
    if isinstance(mask, p.Causal):
        return key <= query
    if isinstance(mask, p.Prefix):
        return key <= query or key in range(mask.n)
    if isinstance(mask, p.Padding):
        return key not in mask.tokens
    if isinstance(mask, p.Window):
        return key in range(query - mask.left, query + mask.right + 1)
    if isinstance(mask, p.Dilated):
        first, last = query - mask.left * mask.dilation, query + mask.right * mask.dilation
        return key in range(first, last + 1, mask.dilation)
    if isinstance(mask, p.Strided):
        return key <= query and key in range(query % mask.stride, query + 1, mask.stride)
    if isinstance(mask, p.Blocks):
        start = query - query % mask.size
        return key in range(start - mask.previous * mask.size, start + mask.size)
    if isinstance(mask, p.Global):
        return query in mask.tokens or key in mask.tokens
    if isinstance(mask, p.Documents):
        low, high = sorted((query, key))
        return not any(low < start <= high for start in mask.starts)
    assert isinstance(mask, p.Painted)
    return (query, key) not in mask.cells


def blocks_cell(masks: Sequence[p.Mask], query: int, key: int) -> bool:
    """True if any of these masks, side by side, blocks a cell."""
    return not all(sees(mask, query, key) for mask in masks)
