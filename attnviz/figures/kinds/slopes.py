"""The size of the gradient through a softmax against the width of the heads, with and without ÷√d."""

from __future__ import annotations

import numpy as np

from attnviz.core.softmax_slope import N_KEYS, N_SEEDS, WIDTHS, jacobian_norm, slopes_by_width
from attnviz.figures.chart import Chart, Curve, chart_drawing
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import _
from attnviz.model.spec.view import shown_head


def draw_slopes(subject: Subject, style: Style) -> Drawing:
    """Two medians with the band of their seeds; the shown head of the document is a point."""
    shades, x = style.shades, np.log2(np.array(WIDTHS, dtype=np.float64))
    curves = []
    for is_scaled, name, color in (
        (True, _("softmax(q · k ÷ √d)"), shades.query),
        (False, _("softmax(q · k)"), shades.key),
    ):
        found = slopes_by_width(is_scaled)
        dashes = () if is_scaled else (5.0, 2.0)
        curves.append(Curve(name, color, x, found.median, dashes, is_strong=True))
        curves += [Curve(_("10 and 90 %"), color, x, edge, (1.5, 1.5)) for edge in (found.low, found.high)]
    site = subject.shown_site
    weights = site.window("weights", shown_head(site.experiment, subject.shown_view, "weights"))
    point = float(np.log2(site.experiment.d_qk)), float(np.nanmean(jacobian_norm(weights)))
    chart = Chart(tuple(curves), _("log₂ d"), _("norm of ∂w/∂s"), point=point)
    says = _("one query, {keys} keys, {seeds} seeds; the point is the shown head of the document")
    return chart_drawing(chart, style, _("Gradient through softmax"), says.format(keys=N_KEYS, seeds=N_SEEDS))
