"""A stage of two states: A, B and B − A."""

from __future__ import annotations

from attnviz.core.text import number, visible
from attnviz.errors import Message
from attnviz.figures.contrast import contrast_drawing
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import _
from attnviz.model.contrast.contrast import Shown, contrast
from attnviz.model.stages import STAGE_BY_ID


def why_no_comparison(subject: Subject) -> Message | None:
    """The reason for which a subject has no comparison: it has no second state."""
    return None if subject.other is not None else Message("A comparison needs a second state A.")


def draw_comparison(subject: Subject, style: Style) -> Drawing:
    """The three maps; A and B share one scale. A is shown where B is, if it has that attention."""
    other = subject.other
    assert other is not None
    site, stage = subject.shown_site, subject.checked_stage
    first = other.trace.shown(site.name)
    head = subject.head if isinstance(subject.head, int) else subject.view.head
    found = contrast(Shown(first, head), Shown(site, head), stage, "position")
    names = _named("A", other), _named("B", subject), "B − A"
    note = ""
    if found.changes:
        change = found.changes[0]
        words = f"{visible(change.row_label)} → {visible(change.column_label)}"
        values = f"{number(change.first)} → {number(change.second)}"
        note = _("greatest change: {change}").format(change=f"{words}: {values}")
    title = _("{stage} · head {head}").format(stage=_(STAGE_BY_ID[stage].title), head=head + 1)
    return contrast_drawing(found, (title, note), names, subject.view, style)


def _named(letter: str, one: Subject) -> str:
    return " · ".join(part for part in (letter, visible(one.title)) if part)
