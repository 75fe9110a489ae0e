"""The heads as small multiples."""

from __future__ import annotations

from attnviz.gui.panels.panel import Panel


class HeadsPanel(Panel):
    """The heads as small multiples."""
