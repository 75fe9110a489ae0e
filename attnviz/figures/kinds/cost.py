"""The bytes of the cache against the number of tokens, for every layout of heads."""

from __future__ import annotations

import numpy as np

from attnviz.core.cost.memory import FORMAT_BY_ID
from attnviz.core.cost.stack import Stack, counts, laid_out
from attnviz.core.shades import Shades, head_color
from attnviz.explain.architectures import stack_of
from attnviz.figures.chart import GREY_DASHES, Chart, Curve, chart_drawing
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import _
from attnviz.model.spec.experiment import Experiment

MOST_TOKENS = 131_072
STORED = "float16"


def draw_cost(subject: Subject, style: Style) -> Drawing:
    """The cache of this experiment and of others of its sizes, both axes logarithmic."""
    rows = drawn_stacks(subject.trace.experiment)
    curves = tuple(_curve(label, other, index, style.shades) for index, (label, other) in enumerate(rows))
    chart = Chart(curves, _("tokens"), _("cache, bytes"), is_log=True)
    says = _("keys and values of all layers in {format}").format(format=STORED)
    return chart_drawing(chart, style, _("KV cache"), says)


def drawn_stacks(experiment: Experiment) -> list[tuple[str, Stack]]:
    """The stacks whose caches are drawn, with their labels."""
    stack = stack_of(experiment)
    return [(_("this experiment"), stack), *((label, other) for _id, label, other in laid_out(stack))]


def _curve(label: str, stack: Stack, index: int, shades: Shades) -> Curve:
    points = counts(stack, "cache", FORMAT_BY_ID[STORED], 1, MOST_TOKENS)
    x, y = (np.array(part, dtype=np.float64) for part in zip(*points, strict=True))
    color = shades.ink if index == 0 or shades.is_grey else head_color(index)
    dash = GREY_DASHES[index % len(GREY_DASHES)]
    return Curve(label, color, x, np.maximum(y, 1.0), dash, index == 0)
