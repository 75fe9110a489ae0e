"""`NORMALISER_CODE`: from scores to weights; the stages between q, k and the mixture."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from attnviz.explain.scripts.code import Asked, Code, note
from attnviz.explain.scripts.functions import NORM_CODE, sigmoid, softmax
from attnviz.explain.scripts.masks import define_blocked
from attnviz.explain.scripts.sources import array, sinks
from attnviz.i18n import N_
from attnviz.model.masks import blocked as blocked_cells
from attnviz.model.memo import WeakMemo
from attnviz.model.spec.site import Site

NO_KEY = N_("queries without a key")
AFTER = N_("the mask after the softmax: rows no longer sum to 1")
ITS_SINK = N_("the sink is one more score, without a value")
N_VISIBLE = N_("keys visible to each query")


def additive_mask_addend(asked: Asked) -> str:
    """The additive mask, 0 past its end."""
    table = _additive(asked.site)
    assert table is not None
    return f" + {_written(asked, table)}"


def _additive(site: Site) -> NDArray[np.float64] | None:
    """The additive mask, (head, query, key), (1, query, key) where heads share it; None without one."""
    mask = site.additive_mask
    return None if mask is None else mask.fitted(site.heads.n_heads, site.n_queries, site.n_keys)


def _written(asked: Asked, table: NDArray[np.float64]) -> str:
    """Define the additive mask; returns its expression."""
    array(asked, "M", table.reshape(-1, table.shape[-1]))
    return f"M.reshape{table.shape}" if len(table) > 1 else "M"


def _softmax(asked: Asked, read: str) -> tuple[str, ...]:
    site = asked.site
    if site.sinks is None:
        return (f"weights = {softmax(asked, read)}",)
    sinks(asked, site.sinks)
    shape = (site.heads.n_heads, site.n_queries, 1)
    column = f"{asked.xp}.broadcast_to(sink[:, None, None], {shape})"
    joined = f"{asked.library.join}(({read}, {column}), {asked.library.axis}=-1)"
    return (f"with_sink = {joined}{note(ITS_SINK)}", f"weights = {softmax(asked, 'with_sink')}[..., :-1]")


def _sigmoid(asked: Asked, read: str) -> tuple[str, ...]:
    counted = _n_visible(asked)
    log = f"{'math' if counted.isdigit() else asked.xp}.log({counted})"
    return (f"weights = {sigmoid(asked)}({read} - {log})",)


def _relu_squared(asked: Asked, read: str) -> tuple[str, ...]:
    positive = f"np.maximum({read}, 0)" if asked.library.is_numpy else f"torch.relu({read})"
    return (f"weights = {positive} ** 2 / {_n_visible(asked)}",)


def _n_visible(asked: Asked) -> str:
    """Number of visible keys of each row, (query, 1); of all keys if the normaliser sees no mask."""
    site, table = asked.site, _additive(asked.site)
    visible = []
    if site.masks and site.mask_placement == "before_softmax":
        define_blocked(asked)
        visible.append("~blocked")
    if table is not None and np.isneginf(table).any():
        visible.append(f"({_written(asked, table)} > -{asked.xp}.inf)")
    if not visible:
        return str(site.n_keys)
    seen = f"({' & '.join(visible)}).sum({asked.library.last()})"
    least = f"np.maximum({seen}, 1)" if asked.library.is_numpy else f"{seen}.clip(min=1)"
    return asked.define("n_visible", f"n_visible = {least}{note(N_VISIBLE)}")


NORMALISER_CODE: dict[str, Callable[[Asked, str], tuple[str, ...]]] = {
    "softmax": _softmax,
    "sigmoid": _sigmoid,
    "relu_squared": _relu_squared,
}


def weights(asked: Asked) -> Code:
    """Scores to weights; what a mask after them clears, and rows without a key."""
    (read,) = asked.reads
    filled: tuple[str, ...] = ()
    if asked.site.additive_mask is not None and has_empty_rows(asked.site):
        cut = f"({read} == -{asked.xp}.inf)"
        asked.define("empty", f"empty = {cut}.all({asked.library.last(keeps=False)}){note(NO_KEY)}")
        read, filled = "filled", (f"filled = {asked.library.blank(read, 'empty[..., None]', '0.0')}",)
    lines = NORMALISER_CODE[asked.site.normaliser](asked, read)
    return asked.done(*filled, *_quietly(asked, lines), *_cleared(asked))


def _cleared(asked: Asked) -> tuple[str, ...]:
    site = asked.site
    lines: tuple[str, ...] = ()
    if has_empty_rows(site):
        value = f"{asked.xp}.nan" if site.fully_masked_row == "nan" and site.sinks is None else "0.0"
        of_heads = site.additive_mask is not None
        if not of_heads:
            asked.define("empty", f"empty = blocked.all({asked.library.last(keeps=False)}){note(NO_KEY)}")
        lines = (f"weights[{'empty' if of_heads else ':, empty'}] = {value}",)
    if site.masks and site.mask_placement == "after_softmax":
        define_blocked(asked)
        lines = (*lines, f"weights = {asked.library.blank('weights', 'blocked', '0.0')}{note(AFTER)}")
    return lines


def _quietly(asked: Asked, lines: tuple[str, ...]) -> tuple[str, ...]:
    """The lines without NumPy's warning of 0 ÷ 0 in a row without a key."""
    site = asked.site
    divides = site.normaliser == "softmax" and site.sinks is None and site.additive_mask is None
    if not (asked.library.is_numpy and divides and has_empty_rows(asked.site)):
        return lines
    return ('with np.errstate(invalid="ignore"):', *(f"    {line}" for line in lines))


@WeakMemo
def has_empty_rows(site: Site) -> bool:
    """True if a mask before the softmax, or the additive one, leaves some query no key."""
    table = _additive(site)
    hidden = np.zeros((1, site.n_queries, site.n_keys), np.bool_) if table is None else np.isneginf(table)
    if site.masks and site.mask_placement == "before_softmax" and site.mask_bias is None:
        blocked = blocked_cells(site, np.arange(site.n_queries), np.arange(site.n_keys))
        hidden = hidden if blocked is None else hidden | blocked
    return bool(hidden.all(axis=2).any())


def mixed_normed(asked: Asked) -> Code:
    """The features of both heads of a pair, normalised together, times 1 − λ₀."""
    site, (read,), axis = asked.site, asked.reads, asked.library.axis
    of, half, d_head = site.differential, site.heads.n_heads // 2, site.heads.d_head
    assert of is not None
    joined = f"{asked.library.join}(({read}[:{half}], {read}[{half}:]), {axis}=-1)"
    return asked.done(
        f"pairs = {1.0 - of.initial!r} * {NORM_CODE['rms'](asked)}({joined}, {of.eps!r})",
        f"mixed_normed = {asked.library.join}((pairs[..., :{d_head}], pairs[..., {d_head}:]))",
    )
