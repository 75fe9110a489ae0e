"""pyqtgraph in the colours of the program; plots import `pg` from here.

Its import takes half as long as all others together: the first frame and the panels in it do not wait for it.
"""

import pyqtgraph as pg

from attnviz.gui.look.style import color_plots
from attnviz.gui.widgets.control import active_theme

__all__ = ["pg"]

color_plots(active_theme())
