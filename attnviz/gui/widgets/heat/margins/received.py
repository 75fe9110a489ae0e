"""The mean weight that each column of a heat map receives, as a slim bar at the end of the column."""

from __future__ import annotations

import numpy as np
from PySide6.QtGui import QPainter

from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.heat.content import HeatContent
from attnviz.gui.widgets.heat.layout import Geometry
from attnviz.gui.widgets.heat.margins.strip import GAP, Strip
from attnviz.i18n import _

LENGTH = 16.0


def received_size(content: HeatContent) -> float:
    """Pixels that the bars take; 0 without means."""
    return 0.0 if content.column_means is None or not content.column_means.size else GAP + LENGTH


def received_strip(geometry: Geometry, content: HeatContent) -> Strip:
    """The place of the bars: below the columns, or behind them where columns are drawn as rows."""
    return Strip(geometry, not content.transposed, LENGTH)


def draw_received(painter: QPainter, geometry: Geometry, content: HeatContent, theme: Theme) -> None:
    """Paint the bars and their heading; the largest mean has the full length."""
    assert content.column_means is not None
    strip = received_strip(geometry, content)
    columns = strip.indices()
    most = float(np.nanmax(content.column_means, initial=0.0)) or 1.0
    means = content.column_means[columns.start : columns.stop : columns.step] / most
    strip.draw(painter, means, content.column_color, theme)
    strip.draw_heading(painter, _("mean"), theme.muted)
