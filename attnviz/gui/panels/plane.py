"""The plane: x, q and k as arrows in two chosen dimensions."""

from __future__ import annotations

from attnviz.gui.panels.panel import Panel


class PlanePanel(Panel):
    """The plane: x, q and k as arrows in two chosen dimensions."""
