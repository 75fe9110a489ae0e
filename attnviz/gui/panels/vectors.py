"""The token vectors as a table of numbers that are edited where they stand."""

from __future__ import annotations

from attnviz.gui.panels.panel import Panel


class VectorsPanel(Panel):
    """The token vectors as a table of numbers that are edited where they stand."""
