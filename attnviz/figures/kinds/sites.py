"""One head of all attentions, side by side, with their numbers of pairs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from attnviz.core.shades import Shades
from attnviz.errors import FieldError, listed, must_be
from attnviz.figures import bar, heat
from attnviz.figures.content import Content, Head, Scale, SharedEnds, content
from attnviz.figures.fonts import middle, number_font, text_font, widest
from attnviz.figures.labelled import LABEL, above_cells, before_cells, draw_labelled, label_cells
from attnviz.figures.layout import BAR, GAP, LEAST_BAR, LEAST_MAP, MARGIN, NAME, TALLEST, Cells, Slot
from attnviz.figures.sheet import Drawing, fitting
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import _
from attnviz.model.sites.pairs import Pairs, pairs_of, sum_of_pairs
from attnviz.model.sites.sites import place_of
from attnviz.model.sites.titles import attention_title, layer_title
from attnviz.model.spec.view import View
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace, Trace

CAPTION_LINE = 11.0
COLUMN_GAP = 20.0
MOST_WIDTH = 640.0
"""Width in points of all maps of a row, without labels; cells shrink until they fit."""
MOST_CELL = 30.0
SIDEWAYS = 4
"""Maps of a single stack in one row."""


@dataclass(frozen=True, eq=False)
class SiteMap:
    """One attention: its matrix, and the lines below it."""

    content: Content
    lines: tuple[str, ...]
    pairs: Pairs
    row: int
    column: int


@dataclass(frozen=True, eq=False)
class AllSites:
    """The whole figure. Row 0 is the lowest."""

    title: str
    quantity: str
    """Quantity of the colours: the title of the stage."""
    formula: str
    maps: tuple[SiteMap, ...]
    scale: Scale

    @property
    def marks(self) -> dict[str, int]:
        """Number of masked, NaN and infinite cells in all maps."""
        counts: Counter[str] = Counter({"masked": 0, "nan": 0, "infinite": 0})
        for one in self.maps:
            counts.update(one.content.marks)
        return dict(counts)


@dataclass(frozen=True)
class Layout:
    """Positions of all elements, in points."""

    width: float
    height: float
    slots: tuple[Slot, ...]
    bar: tuple[float, float, float, float] | None
    label: float
    """Size of the labels."""


def all_sites(
    trace: Trace,
    view: View,
    stage: str,
    head: Head,
    shades: Shades,
    ends: SharedEnds | None = None,
) -> AllSites:
    """Content of the figure: one head of a stage of queries and keys, of every attention, on one scale.

    Raises `ValueError` for a stage or a head that some attention lacks.
    """
    sites = tuple(trace.site(name) for name in trace.sites)
    shared, least = shared_stages(trace), shared_heads(trace)
    if stage not in shared:
        of_all = must_be("a stage of all attentions ({choices})", choices=listed(shared))
        raise FieldError("stage", stage, of_all)
    shown = min(view.head, least - 1) if head is None else head
    if isinstance(shown, bool) or not isinstance(shown, int) or not 0 <= shown < least:
        raise FieldError("head", head, must_be("a head of all attentions, 0 to {most}", most=least - 1))
    scale = _scale(sites, view, stage, shades, ends)
    maps = tuple(_site_map(trace, index, view, stage, shown, scale, shades) for index in range(len(sites)))
    title = _("{stage} · head {head} · all attentions").format(
        stage=_(STAGE_BY_ID[stage].title), head=shown + 1
    )
    return AllSites(title, _(STAGE_BY_ID[stage].title), sum_of_pairs(one.pairs for one in maps), maps, scale)


def shared_stages(trace: Trace) -> tuple[str, ...]:
    """The stages of queries and keys that all attentions have, in data-flow order."""
    first, *others = (trace.site(name).stages for name in trace.sites)
    shared = (stage for stage in first if all(stage in stages for stages in others))
    return tuple(stage for stage in shared if STAGE_BY_ID[stage].score_shaped)


def shared_heads(trace: Trace) -> int:
    """Number of query heads that all attentions have."""
    return min(trace.site(name).experiment.heads.n_heads for name in trace.sites)


def measure(shown: AllSites, style: Style) -> Layout:
    """Compute the positions of all elements. Raises `ValueError` if the style's width is too small."""
    if style.room is None:
        return _places(shown, style, _cell_side(shown))
    least = LEAST_MAP / max(one.content.maps[0].values.shape[1] for one in shown.maps)
    for arranged in _narrower(shown):
        rows = {one.row for one in arranged.maps}
        tallest = TALLEST * style.room / sum(_most_down(arranged, row) for row in rows)
        placed = partial(_places, arranged, style)
        side = fitting(style.room, lambda of: placed(of).width, least, max(least, tallest))  # noqa: B023
        if side is not None:
            return placed(side)
    raise style.too_narrow(placed(least).width)


def _narrower(shown: AllSites) -> Iterator[AllSites]:
    """The maps in their columns, then in ever fewer, line after line."""
    yield shown
    for count in range(len({one.column for one in shown.maps}) - 1, 0, -1):
        maps = (replace(one, row=-(i // count), column=i % count) for i, one in enumerate(shown.maps))
        yield replace(shown, maps=tuple(maps))


def _places(shown: AllSites, style: Style, side: float) -> Layout:
    """The layout with cells of `side` points."""
    rows = sorted({one.row for one in shown.maps}, reverse=True)
    columns = sorted({one.column for one in shown.maps})
    label = style.label(LABEL)
    cells = {id(one): label_cells(one.content, side, label) for one in shown.maps}
    lefts, tops = {}, {}
    x, y = MARGIN, 0.0
    for column in columns:
        lefts[column] = x
        of_column = [one for one in shown.maps if one.column == column]
        x += max(_width(one, cells[id(one)], label) for one in of_column) + COLUMN_GAP
    for row in rows:
        of_row = [one for one in shown.maps if one.row == row]
        tops[row] = y + max(above_cells(one.content, cells[id(one)], label) for one in of_row)
        lines = max(len(one.lines) for one in of_row)
        y = tops[row] + _most_down(shown, row) * side
        y += GAP + lines * CAPTION_LINE + COLUMN_GAP
    slots = tuple(
        Slot(lefts[one.column] + before_cells(one.content, label), tops[one.row], cells[id(one)])
        for one in shown.maps
    )
    bottom, top = y - COLUMN_GAP, min(slot.y for slot in slots)
    if not style.bar:
        return Layout(x - COLUMN_GAP + MARGIN, bottom, slots, None, label)
    ticks = widest(tuple(text for _at, text in bar.ticks(shown.scale)), number_font(bar.TICK_SIZE))
    bar_height = max(LEAST_BAR, min(bottom - top - GAP - 2 * CAPTION_LINE, 300.0))
    right = x + BAR + GAP + ticks + NAME + MARGIN
    return Layout(right, max(bottom, top + bar_height), slots, (x, top, BAR, bar_height), label)


def _most_down(shown: AllSites, row: int) -> int:
    """Rows of the tallest matrix of a row of maps."""
    return max(one.content.maps[0].values.shape[0] for one in shown.maps if one.row == row)


def paint(axes: Any, shown: AllSites, layout: Layout, shades: Shades) -> None:
    """Draw the figure into axes whose unit is a point, y downwards."""
    for one, slot in zip(shown.maps, layout.slots, strict=True):
        _draw_site(axes, one, slot, layout.label, shades)
    if layout.bar is not None:
        bar.draw_bar(axes, shown.scale, layout.bar, shades)
        bar.draw_name(axes, shown.scale, shown.quantity, layout.bar, shades)


def _draw_site(axes: Any, one: SiteMap, slot: Slot, label: float, shades: Shades) -> None:
    plot_w, plot_h = draw_labelled(axes, one.content, slot, shades, label)
    above = slot.y - above_cells(one.content, slot.cells, label)
    heat.axis_name(axes, one.content.across, slot.x + plot_w / 2, above, 0, shades)
    left = slot.x - before_cells(one.content, label) + NAME / 2
    heat.axis_name(axes, one.content.down, left, slot.y + plot_h / 2, 90, shades)
    for index, line in enumerate(one.lines):
        font = text_font(heat.NAME_SIZE, bold=index == 0)
        y = middle(slot.y + plot_h + GAP + (index + 0.5) * CAPTION_LINE, font)
        color = shades.ink if index == 0 else shades.muted
        axes.text(slot.x, y, line, font=font, color=color, parse_math=False)


def _site_map(
    trace: Trace, index: int, view: View, stage: str, head: int, scale: Scale, shades: Shades
) -> SiteMap:
    site = trace.site(trace.sites[index])
    place, pairs = place_of(trace.experiment, site.name), pairs_of(site.experiment)
    if place.stack == "layers":
        row, column = -(index // SIDEWAYS), index % SIDEWAYS
    else:
        row, column = place.layer, ("encoder", "decoder").index(place.stack) + place.is_second
    lines = (layer_title(place), attention_title(place, site.experiment), pairs.product)
    seen = (pairs.visible_of_total,) if pairs.visible_of_total else ()
    return SiteMap(content(site, view, stage, head, shades, scale), (*lines, *seen), pairs, row, column)


def _scale(
    sites: tuple[SiteTrace, ...], view: View, stage: str, shades: Shades, ends: SharedEnds | None
) -> Scale:
    """One scale for all; the range of one head covers all heads of all attentions here."""
    wanted = view.range_of(stage)
    wanted = "global" if wanted == "head" else wanted
    scales = [content(site, view, stage, "all", shades, shared=ends).scale for site in sites]
    kind, signed = scales[0].kind, scales[0].signed
    return Scale(kind, wanted, min(one.low for one in scales), max(one.high for one in scales), signed)


def _cell_side(shown: AllSites) -> float:
    """Side of a cell in points, small enough that the widest row of maps fits."""
    rows = {one.row for one in shown.maps}
    most = max(
        sum(one.content.maps[0].values.shape[1] for one in shown.maps if one.row == row) for row in rows
    )
    return min(MOST_CELL, MOST_WIDTH / most)


def _width(one: SiteMap, cells: Cells, label: float) -> float:
    """Width in points of a map with its labels and the lines below it."""
    plot_w, _plot_h = cells.plot_size(*one.content.maps[0].values.shape)
    words = widest(one.content.across.labels, text_font(label))
    slant = max(0.0, words * math.sqrt(0.5) - cells.cell_w / 2) if cells.across_angle == 45 else 0.0
    texts = widest(one.lines, text_font(heat.NAME_SIZE, bold=True))
    return before_cells(one.content, label) + max(plot_w + slant, texts)


def draw_sites(subject: Subject, style: Style) -> Drawing:
    """The maps of all attentions, with cells of one size and on one scale."""
    stage, head, shared = subject.shown_stage, subject.head, subject.shared
    shown = all_sites(subject.trace, subject.view, stage, head, style.shades, shared)
    layout = measure(shown, style)

    def draw(axes: Any) -> None:
        paint(axes, shown, layout, style.shades)

    return Drawing(
        layout.width,
        layout.height,
        draw,
        shown.title,
        shown.formula,
        heat.footnotes(shown.marks),
        layout.slots[0].cells.cell_w,
    )
