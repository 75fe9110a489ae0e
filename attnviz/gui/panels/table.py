"""`PANELS`: the closed set of panels, where each stands at first, and what it is called.

A panel's module is imported when the panel is made, which is after the window's first frame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.i18n import N_

Area = Literal["left", "centre", "right", "bottom"]


@dataclass(frozen=True)
class PanelRow:
    """One panel: its id, its title, its place, and what makes it.

    `beside` says how it stands to the first panel of its area; `tab_right` is a tab of the one at that
    panel's right. `width` and `height` are its first size in pixels; a panel without a title is named by its
    tab or by the cards inside it; one without a frame brings its own.
    """

    id: str
    title: str
    area: Area
    make: Callable[[Store], Panel]
    beside: Literal["below", "right", "tab", "tab_right"] = "below"
    width: int = 0
    height: int = 0
    titled: bool = True
    framed: bool = True


def _tokens(store: Store) -> Panel:
    from attnviz.gui.panels.tokens import TokensPanel

    return TokensPanel(store)


def _vectors(store: Store) -> Panel:
    from attnviz.gui.panels.vectors import VectorsPanel

    return VectorsPanel(store)


def _plane(store: Store) -> Panel:
    from attnviz.gui.panels.plane import PlanePanel

    return PlanePanel(store)


def _pipeline(store: Store) -> Panel:
    from attnviz.gui.panels.pipeline.panel import PipelinePanel

    return PipelinePanel(store)


def _stage_view(store: Store) -> Panel:
    from attnviz.gui.panels.stage_view import StageViewPanel

    return StageViewPanel(store)


def _heads(store: Store) -> Panel:
    from attnviz.gui.panels.heads import HeadsPanel

    return HeadsPanel(store)


def _mechanism(store: Store) -> Panel:
    from attnviz.gui.panels.mechanism.panel import MechanismPanel

    return MechanismPanel(store)


def _inspector(store: Store) -> Panel:
    from attnviz.gui.panels.inspector.panel import InspectorPanel

    return InspectorPanel(store)


def _decoding(store: Store) -> Panel:
    from attnviz.gui.panels.decoding.panel import DecodingPanel

    return DecodingPanel(store)


def _block(store: Store) -> Panel:
    from attnviz.gui.panels.block import BlockPanel

    return BlockPanel(store)


def _matrices(store: Store) -> Panel:
    from attnviz.gui.panels.matrices import MatricesPanel

    return MatricesPanel(store)


def _cost(store: Store) -> Panel:
    from attnviz.gui.panels.cost.panel import CostPanel

    return CostPanel(store)


def _positions(store: Store) -> Panel:
    from attnviz.gui.panels.positions.panel import PositionsPanel

    return PositionsPanel(store)


def _compare(store: Store) -> Panel:
    from attnviz.gui.panels.compare import ComparePanel

    return ComparePanel(store)


def _architecture(store: Store) -> Panel:
    from attnviz.gui.panels.architecture.panel import ArchitecturePanel

    return ArchitecturePanel(store)


PANELS: tuple[PanelRow, ...] = (
    PanelRow("tokens", N_("Tokens"), "left", _tokens, width=252, height=146),
    PanelRow("vectors", N_("Vectors"), "left", _vectors, width=252, height=172),
    PanelRow("plane", N_("Plane"), "left", _plane, width=252, height=222),
    PanelRow("pipeline", N_("Pipeline"), "centre", _pipeline, titled=False),
    PanelRow("stage", N_("Stage"), "centre", _stage_view, titled=False),
    PanelRow("heads", N_("Heads"), "centre", _heads),
    PanelRow("mechanism", N_("Mechanism"), "right", _mechanism, width=288, titled=False, framed=False),
    PanelRow("inspector", N_("Inspector"), "bottom", _inspector, width=456, height=150, titled=False),
    PanelRow("decoding", N_("Decoding"), "bottom", _decoding, "right", width=800, height=150),
    PanelRow("matrices", N_("Matrices"), "bottom", _matrices, "tab", titled=False),
    PanelRow("cost", N_("Cost"), "bottom", _cost, "tab", titled=False),
    PanelRow("positions", N_("Positions"), "bottom", _positions, "tab", titled=False),
    PanelRow("block", N_("Block"), "bottom", _block, "tab_right", titled=False),
    PanelRow("architecture", N_("Architecture"), "bottom", _architecture, "tab_right", titled=False),
    PanelRow("compare", N_("Compare"), "bottom", _compare, "tab_right", titled=False),
)
