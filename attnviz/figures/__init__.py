"""Publication figures of a trace: heat maps as matplotlib figures and as SVG, PDF or PNG files.

`render` draws a figure, `save_figure` writes it, `figure_bytes` returns the bytes of the file. Colours,
digits and fonts are those of the window. matplotlib is loaded with the first figure, without its `pyplot`, so
no display is needed.
"""

from attnviz.figures.figure import render
from attnviz.figures.files import FORMATS, figure_bytes, save_figure
from attnviz.figures.style import Style

__all__ = ["FORMATS", "Style", "figure_bytes", "render", "save_figure"]
