"""`PANELS`: the closed set of panels, where each stands at first, and what it is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from attnviz.gui.panels.decoding import DecodingPanel
from attnviz.gui.panels.heads import HeadsPanel
from attnviz.gui.panels.inspector import InspectorPanel
from attnviz.gui.panels.matrices import MatricesPanel
from attnviz.gui.panels.mechanism import MechanismPanel
from attnviz.gui.panels.panel import Panel
from attnviz.gui.panels.pipeline import PipelinePanel
from attnviz.gui.panels.plane import PlanePanel
from attnviz.gui.panels.stage_view import StageViewPanel
from attnviz.gui.panels.tokens import TokensPanel
from attnviz.gui.panels.vectors import VectorsPanel
from attnviz.gui.store import Store
from attnviz.i18n import N_

Area = Literal["left", "centre", "right", "bottom"]


@dataclass(frozen=True)
class PanelRow:
    """One panel: its id (also the dock's object name), its title, its place, and what makes it."""

    id: str
    title: str
    area: Area
    make: Callable[[Store], Panel]


PANELS: tuple[PanelRow, ...] = (
    PanelRow("tokens", N_("Tokens"), "left", TokensPanel),
    PanelRow("vectors", N_("Vectors"), "left", VectorsPanel),
    PanelRow("plane", N_("Plane"), "left", PlanePanel),
    PanelRow("pipeline", N_("Pipeline"), "centre", PipelinePanel),
    PanelRow("stage", N_("Stage"), "centre", StageViewPanel),
    PanelRow("heads", N_("Heads"), "centre", HeadsPanel),
    PanelRow("mechanism", N_("Mechanism"), "right", MechanismPanel),
    PanelRow("inspector", N_("Inspector"), "bottom", InspectorPanel),
    PanelRow("matrices", N_("Matrices"), "bottom", MatricesPanel),
    PanelRow("decoding", N_("Decoding"), "bottom", DecodingPanel),
)
