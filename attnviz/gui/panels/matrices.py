"""The weight matrices W_q, W_k, W_v and W_o."""

from __future__ import annotations

from attnviz.gui.panels.panel import Panel


class MatricesPanel(Panel):
    """The weight matrices W_q, W_k, W_v and W_o."""
