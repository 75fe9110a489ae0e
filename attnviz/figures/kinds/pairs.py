"""Pairs of tokens with their numbers as bars, the largest first."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attnviz.core.text import elide, number, spreadsheet_text, visible
from attnviz.figures.fonts import drawing, middle, number_font, text_font, widest
from attnviz.figures.layout import GAP, MARGIN
from attnviz.figures.palette import colors
from attnviz.figures.sheet import Drawing, sheet_of
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import _
from attnviz.model.sites.titles import site_title
from attnviz.study.circuit_texts import NAMES, formula_of

NATURAL, LEAST_BAR = 360.0, 40.0
WORD = 8.0
ROW, ARROW = 14.0, 16.0
LONGEST = 20

Rows = Sequence[tuple[str, str, float]]
"""(first token, second token, number)."""


def draw_pairs(pairs: Rows, title: str, says: str, style: Style) -> Drawing:
    """One row for each pair: first → second, a bar relative to the largest number, and the number."""
    from matplotlib.patches import Rectangle

    shades, font, digits = style.shades, text_font(WORD), number_font(WORD)
    sides = tuple(_shown(row[0]) for row in pairs), tuple(_shown(row[1]) for row in pairs)
    numbers = tuple(number(row[2], 3) for row in pairs)
    ends = MARGIN + widest(sides[0], font), widest(sides[1], font)
    left = ends[0] + ARROW + ends[1] + GAP
    least = left + LEAST_BAR + GAP + widest(numbers, digits) + MARGIN
    total = max(NATURAL, least) if style.room is None else style.room
    if total < least:
        raise style.too_narrow(least)
    room = total - left - GAP - widest(numbers, digits) - MARGIN
    most = max((abs(row[2]) for row in pairs), default=0.0) or 1.0
    full = tuple(colors(np.array([0.55]), "sequential", shades)[0] / 255)

    def draw(axes: Any) -> None:
        for index, row in enumerate(pairs):
            y = index * ROW
            line = middle(y + ROW / 2, font)
            plain = {"font": font, "color": shades.ink, "parse_math": False}
            axes.text(ends[0], line, sides[0][index], ha="right", **plain)
            axes.text(ends[0] + ARROW / 2, line, "→", ha="center", **{**plain, "color": shades.muted})
            axes.text(ends[0] + ARROW, line, sides[1][index], **plain)
            color = full if row[2] >= 0 else shades.query
            wide = max(0.5, room * abs(row[2]) / most)
            axes.add_patch(Rectangle((left, y + 3.5), wide, ROW - 7, facecolor=color, linewidth=0))
            at = total - MARGIN, middle(y + ROW / 2, digits)
            axes.text(*at, numbers[index], ha="right", **{**plain, "font": digits})

    return Drawing(total, len(pairs) * ROW + GAP, draw, title, says)


def _shown(token: str) -> str:
    return elide(visible(token), LONGEST)


if TYPE_CHECKING:
    from matplotlib.figure import Figure


def circuit_figure(pairs: Rows, kind: str, subject: Subject, style: Style) -> Figure:
    """The pairs of the circuit `kind` of the subject's head, with its caption.

    Raises `ValueError` for a width that is too small.
    """
    of_head = _("head {head}").format(head=subject.shown_view.head + 1)
    title = f"{_(NAMES[kind])} · {site_title(subject.trace.experiment, subject.shown_site.name)} · {of_head}"
    with drawing():
        drawn = draw_pairs(pairs, title, formula_of(kind, subject.shown_site.experiment), style)
        return sheet_of(drawn, subject.caption if style.caption else "", style)


def circuit_csv(pairs: Rows) -> bytes:
    """A line for each pair; a token that a spreadsheet would compute has an apostrophe before it."""
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(("first", "second", "value"))
    for first, second, value in pairs:
        table.writerow((spreadsheet_text(first), spreadsheet_text(second), repr(value)))
    return text.getvalue().encode("utf-8-sig", "backslashreplace")
