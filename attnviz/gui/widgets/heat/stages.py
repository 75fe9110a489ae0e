"""Appearance of a stage: its matrix, labels, colours and highlight, as values for a heat map.

Every panel that draws a stage uses this module, so a stage looks the same in all of them.
"""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from attnviz.core.levels import RANGE_BY_ID, Ends
from attnviz.core.matrix import AnyMatrix, by_rows, column_means, column_sums
from attnviz.explain.arithmetic.cell import exists
from attnviz.gui.look.theme import LIGHT, Theme
from attnviz.gui.widgets.heat.content import NO_HIGHLIGHT, Highlight, colored
from attnviz.gui.widgets.heat.kept_numbers import kept
from attnviz.gui.widgets.heat.map import HeatContent
from attnviz.i18n import _
from attnviz.model.provenance import Region, consumers, sources, tokens_of
from attnviz.model.ranges import has_first, range_ends, range_name, shown_range
from attnviz.model.sites.by_hand import edited_cells, still_hidden
from attnviz.model.sites.stages import has_names
from attnviz.model.spec.view import Cell, View, shown_head
from attnviz.model.stages import STAGE_BY_ID, Axis
from attnviz.model.trace import SiteTrace
from attnviz.study.heads.mean import mean_ends, shows_mean

LIT_CELLS = 4096
"""Source cells outlined one by one; more than these are outlined as whole rows and columns."""


def stage_content(
    site: SiteTrace, view: View, stage: str, theme: Theme, head: int | None = None
) -> HeatContent:
    """One head of a stage, ready to be drawn. `head` None: what the view shows, one head or their mean."""
    row = STAGE_BY_ID[stage]
    is_mean = head is None and shows_mean(site, view, stage)
    head = shown_head(site.experiment, view, stage) if head is None else head
    hidden = site.hatched(stage, None if is_mean else head)
    values = site.mean(stage) if is_mean else site.matrix(stage, head)
    on_rows, on_columns = row.axes[-2:]
    range_id = shown_range(site, view, stage, head, is_mean=is_mean)
    is_shared = site.has_shares(stage) and row.score_shaped

    def ends() -> Ends:
        return mean_ends(site, stage, range_id) if is_mean else range_ends(site, stage, range_id, (head,))

    return HeatContent(
        values=values,
        row_labels=axis_labels(site, on_rows, values.shape[0]),
        column_labels=axis_labels(site, on_columns, values.shape[1]),
        row_color=axis_color(on_rows, theme, row.hue),
        column_color=axis_color(on_columns, theme, row.hue),
        blocked=still_hidden(site.experiment, stage, -1 if is_mean else head, hidden),
        signed=site.is_signed(stage),
        range_id=range_id,
        range_name=range_name(stage, range_id, is_mean=is_mean),
        levels=kept(values, ("ends", stage, range_id, is_mean, head), ends),
        row_sums=kept(values, "row sums", partial(_row_sums, values)) if site.has_shares(stage) else None,
        column_means=kept(values, "column means", partial(_column_means, values)) if is_shared else None,
        chosen=tuple(key for key in view.keys if key < values.shape[1]) if is_shared else (),
        title=stage_title(site, view, stage),
        quantity=site.called(stage),
        transposed=view.orientation == "queries_as_columns",
        row_axis=site.axis_name(on_rows),
        column_axis=site.axis_name(on_columns),
        edited=edited_cells(site.experiment, stage, -1 if is_mean else head),
        is_first_off=RANGE_BY_ID[range_id].skips_first and has_first(site, stage),
        shows_entropy="entropy" in view.parts,
    )


def prepare(site: SiteTrace, view: View, stage: str) -> None:
    """Compute what the map of the view is painted from, in a worker."""
    colored(stage_content(site, view, stage, LIGHT))


def _row_sums(values: AnyMatrix) -> NDArray[np.floating]:
    return by_rows(lambda rows: rows.sum(axis=1), values)


def _column_means(values: AnyMatrix) -> NDArray[np.floating]:
    """Mean of each column over the rows that are not NaN: those of fully masked queries may be."""
    means = column_means(values)
    if not np.isnan(means).any():
        return means
    whole = np.count_nonzero(~by_rows(_has_nan, values))
    return column_sums(values, of=np.nan_to_num) / max(1, int(whole))


def _has_nan(rows: NDArray[np.floating]) -> NDArray[np.bool_]:
    return np.asarray(np.isnan(rows).any(axis=1))


def stage_title(site: SiteTrace, view: View, stage: str) -> str:
    """The stage's name, and which head of how many it shows."""
    row, shown = STAGE_BY_ID[stage], shown_head(site.experiment, view, stage)
    title = site.called_at(stage, shown)
    if not row.per_head:
        return title
    head, count = site.head_and_token(stage, shown)[0] + 1, site.shape(stage)[0]
    if shows_mean(site, view, stage):
        return _("{stage} · mean of {count} heads").format(stage=title, count=count)
    if row.axes[0] == "kv_head":
        return _("{stage} · KV head {head} of {count}").format(stage=title, head=head, count=count)
    return _("{stage} · head {head} of {count}").format(stage=title, head=head, count=count)


def short_title(site: SiteTrace, view: View, stage: str) -> str:
    """The stage's name and its head alone, for a narrow place."""
    row = STAGE_BY_ID[stage]
    if not row.per_head:
        return site.called(stage)
    if shows_mean(site, view, stage):
        return _("{stage} · mean").format(stage=site.called(stage))
    shown = shown_head(site.experiment, view, stage)
    text = _("{stage} · KV head {head}") if row.axes[0] == "kv_head" else _("{stage} · head {head}")
    head = site.head_and_token(stage, shown)[0] + 1
    return text.format(stage=site.called_at(stage, shown), head=head)


def axis_labels(site: SiteTrace, axis: Axis, length: int) -> tuple[str, ...]:
    """Tokens along axes of tokens, numbers along the others."""
    if not has_names(axis):
        return numbered(length)
    return site.names(axis)


def axis_color(axis: Axis, theme: Theme, hue: str) -> str:
    """Queries, keys and values keep their colour wherever they are drawn."""
    if axis == "query":
        return theme.query
    if axis in ("key", "memory"):
        return theme.value if hue == "value" else theme.key
    return theme.ink if has_names(axis) else theme.muted


def highlight(
    site: SiteTrace, view: View, stage: str, focus: Cell | None, head: int | None = None
) -> Highlight:
    """Highlight for `focus` in a picture of `stage`: itself, its sources, its consumers, its tokens.

    A gradient is computed from those of its consumers alone.

    `head` None: the picture shows the head that the view has selected.
    """
    if focus is None or not exists(site, focus):
        return NO_HIGHLIGHT
    head = shown_head(site.experiment, view, stage) if head is None else head
    row_axis, column_axis = STAGE_BY_ID[stage].axes[-2:]
    queries, keys = tokens_of(focus)
    rows, columns = set(_along(row_axis, queries, keys)), set(_along(column_axis, queries, keys))
    cells: set[tuple[int, int]] = set()
    read_by = consumers(site, focus)
    regions = (*sources(site, focus), *read_by) if site.quantity == "value" else read_by
    for region in regions:
        if region.stage == stage and (region.heads is None or head in region.heads):
            _light(region, site, rows, columns, cells)
    is_here = focus.stage == stage and (focus.head == head or not STAGE_BY_ID[stage].per_head)
    return Highlight(
        cell=(focus.row, focus.column) if is_here else None,
        rows=frozenset(rows),
        columns=frozenset(columns),
        cells=frozenset(cells),
        locked=focus == view.locked,
    )


def _along(axis: Axis, queries: tuple[int, ...], keys: tuple[int, ...]) -> tuple[int, ...]:
    if axis in ("token", "query"):
        return queries
    return keys if axis in ("key", "memory") else ()


def _light(
    region: Region, site: SiteTrace, rows: set[int], columns: set[int], cells: set[tuple[int, int]]
) -> None:
    if region.rows is not None and region.columns is not None:
        cells.update((r, c) for r in region.rows for c in region.columns)
    elif region.rows is not None:
        width = site.shape(region.stage)[-1]
        if len(region.rows) * width <= LIT_CELLS:
            cells.update((r, c) for r in region.rows for c in range(width))
        rows.update(region.rows)
    elif region.columns is not None:
        columns.update(region.columns)


@lru_cache(maxsize=64)
def numbered(length: int) -> tuple[str, ...]:
    """Labels of an axis without names: its indices."""
    return tuple(np.arange(length).astype(str).tolist())
