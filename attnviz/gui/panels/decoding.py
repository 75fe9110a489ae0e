"""Decoding with a KV cache, step by step."""

from __future__ import annotations

from attnviz.gui.panels.panel import Panel


class DecodingPanel(Panel):
    """Decoding with a KV cache, step by step."""
