"""The pipeline strip: a thumbnail for every stage, in data-flow order."""

from __future__ import annotations

from attnviz.gui.panels.panel import Panel


class PipelinePanel(Panel):
    """The pipeline strip: a thumbnail for every stage, in data-flow order."""
