"""A stage as a heat map: one head of it, or all heads side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from attnviz.figures import heat
from attnviz.figures.content import Head, content, covering, mean_content
from attnviz.figures.plan import measure
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.model.sites.titles import site_title
from attnviz.study.heads.mean import shows_mean


def draw_stage(subject: Subject, style: Style) -> Drawing:
    """One head of a stage, or the mean of all, with its numbers where they fit."""
    return _drawn(subject, subject.head, style)


def draw_heads(subject: Subject, style: Style) -> Drawing:
    """All heads of a stage, small, on one scale."""
    return _drawn(subject, "all", style)


def _drawn(subject: Subject, head: Head, style: Style) -> Drawing:
    site = subject.shown_site
    stage, shared = subject.shown_stage, subject.shared
    if head is None and shows_mean(site, subject.view, stage):
        shown = mean_content(site, subject.view, stage, style.shades, shared)
    else:
        shown = content(site, subject.view, stage, head, style.shades, shared=shared)
    if subject.covered:
        # The ends of the bar may be covered numbers.
        shown, style = covering(shown, subject.covered, subject.view), replace(style, bar=False)
    plan = measure(shown, style)

    def draw(axes: Any) -> None:
        heat.draw(axes, plan, style.shades)

    return heat.drawing(plan, draw, titled(subject, shown.title))


def titled(subject: Subject, title: str) -> str:
    """`title` with the attention before it, where the trace has several."""
    if len(subject.trace.sites) == 1:
        return title
    return f"{site_title(subject.trace.experiment, subject.shown_site.name)} · {title}"
