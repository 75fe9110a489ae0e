"""All heads of all layers: small maps of one stage, layers down and heads across."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from attnviz.core.shades import head_color
from attnviz.errors import FieldError, listed, must_be
from attnviz.figures import bar, heat
from attnviz.figures.content import Content, Scale, content
from attnviz.figures.fonts import middle, number_font, text_font, widest
from attnviz.figures.kinds.sites import shared_stages
from attnviz.figures.layout import BAR, GAP, LEAST_BAR, MARGIN
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.figures.tiles import draw_tile
from attnviz.i18n import _
from attnviz.model.sites.titles import site_label
from attnviz.model.stages import STAGE_BY_ID

NATURAL, LARGEST, LEAST = 480.0, 84.0, 12.0
"""Points of all columns, of the largest tile, and of the smallest one."""
SPACE = 4.0
HEAD_LINE = 14.0


@dataclass(frozen=True, eq=False)
class _Grid:
    """The maps of each attention, and their common scale."""

    names: tuple[str, ...]
    rows: tuple[tuple[Content, ...], ...]
    scale: Scale


def draw_layers(subject: Subject, style: Style) -> Drawing:
    """Every head of every attention on one scale, or each row on its own if the view's range is `row`."""
    stage = subject.shown_stage
    shared = shared_stages(subject.trace)
    if stage not in shared:
        of_all = must_be("a stage of all attentions ({choices})", choices=listed(shared))
        raise FieldError("stage", stage, of_all)
    grid = _grid(subject, stage, style)
    label_font = text_font(heat.NAME_SIZE)
    left = MARGIN + widest(grid.names, label_font) + GAP
    after = bar.room_beside(grid.scale) if style.bar else 0.0
    columns = max(map(len, grid.rows))
    room = NATURAL if style.room is None else style.room - left - after - MARGIN
    side = min(LARGEST, room / columns - SPACE)
    if side < LEAST:
        raise style.too_narrow(left + columns * (LEAST + SPACE) + after + MARGIN)
    wide, high = columns * (side + SPACE), len(grid.rows) * (side + SPACE)

    def draw(axes: Any) -> None:
        for head in range(columns):
            x, color = left + head * (side + SPACE) + side / 2, head_color(head)
            axes.text(
                x,
                HEAD_LINE - 5,
                str(head + 1),
                font=number_font(heat.NAME_SIZE),
                color=style.shades.ink if style.grey else color,
                ha="center",
                parse_math=False,
            )
        for row, (name, contents) in enumerate(zip(grid.names, grid.rows, strict=True)):
            y = HEAD_LINE + row * (side + SPACE)
            at = left - GAP, middle(y + side / 2, label_font)
            axes.text(*at, name, font=label_font, color=style.shades.muted, ha="right", parse_math=False)
            for head, one in enumerate(contents):
                draw_tile(axes, one, (left + head * (side + SPACE), y, side, side), style.shades)
        if style.bar:
            rect = left + wide + 2 * GAP, HEAD_LINE, BAR, max(LEAST_BAR, min(high - SPACE, 220.0))
            bar.draw_bar(axes, grid.scale, rect, style.shades)
            bar.draw_name(axes, grid.scale, _(STAGE_BY_ID[stage].title), rect, style.shades)

    height = HEAD_LINE + max(high - SPACE, LEAST_BAR if style.bar else 0.0)
    title = _("{stage} · all heads of all layers").format(stage=_(STAGE_BY_ID[stage].title))
    says = _("layers down, heads across")
    return Drawing(left + wide + after + MARGIN, height, draw, title, says, _notes(grid), cell=side / 16)


def _grid(subject: Subject, stage: str, style: Style) -> _Grid:
    trace = subject.trace
    sites = [trace.site(name) for name in trace.sites]
    whole = [content(s, subject.view, stage, "all", style.shades, shared=subject.shared) for s in sites]
    first = whole[0].scale
    low, high = min(one.scale.low for one in whole), max(one.scale.high for one in whole)
    scale = Scale(
        first.kind, first.range_id if first.range_id != "head" else "global", low, high, first.signed
    )
    rows = tuple(
        tuple(
            content(trace.site(name), subject.view, stage, head, style.shades, scale)
            for head in range(trace.site(name).shape(stage)[0])
        )
        for name in trace.sites
    )
    return _Grid(tuple(site_label(trace.experiment, name) for name in trace.sites), rows, scale)


def _notes(grid: _Grid) -> tuple[tuple[str, str], ...]:
    counts: Counter[str] = Counter({"masked": 0, "nan": 0, "infinite": 0})
    for row in grid.rows:
        for one in row:
            counts.update(one.marks)
    return heat.footnotes(dict(counts))
