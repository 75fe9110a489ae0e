"""Publication figures of a trace: heat maps as matplotlib figures and as SVG, PDF or PNG files.

`render` makes a figure, `save_figure` writes it, `figure_bytes` gives the bytes of the file. The same
colours, digits and fonts as in the window. matplotlib is loaded when the first figure is made, never its
`pyplot`, so nothing needs a display.
"""

from attnviz.figures.figure import render
from attnviz.figures.files import FORMATS, figure_bytes, save_figure

__all__ = ["FORMATS", "figure_bytes", "render", "save_figure"]
