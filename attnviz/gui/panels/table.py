"""`PANELS`: the closed set of panels, where each stands at first, and what it is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from attnviz.gui.panels.cost import CostPanel
from attnviz.gui.panels.decoding import DecodingPanel
from attnviz.gui.panels.heads import HeadsPanel
from attnviz.gui.panels.inspector import InspectorPanel
from attnviz.gui.panels.matrices import MatricesPanel
from attnviz.gui.panels.mechanism import MechanismPanel
from attnviz.gui.panels.panel import Panel
from attnviz.gui.panels.pipeline import PipelinePanel
from attnviz.gui.panels.plane import PlanePanel
from attnviz.gui.panels.positions import PositionsPanel
from attnviz.gui.panels.stage_view import StageViewPanel
from attnviz.gui.panels.tokens import TokensPanel
from attnviz.gui.panels.vectors import VectorsPanel
from attnviz.gui.store import Store
from attnviz.i18n import N_

Area = Literal["left", "centre", "right", "bottom"]


@dataclass(frozen=True)
class PanelRow:
    """One panel: its id, its title, its place, and what makes it.

    `beside` says how it stands to the first panel of its area; `width` and `height` are its
    first size in pixels; a panel without a title is named by its tab or by the cards inside it;
    one without a frame brings its own.
    """

    id: str
    title: str
    area: Area
    make: Callable[[Store], Panel]
    beside: Literal["below", "right", "tab"] = "below"
    width: int = 0
    height: int = 0
    titled: bool = True
    framed: bool = True


PANELS: tuple[PanelRow, ...] = (
    PanelRow("tokens", N_("Tokens"), "left", TokensPanel, width=252, height=156),
    PanelRow("vectors", N_("Vectors"), "left", VectorsPanel, width=252, height=168),
    PanelRow("plane", N_("Plane"), "left", PlanePanel, width=252, height=216),
    PanelRow("pipeline", N_("Pipeline"), "centre", PipelinePanel, titled=False),
    PanelRow("stage", N_("Stage"), "centre", StageViewPanel, titled=False),
    PanelRow("heads", N_("Heads"), "centre", HeadsPanel),
    PanelRow("mechanism", N_("Mechanism"), "right", MechanismPanel, width=288, titled=False, framed=False),
    PanelRow("inspector", N_("Inspector"), "bottom", InspectorPanel, width=456, height=150, titled=False),
    PanelRow("decoding", N_("Decoding"), "bottom", DecodingPanel, "right", width=800, height=150),
    PanelRow("matrices", N_("Matrices"), "bottom", MatricesPanel, "tab", titled=False),
    PanelRow("cost", N_("Cost"), "bottom", CostPanel, "tab", titled=False),
    PanelRow("positions", N_("Positions"), "bottom", PositionsPanel, "tab", titled=False),
)
