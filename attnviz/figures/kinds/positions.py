"""The score of one query and one key against their distance, for every position encoding."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from attnviz.core.shades import Shades, head_color
from attnviz.core.text import elide, visible
from attnviz.explain.position_curves import CURVE_ROWS, curves, distances
from attnviz.explain.position_curves import Curve as Encoding
from attnviz.explain.score_pair import distance_of
from attnviz.figures.chart import GREY_DASHES, Chart, Curve, chart_drawing
from attnviz.figures.kinds.matrix import titled
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import _
from attnviz.study.gradient_curves import CURVE_BY_ID, SAYS, GradientCurve

LONGEST = 14


def draw_positions(subject: Subject, style: Style) -> Drawing:
    """All encodings over the distance; the present one is strong, the pair in focus a point on it."""
    site, pair = subject.shown_site, subject.pair
    away, encodings = distances(site.experiment), curves(site, pair)
    at = min(max(distance_of(site.experiment, pair), int(away[0])), int(away[-1]))
    point = next((float(one.values[at - away[0]]) for one in encodings if one.is_present), None)
    chart = Chart(
        tuple(
            _curve(one, index, away.astype(np.float64), style.shades) for index, one in enumerate(encodings)
        ),
        _("key − query"),
        _("score"),
        point=None if point is None else (float(at), point),
    )
    says = _("head {head}: score of q “{query}” and k “{key}” against key − query").format(
        head=pair.head + 1,
        query=elide(visible(site.names("query")[pair.query]), LONGEST),
        key=elide(visible(site.names("key")[pair.key]), LONGEST),
    )
    return chart_drawing(chart, style, titled(subject, _("Score by distance")), says)


def _curve(one: Encoding, index: int, x: NDArray[np.float64], shades: Shades) -> Curve:
    """An encoding in the colour that it has in the window; in greys, with strokes of its own."""
    values = np.where(np.isfinite(one.values), one.values, np.nan)
    if one.is_present:
        return Curve(_(one.title), shades.ink, x, values, is_strong=True)
    if shades.is_grey:
        return Curve(_(one.title), shades.muted, x, values, GREY_DASHES[index % len(GREY_DASHES)])
    row = CURVE_ROWS[one.id]
    color = shades.muted if row.hue is None else head_color(row.hue)
    return Curve(_(one.title), color, x, values, row.dash)


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
