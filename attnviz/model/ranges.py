"""The ends and the name of the colour range of a stage: the same for the window and for figures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnviz.core.levels import Ends, better_range, levels
from attnviz.core.matrix import AnyMatrix
from attnviz.i18n import _
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace


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


def range_name(stage: str, range_id: str, *, is_mean: bool = False) -> str:
    """Name of a range whose own name speaks of heads that are not drawn; empty for the others."""
    if not STAGE_BY_ID[stage].per_head:
        return _("This map") if range_id in ("head", "global") else ""
    return _("Mean of the heads") if is_mean and range_id == "head" else ""


def overview_ends(site: SiteTrace, stage: str, range_id: str, head: int) -> Ends:
    """The (low, high) for a thumbnail, which asks the engine for nothing that its overview does not hold."""
    row, (values, hidden) = STAGE_BY_ID[stage], site.overview(stage, head)
    return levels(values, range_id, site.is_signed(stage), hidden, row.token_axis)


def proposed_range(site: SiteTrace, stage: str, range_id: str, head: int) -> str:
    """Id of a range in which a long map can be read where it cannot in `range_id`; else empty."""
    if not STAGE_BY_ID[stage].score_shaped or site.is_signed(stage) or range_id not in ("head", "global"):
        return ""
    return better_range(site.matrix(stage, head), site.hatched(stage, head))
