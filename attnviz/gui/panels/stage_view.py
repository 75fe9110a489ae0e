"""The large view of one stage."""

from __future__ import annotations

from attnviz.gui.panels.panel import Panel


class StageViewPanel(Panel):
    """The large view of one stage."""
