"""The sum of the weighted values of one query: the arcs of its weights, w v head to tail, and the numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.head_to_tail import SAID, HeadToTail, head_to_tail, rest_from
from attnviz.core.label_places import AWAY, Box
from attnviz.core.phrases import sentences
from attnviz.core.shades import Shades
from attnviz.core.text import number, visible
from attnviz.errors import FieldError, InputError, Message, must_be
from attnviz.explain.formulas.stages import stage_formula
from attnviz.explain.value_sum import Hues, plane_note, word
from attnviz.figures.content import chosen_heads, figure_title
from attnviz.figures.fonts import broken, cut, number_font, text_font, width
from attnviz.figures.kinds.arcs import ArcsFigure, arcs_figure, foot_of, paint, skips_first
from attnviz.figures.kinds.matrix import titled
from attnviz.figures.layout import MARGIN
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import _
from attnviz.model.links import word_lines
from attnviz.model.spec.view import shown_head
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.value_sum import ValueSum, value_sum

Points = NDArray[np.float64]

NO_VALUES = Message("This attention has weights only: no values to add.")
BESIDE = 340.0
"""Width in points from which the list stands beside the plane."""
LIST, BETWEEN = 188.0, 14.0
HEIGHTS = (0.72, 0.5)
"""Height of the plane as a part of its width: above the list, and beside it."""
BELOW_ARCS = 12.0
LABEL, BOLD, NOTE, ROW = 7.5, 8.0, 7.0, 13.0
NOTE_LINE = 9.5
LENS = (0.34, 0.36)
"""Size of the lens as a part of the plane's."""
MOST_VALUES = 64
"""Values that are drawn: those with the largest weights."""
MOST_ROWS = 4
"""Rows of the list where the values are more than few, beside the query's own and the sum of the others."""
WORD = 54.0
"""Most of the width of the list that a word has."""
MOST_FEATURES = 3
"""Features up to which a vector is written in numbers."""


@dataclass(frozen=True)
class Line:
    """A row of the list: its key (−1 for several), its name, its weight and its vector or length, as texts.

    `share` is the length of w v as a part of the longest bar; None for a row without a bar.
    """

    key: int
    name: str
    weight: str
    vector: str
    share: float | None = None


@dataclass(frozen=True, eq=False)
class SumFigure:
    """A sum at a `part` of its way, the arcs above it, and the places of its plane and its list."""

    sum: ValueSum
    part: float
    arcs: ArcsFigure
    style: Style

    @property
    def width(self) -> float:
        """Width without the margins."""
        return self.arcs.places.width

    @property
    def is_beside(self) -> bool:
        """True if the list stands at the right of the plane."""
        return self.width >= BESIDE

    @property
    def top(self) -> float:
        """Upper end of the plane."""
        return self.arcs.places.height + foot_of(self.arcs) + BELOW_ARCS

    @cached_property
    def plane_width(self) -> float:
        """Width of the plane."""
        return self.width - LIST - BETWEEN if self.is_beside else self.width

    @cached_property
    def note(self) -> list[str]:
        """The plane and the share of the result that it holds, in lines."""
        return broken(plane_note(self.sum), text_font(NOTE), self.plane_width - 12)

    @cached_property
    def plane_height(self) -> float:
        """Height of the plane, with the lines of its note above the arrows."""
        return HEIGHTS[self.is_beside] * self.plane_width + NOTE_LINE * len(self.note)

    @property
    def list_top(self) -> float:
        """Upper end of the list."""
        return self.top if self.is_beside else self.top + self.plane_height + BETWEEN

    @property
    def height(self) -> float:
        """Height of everything."""
        lines = self.list_top + ROW * (len(self.lines) + 1) + 6
        return max(self.top + self.plane_height, lines)

    @cached_property
    def drawn(self) -> tuple[int, ...]:
        """The keys whose values are drawn."""
        keys = dict.fromkeys((*self.sum.named, *self.sum.order[:MOST_VALUES]))
        return tuple(key for key in keys if np.isfinite(self.sum.projected[key]).all())

    def path(self, part: float) -> Points:
        """The tips in the plane; zero alone for a head that is off, and where a number is not finite."""
        path = self.sum.path(part)
        return np.zeros((1, 2)) if self.sum.is_off or not np.isfinite(path).all() else path

    @cached_property
    def places(self) -> HeadToTail:
        """The places in the plane, below its note."""
        size = self.plane_width, self.plane_height - NOTE_LINE * len(self.note)
        edge = (34.0, 16.0) if not self.is_beside else (46.0, 18.0)
        lens = LENS[0] * size[0], LENS[1] * size[1]
        return head_to_tail(self.sum.projected, self.drawn, self.path, size, edge, lens)

    @cached_property
    def has_vectors(self) -> bool:
        """True if the list writes the values in numbers: few values of few features."""
        return self.sum.has_few and self.sum.values.shape[1] <= MOST_FEATURES

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """The keys of the list, the same for all parts."""
        if self.sum.has_few:
            return tuple(np.flatnonzero(~self.sum.hidden).tolist())
        rows = dict.fromkeys((*self.sum.order[:MOST_ROWS], *((self.sum.own,) if self.sum.own >= 0 else ())))
        return tuple(rows)

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The rows, the sum of all others, and the result."""
        summed, weights = self.sum, self.sum.mixed(self.part)
        total = summed.length(self.part)
        parts = np.abs(weights) * summed.lengths
        found = [
            Line(
                key,
                visible(summed.keys[key].strip() or summed.keys[key]),
                number(float(weights[key])),
                self._vector(summed.values[key]),
                float(parts[key]) / self.longest,
            )
            for key in self.rows
        ]
        count, rest = summed.rest(self.rows, self.part)
        if count:
            name = _("{count} others").format(count=count)
            found.append(Line(-1, name, number(rest), ""))
        vector, sum_of_weights = summed.vector(self.part), number(float(weights.sum()))
        return *found, Line(-1, _("result"), sum_of_weights, self._vector(vector), total / self.longest)

    @cached_property
    def longest(self) -> float:
        """The length of the longest bar of all parts."""
        summed = self.sum
        largest = np.maximum(np.abs(summed.start), np.abs(summed.weights)) * summed.lengths
        lengths = [summed.length(0.0), summed.length(1.0), *largest[list(self.rows)].tolist()]
        return max((one for one in lengths if math.isfinite(one)), default=0.0) or 1.0

    def _vector(self, vector: Points) -> str:
        if not self.has_vectors:
            return number(float(np.linalg.norm(vector)), 2)
        texts = [number(float(one)) for one in vector]
        return f"({', '.join(text.rjust(6) for text in texts)})"


def sum_figure(subject: Subject, style: Style) -> SumFigure:
    """Prepare the figure. Raises `ValueError` for a choice that the subject lacks, and without values."""
    site, view = subject.shown_site, subject.view
    if not 0.0 <= subject.part <= 1.0:
        raise FieldError("part", subject.part, must_be("a number from {least} to {most}", least=0, most=1))
    row = STAGE_BY_ID[site.map]
    head = shown_head(site.experiment, view, site.map) if subject.head is None else subject.head
    (head, *others) = chosen_heads(site, view, row, head)
    if others:
        raise FieldError("head", "all", must_be("one head for a sum of values"))
    query = min(view.query, site.shape(site.map)[-2] - 1)
    summed = value_sum(site, head, query)
    if summed is None:
        raise FieldError("kind", "sum", must_be("arcs: {reason}", reason=NO_VALUES))
    lines = word_lines(site, view, site.map, (head,)).of_query(query)
    arcs = arcs_figure(lines, style, is_first_off=skips_first(site, view, site.map, head))
    arcs = replace(arcs, weights=summed.mixed(subject.part)[None])
    return SumFigure(summed, subject.part, arcs, style)


def why_no_sum(subject: Subject) -> Message | None:
    """The reason for which an attention has no such picture, or None."""
    try:
        site = subject.shown_site
    except InputError as error:
        return error.message
    return None if value_sum(site, 0, 0) is not None else NO_VALUES


def draw_sum(subject: Subject, style: Style) -> Drawing:
    """The sentence with the arcs of the weights, below it the values, w v head to tail, and the list."""
    shown = sum_figure(subject, style)
    site = shown.sum.site

    def draw(axes: Any) -> None:
        paint(axes, shown.arcs, style.shades)
        _draw_plane(axes, shown, style.shades)
        _draw_list(axes, shown, style.shades)

    title = figure_title(site, STAGE_BY_ID["mixed"], (shown.sum.head,))
    note = plane_note(shown.sum)
    return Drawing(
        shown.width + 2 * MARGIN,
        shown.height,
        draw,
        titled(subject, title),
        stage_formula(site.experiment, "mixed"),
        says=sentences((titled(subject, title), note)),
    )


def _draw_plane(axes: Any, shown: SumFigure, shades: Shades) -> None:
    from matplotlib.patches import Rectangle

    places, high = shown.places, NOTE_LINE * len(shown.note)
    clip = Rectangle(
        (MARGIN, shown.top),
        shown.plane_width,
        shown.plane_height,
        facecolor="none",
        edgecolor=shades.line,
        linewidth=0.6,
        zorder=0,
    )
    axes.add_patch(clip)
    for index, text in enumerate(shown.note):
        at = MARGIN + 6, shown.top + 9 + index * NOTE_LINE
        axes.text(*at, text, font=text_font(NOTE), color=shades.muted, parse_math=False)
    shift = np.array([MARGIN, shown.top + high])
    origin, hues = np.array(places.origin) + shift, Hues(shown.sum, shades)
    for ends in (
        ((MARGIN, origin[1]), (MARGIN + shown.plane_width, origin[1])),
        ((origin[0], shown.top + high + 3), (origin[0], shown.top + shown.plane_height)),
    ):
        _line(axes, np.array(ends), shades.line, 0.6, order=0)
    main = set(range(len(shown.sum.weights))) if shown.sum.has_few else {shown.sum.own, shown.sum.strongest}
    for key in reversed(shown.drawn):
        tip = places.values[key] + shift
        if key in main:
            _arrow(axes, origin, tip, hues.value(key), 1.1, alpha=0.7 if shades.is_dark else 0.5, order=2)
        else:
            _line(axes, np.stack([origin, tip]), shades.hatch, 0.5)
            axes.plot(*tip, "o", color=shades.hatch, markersize=2.0, markeredgewidth=0, zorder=1)
    if places.is_moving:
        way = places.ends[[0, -1]] + shift
        _line(axes, way, shades.value_mark, 0.9, dash=":", order=2)
    tips, keys = shown.path(shown.part), shown.sum.steps
    path = places.path(tips)
    for key, start, end in _steps(path + shift, keys):
        _arrow(axes, start, end, hues.step(key), 1.9, order=3)
    _arrow(axes, origin, path[-1] + shift, shades.ink, 1.5, order=4)
    axes.plot(*origin, "o", color=shades.ink, markersize=3.0, markeredgewidth=0, zorder=5)
    _draw_lens(axes, shown, shift, hues)
    _draw_labels(axes, shown, path, shift, shades)


def _steps(path: Points, keys: tuple[int, ...]) -> Iterator[tuple[int, Points, Points]]:
    return zip(keys[: len(path) - 1], path[:-1], path[1:], strict=True)


def _line(
    axes: Any,
    ends: Points,
    color: str,
    thickness: float,
    *,
    dash: str = "-",
    order: int = 1,
    clip: Any = None,
) -> None:
    (drawn,) = axes.plot(
        ends[:, 0],
        ends[:, 1],
        dash,
        color=color,
        linewidth=thickness,
        solid_capstyle="butt",
        zorder=order,
    )
    if clip is not None:
        drawn.set_clip_path(clip)


def _arrow(
    axes: Any,
    start: Points,
    end: Points,
    color: str,
    thickness: float,
    *,
    alpha: float = 1.0,
    order: int = 2,
    clip: Any = None,
) -> None:
    """A line with a head whose tip is `end`; without a head where it is hardly longer than one."""
    from matplotlib.patches import Polygon

    length = float(np.hypot(*(end - start)))
    if length < 0.2:
        return
    head = min(2.2 + 2.2 * thickness, 0.7 * length)
    along = (end - start) / length
    neck, across = end - head * along, np.array([-along[1], along[0]]) * head * 0.4
    (shaft,) = axes.plot(
        *np.stack([start, neck + 0.1 * head * along]).T,
        color=color,
        linewidth=thickness,
        alpha=alpha,
        solid_capstyle="butt",
        zorder=order,
    )
    tip = Polygon(
        [end, neck + across, neck - across],
        closed=True,
        facecolor=color,
        linewidth=0,
        alpha=alpha,
        zorder=order,
    )
    axes.add_patch(tip)
    for drawn in (shaft, tip) if clip is not None else ():
        drawn.set_clip_path(clip)


def _draw_lens(axes: Any, shown: SumFigure, shift: Points, hues: Hues) -> None:
    """The small steps at the tip, enlarged, and a line to the spot that they come from."""
    from matplotlib.patches import FancyBboxPatch, Rectangle

    lens, shades, tips = shown.places.lens, hues.shades, shown.path(shown.part)
    first = rest_from(shown.places.path(tips))
    if lens is None or first >= len(tips) - 1 or not lens.holds(tips):
        return
    (left, top), (right, end) = (np.reshape(lens.box, (2, 2)) + shift).tolist()
    (from_x, from_y), (to_x, to_y) = (np.reshape(lens.magnified(tips), (2, 2)) + shift).tolist()
    spot = Rectangle((from_x, from_y), to_x - from_x, to_y - from_y, fill=False, zorder=6)
    spot.set(edgecolor=shades.muted, linewidth=0.5)
    axes.add_patch(spot)
    side = left if left > from_x else right
    ends = np.array([((from_x + to_x) / 2, (from_y + to_y) / 2), (side, (top + end) / 2)])
    _line(axes, ends, shades.muted, 0.5, dash="--", order=5)
    box = FancyBboxPatch((left, top), right - left, end - top, boxstyle="round,pad=0,rounding_size=3")
    box.set(facecolor=shades.panel, edgecolor=shades.hatch, linewidth=0.6, zorder=6)
    axes.add_patch(box)
    seen = Rectangle((left, top + SAID), right - left, end - top - SAID, transform=axes.transData)
    large = lens.frame(tips).at(tips) + shift
    for key, start, tip in _steps(large, shown.sum.steps):
        _arrow(axes, start, tip, hues.step(key), 1.4, order=7, clip=seen)
    _arrow(axes, large[0], large[-1], shades.ink, 1.4, order=8, clip=seen)
    said = cut(_("the tip, × {factor}").format(factor=lens.factor), text_font(NOTE), right - left - 8)
    axes.text(left + 4, top + 9, said, font=text_font(NOTE), color=shades.muted, parse_math=False, zorder=9)


def _draw_labels(axes: Any, shown: SumFigure, path: Points, shift: Points, shades: Shades) -> None:
    """The named values at their tips, and the result."""
    font, bold = text_font(LABEL), text_font(BOLD, bold=True)
    texts = {
        key: _("v of {word}").format(word=word(shown.sum.keys[key]))
        for key in shown.sum.named
        if key in shown.drawn
    }
    found = shown.places.labels({key: (width(text, font) + 1, LABEL + 2) for key, text in texts.items()})
    for key, box in found.items():
        color = shades.ink if shown.sum.has_few else shades.muted
        color = shades.query if key == shown.sum.own and not shown.sum.has_few else color
        color = shades.value if key == shown.sum.strongest and not shown.sum.has_few else color
        _label(axes, texts[key], box, shift, font, color)
    text = _("Σ w·v, the result") if shown.is_beside else "Σ w·v"
    size = width(text, bold) + 1, BOLD + 2
    box = shown.places.result_label(path, size, found)
    _label(axes, text, box, shift, bold, shades.ink)


def _label(axes: Any, text: str, box: Box, shift: Points, font: Any, color: str) -> None:
    """A text on a plate through which the small values below it are pale, but no arrow is."""
    from matplotlib.patches import Rectangle

    left, top, right, end = np.add(box, (*shift, *shift)).tolist()
    plate = Rectangle((left, top), right - left, end - top, linewidth=0, alpha=0.7, zorder=1.5)
    plate.set_facecolor(axes.figure.get_facecolor())
    axes.add_patch(plate)
    axes.text(left, end - 2, text, font=font, color=color, parse_math=False, zorder=10)


def _draw_list(axes: Any, shown: SumFigure, shades: Shades) -> None:
    """Word, weight × length of v with a bar, or the values in numbers; the result below a line."""
    from matplotlib.patches import Circle, Rectangle

    left = MARGIN + (shown.plane_width + BETWEEN if shown.is_beside else 0.0)
    room = LIST if shown.is_beside else shown.width
    font, digits, hues = text_font(LABEL), number_font(LABEL), Hues(shown.sum, shades)
    says = _("weight × v, head to tail") if shown.has_vectors else _("weight × length of v, head to tail")
    y = shown.list_top + 9
    axes.text(left, y, "Σ", font=text_font(BOLD, bold=True), color=shades.ink, parse_math=False)
    axes.text(left + 11, y, says, font=text_font(NOTE), color=shades.muted, parse_math=False)
    start = left + (9.0 if shown.sum.has_few else 0.0)
    *keys, result = shown.lines
    names = max(width(line.name, font) for line in (*keys, result))
    weights = max(width(line.weight, digits) for line in shown.lines)
    vectors = max(width(line.vector, digits) for line in shown.lines)
    free = left + room - start - weights - vectors - 21
    names = max(min(names, WORD, free), width(result.name, text_font(LABEL, bold=True)))
    at_weight = start + names + 6 + weights
    at_vector = at_weight + 15 + vectors
    bars = at_vector + 8, left + room
    for index, line in enumerate(shown.lines):
        is_last = index == len(shown.lines) - 1
        y = shown.list_top + 9 + ROW * (index + 1) + (4 if is_last else 0)
        color = shades.muted if line.key < 0 and not is_last else shades.ink
        bold = text_font(LABEL, bold=is_last)
        if is_last:
            _line(axes, np.array([(left, y - ROW + 2), (left + room, y - ROW + 2)]), shades.line, 0.6)
        if shown.sum.has_few and line.key >= 0 and not shades.is_grey:
            spot = Circle((left + 3, y - 2.7), 2.4, facecolor=hues.value(line.key), linewidth=0)
            axes.add_patch(spot)
        axes.text(start, y, cut(line.name, bold, names + 1), font=bold, color=color, parse_math=False)
        for x, text in ((at_weight, line.weight), (at_vector, line.vector)):
            if text:
                axes.text(x, y, text, font=digits, color=color, ha="right", parse_math=False)
        if line.vector and not is_last:
            axes.text(at_weight + 2.5, y, "×", font=digits, color=shades.muted, parse_math=False)
        if line.share is not None and math.isfinite(line.share) and bars[1] - bars[0] >= 3 * AWAY:
            fill = shades.ink if is_last else hues.step(line.key)
            long = max(0.4, line.share * (bars[1] - bars[0])) if line.share else 0.0
            axes.add_patch(Rectangle((bars[0], y - 5.5), long, 5.5, facecolor=fill, linewidth=0))
