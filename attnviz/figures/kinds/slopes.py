"""The size of a gradient against what decides it: one of `CURVES`."""

from __future__ import annotations

from functools import partial

import numpy as np

from attnviz.figures.chart import Chart, Curve, chart_drawing
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import _
from attnviz.study.gradient_curves import CURVE_BY_ID, SAYS, GradientCurve


def draw_curve(row: GradientCurve, subject: Subject, style: Style) -> Drawing:
    """Two medians with the band of their seeds; the shown head of the document is a point."""
    shades, x, curves = style.shades, np.array(row.x), []
    for line in row.lines:
        slopes, color = line.slopes(), shades.query if line.is_first else shades.key
        dashes = () if line.is_first else (5.0, 2.0)
        curves.append(Curve(_(line.name), color, x, row.heights(slopes.median), dashes, is_strong=True))
        for edge in (slopes.low, slopes.high):
            curves.append(Curve(_("10 and 90 %"), color, x, row.heights(edge), (1.5, 1.5)))
    own = row.point(subject.shown_site, subject.shown_view)
    point = None if own is None else (own[0][0], float(row.heights(np.array(own[0][1]))))
    chart = Chart(tuple(curves), _(row.x_name), _(row.y_name), point=point)
    says = _("Medians over random numbers, and their 10 and 90 %")
    if point is not None:
        says = _("{seeds} seeds; the point is the shown head of the document").format(**SAYS)
    return chart_drawing(chart, style, _(row.title), says)


draw_slopes = partial(draw_curve, CURVE_BY_ID["softmax"])
draw_temperature = partial(draw_curve, CURVE_BY_ID["temperature"])
draw_distance = partial(draw_curve, CURVE_BY_ID["distance"])
draw_depth = partial(draw_curve, CURVE_BY_ID["depth"])
draw_norms = partial(draw_curve, CURVE_BY_ID["norms"])
