"""One head of all attentions, side by side, with their numbers of pairs."""

from __future__ import annotations

from typing import Any

from attnviz.figures import all_sites, heat
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject


def draw_sites(subject: Subject, style: Style) -> Drawing:
    """The maps of all attentions, with cells of one size and on one scale."""
    stage, head, shared = subject.shown_stage, subject.head, subject.shared
    shown = all_sites.all_sites(subject.trace, subject.view, stage, head, style.shades, shared)
    layout = all_sites.measure(shown, style)

    def draw(axes: Any) -> None:
        all_sites.draw(axes, shown, layout, style.shades)

    return Drawing(
        layout.width,
        layout.height,
        draw,
        shown.title,
        shown.formula,
        heat.footnotes(shown.marks),
        layout.slots[0].cells.cell_w,
    )
