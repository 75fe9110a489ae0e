"""The figure of a comparison: A, B and B − A side by side, with cells of one size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.levels import levels
from attnviz.core.shades import Shades
from attnviz.core.text import elide, visible
from attnviz.figures import bar, heat
from attnviz.figures.content import LONGEST_LABEL, Content, Map, Scale, Side, side_color
from attnviz.figures.figure import Drawing, sheet_of
from attnviz.figures.fonts import drawing, middle, number_font, text_font, widest, width
from attnviz.figures.labelled import LABEL, above_cells, before_cells, label_cells
from attnviz.figures.layout import BAR, FOOTER, GAP, HEADER, LEAST_BAR, MARGIN, NAME
from attnviz.figures.palette import palette
from attnviz.i18n import _
from attnviz.model.contrast.contrast import Contrast
from attnviz.model.spec.view import View
from attnviz.model.stages import AXIS_NAMES, STAGE_BY_ID

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDE, MOST_CELL = 210.0, 30.0
"""Points of one map, and the most of one cell."""
CAPTION = 14.0
COLUMN_GAP = 18.0

Names = tuple[str, str, str]


def render_contrast(
    contrast: Contrast,
    title: str,
    captions: Names,
    note: str = "",
    view: View | None = None,
    theme: str = "light",
) -> Figure:
    """Draw A, B and B − A with their labels; A and B share one colour scale, the difference has its own.

    `captions` name the three maps, `note` stands below the title; `view` determines the orientation. Absent
    and masked cells are hatched.
    Returns a `matplotlib.figure.Figure` of one axes, whose unit is a point. Raises `ValueError` for a theme
    that does not exist.
    """
    shades = palette(theme)
    with drawing():
        contents = contents_of(contrast, view or View(), shades)
        return _drawn(contents, (title, note), captions, shades, _notes(contrast, contents))


def contents_of(contrast: Contrast, view: View, shades: Shades) -> tuple[Content, Content, Content]:
    """The three maps as values: labels, numbers, colours."""
    row = STAGE_BY_ID[contrast.stage]
    found = [levels(side.values, "head", row.signed, side.hatched) for side in contrast.sides]
    low, high = min(low for low, _high in found), max(high for _low, high in found)
    kind: Any = "diverging" if row.signed else "sequential"
    common = Scale(kind, "head", low, high, row.signed)
    ends = levels(contrast.difference, "symmetric", True, contrast.hatched)
    own = Scale("diverging", "symmetric", *ends, True)
    first, second = (
        _content(
            contrast.stage,
            side.values,
            side.hatched,
            (side.row_labels, side.column_labels),
            common,
            view,
            shades,
        )
        for side in contrast.sides
    )
    labels = contrast.row_labels, contrast.column_labels
    third = _content(contrast.stage, contrast.difference, contrast.hatched, labels, own, view, shades)
    return first, second, third


def _content(
    stage: str,
    values: NDArray[Any],
    hatched: NDArray[np.bool_] | None,
    labels: tuple[tuple[str, ...], tuple[str, ...]],
    scale: Scale,
    view: View,
    shades: Shades,
) -> Content:
    row, is_turned = STAGE_BY_ID[stage], view.orientation == "queries_as_columns"
    rows, columns = (
        Side(
            _(AXIS_NAMES[axis]),
            tuple(elide(visible(label), LONGEST_LABEL) for label in names),
            side_color(axis, row.hue, shades),
        )
        for axis, names in zip(row.axes[-2:], labels, strict=True)
    )
    shown = values if hatched is None else np.where(hatched, 0.0, values)
    positions = scale.positions(shown, hatched)
    one = Map(
        title="",
        head=0,
        values=shown.T if is_turned else shown,
        positions=positions.T if is_turned else positions,
        blocked=hatched.T if is_turned and hatched is not None else hatched,
        sums=None,
        sums_below=is_turned,
    )
    down, across = (columns, rows) if is_turned else (rows, columns)
    return Content("", _(row.title), "", (one,), down, across, scale)


def _drawn(
    contents: tuple[Content, Content, Content],
    heading: tuple[str, str],
    captions: Names,
    shades: Shades,
    notes: tuple[tuple[str, str], ...],
) -> Figure:
    """Lay out the maps from left to right, each scale beside the last map that has it."""
    n_down, n_across = contents[0].maps[0].values.shape
    side = min(MOST_CELL, SIDE / max(n_down, n_across, 1))
    cells = [label_cells(one, side) for one in contents]
    top = MARGIN + HEADER + CAPTION
    top += max(above_cells(one, cell) for one, cell in zip(contents, cells, strict=True))
    plot_w, plot_h = cells[0].plot_size(n_down, n_across)
    lefts, x = [], MARGIN
    for index, one in enumerate(contents):
        lefts.append(x + before_cells(one))
        text = width(captions[index], text_font(heat.NAME_SIZE, bold=True))
        slant = widest(one.across.labels, text_font(LABEL)) * math.sqrt(0.5)
        x = lefts[-1] + max(plot_w + (slant if cells[index].across_angle == 45 else 0.0), text) + COLUMN_GAP
        x += _bar_width(one.scale) if index else 0.0
    total = max(x, MARGIN + width(heading[0], text_font(heat.TITLE_SIZE, bold=True))) + MARGIN
    bottom = top + max(plot_h, LEAST_BAR) + MARGIN + (FOOTER if notes else 0.0)

    def draw(axes: Any) -> None:
        heat.header(axes, *heading, shades)
        for index, one in enumerate(contents):
            rect = lefts[index], top, plot_w, plot_h
            heat.draw_map(axes, one, one.maps[0], rect, cells[index], shades)
            heat.across_labels(axes, one.across, lefts[index], top, cells[index], LABEL)
            heat.down_labels(axes, one.down, lefts[index], top, cells[index], LABEL)
            font = text_font(heat.NAME_SIZE, bold=True)
            y = middle(MARGIN + HEADER + CAPTION / 2, font)
            axes.text(lefts[index], y, captions[index], font=font, color=shades.ink, parse_math=False)
            if index:
                at = lefts[index] + plot_w + 2 * GAP
                bar.draw_bar(axes, one.scale, (at, top, BAR, max(plot_h, LEAST_BAR)), shades)
        heat.footer(axes, notes, bottom, shades)

    return sheet_of(Drawing(math.ceil(total), math.ceil(bottom), side, draw), "", shades)


def _bar_width(scale: Scale) -> float:
    """Points of a colour bar with its ticks."""
    ticks = widest(tuple(text for _at, text in bar.ticks(scale)), number_font(bar.TICK_SIZE))
    return 2 * GAP + BAR + GAP + ticks + NAME


def _notes(contrast: Contrast, contents: tuple[Content, Content, Content]) -> tuple[tuple[str, str], ...]:
    """The meaning of the marks in the three maps; hatched cells may be absent instead of masked."""
    marks = {kind: sum(one.marks[kind] for one in contents) for kind in contents[0].marks}
    has_absent = any(bool(side.absent.any()) for side in contrast.sides)
    hatched = _("masked or absent") if has_absent else _("masked")
    return tuple((kind, hatched if kind == "masked" else text) for kind, text in heat.footnotes(marks))
