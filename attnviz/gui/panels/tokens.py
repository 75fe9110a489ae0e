"""The tokens: a text line and one chip for each token."""

from __future__ import annotations

from attnviz.gui.panels.panel import Panel


class TokensPanel(Panel):
    """The tokens: a text line and one chip for each token."""
