"""Each kind of mask, one cell at a time, in plain Python: independent of attnviz.core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gaps import row_of_kind

from attnviz.model.spec import parts as p


def _sees_dilated(mask: p.Dilated, query: int, key: int) -> bool:
    first, last = query - mask.left * mask.dilation, query + mask.right * mask.dilation
    return key in range(first, last + 1, mask.dilation)


def _sees_block(mask: p.Blocks, query: int, key: int) -> bool:
    start = query - query % mask.size
    return key in range(start - mask.previous * mask.size, start + mask.size)


def _sees_document(mask: p.Documents, query: int, key: int) -> bool:
    low, high = sorted((query, key))
    return not any(low < start <= high for start in mask.starts)


SEES: dict[type, Callable[[Any, int, int], bool]] = {
    p.AnyOf: lambda mask, query, key: any(sees(member, query, key) for member in mask.masks),
    p.Causal: lambda mask, query, key: key <= query,
    p.Prefix: lambda mask, query, key: key <= query or key in range(mask.n),
    p.Padding: lambda mask, query, key: key not in mask.tokens,
    p.Window: lambda mask, query, key: key in range(query - mask.left, query + mask.right + 1),
    p.Dilated: _sees_dilated,
    p.Strided: lambda mask, query, key: key in range(query % mask.stride, query + 1, mask.stride),
    p.Blocks: _sees_block,
    p.Global: lambda mask, query, key: query in mask.tokens or key in mask.tokens,
    p.Documents: _sees_document,
    p.Painted: lambda mask, query, key: (query, key) not in mask.cells,
}
"""Of (mask, query, key), two positions: True if the mask lets the query attend to the key."""


def sees(mask: p.Mask, query: int, key: int) -> bool:
    """True if `mask` lets the query at one position see the key at another."""
    return row_of_kind("SEES in tests/mask_formulas.py", SEES, type(mask))(mask, query, key)


def blocks_cell(masks: Sequence[p.Mask], query: int, key: int) -> bool:
    """True if any of these masks, side by side, blocks a cell."""
    return not all(sees(mask, query, key) for mask in masks)


def _document_number(mask: p.Documents, position: int) -> int:
    return 1 + sum(0 < start <= position for start in mask.starts)


STATED: dict[type, Callable[[Any, int, int], set[int]]] = {
    p.Dilated: lambda mask, query, key: {mask.left * mask.dilation, mask.right * mask.dilation},
    p.Blocks: lambda mask, query, key: {query // mask.size, key // mask.size},
    p.Documents: lambda mask, query, key: {_document_number(mask, query), _document_number(mask, key)},
}
"""Of (mask, query, key): numbers in the reason of a blocked cell that are computed from the mask's own."""
