"""Bills of parameters, operations, bytes and what fits, and the question that each answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from attnviz.core.cost import memory as cost_memory
from attnviz.core.cost import memory_fit
from attnviz.core.cost import stack as cost_stack
from attnviz.core.cost.architecture import Architecture
from attnviz.core.cost.lines import Line
from attnviz.core.cost.memory import FORMAT_BY_ID, MEMORIES, Format
from attnviz.core.cost.memory_fit import Fit
from attnviz.core.cost.published_models import PUBLISHED_BY_ID
from attnviz.core.cost.roofline import DEVICE_BY_ID, DEVICES, Peaks, roofline
from attnviz.explain.architectures import counts_every_mask, stack_of
from attnviz.i18n import N_, _
from attnviz.model.edit.by_hand import all_edits
from attnviz.model.sites.by_hand import edited_shapes
from attnviz.model.sites.titles import layer_label
from attnviz.model.spec.experiment import Experiment
from attnviz.model.trace import Trace

OWN = "–"
"""The place of the device for peaks that none in the table has."""

EXPERIMENT = "experiment"
"""The source that follows the document; the others are ids of published models."""


@dataclass(frozen=True)
class Quantity:
    """One quantity to count; `curve` is its function of n in the plot."""

    id: str
    label: str
    curve: str


QUANTITIES: tuple[Quantity, ...] = (
    Quantity("cache", N_("KV cache"), "cache"),
    Quantity("fits", N_("Capacity"), "cache"),
    Quantity("parameters", N_("Parameters"), "cache"),
    Quantity("prefill", N_("Prefill"), "prefill"),
    Quantity("step", N_("Decoding step"), "step"),
    Quantity("bound", N_("Compute or memory"), "step"),
    Quantity("timed", N_("Implementations"), "prefill"),
    Quantity("stages", N_("Bytes by stage"), "stages"),
)

QUANTITY_BY_ID = {quantity.id: quantity for quantity in QUANTITIES}


@dataclass(frozen=True, kw_only=True)
class Question:
    """Shapes, sizes and formats.

    `rest` are the other attentions of an experiment that has several kinds; `architecture` is the one in the
    fields. `own` are the peaks of the device `OWN`.
    """

    architecture: Architecture
    rest: tuple[Architecture, ...] = ()
    source: str = EXPERIMENT
    quantity: str = "cache"
    n: int = 1
    batch: int = 1
    weights: str = "float16"
    kv: str = "float16"
    group: int = 32
    memory_gb: int = 80
    device: str = DEVICES[0].id
    own: Peaks = DEVICES[0].peaks(FORMAT_BY_ID["float16"])

    @property
    def published(self) -> Architecture | None:
        """The shapes of the published model as they were published; None for an experiment."""
        return None if self.source == EXPERIMENT else PUBLISHED_BY_ID[self.source].architecture

    @property
    def is_edited(self) -> bool:
        """True if the shapes differ from the published ones; a window that no layer has is none."""
        a, own = self.architecture, self.published
        return own is not None and own != (a if a.windowed_layers else replace(a, window=own.window))

    def format(self, id_: str) -> Format:
        """A format with the chosen number of values that share a scale."""
        chosen = FORMAT_BY_ID[id_]
        return replace(chosen, group=self.group) if chosen.group else chosen

    @property
    def stack(self) -> cost_stack.Stack:
        """Everything that is counted, an encoder first."""
        before = tuple(a for a in self.rest if a.n_tokens)
        return (*before, self.architecture, *(a for a in self.rest if not a.n_tokens))

    @property
    def peaks(self) -> Peaks:
        """The device's with weights of the chosen format; with `OWN`, those that were set by hand."""
        return self.own if self.device == OWN else DEVICE_BY_ID[self.device].peaks(self.format(self.weights))

    def with_window(self, w: int) -> Question:
        """The question with a window of w tokens in every layer; 0 is none."""

        def windowed(a: Architecture) -> Architecture:
            return replace(a, window=w, windowed_layers=a.layers if w else 0)

        own, *rest = (a if a.n_memory else windowed(a) for a in (self.architecture, *self.rest))
        return replace(self, architecture=own, rest=tuple(rest))

    def with_own(self, **peaks: Any) -> Question:
        """The question with peaks that no device of the table has."""
        return replace(self, device=OWN, own=replace(self.peaks, format="", tf32=None, **peaks))

    @property
    def fit(self) -> Fit:
        """Weights and cache in the chosen memory."""
        weights = self.format(self.weights)
        return memory_fit.fit(self.stack, self.n, self.batch, weights, self.kv_format, self.memory_gb)

    @property
    def kv_format(self) -> Format:
        return self.format(self.kv)

    @property
    def stage_format(self) -> Format:
        """Format of the stages: the weights' format, or float16 if that is for storage only."""
        chosen = FORMAT_BY_ID[self.weights]
        return chosen if chosen.bits >= 16 else FORMAT_BY_ID["float16"]


def of_experiment(question: Question, experiment: Experiment) -> Question:
    """The question asked of an experiment: its shapes, its n, its number format."""
    stack = stack_of(experiment)
    main = next(a for a in stack if not a.n_tokens)
    return replace(
        question,
        architecture=main,
        rest=tuple(a for a in stack if a is not main),
        source=EXPERIMENT,
        n=experiment.n_queries,
        weights=experiment.dtype,
        kv=experiment.dtype,
    )


def of_published(question: Question, id_: str) -> Question:
    """The question asked of a published model, at the context it was made for."""
    a = PUBLISHED_BY_ID[id_].architecture
    if question.source == EXPERIMENT:  # its number format is no model's
        question = replace(question, weights="float16", kv="float16")
    return replace(question, source=id_, architecture=a, rest=(), n=a.context)


def model_name(question: Question) -> str:
    """The published model whose numbers these are, or the experiment."""
    if question.source == EXPERIMENT:
        return _("this experiment")
    name = PUBLISHED_BY_ID[question.source].name
    return _("{name}, edited").format(name=name) if question.is_edited else name


def origin(question: Question) -> tuple[Line, ...]:
    """Lines that say whose numbers these are and where they come from; none for the experiment."""
    if question.source == EXPERIMENT:
        return ()
    model = PUBLISHED_BY_ID[question.source]
    lines = [
        Line(model_name(question), kind="title"),
        Line(_("Source: {source}").format(source=model.source), kind="note"),
    ]
    if model.note:
        lines.append(Line(_(model.note), kind="note"))
    if model.parameters is not None:
        lines.append(
            Line(
                _("Published parameters: {count}.").format(count=f"{model.parameters:,}"),
                kind="note",
            )
        )
    return tuple(lines)


def bill(question: Question, trace: Trace | None) -> tuple[Line, ...]:
    """The lines that answer `question`; the stages of the experiment are those of its `trace`."""
    return _BILLS[question.quantity](question, trace)


def caveats(q: Question, experiment: Experiment | None) -> tuple[Line, ...]:
    """Notes on an experiment's operations: what decoding counts besides, masks of no closed form, edits."""
    if q.source != EXPERIMENT or experiment is None:
        return ()
    said = []
    if q.quantity in ("prefill", "step"):
        said.append(_("Decoding counts norms, activations, residuals and biases, too."))
    if not counts_every_mask(experiment):
        said.append(
            _("Counts respect the causal mask and the window; cells blocked by other masks count as visible.")
        )
    if all_edits(experiment):
        said.append(_("Numbers by hand are not counted: at most one operation for each edited number."))
    return tuple(Line(sentence, kind="note") for sentence in said)


def _of_run(q: Question, trace: Trace | None) -> tuple[Line, ...]:
    return caveats(q, None if trace is None else trace.experiment)


def _fits(q: Question) -> tuple[Line, ...]:
    """The chosen memory, then the others from the smallest to the largest: totals are of the chosen one."""
    others = [memory.gb for memory in MEMORIES if memory.gb != q.memory_gb]
    lines, weights = list[Line](), q.format(q.weights)
    for memory in (q.memory_gb, *others):
        lines.append(Line(f"{memory:,} GB", kind="title"))
        rows = cost_stack.fits(q.stack, q.n, q.batch, weights, q.kv_format, memory)[:-1]
        is_chosen = memory == q.memory_gb
        lines += [row if is_chosen or row.kind != "total" else row._replace(kind="part") for row in rows]
    lines.append(
        Line(_("Activations, workspace and fragmentation are not counted; GB is 10⁹ bytes."), kind="note")
    )
    return tuple(lines)


def _bound(q: Question, trace: Trace | None) -> tuple[Line, ...]:
    """The device, then the bound of each pass."""
    device = DEVICE_BY_ID.get(q.device)
    lines = roofline(q.stack, q.n, q.batch, q.format(q.weights), q.kv_format, q.peaks)
    named = (Line(device.name, kind="title"),) if device is not None else ()
    return (*named, *lines, *_of_run(q, trace))


def _stages(q: Question, trace: Trace | None) -> tuple[Line, ...]:
    if q.source != EXPERIMENT or trace is None:
        one = cost_memory.stage_bytes(cost_memory.stage_shapes(q.architecture, q.n), q.stage_format, q.batch)
        return (*one, Line(_("One layer, all stages kept."), kind="note"))
    shapes = []
    for name in trace.sites:
        site = trace.site(name)
        prefix = f"{layer_label(trace.experiment, name)} · " if len(trace.sites) > 1 else ""
        shapes += [(prefix + stage, site.shape(stage)) for stage in site.stages]
        before = edited_shapes(site.experiment, site.experiment.n_queries, site.experiment.n_keys)
        named = _("{stage}, before its edits")
        shapes += [(prefix + named.format(stage=stage), shape) for stage, shape in before.items()]
    measured = cost_memory.stage_bytes(shapes, FORMAT_BY_ID[trace.experiment.dtype], 1)
    engines = _("Bytes of every stage; engines keep only the selected ones.")
    return (*measured, Line(engines, kind="note"))


_BILLS: dict[str, Callable[[Question, Trace | None], tuple[Line, ...]]] = {
    "cache": lambda q, trace: cost_stack.cache(q.stack, q.n, q.kv_format, q.batch),
    "parameters": lambda q, trace: cost_stack.parameters(q.stack),
    "prefill": lambda q, trace: cost_stack.prefill(q.stack, q.n, q.batch) + _of_run(q, trace),
    "step": lambda q, trace: cost_stack.decode_step(q.stack, q.n, q.batch) + _of_run(q, trace),
    "fits": lambda q, trace: _fits(q),
    "stages": _stages,
    "bound": _bound,
    "timed": lambda q, trace: cost_stack.cache(q.stack, q.n, q.kv_format, q.batch),
}
"""The lines of each of `QUANTITIES`; the panel draws the times of the implementations itself."""
