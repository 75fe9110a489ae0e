"""pyqtgraph in the colours of the program; plots import `pg` from here.

Its import takes half as long as all others together: the first frame and the panels in it do not wait for it.
"""

import pyqtgraph as pg
from PySide6.QtCore import Qt

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.style import color_plots
from attnviz.gui.look.theme import LIGHT, Theme
from attnviz.gui.widgets.control import active_theme

__all__ = ["Plot", "pg"]

color_plots(active_theme())


class Plot(pg.GraphicsLayoutWidget):  # type: ignore[misc]
    """A view with an axis at its left and one below; neither mouse nor keys move it.

    `axis` is the class of both; `least` is the smallest width and height, `above` the room over the view, in
    pixels.
    """

    def __init__(
        self, axis: type[pg.AxisItem] = pg.AxisItem, *, least: tuple[int, int] = (120, 60), above: int = 2
    ) -> None:
        super().__init__()
        self._theme: Theme = LIGHT
        self.view = self.addViewBox(0, 1, enableMouse=False, enableMenu=False)
        self._axes = (axis("left"), axis("bottom"))
        for item, place in zip(self._axes, ((0, 0), (1, 1)), strict=True):
            item.linkToView(self.view)
            item.enableAutoSIPrefix(False)
            self.addItem(item, *place)
        self.ci.layout.setContentsMargins(0, above, 0, 0)
        self.ci.layout.setSpacing(0)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setMinimumSize(*least)

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme` for the ground and the axes."""
        self._theme = theme
        self.setBackground(theme.panel)
        for axis in self._axes:
            axis.setPen(pg.mkPen(theme.line))
            axis.setTextPen(pg.mkPen(theme.muted))
            axis.setStyle(tickFont=ui_font(10), tickLength=-3)
