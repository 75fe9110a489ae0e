"""`PANELS`: the closed set of panels, each a row with all that window, help and palette know of it.

A panel's module is imported with the panel, after the window's first frame; this table needs no Qt.

Over 500 lines because each panel is a row with all that is known of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from attnviz.gui.job import Job
from attnviz.i18n import N_
from attnviz.model.edit.intact import is_intact
from attnviz.model.spec.experiment import Experiment
from attnviz.study.lessons.window import PanelNames

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from attnviz.gui.panels.panel import Panel
    from attnviz.gui.store import Store


GROUPS: tuple[tuple[str, str], ...] = (
    ("input", N_("Input")),
    ("mechanism", N_("Mechanism")),
    ("numbers", N_("Numbers")),
    ("generation", N_("Generation")),
    ("study", N_("Model and study")),
)
"""The groups of panels in the chooser: id, title."""
MOST_IN_GROUP = 8
"""Lines of a group at most; panels that share a tab are one line."""


@dataclass(frozen=True)
class PanelRow:
    """One panel. A row that lacks a part is refused; `asks` may be empty, but must be stated.

    `source` is its class as `module:Class` inside this package, `help` one sentence, `cites` the key of its
    source, `words` what a user who does not know its name would type in the palette.
    `group` is a row of `GROUPS`. A panel `within` another shares its tab, where a switch shows one of them:
    `part` names a panel in that switch and `tab` the tab, where they differ from the title.
    `workspaces` are those where it stands, at its place in the arrangement or else under More.
    A step of a lesson shows a panel `beside` the lesson, or the lesson has it `hidden`.
    `asks` are the jobs that it has a worker do.

    A panel without a title is named by its tab or by the cards inside it; one without a frame brings its own.
    A panel with a `width` needs that many pixels: in a narrower place it scrolls, and among tabs it widens
    the place while it is in front. One that is `computed` shows numbers of the run and nothing to edit: it
    fades, with the reason, while they are those of an earlier state. It stands in its workspaces while it
    `has_content` for the experiment.
    """

    id: str
    title: str = ""
    source: str = ""
    group: str = ""
    help: str = ""
    words: str = ""
    workspaces: tuple[str, ...] = ()
    lesson: Literal["", "itself", "beside", "hidden"] = ""
    asks: tuple[Job, ...] | None = None
    cites: str = ""
    within: str = ""
    part: str = ""
    tab: str = ""
    titled: bool = True
    framed: bool = True
    width: int = 0
    computed: bool = False
    has_content: Callable[[Experiment], bool] = lambda experiment: True

    def __post_init__(self) -> None:
        names = ("title", "source", "group", "help", "words", "lesson")
        texts = {name: getattr(self, name).strip() for name in names}
        parts = {**texts, "workspaces": self.workspaces, "asks": self.asks is not None}
        for part, stated in parts.items():
            if not stated:
                raise ValueError(f"The row of the panel {self.id!r} lacks {part}.")

    @property
    def place(self) -> str:
        """The panel whose tab it has: itself, or the one that it stands within."""
        return self.within or self.id

    @property
    def module(self) -> str:
        """The full name of the module."""
        return f"attnviz.gui.panels.{self.source.split(':')[0]}"

    def make(self, store: Store, parent: QWidget | None = None) -> Panel:
        """A new panel over `store`."""
        from attnviz.gui.panels.panel import Panel

        panel = getattr(import_module(self.module), self.source.split(":")[1])(store, parent)
        assert isinstance(panel, Panel)
        return panel


PANELS: tuple[PanelRow, ...] = (
    PanelRow(
        "tokens",
        N_("Tokens"),
        "tokens:TokensPanel",
        group="input",
        help=N_("The tokens of the document: type a text, drag a token, double-click to rename it."),
        words=N_("prompt, input text"),
        workspaces=("learn", "explore", "generate", "compare"),
        lesson="beside",
        asks=(),
    ),
    PanelRow(
        "vectors",
        N_("Vectors"),
        "vectors:VectorsPanel",
        group="input",
        help=N_("The vector of each token before the first projection; every number can be edited."),
        words=N_("embeddings, word vectors"),
        workspaces=("learn", "explore", "compare"),
        lesson="beside",
        asks=(),
    ),
    PanelRow(
        "pipeline",
        N_("Pipeline"),
        "pipeline.pipeline:PipelinePanel",
        group="mechanism",
        help=N_("Every stage of the attention in data-flow order; a click shows it in the map."),
        cites="attention",
        words=N_("data flow, order of operations"),
        workspaces=("explore",),
        lesson="hidden",
        asks=(),
        titled=False,
        computed=True,
    ),
    PanelRow(
        "stage",
        N_("Stage"),
        "stage.stage:StageViewPanel",
        group="mechanism",
        help=N_("The matrix of one stage and one head; a click on a cell opens its arithmetic."),
        cites="attention",
        words=N_("attention map, heat map, matrix"),
        workspaces=("learn", "explore", "generate", "model"),
        lesson="beside",
        asks=(),
        titled=False,
        computed=True,
    ),
    PanelRow(
        "heads",
        N_("Heads"),
        "heads.heads:HeadsPanel",
        group="mechanism",
        help=N_("The shown stage in every head of the layer; a click chooses a head."),
        cites="attention",
        words=N_("order by entropy, by locality"),
        workspaces=("learn", "explore", "generate", "model"),
        lesson="beside",
        asks=(),
        titled=False,
        computed=True,
    ),
    PanelRow(
        "head",
        N_("Selected head"),
        "head:HeadPanel",
        group="mechanism",
        help=N_("The selected head: the key that its row attends to most, and the actions on it."),
        words=N_("attention head, sharpest key"),
        workspaces=("model",),
        lesson="hidden",
        asks=(),
        computed=True,
    ),
    PanelRow(
        "mechanism",
        N_("Mechanism"),
        "mechanism.mechanism:MechanismPanel",
        group="mechanism",
        part=N_("Settings"),
        help=N_("Everything that changes a number: heads, score, mask, position, weights, block."),
        words=N_("settings of the model, controls"),
        workspaces=("learn", "explore", "compare"),
        lesson="beside",
        asks=(),
        titled=False,
        framed=False,
    ),
    PanelRow(
        "inspector",
        N_("Inspector"),
        "inspector.inspector:InspectorPanel",
        group="numbers",
        part=N_("Values"),
        help=N_("The arithmetic of one number, term by term; a click on a term opens its origin."),
        words=N_("arithmetic, derivation, origin of a number"),
        workspaces=("learn", "explore", "generate", "compare"),
        lesson="beside",
        asks=(),
        computed=True,
    ),
    PanelRow(
        "plane",
        N_("Plane"),
        "plane:PlanePanel",
        group="numbers",
        help=N_("Queries and keys, or token vectors, as arrows; drag a tip to change its vector."),
        words=N_("vectors as arrows, PCA, dot product"),
        workspaces=("learn", "explore", "generate"),
        lesson="beside",
        asks=(),
        computed=True,
    ),
    PanelRow(
        "positions",
        N_("Positions"),
        "positions:PositionsPanel",
        group="mechanism",
        within="mechanism",
        help=N_("The score as a function of the distance of query and key, under each encoding."),
        cites="rope",
        words=N_("RoPE, ALiBi, long context, extrapolation"),
        workspaces=("learn", "explore", "compare"),
        lesson="beside",
        asks=(),
        computed=True,
    ),
    PanelRow(
        "cost",
        N_("Cost"),
        "cost.cost:CostPanel",
        group="numbers",
        help=N_("Operations, bytes and cache of a model of any size, with the arithmetic of each."),
        cites="gqa",
        words=N_("KV cache, memory, FLOPs; GPT-3, Llama, DeepSeek"),
        workspaces=("learn", "explore", "model"),
        lesson="beside",
        asks=(Job("timed", N_("Timing the implementations")),),
        width=440,
    ),
    PanelRow(
        "block",
        N_("Block"),
        "block:BlockPanel",
        group="mechanism",
        tab=N_("Layers"),
        help=N_("The layer as a diagram: attention, residual connections, norms, feed-forward layer."),
        cites="attention",
        words=N_("transformer layer, residual stream, MLP, LayerNorm"),
        workspaces=("learn", "model"),
        lesson="beside",
        asks=(),
        width=320,
        computed=True,
    ),
    PanelRow(
        "matrices",
        N_("Matrices"),
        "matrices:MatricesPanel",
        group="numbers",
        part=N_("W"),
        help=N_("The weight matrices of the projections; every number can be edited."),
        words=N_("weights, W_Q, W_K, W_V, parameters"),
        workspaces=("learn", "explore"),
        lesson="beside",
        asks=(),
        width=280,
        computed=True,
    ),
    PanelRow(
        "axes",
        N_("Axes"),
        "axes.axes:AxesPanel",
        group="numbers",
        within="matrices",
        help=N_("The feature axis splits into heads and merges again; every cell keeps its number."),
        cites="attention",
        words=N_("reshape, split and merge heads, dimensions"),
        workspaces=("learn", "explore"),
        lesson="beside",
        asks=(),
        width=240,
        computed=True,
    ),
    PanelRow(
        "architecture",
        N_("Architecture"),
        "architecture:ArchitecturePanel",
        group="mechanism",
        within="block",
        help=N_("All attentions of the document, encoder and decoder, and what each of them reads."),
        cites="attention",
        words=N_("encoder, decoder, cross-attention, stack of layers"),
        workspaces=("learn", "model"),
        lesson="beside",
        asks=(),
        width=400,
    ),
    PanelRow(
        "glance",
        N_("First glance"),
        "glance.glance:GlancePanel",
        group="generation",
        help=N_("The arcs of one word of a sentence, and the values that it takes over, added head to tail."),
        cites="attention",
        words=N_("sum of weighted values, output of a head, overview, arcs"),
        workspaces=("generate",),
        lesson="hidden",
        asks=(),
        titled=False,
        framed=False,
        computed=True,
    ),
    PanelRow(
        "text",
        N_("Text"),
        "decoding.story.story:TextPanel",
        group="generation",
        help=N_("The text token by token as the player generates it; Space plays."),
        words=N_("generated text, player, decoding"),
        workspaces=("generate",),
        lesson="hidden",
        asks=(),
    ),
    PanelRow(
        "next",
        N_("Next token"),
        "decoding.next.next:NextPanel",
        group="generation",
        help=N_("The probability of each next token; a click forces one and the text goes on from it."),
        words=N_("logits, probabilities, force a token, branch"),
        workspaces=("generate",),
        lesson="hidden",
        asks=(),
    ),
    PanelRow(
        "sampling",
        N_("Sampling"),
        "decoding.sampling:SamplingPanel",
        group="generation",
        help=N_("The operations that turn logits into the chosen token, in their order."),
        cites="nucleus",
        words=N_("temperature, top-k, top-p, min-p, repetition penalty"),
        workspaces=("generate",),
        lesson="hidden",
        asks=(),
        width=560,
    ),
    PanelRow(
        "draws",
        N_("Several samples"),
        "decoding.draws:DrawsPanel",
        group="generation",
        help=N_("The texts that the document generates with other seeds; a click on a line adopts its text."),
        cites="nucleus",
        words=N_("seeds, random samples, temperature"),
        workspaces=("generate",),
        lesson="hidden",
        asks=(Job("draws", N_("Sampling other texts")),),
    ),
    PanelRow(
        "caches",
        N_("Keys and values"),
        "decoding.caches.caches:CachesPanel",
        group="generation",
        help=N_("The keys and values kept from earlier steps; the framed row is appended in this step."),
        cites="mqa",
        words=N_("KV cache, past key values"),
        workspaces=("generate",),
        lesson="hidden",
        asks=(),
    ),
    PanelRow(
        "cache",
        N_("Cache"),
        "decoding.cache:CachePanel",
        group="generation",
        help=N_("The positions that a cache holds, evicts or quantises at each step."),
        cites="sinks",
        words=N_("eviction, quantisation, ring buffer, sinks"),
        workspaces=("generate",),
        lesson="hidden",
        asks=(),
        width=420,
    ),
    PanelRow(
        "counters",
        N_("Counters"),
        "decoding.counters:CountersPanel",
        group="generation",
        help=N_("The operations and bytes of this step with and without a cache, counted from the shapes."),
        words=N_("FLOPs and bytes of a step, with and without a cache"),
        workspaces=("generate",),
        lesson="hidden",
        asks=(),
        titled=False,
        framed=False,
    ),
    PanelRow(
        "lesson",
        N_("Lesson"),
        "lesson.lesson:LessonPanel",
        group="study",
        help=N_(
            "A lesson: each step sets up the document, and the numbers in its text are computed from it."
        ),
        words=N_("tutorial, course, exercises"),
        workspaces=("learn",),
        lesson="itself",
        asks=(Job("lesson", N_("Opening")),),
        titled=False,
        width=300,
    ),
    PanelRow(
        "compare",
        N_("Compare"),
        "compare.compare:ComparePanel",
        group="numbers",
        help=N_("The same stage under A and B, and their difference; the greatest change is named."),
        words=N_("difference of two states, A and B"),
        workspaces=("compare",),
        lesson="hidden",
        asks=(Job("compare", N_("Comparing")), Job("compare_cards", N_("Comparing"))),
        titled=False,
        width=560,
    ),
    PanelRow(
        "gradients",
        N_("Gradients"),
        "gradients.gradients:GradientsPanel",
        group="numbers",
        within="inspector",
        help=N_(
            "Norms of the gradient by stage and by layer, and how ÷√d keeps the gradient of the "
            "softmax large."
        ),
        cites="attention",
        words=N_("backward pass, backpropagation, saturation"),
        workspaces=("learn", "explore", "generate", "compare"),
        lesson="beside",
        asks=(Job("step", N_("Computing a step")),),
        width=280,
        computed=True,
    ),
    PanelRow(
        "failures",
        N_("Failures"),
        "failures:FailuresPanel",
        group="study",
        within="claims",
        part=N_("Break it"),
        help=N_("Breaks the document on purpose, names the first stage that fails, and mends it."),
        words=N_("bugs, NaN, overflow, missing mask"),
        workspaces=("learn", "explore"),
        lesson="beside",
        asks=(Job("failures", N_("Checking the stages")),),
        width=240,
    ),
    PanelRow(
        "claims",
        N_("Claims"),
        "claims.claims:ClaimsPanel",
        group="study",
        tab=N_("True or false?"),
        part=N_("Statements"),
        help=N_("Textbook statements with the verdict of the live engine, and the claims of this document."),
        words=N_("textbook, true or false"),
        workspaces=("learn", "explore"),
        lesson="beside",
        asks=(
            Job("claims", N_("Checking the claims")),
            Job("own_claims", N_("Checking the claims")),
        ),
    ),
    PanelRow(
        "training",
        N_("Training run"),
        "training.training:TrainingPanel",
        group="study",
        help=N_("Trains the document on a task: the maps of all heads form beside the curves of the loss."),
        cites="induction",
        words=N_("learn, optimiser, loss curve, induction head, grokking"),
        workspaces=("train",),
        lesson="hidden",
        asks=(Job("training", N_("Training the model")),),
        titled=False,
        width=680,
    ),
    PanelRow(
        "ablation",
        N_("Ablation"),
        "ablation.ablation:AblationPanel",
        group="study",
        help=N_("What heads that are off change: the next token, the loss, the best head, the maps."),
        cites="circuits",
        words=N_("head off, knock out, before and after, delta"),
        workspaces=("model",),
        lesson="hidden",
        asks=(Job("ablation", N_("Comparing with all heads on")),),
        titled=False,
        has_content=lambda experiment: not is_intact(experiment),
    ),
    PanelRow(
        "lens",
        N_("Logit lens"),
        "lens:LensPanel",
        group="study",
        help=N_("The most probable next token after each layer, computed by the model's own read-out."),
        words=N_("early read-out, prediction of each layer"),
        workspaces=("model",),
        lesson="hidden",
        asks=(Job("lens", N_("Computing the logit lens")),),
        width=360,
    ),
    PanelRow(
        "circuits",
        N_("Circuits"),
        "circuits:CircuitsPanel",
        group="study",
        part=N_("Vocabulary"),
        help=N_(
            "The token pairs with the largest QK and OV products of a head, through the whole vocabulary."
        ),
        cites="circuits",
        words=N_("QK and OV circuit, vocabulary"),
        workspaces=("model",),
        lesson="hidden",
        asks=(Job("circuits", N_("Multiplying the vocabulary")),),
        width=360,
    ),
    PanelRow(
        "rollout",
        N_("Rollout and flow"),
        "rollout:RolloutPanel",
        group="study",
        within="circuits",
        part=N_("Rollout"),
        help=N_(
            "How much of each input token reaches the selected token in each layer; a click shows the layer."
        ),
        cites="rollout",
        words=N_("attention flow, influence of a token"),
        workspaces=("model",),
        lesson="hidden",
        asks=(Job("rollout", N_("Computing rollout and flow")),),
        width=360,
    ),
    PanelRow(
        "patching",
        N_("Patching"),
        "patching:PatchingPanel",
        group="study",
        within="circuits",
        help=N_(
            "Runs the document with a stage of a clean text, place by place: how much of the answer it "
            "restores."
        ),
        words=N_("activation patching, causal tracing"),
        workspaces=("model",),
        lesson="hidden",
        asks=(Job("patching", N_("Patching the stages")),),
        width=360,
    ),
    PanelRow(
        "survey",
        N_("Survey"),
        "grid.survey.survey:SurveyPanel",
        group="study",
        help=N_("Every head over many texts, and the texts that excite it most; a click on a text opens it."),
        words=N_("dataset, corpus, many texts"),
        workspaces=("model",),
        lesson="hidden",
        asks=(
            Job("survey", N_("Measuring the heads")),
            Job("survey_file", N_("Opening")),
            Job("survey_memory", N_("Estimating the memory")),
        ),
        width=360,
    ),
    PanelRow(
        "grid",
        N_("All heads"),
        "grid.grid:GridPanel",
        group="study",
        help=N_("One small map for every head of every layer; a click goes there."),
        words=N_("overview of heads, find heads, head scores"),
        workspaces=("model",),
        lesson="hidden",
        asks=(
            Job("grid", N_("Drawing the heads")),
            Job("search", N_("Searching the heads")),
            Job("effects", N_("Ablating the heads")),
        ),
        titled=False,
        width=400,
        computed=True,
    ),
)
PANEL_BY_ID = {row.id: row for row in PANELS}


def sharing(panel: str) -> tuple[PanelRow, ...]:
    """The panels of one tab, that of `panel`, in the order of their switch."""
    place = PANEL_BY_ID[panel].place
    return (PANEL_BY_ID[place], *(row for row in PANELS if row.within == place))


def grouped(panels: tuple[PanelRow, ...]) -> dict[str, tuple[PanelRow, ...]]:
    """The lines of each group, which are the panels with a tab of their own.

    Errors: `ValueError` for an unknown group or one with too many lines, and for a panel that stands in other
    workspaces or another group than the one whose tab it shares.
    """
    groups: dict[str, list[PanelRow]] = {id_: [] for id_, _title in GROUPS}
    owners = {row.id: row for row in panels if not row.within}
    for row in panels:
        owner = owners.get(row.place)
        if row.group not in groups:
            raise ValueError(f"The row of the panel {row.id!r} names the group {row.group!r}.")
        if owner is None or (owner.group, owner.workspaces) != (row.group, row.workspaces):
            raise ValueError(f"The panel {row.id!r} cannot stand within {row.within!r}.")
        if not row.within:
            groups[row.group].append(row)
    for id_, rows in groups.items():
        if len(rows) > MOST_IN_GROUP:
            raise ValueError(f"The group {id_!r} has {len(rows)} panels, more than {MOST_IN_GROUP}.")
    return {id_: tuple(rows) for id_, rows in groups.items()}


PANELS_OF_GROUP = grouped(PANELS)

PANEL_NAMES = PanelNames(
    beside=tuple(row.id for row in PANELS if row.lesson == "beside"),
    hidden=tuple(row.id for row in PANELS if row.lesson != "itself"),
)
"""The panels that a lesson may name."""
