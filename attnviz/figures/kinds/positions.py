"""The score of one query and one key against their distance, for every position encoding."""

from __future__ import annotations

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
