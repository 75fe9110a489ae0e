"""The places of the maps of a figure, of their labels, sums and colour bar, and how they fit a set width."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from attnviz.core.text import number
from attnviz.errors import Message, verbatim
from attnviz.figures import bar
from attnviz.figures.content import Content
from attnviz.figures.fonts import cut, number_font, text_font, widest
from attnviz.figures.layout import (
    LEAST_MAP,
    NARROW,
    TALLEST,
    Around,
    Sheet,
    Sizes,
    arrange,
    cell_size,
    grid_columns,
)
from attnviz.figures.report import Remark
from attnviz.figures.sheet import fitting
from attnviz.figures.style import POINTS, Style, millimetres

SUM_SIZE = 7.5
MOST_ROWS = 16
"""Rows up to which each row has its label."""
SLIVER = 1.6
"""Largest height of a cell, in widths of it, that makes room for a label."""
LEAST_SHARE, NARROW_SHARE = 0.45, 0.70
"""Share of the figure's width below which a map has no sums beside it; of a narrow figure, the map has it."""
LONGEST_SHARE = 14 / 85
"""Share of a set width up to which a label is whole: 14 mm of a column of 85 mm."""
NARROW_LABEL, LEAST_LABEL, LABEL_STEP = 7.0, 5.0, 0.1
"""Largest size of labels in a narrow figure, the smallest one, and the step between the sizes."""
WIDTH_STEP_MM, WIDEST_SLIDE_MM = 5, 300
"""The widths that a sentence names."""


@dataclass(frozen=True)
class Plan:
    """Places of all elements, the content with labels that are cut where they are long, and the sums.

    `without`: the set width has no room for the sums of the style. `checks` say how the map fits that width.
    """

    sheet: Sheet
    content: Content
    sizes: Sizes
    sums: tuple[str, ...]
    style: Style
    without: Message | None = None
    checks: tuple[Remark, ...] = ()

    @property
    def label(self) -> float:
        """The size of the labels in units."""
        return self.sizes.label

    @property
    def names(self) -> bool:
        """True if axes, colours and hatching are named."""
        return self.style.shows(self.style.names)


def measure(content: Content, style: Style) -> Plan:
    """Compute the positions of all elements. Raises `ValueError` if the style's width is too small."""
    plan = _fitted(content, style)
    if style.width is None or len(content.maps) > 1:
        return plan
    without = None
    if style.sums and not plan.sums and _sums_of(content):
        without = _from_width(content, style, lambda wider: bool(wider.sums))
    checks = (_labels_check(plan), _share_check(plan))
    return replace(plan, without=without, checks=checks)


def _fitted(content: Content, style: Style) -> Plan:
    """The plan with the sums, or without them where they have no room."""
    sums = _sums_of(content) if style.sums else ()
    plan = _plan(content, style, sums)
    if sums and (plan is None or not _has_room(plan, style)):
        plan, sums = _plan(content, style, ()), ()
    if plan is None:
        smallest = _label_sizes(content, style)[-1]
        raise style.too_narrow(_narrowest(_sizes(content, style, smallest, ()), style).width)
    return plan


def _plan(content: Content, style: Style, sums: tuple[str, ...]) -> Plan | None:
    """The plan with the largest labels that fit beside each cell, else the smallest; None without room."""
    tried: dict[float, Plan | None] = {}

    def fits(label: float) -> bool:
        shown = _with_cut_labels(content, style, label)
        sizes = _sizes(shown, style, label, sums)
        sheet = _sheet(sizes, style)
        tried[label] = found = None if sheet is None else Plan(sheet, shown, sizes, sums, style)
        return found is not None and thinned(found) is None

    labels = _label_sizes(content, style)
    label = labels[bisect_left(labels, True, hi=len(labels) - 1, key=fits)]
    if label not in tried:
        fits(label)
    return tried[label]


def _label_sizes(content: Content, style: Style) -> list[float]:
    """The sizes to try: the usual one or the one that is set, and smaller ones for one map in a set width."""
    n_down, n_across = content.maps[0].values.shape
    largest = style.label(_label_size(n_down, n_across, len(content.maps)))
    if len(content.maps) > 1 or style.width is None or style.font_size is not None:
        return [largest]
    largest = min(largest, NARROW_LABEL) if style.is_narrow else largest
    steps = round((largest - LEAST_LABEL) / LABEL_STEP)
    return [largest - index * LABEL_STEP for index in range(steps + 1)]


def _with_cut_labels(content: Content, style: Style, label: float) -> Content:
    """`content` with labels no longer than their share of a set width."""
    if style.room is None or len(content.maps) > 1:
        return content
    font, room = text_font(label), LONGEST_SHARE * style.room
    down, across = (
        replace(
            side,
            labels=tuple(cut(text, font, room) for text in side.labels),
            room=tuple(cut(text, font, room) for text in side.room),
        )
        for side in (content.down, content.across)
    )
    return replace(content, down=down, across=across)


def thinned(plan: Plan) -> tuple[int, int] | None:
    """(labels that are drawn, all) of the side with names of which most are left out; None if none is."""
    sheet, shown = plan.sheet, plan.content
    sides = ((shown.down, sheet.down_step), (shown.across, sheet.across_step))
    step, count = max((step, len(side.labels)) for side, step in sides if not side.is_counted or step == 1)
    return (-(-count // step), count) if step > 1 else None


def _labels_check(plan: Plan) -> Remark:
    """The labels that are drawn, and their size; the width from which on all of them are."""
    few, size = thinned(plan), f"{plan.label * plan.style.scale:.3g}"
    count = max(plan.content.maps[0].values.shape)
    shown, count = few or (count, count)
    text = Message("{shown} of {count} labels, {size} pt", shown=shown, count=count, size=size)
    if few is None:
        return Remark(text)
    least = _least_width(plan.content, replace(plan.style, sums=False), lambda wider: thinned(wider) is None)
    if least is None:
        return Remark(text, is_met=False)
    return Remark(Message("{labels}: all from {width} on", labels=text, width=verbatim(least)), is_met=False)


def _share_check(plan: Plan) -> Remark:
    """The share of the map in the width."""
    style = plan.style
    assert style.room is not None
    plot_w, _plot_h = plan.sheet.plot_size(*plan.content.maps[0].values.shape)
    share = plot_w / style.room
    text = Message("map {share} % of the width", share=round(100 * share))
    is_met = not style.is_narrow or share >= NARROW_SHARE
    if not is_met and (plan.names or plan.sums):
        text = Message("{share}: leave out the axis names", share=text)
    return Remark(text, is_met)


def _from_width(content: Content, style: Style, has_room: Callable[[Plan], bool]) -> Message:
    """The sentence that says from which width on the sums have room."""
    assert style.width is not None
    least = _least_width(content, style, has_room)
    if least is None:
        return Message(
            "There is no room for the row sums in a figure of {width}.",
            width=verbatim(millimetres(style.width)),
        )
    return Message("Row sums: from {width} on.", width=verbatim(least))


def _least_width(content: Content, style: Style, holds: Callable[[Plan], bool]) -> str | None:
    """The least width, in steps, whose plan has a property; None if no width of paper or slides has it."""
    assert style.width is not None
    step = WIDTH_STEP_MM * POINTS["mm"]
    counts = range(math.floor(style.width / step + 1), WIDEST_SLIDE_MM // WIDTH_STEP_MM + 1)
    at = bisect_left(
        counts, True, key=lambda count: holds(_fitted(content, replace(style, width=count * step)))
    )
    return millimetres(counts[at] * step) if at < len(counts) else None


def _sizes(content: Content, style: Style, label: float, sums: tuple[str, ...]) -> Sizes:
    """Counts and text widths of the figure."""
    n_down, n_across = content.maps[0].values.shape
    numbers, font = number_font(SUM_SIZE), text_font(label)
    ticks = tuple(text for _at, text in bar.ticks(content.scale)) if style.bar else ()
    is_thin = style.is_narrow and len(content.maps) == 1
    around = NARROW if is_thin else Around()
    around = around if style.shows(style.names) else replace(around, name=0.0)
    return Sizes(
        around=around,
        n_down=n_down,
        n_across=n_across,
        n_maps=len(content.maps),
        down_label=widest(content.down.room or content.down.labels, font),
        across_label=widest(content.across.room or content.across.labels, font),
        label=label,
        sum_width=widest(sums, numbers),
        sums_below=content.maps[0].sums_below,
        bar_label=(bar.ends_width(content.scale) if is_thin else widest(ticks, numbers))
        if style.bar
        else None,
    )


def _sheet(sizes: Sizes, style: Style) -> Sheet | None:
    """The natural layout, or the largest one of the style's width; None if that is too small."""
    columns = grid_columns(sizes.n_maps)
    cell = _natural_cell(sizes, style)
    if style.room is None:
        return arrange(sizes, columns, *cell)
    least = LEAST_MAP / (sizes.n_across * cell[0])
    for count in _column_counts(sizes.n_maps, columns):
        tallest = TALLEST * style.room / (math.ceil(sizes.n_maps / count) * sizes.n_down * cell[1])
        placed = partial(_scaled, sizes, count, cell, _least_height(sizes, style, cell[1]))
        factor = fitting(style.room, lambda of: placed(of).width, least, max(least, tallest))  # noqa: B023
        if factor is not None:
            return placed(factor)
    return None


def _column_counts(n_maps: int, most: int) -> list[int]:
    """Numbers of columns to try, wide ones first: those of full rectangles before others, one at last."""
    full = [count for count in range(most, 1, -1) if n_maps % count == 0]
    return [*full, *(count for count in range(most, 1, -1) if count not in full), 1]


def _natural_cell(sizes: Sizes, style: Style) -> tuple[float, float]:
    grid = grid_columns(sizes.n_maps) if sizes.n_maps > 1 else 0
    cell_w, cell_h = cell_size(sizes.n_down, sizes.n_across, grid)
    return (min(cell_w, cell_h),) * 2 if style.square else (cell_w, cell_h)


def _narrowest(sizes: Sizes, style: Style) -> Sheet:
    """The layout of the smallest width."""
    cell = _natural_cell(sizes, style)
    return _scaled(sizes, 1, cell, 0.0, LEAST_MAP / (sizes.n_across * cell[0]))


def _least_height(sizes: Sizes, style: Style, natural: float) -> float:
    """The height of a cell below which labels would be left out; 0 where they are many, or cells square."""
    is_many = sizes.n_maps > 1 or sizes.n_down > MOST_ROWS
    return 0.0 if style.square or is_many else min(natural, sizes.label + 2)


def _scaled(sizes: Sizes, columns: int, cell: tuple[float, float], least: float, factor: float) -> Sheet:
    """The layout with cells of a multiple of `cell`, `least` points high unless that makes them slivers."""
    wide, high = factor * cell[0], factor * cell[1]
    return arrange(sizes, columns, wide, max(high, least if least <= SLIVER * wide else 0.0))


def _label_size(n_down: int, n_across: int, n_maps: int) -> float:
    if n_maps > 1:
        return 6.5
    return 9.0 if max(n_down, n_across) <= 16 else 7.0


def _sums_of(content: Content) -> tuple[str, ...]:
    """The sum of each row of a single map."""
    one = content.maps[0]
    if one.sums is None or len(content.maps) > 1:
        return ()
    sign = "" if one.sums_below else "Σ "
    told = (f"{sign}{number(float(value))}" for value in one.sums)
    return tuple("" if row in one.unsummed else text for row, text in enumerate(told))


def _has_room(plan: Plan, style: Style) -> bool:
    """True if the sums fit beside or below the cells, and leave the map its share of the width."""
    sheet, one = plan.sheet, plan.content.maps[0]
    plot_w, _plot_h = sheet.plot_size(*one.values.shape)
    least = NARROW_SHARE if style.is_narrow else LEAST_SHARE
    if style.room is not None and plot_w < least * style.room:
        return False
    if one.sums_below:
        return sheet.cell_w >= plan.sizes.sum_width + 2
    return sheet.cell_h >= SUM_SIZE + 1
