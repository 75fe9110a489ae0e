"""The weights of one query as arcs over the sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.arcs import STRONG, Arcs, Measures, Place, Row, Word, arrange, marked_key, sentence
from attnviz.core.levels import RANGE_BY_ID
from attnviz.core.shades import Shades, head_color
from attnviz.core.text import number
from attnviz.errors import FieldError, listed, must_be
from attnviz.explain.formulas.stages import stage_formula
from attnviz.figures.content import chosen_heads, figure_title
from attnviz.figures.fonts import number_font, text_font, width
from attnviz.figures.kinds.matrix import titled
from attnviz.figures.layout import MARGIN
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import _
from attnviz.model.links import LINED, WordLines, word_lines
from attnviz.model.ranges import shown_range
from attnviz.model.spec.view import View
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace

SIZES = (11.0, 10.0, 9.0, 8.0, 7.0)
"""Sizes of words in points: the largest with which they have one line, else the smallest."""
SMALL = 7.0
USUAL, LEAST = 430.0, 140.0
"""Width of a sentence in points where the figure has no set width, and the least one."""
RISE = 0.24
"""Height of the highest arc, as a part of the width."""
FOOT = 12.0


@dataclass(frozen=True, eq=False)
class ArcsFigure:
    """Words, places and weights, (heads, keys); `hidden` keys have no arc, `size` is that of the words."""

    lines: WordLines
    words: tuple[tuple[Word, ...], tuple[Word, ...]]
    places: Arcs
    weights: NDArray[np.float64]
    hidden: NDArray[np.bool_]
    size: float
    is_first_off: bool

    @property
    def query(self) -> int:
        """The query from which the arcs start."""
        assert self.lines.query is not None
        return self.lines.query

    @property
    def strongest(self) -> int:
        """The key whose word has a frame and whose arc has its number."""
        return marked_key(self.weights, self.hidden, is_first_off=self.is_first_off)


def arcs_figure(lines: WordLines, style: Style, *, is_first_off: bool) -> ArcsFigure:
    """Prepare the figure. Raises `ValueError` if the style's width is too small."""
    assert lines.query is not None
    room = USUAL if style.room is None else style.room - 2 * MARGIN
    if room < LEAST:
        raise style.too_narrow(LEAST + 2 * MARGIN)
    is_one = lines.site.experiment.memory is None and lines.queries == lines.keys
    words = sentence(lines.queries), sentence(lines.keys)
    weights, hidden = lines.given(lines.query), lines.hidden(lines.query)
    chosen = lines.query, int(weights.mean(axis=0).argmax())
    for size in SIZES:
        widths = tuple([_width(word, size) for word in each] for each in words)
        measures = Measures(
            line=1.7 * size,
            space=0.42 * size,
            rise=RISE * room,
            thick=0.9 * size,
            cut=2.4 * size,
            widest_space=3.5 * size,
            join=1.0,
        )
        keys = None if is_one else words[1]
        places = arrange(words[0], keys, (widths[0], widths[1]), chosen, MARGIN, room, measures)
        if places.is_whole:
            break
    return ArcsFigure(lines, words, places, weights, hidden, size, is_first_off)


def _width(word: Word, size: float) -> float:
    return width(word.text, _font(word, size))


def _font(word: Word, size: float, *, is_bold: bool = False) -> Any:
    return text_font(min(size, SMALL) if word.is_sign else size, is_bold)


def paint(axes: Any, shown: ArcsFigure, shades: Shades) -> None:
    """Draw the figure into axes whose unit is a point, y downwards."""
    _draw_arcs(axes, shown, shades)
    places = shown.places
    if not places.is_one:
        for index, place in enumerate(places.queries.places, places.queries.first):
            _draw_word(
                axes, shown, place, shown.words[0][index], index == shown.query, False, shades.ink, shades
            )
    for index, place in enumerate(places.keys.places, places.keys.first):
        is_query = places.is_one and index == shown.query
        is_off = bool(shown.hidden[index]) or (index == 0 and shown.is_first_off)
        ink = shades.muted if is_off else shades.ink
        is_key = index == shown.strongest
        ink = shades.key if is_key and not is_off else ink
        _draw_word(axes, shown, place, shown.words[1][index], is_query, is_key, ink, shades)
    _draw_cuts(axes, shown, places.keys, shades)
    _draw_number(axes, shown, shades)
    if shown.is_first_off:
        share = number(float(shown.weights[:, 0].mean()))
        said = _("without the first token, whose share is {share}").format(share=share)
        at = MARGIN, places.height + FOOT - 2
        axes.text(*at, said, font=text_font(SMALL), color=shades.muted, parse_math=False)
    if len(shown.lines.heads) > 1:
        _legend(axes, shown, shades)


def _legend(axes: Any, shown: ArcsFigure, shades: Shades) -> None:
    """A spot in the hue of each head with its number, counted from one."""
    from matplotlib.patches import Rectangle

    step, y = 18.0, shown.places.height + FOOT - 2
    heads = shown.lines.heads[: int(shown.places.width / 2 / step)]
    x = MARGIN + shown.places.width - len(heads) * step
    for head in heads:
        axes.add_patch(Rectangle((x, y - 6), 6, 6, facecolor=head_color(head), linewidth=0))
        axes.text(x + 8, y, str(head + 1), font=text_font(SMALL), color=shades.muted, parse_math=False)
        x += step


def _draw_arcs(axes: Any, shown: ArcsFigure, shades: Shades) -> None:
    """From the thinnest to the thickest; that of a first key that is left out is dashed."""
    n_keys = shown.weights.shape[1]
    if shown.is_first_off and not shown.hidden[0]:
        _draw_arc(axes, shown, 0, shades.hatch, 0.7, "--")
    for at in np.argsort(shown.weights, axis=None, kind="stable").tolist():
        index, key = divmod(at, n_keys)
        weight = float(shown.weights[index, key])
        if not shown.hidden[key] and (key or not shown.is_first_off):
            faint = shades.hatch if shades.is_dark else shades.line
            color = head_color(shown.lines.heads[index]) if weight >= STRONG else faint
            _draw_arc(axes, shown, key, color, shown.places.thickness(weight), "-")


def _draw_arc(axes: Any, shown: ArcsFigure, key: int, color: str, thickness: float, dash: str) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    curve = shown.places.curve(shown.query, key)
    if curve is not None:
        path = Path(curve, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
        patch = PathPatch(
            path,
            facecolor="none",
            edgecolor=color,
            linewidth=thickness,
            linestyle=dash,
            capstyle="butt",
            zorder=1,
        )
        axes.add_patch(patch)


def _draw_word(
    axes: Any,
    shown: ArcsFigure,
    place: Place,
    word: Word,
    is_query: bool,
    is_key: bool,
    ink: str,
    shades: Shades,
) -> None:
    """A word; the query and the strongest key in their colours in a frame."""
    from matplotlib.patches import FancyBboxPatch

    measures, font = shown.places.measures, _font(word, shown.size, is_bold=is_query or is_key)
    top = shown.places.tops[place.row]
    color = shades.query if is_query else ink
    if is_query or is_key:
        pad = measures.space * 0.35 if word.is_apart else 0.5
        frame = FancyBboxPatch(
            (place.left - pad, top + 1),
            place.right - place.left + 2 * pad,
            measures.line - 2,
            boxstyle="round,pad=0,rounding_size=3",
            facecolor=shades.panel,
            edgecolor=color,
            linewidth=0.8,
            zorder=2,
        )
        axes.add_patch(frame)
    baseline = top + measures.line / 2 + 0.36 * shown.size
    axes.text(
        place.middle, baseline, word.text, font=font, color=color, ha="center", zorder=3, parse_math=False
    )


def _draw_cuts(axes: Any, shown: ArcsFigure, row: Row, shades: Shades) -> None:
    """The number of words that are left out at each end, over their share of the weights."""
    if not row.places:
        return
    weights, font = shown.weights.mean(axis=0), text_font(SMALL)
    end = row.first + len(row.places)
    for count, part, place, side in (
        (row.first, weights[: row.first], row.places[0], -1),
        (row.after, weights[end:], row.places[-1], 1),
    ):
        if count:
            x = place.left - 4 if side < 0 else place.right + 4
            align = "right" if side < 0 else "left"
            y = shown.places.tops[place.row] + shown.places.measures.line / 2 + 0.36 * SMALL
            axes.text(x, y, f"… {count}", font=font, color=shades.muted, ha=align, parse_math=False)
            share = number(float(part.sum()))
            above = y - shown.places.measures.line * 0.8
            axes.text(
                x, above, share, font=number_font(SMALL), color=shades.muted, ha=align, parse_math=False
            )


def _draw_number(axes: Any, shown: ArcsFigure, shades: Shades) -> None:
    """The weight at the thickest arc."""
    key = shown.strongest
    at = shown.places.peak(shown.query, key)
    if at is None:
        return
    head = int(shown.weights[:, key].argmax())
    is_off = key == 0 and shown.is_first_off
    above = 0.9 * shown.size if shown.places.is_one and key == shown.query else 0.0  # a loop is small
    box = {
        "boxstyle": "round,pad=0.25,rounding_size=0.3",
        "facecolor": shades.panel,
        "edgecolor": shades.muted if is_off else head_color(shown.lines.heads[head]),
        "linewidth": 0.8,
    }
    axes.text(
        at[0],
        at[1] - above,
        number(float(shown.weights[head, key])),
        font=number_font(max(SMALL, shown.size - 2)),
        color=shades.ink,
        ha="center",
        va="center",
        bbox=box,
        zorder=4,
        parse_math=False,
    )


def skips_first(site: SiteTrace, view: View, stage: str, head: int) -> bool:
    """True if the range of the view leaves the first token out."""
    return RANGE_BY_ID[shown_range(site, view, stage, head)].skips_first


def foot_of(shown: ArcsFigure) -> float:
    """Height of the line below the sentence."""
    return FOOT if shown.is_first_off or len(shown.lines.heads) > 1 else 2.0


def draw_arcs(subject: Subject, style: Style) -> Drawing:
    """The arcs of the chosen query in the chosen head, or in all heads."""
    site, stage = subject.shown_site, subject.shown_stage
    if stage not in LINED:
        raise FieldError(
            "picture", "arcs", must_be("map for a stage other than {stages}", stages=listed(LINED))
        )
    stage = subject.checked_stage
    row = STAGE_BY_ID[stage]
    heads = () if subject.head is None else chosen_heads(site, subject.view, row, subject.head)
    lines = word_lines(site, subject.view, stage, heads)
    lines = lines.of_query(min(subject.view.query, len(lines.queries) - 1))
    is_first_off = skips_first(site, subject.view, stage, lines.heads[0])
    shown = arcs_figure(lines, style, is_first_off=is_first_off)

    def draw(axes: Any) -> None:
        paint(axes, shown, style.shades)

    return Drawing(
        shown.places.width + 2 * MARGIN,
        shown.places.height + foot_of(shown),
        draw,
        titled(subject, figure_title(site, row, lines.heads)),
        stage_formula(site.experiment, stage),
    )
