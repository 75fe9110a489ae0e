"""The whole pipeline: every stage of one head as a small map, with arrows from what it reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attnviz.core.text import elide
from attnviz.figures.content import Content, content
from attnviz.figures.fonts import middle, text_font, width
from attnviz.figures.kinds.matrix import titled
from attnviz.figures.layout import MARGIN
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.figures.tiles import draw_tile
from attnviz.i18n import _
from attnviz.model.spec.view import shown_head
from attnviz.model.stages import STAGE_BY_ID, inputs
from attnviz.model.trace import SiteTrace

SIDE = 58.0
ACROSS, DOWN = 34.0, 14.0
"""Points between columns, where the arrows are, and between the stages of a column."""
TITLE, SHAPE = 8.0, 6.5
ABOVE, BELOW = 13.0, 11.0
BAND = 26.0
"""Points between one line of columns and the next."""
NATURAL = 640.0
LONGEST = 18
BESIDE = 12.0
"""Points at both sides of the columns, for arrows that go to the next line."""


@dataclass(frozen=True)
class Place:
    """A stage in the drawing: its column in data-flow order, its row in the column."""

    stage: str
    column: int
    row: int


def sources(stages: tuple[str, ...], stage: str) -> tuple[str, ...]:
    """The stages that a stage reads: of each input, the last possible one before it."""
    return tuple(dict.fromkeys(inputs(stage, stages)))


def places(stages: tuple[str, ...]) -> tuple[Place, ...]:
    """A stage stands one column behind the last of its sources."""
    columns: dict[str, int] = {}
    for stage in stages:
        columns[stage] = 1 + max((columns[one] for one in sources(stages, stage)), default=-1)
    rows: dict[int, int] = {}
    placed = []
    for stage in stages:
        row = rows.get(columns[stage], 0)
        rows[columns[stage]] = row + 1
        placed.append(Place(stage, columns[stage], row))
    return tuple(placed)


def draw_pipeline(subject: Subject, style: Style) -> Drawing:
    """Every stage with its shape, in the colours of its own range."""
    site = subject.shown_site
    shown = places(site.stages)
    room = (NATURAL if style.room is None else style.room) - 2 * (MARGIN + BESIDE)
    per_line = int((room + ACROSS) // (SIDE + ACROSS))
    if per_line < 2:
        raise style.too_narrow(2 * (MARGIN + BESIDE) + 2 * SIDE + ACROSS)
    head = subject.head if isinstance(subject.head, int) else subject.view.head
    corners, height = _corners(shown, per_line)
    contents = {one.stage: _content(site, subject, one.stage, head, style) for one in shown}

    def draw(axes: Any) -> None:
        for one in shown:
            for source in sources(site.stages, one.stage):
                _draw_arrow(axes, corners[source], corners[one.stage], style)
        for one in shown:
            _draw_stage(axes, site, one.stage, contents[one.stage], corners[one.stage], style)

    columns = 1 + max(one.column for one in shown)
    wide = 2 * (MARGIN + BESIDE) + min(columns, per_line) * (SIDE + ACROSS) - ACROSS
    name = _("the whole attention · head {head} of {count}").format(
        head=min(head, site.experiment.heads.n_heads - 1) + 1, count=site.experiment.heads.n_heads
    )
    return Drawing(wide, height, draw, titled(subject, name), cell=SIDE / 16)


def _content(site: SiteTrace, subject: Subject, stage: str, head: int, style: Style) -> Content:
    from msgspec.structs import replace

    view = replace(subject.view, head=head)
    return content(site, view, stage, shown_head(site.experiment, view, stage), style.shades)


def _corners(shown: tuple[Place, ...], per_line: int) -> tuple[dict[str, tuple[float, float]], float]:
    """The top left corner of each stage's map, and the height of all."""
    step = ABOVE + SIDE + BELOW + DOWN
    lines = 1 + max(one.column for one in shown) // per_line
    deepest = [max(one.row for one in shown if one.column // per_line == line) + 1 for line in range(lines)]
    tops = [sum(deepest[:line]) * step + line * (BAND - DOWN) for line in range(lines)]
    corners = {}
    for one in shown:
        line, column = divmod(one.column, per_line)
        in_column = sum(other.column == one.column for other in shown)
        centred = (deepest[line] - in_column) / 2 * step
        x = MARGIN + BESIDE + column * (SIDE + ACROSS)
        corners[one.stage] = (x, tops[line] + centred + one.row * step + ABOVE)
    return corners, sum(deepest) * step + (lines - 1) * (BAND - DOWN) - DOWN


def _draw_arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], style: Style) -> None:
    """From the right edge of a map to the left edge of another; to a later line, round the maps."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    x, y = start[0] + SIDE, start[1] + SIDE / 2
    to_x, to_y = end[0] - 2, end[1] + SIDE / 2
    if to_x > x:
        bend = max(ACROSS / 2, (to_x - x) * 0.35)
        points = [(x, y), (x + bend, y), (to_x - bend, to_y), (to_x, to_y)]
        path = Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    else:
        out, back, between = x + ACROSS * 0.3, to_x - ACROSS * 0.3, end[1] - ABOVE - BAND / 2
        points = [(x, y), (out, y), (out, between), (back, between), (back, to_y), (to_x, to_y)]
        path = Path(points, [Path.MOVETO, *[Path.LINETO] * 5])
    axes.add_patch(
        FancyArrowPatch(
            path=path,
            arrowstyle="-|>,head_length=3,head_width=1.6",
            color=style.shades.hatch,
            linewidth=0.8,
            joinstyle="round",
            shrinkA=0,
            shrinkB=0,
            mutation_scale=1.0,
            zorder=0.5,
        )
    )


def _draw_stage(
    axes: Any, site: SiteTrace, stage: str, one: Content, corner: tuple[float, float], style: Style
) -> None:
    row, (x, y), shades = STAGE_BY_ID[stage], corner, style.shades
    edge = {"query": shades.query, "key": shades.key_mark, "value": shades.value_mark}.get(row.hue, "")
    draw_tile(axes, one, (x, y, SIDE, SIDE), shades, edge)
    font, small = text_font(TITLE), text_font(SHAPE)
    title = elide(_(row.title), LONGEST)
    while width(title, font) > SIDE + ACROSS - 4 and len(title) > 2:
        title = elide(title.removesuffix("\u2026"), len(title) - 2)
    axes.text(
        x + SIDE / 2, y - 4, title, font=font, color=shades.ink, ha="center", parse_math=False, zorder=4
    )
    shape = " × ".join(map(str, site.shape(stage)[-2:]))
    at = x + SIDE / 2, middle(y + SIDE + BELOW / 2 + 1, small)
    axes.text(*at, shape, font=small, color=shades.muted, ha="center", parse_math=False, zorder=4)
