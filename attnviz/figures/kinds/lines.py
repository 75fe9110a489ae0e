"""Weights as lines between tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attnviz.core.shades import Shades, head_color
from attnviz.core.text import elide, number, visible
from attnviz.errors import FieldError, listed, must_be
from attnviz.explain.formulas.stages import stage_formula
from attnviz.figures.content import chosen_heads, figure_title
from attnviz.figures.fonts import middle, number_font, text_font, widest, width
from attnviz.figures.kinds.matrix import titled
from attnviz.figures.layout import GAP, MARGIN, NAME
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import _
from attnviz.model.links import LINED, Links, WordLines, word_lines
from attnviz.model.stages import STAGE_BY_ID

LABEL, SMALL = 9.0, 7.5
ROW, SPAN = 17.0, 190.0
"""Height of a row and distance of the two columns of words, in points."""
LEAST_SPAN, MOST_SPAN = 60.0, 420.0
MOST_WORDS = 512
"""Words of a column; more would be a strip of paper."""
LONGEST_LABEL = 24
THIN, THICK = 0.6, 2.6
SHADE = 0.45
_BEND = 0.4
_LEAST_ALPHA = 0.04


@dataclass(frozen=True, eq=False)
class LinesContent:
    """The content of the figure: the lines and the words."""

    lines: WordLines
    queries: tuple[str, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True)
class LinesLayout:
    """Places in points: right end of the left words, left end of the right ones, the numbers' right end."""

    width: float
    height: float
    left: float
    right: float
    number: float

    def y(self, index: int) -> float:
        """The middle of a row."""
        return NAME + GAP + (index + 0.5) * ROW


def lines_content(lines: WordLines) -> LinesContent:
    """Prepare the figure. Raises `ValueError` for a text that is too long."""
    count = max(len(lines.queries), len(lines.keys))
    if count > MOST_WORDS:
        raise FieldError("picture", "lines", must_be("map for more than {most} tokens", most=MOST_WORDS))
    queries, keys = (
        tuple(elide(visible(word), LONGEST_LABEL) for word in words) for words in (lines.queries, lines.keys)
    )
    return LinesContent(lines, queries, keys)


def measure(shown: LinesContent, style: Style) -> LinesLayout:
    """Compute the positions of all elements. Raises `ValueError` if the style's width is too small."""
    font = text_font(LABEL)
    left = MARGIN + widest(shown.queries, font) + 4
    beside = 40.0 if shown.lines.query is not None else 4.0
    after = widest(shown.keys, font) + beside
    span = SPAN if style.room is None else style.room - left - after - MARGIN
    if span < LEAST_SPAN:
        raise style.too_narrow(left + LEAST_SPAN + after + MARGIN)
    rows = max(len(shown.queries), len(shown.keys))
    right = left + min(span, MOST_SPAN)
    return LinesLayout(right + after + MARGIN, NAME + GAP + rows * ROW, left, right, right + after)


def paint(axes: Any, shown: LinesContent, layout: LinesLayout, shades: Shades) -> None:
    """Draw the figure into axes whose unit is a point, y downwards."""
    _headings(axes, shown, layout, shades)
    several = shown.lines.links()
    largest = max((float(links.weights.max(initial=0.0)) for links in several), default=0.0) or 1.0
    for links in several:
        _draw_links(axes, links, layout, largest)
    _words(axes, shown, layout, shades)


def _headings(axes: Any, shown: LinesContent, layout: LinesLayout, shades: Shades) -> None:
    font, y = text_font(SMALL), NAME - 2
    axes.text(layout.left, y, _("query"), font=font, color=shades.query, ha="right", parse_math=False)
    axes.text(layout.right, y, _("key"), font=font, color=shades.key, parse_math=False)
    if shown.lines.query is not None:
        name = _("weight") if len(shown.lines.heads) == 1 else _("mean")
        axes.text(layout.number, y, name, font=font, color=shades.muted, ha="right", parse_math=False)
    if len(shown.lines.heads) > 1:
        _legend(axes, shown.lines.heads, layout, y, shades)


def _legend(axes: Any, heads: tuple[int, ...], layout: LinesLayout, y: float, shades: Shades) -> None:
    """A spot in the hue of each head with its number, counted from one."""
    from matplotlib.patches import Rectangle

    font, step = text_font(SMALL), 18.0
    shown = heads[: int((layout.right - layout.left) // step)]
    x = (layout.left + layout.right) / 2 - len(shown) * step / 2
    for head in shown:
        axes.add_patch(Rectangle((x, y - 6), 6, 6, facecolor=head_color(head), linewidth=0))
        axes.text(x + 8, y, str(head + 1), font=font, color=shades.muted, parse_math=False)
        x += step


def _draw_links(axes: Any, links: Links, layout: LinesLayout, largest: float) -> None:
    """The lines of one head; opacity and width grow with the weight, to full ones at the largest."""
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path

    start, end = layout.left + GAP, layout.right - GAP
    bend = (end - start) * _BEND
    codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    paths = []
    for query, key in zip(links.queries.tolist(), links.keys.tolist(), strict=True):
        y, to = layout.y(query), layout.y(key)
        paths.append(Path([(start, y), (start + bend, y), (end - bend, to), (end, to)], codes))
    strength = links.weights / largest
    color = head_color(links.head)
    edges = [(*_rgb(color), max(_LEAST_ALPHA, float(weight))) for weight in strength]
    axes.add_collection(
        PathCollection(
            paths, facecolors="none", edgecolors=edges, linewidths=THIN + (THICK - THIN) * strength, zorder=1
        ),
        autolim=False,
    )


def _words(axes: Any, shown: LinesContent, layout: LinesLayout, shades: Shades) -> None:
    font, digits, query = text_font(LABEL), number_font(SMALL), shown.lines.query
    for index, word in enumerate(shown.queries):
        chosen = text_font(LABEL, bold=index == query)
        y = middle(layout.y(index), chosen)
        axes.text(layout.left, y, word, font=chosen, color=shades.query, ha="right", parse_math=False)
    weights = None if query is None else shown.lines.given(query).mean(axis=0)
    most = 1.0 if weights is None else float(weights.max(initial=0.0)) or 1.0
    hidden = None if query is None else shown.lines.hidden(query)
    for index, word in enumerate(shown.keys):
        y = layout.y(index)
        is_hidden = hidden is not None and bool(hidden[index])
        if weights is not None and not is_hidden:
            _shade(axes, shown, layout, index, float(weights[index]) / most, shades)
            text = number(float(weights[index]))
            axes.text(
                layout.number,
                middle(y, digits),
                text,
                font=digits,
                color=shades.muted,
                ha="right",
                parse_math=False,
            )
        color = shades.muted if is_hidden else shades.key
        axes.text(layout.right, middle(y, font), word, font=font, color=color, parse_math=False)


def _shade(
    axes: Any, shown: LinesContent, layout: LinesLayout, index: int, share: float, shades: Shades
) -> None:
    """A tint behind a word; `share` of the largest weight."""
    from matplotlib.patches import Rectangle

    hue = head_color(shown.lines.heads[0]) if len(shown.lines.heads) == 1 else shades.query
    size = width(shown.keys[index], text_font(LABEL)) + 6
    box = (layout.right - 3, layout.y(index) - 6.5)
    alpha = SHADE * min(1.0, max(0.0, share))
    axes.add_patch(Rectangle(box, size, 13, facecolor=hue, alpha=alpha, linewidth=0, zorder=0.5))


def _rgb(color: str) -> tuple[float, float, float]:
    return int(color[1:3], 16) / 255, int(color[3:5], 16) / 255, int(color[5:7], 16) / 255


def draw_lines(subject: Subject, style: Style) -> Drawing:
    """The lines of one query or of all, of one head or of all, as the view says."""
    site, stage = subject.shown_site, subject.shown_stage
    if stage not in LINED:
        raise FieldError(
            "picture", "lines", must_be("map for a stage other than {stages}", stages=listed(LINED))
        )
    stage = subject.checked_stage
    row = STAGE_BY_ID[stage]
    heads = () if subject.head is None else chosen_heads(site, subject.view, row, subject.head)
    links = word_lines(site, subject.view, stage, heads)
    shown = lines_content(links)
    layout = measure(shown, style)

    def draw(axes: Any) -> None:
        paint(axes, shown, layout, style.shades)

    return Drawing(
        layout.width,
        layout.height,
        draw,
        titled(subject, figure_title(site, row, links.heads)),
        stage_formula(site.experiment, stage),
    )
