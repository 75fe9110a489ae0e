"""`MASKS`: the mask families, and what an experiment's masks block together.

Adding a mask is one function in `core.masks`, its struct in `parts`, and here one row and its sentence of why
a cell is blocked. The program, edits, forms and tests iterate over this table.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core import masks as core
from attnviz.core.phrases import sequenced
from attnviz.i18n import N_, _
from attnviz.model.spec.parts import (
    AnyOf,
    Blocks,
    Causal,
    Dilated,
    Documents,
    Global,
    Mask,
    OneMask,
    Padding,
    Painted,
    Prefix,
    Strided,
    Window,
)
from attnviz.model.spec.site import Site


def why_causal(mask: Causal, query: int, key: int) -> str:
    return _("causal: key {key} comes after query {query}").format(query=query, key=key)


def why_prefix(mask: Prefix, query: int, key: int) -> str:
    text = _("prefix: key {key} comes after query {query} and is not among the first {n}")
    return text.format(query=query, key=key, n=mask.n)


def why_padding(mask: Padding, query: int, key: int) -> str:
    return _("padding: key {key} is hidden from every query").format(key=key)


def why_window(mask: Window, query: int, key: int) -> str:
    if query > key:
        text = _("window: key {key} is {n} before query {query}; the limit is {most}")
        return text.format(query=query, key=key, n=query - key, most=mask.left)
    text = _("window: key {key} is {n} after query {query}; the limit is {most}")
    return text.format(query=query, key=key, n=key - query, most=mask.right)


def why_dilated(mask: Dilated, query: int, key: int) -> str:
    distance, step = abs(query - key), mask.dilation
    if distance % step:
        text = _("dilated: key {key} is {n} away from query {query}; only multiples of {step} are visible")
        return text.format(query=query, key=key, n=distance, step=step)
    if query > key:
        text = _("dilated: key {key} is {n} before query {query}; the limit is {most}")
        return text.format(query=query, key=key, n=distance, most=mask.left * step)
    text = _("dilated: key {key} is {n} after query {query}; the limit is {most}")
    return text.format(query=query, key=key, n=distance, most=mask.right * step)


def why_strided(mask: Strided, query: int, key: int) -> str:
    if key > query:
        return _("strided: key {key} comes after query {query}").format(query=query, key=key)
    text = _("strided: key {key} is {n} before query {query}; only multiples of {step} are visible")
    return text.format(query=query, key=key, n=query - key, step=mask.stride)


def why_blocks(mask: Blocks, query: int, key: int) -> str:
    text = _("blocks: query {query} is in block {a}, which does not attend to block {b} of key {key}")
    return text.format(query=query, key=key, a=query // mask.size, b=key // mask.size)


def why_global_tokens(mask: Global, query: int, key: int) -> str:
    text = _("global: neither query {query} nor key {key} is a global token")
    return text.format(query=query, key=key)


def why_documents(mask: Documents, query: int, key: int) -> str:
    text = _("documents: query {query} is in document {a}, key {key} in document {b}")
    first = 0 if mask.starts[0] == 0 else 1
    a, b = (bisect_right(mask.starts, position) + first for position in (query, key))
    return text.format(query=query, key=key, a=a, b=b)


def why_painted(mask: Painted, query: int, key: int) -> str:
    return _("painted: blocked by hand")


Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_CELLS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class MaskFamily:
    """One kind of mask. `title` and `description` (one sentence) are messages.

    `blocked(mask, q_positions, k_positions)` is (query, key), True where blocked; `reason(mask, query, key)`
    returns why a blocked cell is blocked. `looks_ahead(mask)`: True exactly if any query attends to a later
    key; masks that do not can be decoded one token at a time. `is_pattern`: it names the few keys that a
    query attends to, at most half of the earlier ones, so that several can be combined by "or". `fresh` is
    the initial value of a form.
    """

    kind: type[OneMask]
    title: str
    description: str
    blocked: Callable[[Any, Ints, Ints], Bools]
    reason: Callable[[Any, int, int], str]
    looks_ahead: Callable[[Any], bool]
    fresh: Callable[[Site], OneMask]
    is_pattern: bool = False

    @property
    def tag(self) -> str:
        """Tag in a document file."""
        return str(self.kind.__struct_config__.tag)


def _always(mask: Any) -> bool:
    return True


def _never(mask: Any) -> bool:
    return False


def _later_keys(site: Site) -> int:
    """Number of later keys in a new window: 0 if a causal mask hides them anyway."""
    return 0 if any(isinstance(mask, Causal | Prefix) for mask in site.masks) else 1


MASKS: tuple[MaskFamily, ...] = (
    MaskFamily(
        Causal,
        N_("causal"),
        N_("A query attends to its own position and earlier ones"),
        blocked=lambda mask, q, k: core.causal(q, k),
        reason=why_causal,
        looks_ahead=_never,
        fresh=lambda experiment: Causal(),
    ),
    MaskFamily(
        Prefix,
        N_("prefix"),
        N_("Causal, but the first tokens attend to each other both ways (prefix LM)"),
        blocked=lambda mask, q, k: core.prefix(q, k, mask.n),
        reason=why_prefix,
        looks_ahead=lambda mask: mask.n > 1,
        fresh=lambda experiment: Prefix(max(1, experiment.n_keys // 2)),
    ),
    MaskFamily(
        Padding,
        N_("padding"),
        N_("Listed keys are hidden from every query"),
        blocked=lambda mask, q, k: core.padding(q, k, mask.tokens),
        reason=why_padding,
        looks_ahead=_always,
        fresh=lambda experiment: Padding((experiment.n_keys - 1,)),
    ),
    MaskFamily(
        Window,
        N_("window"),
        N_("A query attends to the keys near its own position"),
        blocked=lambda mask, q, k: core.window(q, k, mask.left, mask.right),
        reason=why_window,
        looks_ahead=lambda mask: mask.right > 0,
        fresh=lambda experiment: Window(1, _later_keys(experiment)),
        is_pattern=True,
    ),
    MaskFamily(
        Dilated,
        N_("dilated"),
        N_("A window with gaps: every second or third key near the query's own position"),
        blocked=lambda mask, q, k: core.dilated(q, k, mask.left, mask.right, mask.dilation),
        reason=why_dilated,
        looks_ahead=lambda mask: mask.right > 0,
        fresh=lambda experiment: Dilated(2, 2 * _later_keys(experiment), 2),
        is_pattern=True,
    ),
    MaskFamily(
        Strided,
        N_("strided"),
        N_("A query attends to every n-th earlier key"),
        blocked=lambda mask, q, k: core.strided(q, k, mask.stride),
        reason=why_strided,
        looks_ahead=_never,
        fresh=lambda experiment: Strided(3),
        is_pattern=True,
    ),
    MaskFamily(
        Blocks,
        N_("blocks"),
        N_("A query attends to the keys of its own block and, optionally, of earlier blocks"),
        blocked=lambda mask, q, k: core.blocks(q, k, mask.size, mask.previous),
        reason=why_blocks,
        looks_ahead=lambda mask: mask.size > 1,
        fresh=lambda experiment: Blocks(max(1, min(4, experiment.n_keys // 2))),
        is_pattern=True,
    ),
    MaskFamily(
        Global,
        N_("global"),
        N_("A few tokens attend to all, and all attend to them"),
        blocked=lambda mask, q, k: core.global_tokens(q, k, mask.tokens),
        reason=why_global_tokens,
        looks_ahead=lambda mask: bool(mask.tokens),
        fresh=lambda experiment: Global((0,)),
        is_pattern=True,
    ),
    MaskFamily(
        Documents,
        N_("documents"),
        N_("Several documents in one sequence; no query attends across a boundary"),
        blocked=lambda mask, q, k: core.documents(q, k, mask.starts),
        reason=why_documents,
        looks_ahead=_always,
        fresh=lambda experiment: Documents(tuple(sorted({0, experiment.n_keys // 2}))),
    ),
    MaskFamily(
        Painted,
        N_("painted"),
        N_("Cells blocked by hand"),
        blocked=lambda mask, q, k: core.painted(q, k, mask.cells),
        reason=why_painted,
        looks_ahead=_always,
        fresh=lambda experiment: Painted(()),
    ),
)

FAMILY_OF: dict[type, MaskFamily] = {family.kind: family for family in MASKS}
MASK_ORDER: tuple[type, ...] = (*FAMILY_OF, AnyOf)
"""Kinds of masks in the order in which an edit leaves them."""


def blocked_by(mask: Mask, q_positions: Ints, k_positions: Ints) -> Bools:
    """Cells that one mask blocks, (query, key); `AnyOf` blocks the cells that all of its masks block."""
    if isinstance(mask, AnyOf):
        members = (blocked_by(member, q_positions, k_positions) for member in mask.masks)
        return reduce(np.logical_and, members)
    return FAMILY_OF[type(mask)].blocked(mask, q_positions, k_positions)


def blocked(site: Site, queries: Ints, keys: Ints) -> Bools | None:
    """Cells of these rows and columns that all masks together block, (query, key); None without a mask."""
    return blocked_by_all(site.masks, queries + site.query_offset, keys)


def blocked_by_all(masks: tuple[Mask, ...], q_positions: Ints, k_positions: Ints) -> Bools | None:
    """The cells that these masks block together, (query, key); None without masks."""
    if not masks:
        return None
    return reduce(np.logical_or, (blocked_by(mask, q_positions, k_positions) for mask in masks))


def cut_in_all_heads(site: Site) -> Bools:
    """Cells of the additive mask's table that are −∞ in every head, (row, key)."""
    if site.additive_mask is None:
        return np.zeros((0, 0), np.bool_)
    return np.asarray(np.isneginf(site.additive_mask.array(site.heads.n_heads)).all(axis=0))


def mask_of(site: Site, kind: type) -> Any:
    """The mask of one kind, or None."""
    return next((mask for mask in site.masks if isinstance(mask, kind)), None)


def visible_pairs(site: Site) -> int:
    """Count the (query, key) pairs that the masks leave visible in some head, some rows at a time."""
    n_queries, n_keys = site.n_queries, site.n_keys
    cut = cut_in_all_heads(site)
    if not site.masks and not cut.any():
        return n_queries * n_keys
    rows = max(1, _CELLS_AT_ONCE // n_keys)
    count = 0
    for start in range(0, n_queries, rows):
        queries = np.arange(start, min(start + rows, n_queries))
        hidden = blocked_by_all(site.masks, queries + site.query_offset, np.arange(n_keys))
        hidden = np.zeros((len(queries), n_keys), np.bool_) if hidden is None else np.array(hidden)
        below = cut[start : start + len(queries), :n_keys]
        hidden[: below.shape[0], : below.shape[1]] |= below
        count += hidden.size - int(np.count_nonzero(hidden))
    return count


def looks_ahead(masks: tuple[Mask, ...]) -> bool:
    """True if these masks together may let a query attend to a later key; without masks, every query does."""
    return all(
        any(FAMILY_OF[type(member)].looks_ahead(member) for member in mask.masks)
        if isinstance(mask, AnyOf)
        else FAMILY_OF[type(mask)].looks_ahead(mask)
        for mask in masks
    )


def sees_later(site: Site) -> bool:
    """True if the masks and the additive mask together may let a query of the text attend to a later key."""
    if not looks_ahead(site.masks) or site.additive_mask is None:
        return looks_ahead(site.masks)
    n_queries, n_keys = site.n_queries, site.n_keys
    later = core.causal(np.arange(n_queries) + site.query_offset, np.arange(n_keys))
    cut = cut_in_all_heads(site)[:n_queries, :n_keys]
    later[: cut.shape[0], : cut.shape[1]] &= ~cut
    return bool(later.any())


def why_blocked(site: Site, query: int, key: int) -> tuple[str, ...]:
    """Why a cell is blocked, one sentence for each mask that blocks it; empty if it is visible.

    The sentences name positions: `query` is the row of the cell.
    """
    return why_blocked_by(site.masks, query + site.query_offset, key)


def why_blocked_by(masks: tuple[Mask, ...], query: int, key: int) -> tuple[str, ...]:
    """`why_blocked` of these masks, at the position of a query."""
    return tuple(sentence for mask in masks if (sentence := _why(mask, query, key)))


def _why(mask: Mask, query: int, key: int) -> str:
    if not blocked_by(mask, np.array([query]), np.array([key]))[0, 0]:
        return ""
    if isinstance(mask, AnyOf):
        members = sequenced(_why(member, query, key) for member in mask.masks)
        return _("blocked by every combined mask ({reasons})").format(reasons=members)
    return FAMILY_OF[type(mask)].reason(mask, query, key)
