"""A stage of two states: A, B and B − A."""

from __future__ import annotations

from attnviz.core.phrases import named
from attnviz.core.text import number, visible
from attnviz.errors import Message
from attnviz.figures.contrast import DIFFERENCE, contrast_drawing
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import _
from attnviz.model.stages import STAGE_BY_ID
from attnviz.study.contrast.contrast import Contrast, Shown, contrast
from attnviz.study.contrast.differences import differences

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
