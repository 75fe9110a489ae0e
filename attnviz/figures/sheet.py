"""The sheet of a figure: title and formula, the picture, the meaning of its marks, the caption."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from attnviz.core.text import visible
from attnviz.errors import Message, verbatim
from attnviz.figures import marks
from attnviz.figures.fonts import broken, families, from_system, middle, text_font, unknown, width
from attnviz.figures.layout import GAP, MARGIN
from attnviz.figures.report import Remark
from attnviz.figures.style import Style
from attnviz.i18n import _
from attnviz.model.captions import plain_caption

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINT = 1 / 72
"""Inches."""
BASE_DPI = 144
"""Pixels per inch of a figure shown in a notebook; more where a cell would be smaller than a pixel."""

TITLE_SIZE, TITLE_LINE = 11.0, 15.0
FORMULA_SIZE, FORMULA_LINE = 8.0, 12.0
BELOW_HEADING = 12.0
NOTE_SIZE, NOTE_LINE = 7.5, 14.0
SWATCH_W, SWATCH_H = 12.0, 9.0
CAPTION_SIZE, CAPTION_LINE = 9.0, 13.0

Note = tuple[str, str]
"""A kind of mark, one of `MARKS`, and its meaning."""
MARKS = {
    "masked": marks.hatch,
    "later": marks.blank_swatch,
    "nan": marks.cross,
    "infinite": marks.rule,
    "edited": marks.corner,
    "first": marks.share_bar,
    "unknown": marks.box,
}


@dataclass(frozen=True, eq=False)
class Drawing:
    """A picture of `width` x `height` units, drawn into axes by `draw`, with the texts around it.

    `cell` is the side of its smallest cell; a picture without cells has a large one. `without` says that a
    wanted part has no room; `checks` say how the picture fits its width. `margin` surrounds it.
    `says` is a caption for the text around the figure; empty: the title.
    """

    width: float
    height: float
    draw: Callable[[Any], None]
    title: str = ""
    formula: str = ""
    notes: tuple[Note, ...] = ()
    cell: float = 100.0
    without: Message | None = None
    checks: tuple[Remark, ...] = ()
    margin: float = MARGIN
    says: str = ""


def sheet_of(picture: Drawing, caption: str, style: Style) -> Figure:
    """A figure of one axes whose unit is a point at the usual size of type, y downwards.

    The picture begins at y = 0; title and formula lie above it. Raises `ValueError` if the picture is wider
    than the style allows.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    total = _width(picture, style)
    margin, inside = picture.margin, total - 2 * picture.margin
    heading = _Heading(picture, style, inside)
    text, font = visible(" ".join(plain_caption(caption).split())), text_font(CAPTION_SIZE)
    lines = broken(text, font, inside)
    dpi = max(BASE_DPI, math.ceil(72 / (picture.cell * style.scale)))
    figure = Figure(facecolor=style.shades.panel, dpi=dpi)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    left = min(0.0, (picture.width - total) / 2) if style.room is not None else 0.0
    picture.draw(axes)
    heading.draw(axes, left + margin)
    boxes = [one for drawn in axes.texts for one in unknown(drawn.get_text(), drawn.get_fontproperties())]
    unknown_note = _unknown_note([*boxes, *unknown(text, font)], inside)
    notes = _note_lines((*picture.notes, *unknown_note), inside)
    below = picture.height + (GAP + len(notes) * NOTE_LINE if notes else 0.0)
    height = below + margin + (len(lines) * CAPTION_LINE + GAP if lines else 0.0)
    figure.set_size_inches(total * style.scale * POINT, (height + heading.height) * style.scale * POINT)
    _draw_notes(axes, notes, left + margin, picture.height + GAP, style)
    for index, line in enumerate(lines):
        y = below + margin + index * CAPTION_LINE
        axes.text(left + margin, y, line, font=font, color=style.shades.ink, va="top", parse_math=False)
    for drawn in axes.texts:
        drawn.set_fontfamily(families(drawn.get_text(), drawn.get_fontproperties()))
        drawn.set_fontsize(float(drawn.get_fontsize()) * style.scale)
    axes.set_xlim(left, left + total)
    axes.set_ylim(height, -heading.height)
    return figure


def fonts_checks(figure: Figure) -> tuple[Remark, ...]:
    """The system's fonts that the letters of a figure come from, and the characters that no font has."""
    texts = {drawn.get_text() for drawn in figure.axes[0].texts}
    font = text_font(NOTE_SIZE)
    found = sorted({family for text in texts for family in from_system(text, font)})
    boxes = _unknown_note([one for text in texts for one in unknown(text, font)], math.inf)
    checks = [Remark(Message("letters of {fonts}", fonts=verbatim(", ".join(found))))] if found else []
    checks += [Remark(verbatim(text), is_met=False) for _kind, text in boxes]
    return tuple(checks)


def _width(picture: Drawing, style: Style) -> float:
    """The sheet's width: the one that is set, or what the picture and its heading need."""
    if style.room is not None:
        if picture.width > style.room + 0.01:
            raise style.too_narrow(picture.width)
        return style.room
    heading = (2 * picture.margin + width(line.text, line.font) for line in _lines(picture, style))
    return math.ceil(max(picture.width, *heading, 0.0))


@dataclass(frozen=True, eq=False)
class _Line:
    """A line of the heading; `step` is its height."""

    text: str
    font: Any
    color: str
    step: float


def _lines(picture: Drawing, style: Style) -> tuple[_Line, ...]:
    """Title and formula."""
    title = picture.title if style.shows(style.title) else ""
    formula = picture.formula if style.shows(style.formula) else ""
    lines = (
        _Line(title, text_font(TITLE_SIZE, bold=True), style.shades.ink, TITLE_LINE),
        _Line(formula, text_font(FORMULA_SIZE), style.shades.muted, FORMULA_LINE),
    )
    return tuple(line for line in lines if line.text)


def is_one_line(title: str, style: Style) -> bool:
    """True if a title fits in a line of the style's width."""
    font = text_font(TITLE_SIZE, bold=True)
    return not style.shows(style.title) or style.room is None or width(title, font) <= style.room - 2 * MARGIN


class _Heading:
    """Title and formula in as many lines as they need, above y = 0."""

    def __init__(self, picture: Drawing, style: Style, room: float) -> None:
        self._lines = [
            replace(line, text=text)
            for line in _lines(picture, style)
            for part in line.text.split("\n")
            for text in broken(part, line.font, room)
        ]
        inner = sum(line.step for line in self._lines)
        self.margin = picture.margin
        self.height = self.margin + (inner + BELOW_HEADING if inner else 0.0)

    def draw(self, axes: Any, x: float) -> None:
        """Draw it with its left edge at `x`."""
        y = self.margin - self.height
        for line in self._lines:
            y += line.step
            axes.text(x, y - 4, line.text, font=line.font, color=line.color, parse_math=False)


def _unknown_note(characters: list[str], room: float) -> tuple[Note, ...]:
    """The characters that are drawn as boxes, by their codes: as many as fit."""
    codes = [f"U+{ord(one):04X}" for one in dict.fromkeys(characters)]
    for count in range(len(codes), 0, -1):
        shown = ", ".join([*codes[:count], *(["…"] if count < len(codes) else [])])
        note = "unknown", _("not in the fonts: {characters}").format(characters=shown)
        if count == 1 or _note_width(note) <= room:
            return (note,)
    return ()


def _note_lines(notes: tuple[Note, ...], room: float) -> list[list[Note]]:
    """The notes in lines no wider than `room`, if one note is not wider."""
    lines: list[list[Note]] = []
    used = 0.0
    for note in notes:
        size = _note_width(note)
        if not lines or used + size > room:
            lines.append([])
            used = 0.0
        lines[-1].append(note)
        used += size
    return lines


def _note_width(note: Note) -> float:
    return SWATCH_W + 5 + width(note[1], text_font(NOTE_SIZE)) + SWATCH_W


def _draw_notes(axes: Any, lines: list[list[Note]], left: float, top: float, style: Style) -> None:
    font = text_font(NOTE_SIZE)
    for index, line in enumerate(lines):
        x, y = left, top + index * NOTE_LINE + (NOTE_LINE - SWATCH_H) / 2
        for kind, text in line:
            MARKS[kind](axes, (x, y, SWATCH_W, SWATCH_H), style.shades)
            at = x + SWATCH_W + 5, middle(y + SWATCH_H / 2, font)
            axes.text(*at, text, font=font, color=style.shades.muted, parse_math=False)
            x += _note_width((kind, text))


def fitting(room: float, width_of: Callable[[float], float], least: float, most: float) -> float | None:
    """The largest value from `least` to `most` whose picture fits in a width of `room`; None if none does.

    `width_of` gives the width in units of the picture with a value, and grows with it.
    """
    if width_of(least) > room:
        return None
    if width_of(most) <= room:
        return most
    low, high = least, most
    for _step in range(40):
        between = (low * high) ** 0.5
        low, high = (between, high) if width_of(between) <= room else (low, between)
    return low
