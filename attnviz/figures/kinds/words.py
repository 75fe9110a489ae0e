"""Weights as lines between tokens."""

from __future__ import annotations

from typing import Any

from attnviz.errors import FieldError, listed, must_be
from attnviz.explain.formulas.stages import stage_formula
from attnviz.figures import lines
from attnviz.figures.content import chosen_heads, figure_title
from attnviz.figures.kinds.matrix import titled
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.model.links import LINED, word_lines
from attnviz.model.stages import STAGE_BY_ID


def draw_lines(subject: Subject, style: Style) -> Drawing:
    """The lines of one query or of all, of one head or of all, as the view says."""
    site, stage = subject.shown_site, subject.shown_stage
    if stage not in LINED:
        raise FieldError(
            "picture", "lines", must_be("map for a stage other than {stages}", stages=listed(LINED))
        )
    stage = subject.checked_stage
    row = STAGE_BY_ID[stage]
    heads = () if subject.head is None else chosen_heads(site, subject.view, row, subject.head)
    links = word_lines(site, subject.view, stage, heads)
    shown = lines.lines_content(links)
    layout = lines.measure(shown, style)

    def draw(axes: Any) -> None:
        lines.draw(axes, shown, layout, style.shades)

    return Drawing(
        layout.width,
        layout.height,
        draw,
        titled(subject, figure_title(site, row, links.heads)),
        stage_formula(site.experiment, stage),
    )
