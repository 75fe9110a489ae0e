"""`render`: a stage of a trace as a figure."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from attnviz.core.shades import Shades
from attnviz.core.text import visible, wrapped
from attnviz.errors import FieldError, among, listed, must_be
from attnviz.figures.content import Head, chosen_heads, content, figure_title
from attnviz.figures.fonts import drawing, text_font
from attnviz.figures.layout import GAP, MARGIN
from attnviz.figures.palette import palette
from attnviz.model.captions import plain_caption
from attnviz.model.explain.formulas.stages import stage_formula
from attnviz.model.links import LINED, word_lines
from attnviz.model.sites.titles import site_title
from attnviz.model.spec.view import Picture, View
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace, Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINT = 1 / 72
"""Inches."""
BASE_DPI = 144
"""Pixels per inch of a figure shown in a notebook; more where a cell would be smaller than a pixel."""

CAPTION_SIZE, CAPTION_LINE = 9.0, 13.0
"""Size of the caption's text and height of its lines, in points."""
COLUMN_EM = 0.56
"""Width of a Latin character of the caption, in ems; a Chinese one has two such columns."""

ALL_SITES = "all"
"""Stands for the name of a site: all of them side by side."""


def render(
    trace: Trace,
    view: View | None = None,
    stage: str | None = None,
    head: Head = None,
    *,
    site: str | None = None,
    theme: str = "light",
    picture: str | None = None,
    caption: str = "",
) -> Figure:
    """Draw one stage as a heat map with token labels, colour bar and, where they fit, numbers; or as lines.

    `view` determines colour range and orientation, and the site, stage and head where they are None. `head`
    counts from 0 (key/value heads for their stages); "all" draws every head, small, on one colour scale.
    `site` is the name of one attention; "all" draws one head of all of them side by side, with their numbers
    of pairs, for a stage of queries and keys. `theme` is "light" or "dark". `picture` is "map" or "lines"
    between words, which weights of one attention have; None: the one of the view, where the stage has it.
    `caption` is written below, without its links.

    Returns a `matplotlib.figure.Figure` of one axes, whose unit is a point. Write it with
    `attnviz.figures.save_figure`. Raises `ValueError` for a site, stage, head, theme or picture that does not
    exist.
    """
    view = view or View()
    shades = palette(theme)
    with drawing():
        if site == ALL_SITES:
            if picture == "lines":
                raise FieldError("picture", picture, must_be("map for all attentions"))
            return sheet_of(_of_all_sites(trace, view, stage or view.stage, head, shades), caption, shades)
        chosen, stage = chosen_site(trace, view, site), stage or view.stage
        drawn = _of_lines if _as_lines(view, stage, picture) else _of_one
        return sheet_of(drawn(trace, chosen, view, stage, head, shades), caption, shades)


def chosen_site(trace: Trace, view: View, name: str | None) -> SiteTrace:
    """The site of that name, or the selected one. Raises `ValueError` naming the existing sites."""
    if name is None:
        return trace.shown(view.site)
    if name not in trace.sites:
        raise FieldError("site", name, among(trace.sites))
    return trace.site(name)


@dataclass(frozen=True)
class Drawing:
    """A picture of `width` x `height` points whose cells have a side of `cell`, drawn into axes by `draw`."""

    width: float
    height: float
    cell: float
    draw: Callable[[Any], None]


def _of_one(trace: Trace, site: SiteTrace, view: View, stage: str, head: Head, shades: Shades) -> Drawing:
    from attnviz.figures import heat

    shown = content(site, view, stage, head, shades)
    if len(trace.sites) > 1:
        shown = replace(shown, title=f"{site_title(trace.experiment, site.name)} · {shown.title}")
    sheet, label = heat.measure(shown)

    def draw(axes: Any) -> None:
        heat.draw(axes, shown, sheet, label, shades)

    return Drawing(sheet.width, sheet.height, min(sheet.cell_w, sheet.cell_h), draw)


def _as_lines(view: View, stage: str, picture: str | None) -> bool:
    """True if `picture`, or else the view, asks for lines. Raises `ValueError` if the stage has none."""
    pictures = get_args(Picture)
    if picture is None:
        return view.picture == "lines" and stage in LINED
    if picture not in pictures:
        raise FieldError("picture", picture, among(pictures))
    if picture == "lines" and stage not in LINED:
        of_others = must_be("map for a stage other than {stages}", stages=listed(LINED))
        raise FieldError("picture", picture, of_others)
    return picture == "lines"


def _of_lines(trace: Trace, site: SiteTrace, view: View, stage: str, head: Head, shades: Shades) -> Drawing:
    from attnviz.figures import lines

    if stage not in site.stages:
        raise FieldError("stage", stage, among(site.stages))
    row = STAGE_BY_ID[stage]
    heads = () if head is None else chosen_heads(site, view, row, head)
    links = word_lines(site, view, stage, heads)
    title = figure_title(site, row, links.heads)
    if len(trace.sites) > 1:
        title = f"{site_title(trace.experiment, site.name)} · {title}"
    shown = lines.lines_content(title, stage_formula(site.experiment, stage), links)
    layout = lines.measure(shown)

    def draw(axes: Any) -> None:
        lines.draw(axes, shown, layout, shades)

    return Drawing(layout.width, layout.height, lines.ROW, draw)


def _of_all_sites(trace: Trace, view: View, stage: str, head: Head, shades: Shades) -> Drawing:
    from attnviz.figures import all_sites

    if head == "all":
        raise FieldError("head", head, must_be("one head for all attentions"))
    shown = all_sites.all_sites(trace, view, stage, head, shades)
    layout = all_sites.measure(shown)

    def draw(axes: Any) -> None:
        all_sites.draw(axes, shown, layout, shades)

    return Drawing(layout.width, layout.height, layout.slots[0].cells.cell_w, draw)


def sheet_of(made: Drawing, caption: str, shades: Shades) -> Figure:
    """A figure of one axes whose unit is a point, y downwards: a drawing, and the caption below it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    width, room = made.width, made.width - 2 * MARGIN
    text = visible(" ".join(plain_caption(caption).split()))
    lines = wrapped(text, int(room / (COLUMN_EM * CAPTION_SIZE))) if text else []
    height = made.height + (len(lines) * CAPTION_LINE + GAP if lines else 0.0)
    dpi = max(BASE_DPI, math.ceil(72 / made.cell))
    figure = Figure(figsize=(width * POINT, height * POINT), facecolor=shades.panel, dpi=dpi)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    made.draw(axes)
    for index, line in enumerate(lines):
        y = made.height + index * CAPTION_LINE
        font = text_font(CAPTION_SIZE)
        axes.text(MARGIN, y, line, font=font, color=shades.ink, va="top", parse_math=False)
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    return figure
