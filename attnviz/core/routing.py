"""Routing of tokens to experts: shares of the router's logits, the choice of the largest, and their weights.

With logits r (..., token, expert), shares s = softmax(r) or σ(r), and C the chosen experts of a token,

    weight = scale · s ÷ Σ_C s, or scale · s without that sum, of the experts in C; 0 of all others.

Shazeer et al. 2017, "Outrageously Large Neural Networks"; Jiang et al. 2024, "Mixtral of Experts";
DeepSeek-AI 2024, arXiv:2412.19437, section 2.1.2, for sigmoids, groups and the correction of the choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.core.normalise import pull_softmax_
from attnviz.core.special import Special
from attnviz.i18n import N_


@dataclass(frozen=True)
class Shares:
    """One function from logits to shares.

    `function(xp, r, special)` and `pull(xp, s, g)`, its vector–Jacobian product, are (token, expert);
    `of_group` measures groups of shares (token, group, expert) for the choice among groups.
    """

    id: str
    title: str
    formula: str
    source: str
    function: Callable[[Any, Array, Special], Array]
    pull: Callable[[Any, Array, Array], Array]
    of_group: Callable[[NDArray[Any]], NDArray[Any]]


def _softmax(xp: Any, r: Array, special: Special) -> Array:
    powers = xp.exp(r - xp.max(r, axis=-1, keepdims=True))
    return powers / xp.sum(powers, axis=-1, keepdims=True)


def _pull_softmax(xp: Any, s: Array, g: Array) -> Array:
    pulled = xp.asarray(g, copy=True)
    pull_softmax_(xp, s, pulled, s)
    return pulled


def _sigmoid(xp: Any, r: Array, special: Special) -> Array:
    return special.sigmoid(r)


def _pull_sigmoid(xp: Any, s: Array, g: Array) -> Array:
    return g * s * (1 - s)


def _largest(shares: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(shares.max(axis=-1))


def _sum_of_two(shares: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.sort(shares, axis=-1)[..., -2:].sum(axis=-1))


SHARES: tuple[Shares, ...] = (
    Shares(
        "softmax",
        "softmax",
        "exp(r) ÷ Σ exp(r)",
        N_("Shazeer et al. 2017; Mixtral, Qwen, DeepSeek-V2"),
        _softmax,
        _pull_softmax,
        _largest,
    ),
    Shares(
        "sigmoid",
        N_("sigmoid"),
        "1 ÷ (1 + exp(−r))",
        N_("DeepSeek-V3"),
        _sigmoid,
        _pull_sigmoid,
        _sum_of_two,
    ),
)
SHARES_BY_ID = {row.id: row for row in SHARES}


@dataclass(frozen=True)
class Choice:
    """The number of experts that a token uses, and of groups of equal size from which they are."""

    n_active: int
    n_groups: int = 1
    n_active_groups: int = 1


def measured_by(
    choice: Choice, logits: NDArray[Any], shares: NDArray[Any], correction: NDArray[Any] | None
) -> NDArray[Any]:
    """The numbers (token, expert) whose largest are chosen: the shares, plus `correction` (expert,) if any.

    Shares grow with their logits; so logits choose where nothing else counts, as sigmoids of large ones are
    equal after rounding.
    """
    if correction is not None:
        return shares + correction
    return logits if choice.n_active_groups == choice.n_groups else shares


def chosen(kind: Shares, choice: Choice, measured: NDArray[Any]) -> NDArray[np.bool_]:
    """True for the experts that each token uses, (token, expert): the largest; of equal ones the first."""
    if choice.n_active_groups < choice.n_groups:
        groups = measured.reshape(*measured.shape[:-1], choice.n_groups, -1)
        kept = _top(kind.of_group(groups), choice.n_active_groups)
        measured = np.where(kept[..., None], groups, -np.inf).reshape(measured.shape)
    return _top(measured, choice.n_active)


def _top(values: NDArray[Any], count: int) -> NDArray[np.bool_]:
    """True for the `count` largest of each row."""
    order = np.argsort(-values, axis=-1, kind="stable")[..., :count]
    is_top = np.zeros(values.shape, dtype=np.bool_)
    np.put_along_axis(is_top, order, True, axis=-1)
    return is_top


def weights(shares: Array, is_chosen: Array, is_shared: bool, scale: float, xp: Any) -> Array:
    """The weights (token, expert); `is_chosen` is 1 or 0 in the dtype of the shares.

    `is_shared`: the chosen shares are divided by their sum.
    """
    kept = shares * is_chosen
    return scale * (kept / xp.sum(kept, axis=-1, keepdims=True) if is_shared else kept)


def pull_weights(
    kind: Shares, shares: Array, is_chosen: Array, is_shared: bool, scale: float, g: Array, xp: Any
) -> Array:
    """The gradient by the logits from `g`, that by the weights, both (token, expert).

    The choice itself counts as constant.
    """
    by_shares = scale * g * is_chosen
    if is_shared:
        kept = shares * is_chosen
        total = xp.sum(kept, axis=-1, keepdims=True)
        by_shares = is_chosen * (by_shares - xp.sum(by_shares * kept, axis=-1, keepdims=True) / total) / total
    return kind.pull(xp, shares, by_shares)
