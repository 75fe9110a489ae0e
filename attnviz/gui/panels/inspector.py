"""The inspector: the arithmetic of one cell, term by term."""

from __future__ import annotations

from attnviz.gui.panels.panel import Panel


class InspectorPanel(Panel):
    """The inspector: the arithmetic of one cell, term by term."""
