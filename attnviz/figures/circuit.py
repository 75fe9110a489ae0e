"""The circuit of a head: its pairs of tokens as a picture, and as a table."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from attnviz.core.text import spreadsheet_text
from attnviz.figures.fonts import drawing
from attnviz.figures.kinds.pairs import Rows, draw_pairs
from attnviz.figures.sheet import sheet_of
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import _
from attnviz.model.sites.titles import site_title
from attnviz.study.circuit_texts import NAMES, formula_of

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
