"""`PANELS`: the closed set of panels. Their places are in `WORKSPACES`.

A panel's module is imported with the panel, after the window's first frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from PySide6.QtWidgets import QWidget

from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.i18n import N_


@dataclass(frozen=True)
class PanelRow:
    """One panel: its id, its title, and its class as `module:Class` inside this package.

    A panel without a title is named by its tab or by the cards inside it; one without a frame brings its own.
    A panel with a `width` needs that many pixels: in a narrower place it scrolls, and among tabs it widens
    the place while it is in front. One that is `computed` shows numbers of the run and nothing to edit: it
    fades, with the reason, while they are those of an earlier state.
    """

    id: str
    title: str
    source: str
    titled: bool = True
    framed: bool = True
    width: int = 0
    computed: bool = False

    @property
    def module(self) -> str:
        """The full name of the module."""
        return f"attnviz.gui.panels.{self.source.split(':')[0]}"

    def make(self, store: Store, parent: QWidget | None = None) -> Panel:
        """A new panel over `store`."""
        panel = getattr(import_module(self.module), self.source.split(":")[1])(store, parent)
        assert isinstance(panel, Panel)
        return panel


PANELS: tuple[PanelRow, ...] = (
    PanelRow("tokens", N_("Tokens"), "tokens:TokensPanel"),
    PanelRow("vectors", N_("Vectors"), "vectors:VectorsPanel"),
    PanelRow("pipeline", N_("Pipeline"), "pipeline.panel:PipelinePanel", titled=False, computed=True),
    PanelRow("stage", N_("Stage"), "stage.panel:StageViewPanel", titled=False, computed=True),
    PanelRow("heads", N_("Heads"), "heads.panel:HeadsPanel", titled=False, computed=True),
    PanelRow("head", N_("Selected head"), "head.panel:HeadPanel", computed=True),
    PanelRow("mechanism", N_("Mechanism"), "mechanism.panel:MechanismPanel", titled=False, framed=False),
    PanelRow("inspector", N_("Inspector"), "inspector.panel:InspectorPanel", computed=True),
    PanelRow("plane", N_("Plane"), "plane:PlanePanel", computed=True),
    PanelRow("positions", N_("Positions"), "positions.panel:PositionsPanel", width=400, computed=True),
    PanelRow("cost", N_("Cost"), "cost.panel:CostPanel", width=440),
    PanelRow("block", N_("Block"), "block:BlockPanel", width=320, computed=True),
    PanelRow("matrices", N_("Matrices"), "matrices:MatricesPanel", width=280, computed=True),
    PanelRow("axes", N_("Axes"), "axes.panel:AxesPanel", width=240, computed=True),
    PanelRow("architecture", N_("Architecture"), "architecture.panel:ArchitecturePanel", width=400),
    PanelRow("text", N_("Text"), "decoding.story.panel:TextPanel"),
    PanelRow("next", N_("Next token"), "decoding.next.panel:NextPanel"),
    PanelRow("sampling", N_("Sampling"), "decoding.sampling:SamplingPanel", width=560),
    PanelRow("draws", N_("Several samples"), "decoding.draws.panel:DrawsPanel"),
    PanelRow("caches", N_("Keys and values"), "decoding.caches.panel:CachesPanel"),
    PanelRow("cache", N_("Cache"), "decoding.cache:CachePanel", width=420),
    PanelRow("counters", N_("Counters"), "decoding.counters.panel:CountersPanel", titled=False, framed=False),
    PanelRow("lesson", N_("Lesson"), "lesson.panel:LessonPanel", titled=False, width=300),
    PanelRow("compare", N_("Compare"), "compare.panel:ComparePanel", titled=False, width=560),
    PanelRow("failures", N_("Failures"), "failures:FailuresPanel", width=240),
    PanelRow("claims", N_("Claims"), "claims.panel:ClaimsPanel"),
    PanelRow("gradients", N_("Gradients"), "gradients.panel:GradientsPanel", width=280, computed=True),
    PanelRow("lens", N_("Logit lens"), "lens.panel:LensPanel", width=360),
    PanelRow("circuits", N_("Circuits"), "circuits.panel:CircuitsPanel", width=360),
    PanelRow("rollout", N_("Rollout and flow"), "rollout.panel:RolloutPanel", width=360),
    PanelRow("patching", N_("Patching"), "patching.panel:PatchingPanel", width=360),
    PanelRow("survey", N_("Survey"), "grid.survey.panel:SurveyPanel", width=360),
    PanelRow("grid", N_("All heads"), "grid.panel:GridPanel", titled=False, width=400, computed=True),
)
PANEL_BY_ID = {row.id: row for row in PANELS}
