"""`PANELS`: the closed set of panels, with their initial places and titles.

A panel's module is imported with the panel, after the window's first frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.i18n import N_

Area = Literal["left", "centre", "right", "bottom"]


@dataclass(frozen=True)
class PanelRow:
    """One panel: its id, its title, its area, and its class as `module:Class` inside this package.

    `beside` is its place relative to the first panel of its area; `tab_right` is a tab of the one at that
    panel's right. `width` and `height` are its first size in pixels; a panel without a title is named by its
    tab or by the cards inside it; one without a frame brings its own.
    """

    id: str
    title: str
    area: Area
    source: str
    beside: Literal["below", "right", "tab", "tab_right"] = "below"
    width: int = 0
    height: int = 0
    titled: bool = True
    framed: bool = True

    def make(self, store: Store) -> Panel:
        """A new panel over `store`."""
        module, name = self.source.split(":")
        panel = getattr(import_module(f"attnviz.gui.panels.{module}"), name)(store)
        assert isinstance(panel, Panel)
        return panel


PANELS: tuple[PanelRow, ...] = (
    PanelRow("tokens", N_("Tokens"), "left", "tokens:TokensPanel", width=252, height=146),
    PanelRow("vectors", N_("Vectors"), "left", "vectors:VectorsPanel", width=252, height=172),
    PanelRow("plane", N_("Plane"), "left", "plane:PlanePanel", width=252, height=222),
    PanelRow("pipeline", N_("Pipeline"), "centre", "pipeline.panel:PipelinePanel", titled=False),
    PanelRow("stage", N_("Stage"), "centre", "stage.panel:StageViewPanel", titled=False),
    PanelRow("heads", N_("Heads"), "centre", "heads:HeadsPanel"),
    PanelRow(
        "mechanism",
        N_("Mechanism"),
        "right",
        "mechanism.panel:MechanismPanel",
        width=288,
        titled=False,
        framed=False,
    ),
    PanelRow(
        "inspector",
        N_("Inspector"),
        "bottom",
        "inspector.panel:InspectorPanel",
        width=456,
        height=150,
        titled=False,
    ),
    PanelRow(
        "decoding", N_("Decoding"), "bottom", "decoding.panel:DecodingPanel", "right", width=800, height=150
    ),
    PanelRow("matrices", N_("Matrices"), "bottom", "matrices:MatricesPanel", "tab", titled=False),
    PanelRow("cost", N_("Cost"), "bottom", "cost.panel:CostPanel", "tab", titled=False),
    PanelRow("positions", N_("Positions"), "bottom", "positions.panel:PositionsPanel", "tab", titled=False),
    PanelRow("block", N_("Block"), "bottom", "block:BlockPanel", "tab_right", titled=False),
    PanelRow(
        "architecture",
        N_("Architecture"),
        "bottom",
        "architecture.panel:ArchitecturePanel",
        "tab_right",
        titled=False,
    ),
    PanelRow("compare", N_("Compare"), "bottom", "compare.panel:ComparePanel", "tab_right", titled=False),
)
