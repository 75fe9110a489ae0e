"""The mechanism: heads, score, mask, position, dropout."""

from __future__ import annotations

from attnviz.gui.panels.panel import Panel


class MechanismPanel(Panel):
    """The mechanism: heads, score, mask, position, dropout."""
