"""A stage of two states: A, B and B − A."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.levels import levels
from attnviz.core.phrases import named
from attnviz.core.shades import Shades
from attnviz.core.text import elide, number, visible
from attnviz.errors import Message
from attnviz.figures import bar, heat
from attnviz.figures.content import LONGEST_LABEL, Content, Map, Scale, Side, side_color
from attnviz.figures.fonts import broken, middle, text_font, widest
from attnviz.figures.labelled import LABEL, above_cells, before_cells, draw_labelled, label_cells
from attnviz.figures.layout import BAR, GAP, LEAST_BAR, LEAST_MAP, MARGIN, TALLEST, Slot
from attnviz.figures.sheet import Drawing, Note, fitting
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import _
from attnviz.model.spec.view import View
from attnviz.model.stages import AXIS_NAMES, STAGE_BY_ID
from attnviz.study.contrast.contrast import Contrast, Shown, contrast
from attnviz.study.contrast.differences import differences

SIDE, MOST_CELL = 210.0, 30.0
"""Points of one map, and the most of one cell."""
CAPTION, LEAST_CAPTION = 12.0, 80.0
"""Height of a line of a caption, and the least room that one has."""
COLUMN_GAP = 18.0
DIFFERENCE = "B − A"

Names = tuple[str, str, str]


def contrast_drawing(
    contrast: Contrast, heading: tuple[str, str], captions: Names, view: View, style: Style
) -> Drawing:
    """The three maps below a title and a note. Raises `ValueError` if the style's width is too small."""
    contents = contents_of(contrast, view, style.shades)
    three_maps = drawing_of(contents, heading, captions, style)
    return replace(three_maps, notes=_notes(contrast, contents))


def contents_of(contrast: Contrast, view: View, shades: Shades) -> tuple[Content, Content, Content]:
    """The three maps as values: labels, numbers, colours."""
    limits = [levels(side.values, "head", contrast.is_signed, side.hatched) for side in contrast.sides]
    low, high = min(low for low, _high in limits), max(high for _low, high in limits)
    kind: Any = "diverging" if contrast.is_signed else "sequential"
    common = Scale(kind, "head", low, high, contrast.is_signed)
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


@dataclass(frozen=True)
class _Layout:
    width: float
    height: float
    places: tuple[Slot, ...]
    captions: tuple[tuple[str, ...], ...]
    above: float
    """Points above the cells of a map."""


def drawing_of(
    contents: tuple[Content, Content, Content], heading: tuple[str, str], captions: Names, style: Style
) -> Drawing:
    """The three maps, side by side, or below each other where the style's width is too small for that.

    Raises `ValueError` if it is too small for one map as well.
    """
    layout = _fitted(contents, captions, style)
    label = style.label(LABEL)
    font = text_font(heat.NAME_SIZE, bold=True)

    def draw(axes: Any) -> None:
        for index, (one, place) in enumerate(zip(contents, layout.places, strict=True)):
            plot_w, plot_h = draw_labelled(axes, one, place, style.shades, label)
            for line, text in enumerate(layout.captions[index]):
                y = middle(place.y - layout.above + (line + 0.5) * CAPTION, font)
                at = place.x - before_cells(one, label), y
                axes.text(*at, text, font=font, color=style.shades.ink, parse_math=False)
            if index and style.bar:
                beside = place.x + plot_w + 2 * GAP, place.y, BAR, max(plot_h, LEAST_BAR)
                bar.draw_bar(axes, one.scale, beside, style.shades)
                name = DIFFERENCE if index == 2 else one.quantity
                bar.draw_name(axes, one.scale, name, beside, style.shades)

    side = layout.places[0].cells.cell_w
    return Drawing(layout.width, layout.height, draw, *heading, cell=side)


def _fitted(contents: tuple[Content, ...], captions: Names, style: Style) -> _Layout:
    longest = max(*contents[0].maps[0].values.shape, 1)
    if style.room is None:
        return _laid_out(contents, captions, style, 3, min(MOST_CELL, SIDE / longest))
    least = LEAST_MAP / longest
    for columns in (3, 1):
        most = max(least, min(4 * MOST_CELL, TALLEST * style.room * columns / 3 / longest))
        placed = partial(_laid_out, contents, captions, style, columns)
        side = fitting(style.room, lambda side: placed(side).width, least, most)  # noqa: B023
        if side is not None:
            return placed(side)
    raise style.too_narrow(placed(least).width)


def _laid_out(
    contents: tuple[Content, ...], captions: Names, style: Style, columns: int, side: float
) -> _Layout:
    """The maps with cells of `side` points in rows of `columns`, a scale beside the last map that has it."""
    label, font = style.label(LABEL), text_font(heat.NAME_SIZE, bold=True)
    plot_w, plot_h = side * contents[0].maps[0].values.shape[1], side * contents[0].maps[0].values.shape[0]
    cells = [label_cells(one, side, label) for one in contents]
    starts = [before_cells(one, label) for one in contents]
    lines = tuple(
        tuple(broken(caption, font, max(LEAST_CAPTION, before + plot_w)))
        for caption, before in zip(captions, starts, strict=True)
    )
    above = max(above_cells(one, cell, label) for one, cell in zip(contents, cells, strict=True))
    above += max(map(len, lines)) * CAPTION
    places, right, x = [], 0.0, MARGIN
    for index, (one, cell) in enumerate(zip(contents, cells, strict=True)):
        row, column = divmod(index, columns)
        x = MARGIN if column == 0 else x
        left = x + starts[index]
        places.append(Slot(left, row * (above + max(plot_h, LEAST_BAR) + COLUMN_GAP) + above, cell))
        slant = widest(one.across.labels, text_font(label)) * math.sqrt(0.5)
        across = max(
            plot_w + (slant if cell.across_angle == 45 else 0.0), widest(lines[index], font) - starts[index]
        )
        beside = plot_w + bar.room_beside(one.scale) if index and style.bar else 0.0
        right = max(right, left + max(across, beside) + MARGIN)
        x = left + max(across, beside) + COLUMN_GAP
    return _Layout(right, places[-1].y + max(plot_h, LEAST_BAR), tuple(places), lines, above)


def _notes(contrast: Contrast, contents: tuple[Content, Content, Content]) -> tuple[Note, ...]:
    """The meaning of the marks in the three maps; hatched cells may be absent instead of masked."""
    marks = {kind: sum(one.marks[kind] for one in contents) for kind in contents[0].marks}
    has_absent = any(bool(side.absent.any()) for side in contrast.sides)
    hatched = _("masked or absent") if has_absent else _("masked")
    return tuple((kind, hatched if kind == "masked" else text) for kind, text in heat.footnotes(marks))


MOST_NAMED, LONGEST = 2, 24
"""Differences by which A and B are told apart, and the characters of a value."""


def why_no_comparison(subject: Subject) -> Message | None:
    """The reason for which a subject has no comparison: it has no second state."""
    return None if subject.other is not None else Message("A comparison needs a second state A.")


def contrast_of(subject: Subject) -> Contrast:
    """The stage in both states. A has its own attention and head where they are chosen, else those of B."""
    other = subject.other
    assert other is not None
    site, stage = subject.shown_site, subject.checked_stage
    own = other.trace.site(other.site) if other.site in other.trace.sites else None
    head = _head(subject)
    first = Shown(own or other.trace.shown(site.name), _head(other) if isinstance(other.head, int) else head)
    return contrast(first, Shown(site, head), stage, subject.alignment)


def draw_comparison(subject: Subject, style: Style) -> Drawing:
    """The three maps; A and B share one scale."""
    contrast = contrast_of(subject)
    note = ""
    if contrast.changes:
        change = contrast.changes[0]
        words = f"{visible(change.row_label)} → {visible(change.column_label)}"
        values = f"{number(change.first)} → {number(change.second)}"
        note = _("greatest change: {change}").format(change=named(words, values))
    title = contrast.called
    if STAGE_BY_ID[contrast.stage].per_head:
        first, second = contrast.first.head + 1, contrast.second.head + 1
        of_both, of_each = _("{stage} · head {head}"), _("{stage} · head {first} of A, head {head} of B")
        says = of_both if first == second else of_each
        title = says.format(stage=title, first=first, head=second)
    return contrast_drawing(contrast, (title, note), (*_names(subject), DIFFERENCE), subject.view, style)


def _head(subject: Subject) -> int:
    return subject.head if isinstance(subject.head, int) else subject.view.head


def _names(subject: Subject) -> tuple[str, str]:
    """A and B by their titles; where these are equal, by what differs."""
    other = subject.other
    assert other is not None
    texts: tuple[list[str], list[str]] = ([other.title], [subject.title])
    if other.title == subject.title:
        changed = differences(other.trace.experiment, subject.trace.experiment)
        shown = changed if len(changed) <= MOST_NAMED else ()
        texts = tuple(
            [f"{one.title()} {one.texts()[side]}" for one in shown if len(one.texts()[side]) <= LONGEST]
            for side in (0, 1)
        )  # type: ignore[assignment]
    first, second = (
        " · ".join((letter, *(visible(text) for text in side if text)))
        for letter, side in zip("AB", texts, strict=True)
    )
    return first, second
