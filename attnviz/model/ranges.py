"""The ends and the name of the colour range of a stage: the same for the window and for figures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.levels import RANGE_BY_ID, Ends, better_range, is_sink, levels
from attnviz.core.matrix import AnyMatrix
from attnviz.i18n import N_, _
from attnviz.model.links import LINED
from attnviz.model.memo import WeakMemo
from attnviz.model.spec.view import Range, View, shown_head
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace

WITHOUT_FIRST = N_(
    "Leave the first token out of the colours (F): its cells are hatched, no number changes. Each head has "
    "this switch of its own; it is on at first where the first token has most of the weight"
)
"""The sentence of the switch in every panel that has it."""


def range_ends(site: SiteTrace, stage: str, range_id: str, heads: tuple[int, ...]) -> Ends:
    """The (low, high) of `range_id` over `heads` of a stage, or over all of its heads for "global"."""
    row, signed = STAGE_BY_ID[stage], site.is_signed(stage)
    matrices: list[tuple[AnyMatrix, NDArray[np.bool_] | None]]
    if range_id == "global" and row.per_head:
        # an overview keeps the outermost values, and costs no window of every head
        matrices = [*(site.overview(stage, head) for head in range(site.n_matrices(stage)))]
    else:
        matrices = [(site.matrix(stage, head), site.hatched(stage, head)) for head in heads]
    ends = [levels(values, range_id, signed, hidden, row.token_axis) for values, hidden in matrices]
    return min(low for low, _high in ends), max(high for _low, high in ends)


def shown_range(
    site: SiteTrace, view: View, stage: str, head: int | None = None, *, is_mean: bool = False
) -> Range:
    """The colour range of a head of a stage, or of the mean of the heads: that of the view, or without the
    first token. `head` None is the one that the view shows.

    The first token is left out where the view says so for the head. Where it says nothing and the range is
    that of one head, a sink is left out: the first column would leave no colours to the others.
    """
    chosen = view.range_of(stage)
    if not has_first(site, stage):
        return chosen
    head = shown_head(site.experiment, view, stage) if head is None else head
    by_hand = view.first_token(site.name, head)
    if by_hand is None:
        is_left_out = chosen == "head" and takes_most(site, stage, None if is_mean else head)
        return "without_first" if is_left_out else chosen
    if by_hand:
        return "without_first"
    return "head" if chosen == "without_first" else chosen


def why_no_first(site: SiteTrace, stage: str) -> str | None:
    """Why the first token cannot be left out of the colours of a stage; None if it can."""
    row = STAGE_BY_ID[stage]
    if site.shape(stage)[-2:][row.token_axis] > 1:
        return None
    return _("The stage has one token only.")


def with_first(site: SiteTrace, view: View, stage: str, is_off: bool) -> dict[str, Any]:
    """The fields of a view in which the first token of the shown head is out of the colours, or in them.

    Of weights it is remembered by head; of other numbers it is the range of their kind.
    """
    if has_first(site, stage):
        head = shown_head(site.experiment, view, stage)
        return {"first_tokens": view.with_first_token(site.name, head, is_off)}
    return {"ranges": view.with_range(stage, "without_first" if is_off else "head")}


def has_first(site: SiteTrace, stage: str) -> bool:
    """True for weights of two keys or more, which can be coloured without those of the first token."""
    return stage in LINED and site.quantity == "value" and site.shape(stage)[-1] > 1


def takes_most(site: SiteTrace, stage: str, head: int | None) -> bool:
    """True if the first token is a sink of a head of weights, or (None) of the mean of the heads."""
    known, place = _sinks(site), (stage, head)
    if place not in known:
        weights = site.mean(stage) if head is None else site.matrix(stage, head)
        known[place] = is_sink(weights, site.hatched(stage, head))
    return known[place]


_sinks: WeakMemo[SiteTrace, dict[tuple[str, int | None], bool]] = WeakMemo(lambda site: {})
"""Answers of `takes_most`: every panel with a colour range asks it at every paint."""


def range_name(stage: str, range_id: str, *, is_mean: bool = False) -> str:
    """Name of a range whose own name speaks of heads that are not drawn; empty for the others."""
    if not STAGE_BY_ID[stage].per_head:
        return _("This map") if range_id in ("head", "global") else ""
    return _("Mean of the heads") if is_mean and range_id == "head" else ""


def bar_name(quantity: str, range_id: str, of_range: str = "") -> str:
    """Name of a colour bar: the quantity, and its range unless that is the usual one, of the shown map.

    `of_range` is the name of the range where its own speaks of heads that are not drawn.
    """
    if range_id == "head" and quantity:
        return quantity
    return " · ".join(filter(None, (quantity, of_range or _(RANGE_BY_ID[range_id].label))))


def overview_ends(site: SiteTrace, stage: str, range_id: str, head: int) -> Ends:
    """The (low, high) for a thumbnail, which asks the engine for nothing that its overview does not hold."""
    row, (values, hidden) = STAGE_BY_ID[stage], site.overview(stage, head)
    return levels(values, range_id, site.is_signed(stage), hidden, row.token_axis)


def proposed_range(site: SiteTrace, stage: str, range_id: str, head: int) -> str:
    """Id of a range in which a long map can be read where it cannot in `range_id`; else empty."""
    if not STAGE_BY_ID[stage].score_shaped or site.is_signed(stage) or range_id not in ("head", "global"):
        return ""
    return better_range(site.matrix(stage, head), site.hatched(stage, head))
