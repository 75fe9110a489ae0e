"""The frames of a sequence: what is drawn in each, and its label."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.core.progress import Progress
from attnviz.core.text import visible
from attnviz.engines.decode.decodable import up_to
from attnviz.errors import FieldError, InputError, Message, must_be
from attnviz.figures.content import SharedEnds
from attnviz.figures.kinds.cost import drawn_stacks
from attnviz.figures.style import Style
from attnviz.figures.subject import ALL_SITES, Subject
from attnviz.i18n import N_, _
from attnviz.model.edit.sweep import Sweep
from attnviz.model.fields import field_at
from attnviz.model.sites.sites import place_of
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.text import shown_token
from attnviz.model.trace import ALL, SiteTrace, Trace

Bools = NDArray[np.bool_]

OWN_AXES = ("token", "query")
KEY_AXES = ("key", "memory")


def grown(trace: Trace, count: int) -> Trace:
    """The trace after `count` tokens; an encoder is complete before the first one."""
    sites = tuple(
        trace.site(name) if name.startswith("encoder.") else Grown(trace.site(name), count)
        for name in trace.sites
    )
    where = {"engine": trace.engine, "device": trace.device}
    return Trace(trace.experiment, sites, **where, seconds=trace.seconds, notices=trace.notices)


class Grown(SiteTrace):
    """A site after `count` of its tokens: later ones have no labels, and their cells are hatched.

    The numbers of earlier tokens do not depend on later ones, as the experiment of a decoding is causal.
    """

    def __init__(self, whole: SiteTrace, count: int) -> None:
        super().__init__(whole.name, whole.experiment, _Source(whole), whole.given)
        self._whole, self._count = whole, count

    def hatched(self, stage: str, head: int | None = None) -> Bools | None:
        """Blocked cells, and those of later tokens."""
        before, later = self._whole.hatched(stage, head), self.later(stage)
        return later if before is None else before | later

    def labels(self, axis: str) -> tuple[str, ...]:
        """The labels of the tokens so far, and empty ones."""
        known = super().labels(axis)
        grows = axis in OWN_AXES or (axis in KEY_AXES and self.experiment.memory is None)
        return (*known[: self._count], *[""] * (len(known) - self._count)) if grows else known

    def all_labels(self, axis: str) -> tuple[str, ...]:
        """The labels of all tokens."""
        return super().labels(axis)

    def later(self, stage: str) -> Bools:
        """True for the cells of later tokens, in one head of a stage."""
        axes, shape = STAGE_BY_ID[stage].axes[-2:], self.shape(stage)[-2:]
        growing = [*OWN_AXES, *(KEY_AXES if self.experiment.memory is None else ())]
        rows, columns = (
            np.arange(length) >= (self._count if axis in growing else length)
            for axis, length in zip(axes, shape, strict=True)
        )
        return np.asarray(rows[:, None] | columns[None, :])


class _Source:
    """The numbers of another site."""

    def __init__(self, whole: SiteTrace) -> None:
        self._whole, self.stages, self.most_cells = whole, whole.stages, whole.most_cells

    def window(self, stage: str, head: int, rows: slice, columns: slice) -> NDArray[Any]:
        """The same numbers."""
        return self._whole.window(stage, head, rows, columns)

    def blocked(self, rows: slice = ALL, columns: slice = ALL) -> Bools | None:
        """The same cells."""
        return self._whole.blocked(rows, columns)


if TYPE_CHECKING:
    from attnviz.engines.decode.run import Decoding

Run = Callable[[Experiment, Progress], Trace]
Decode = Callable[[Experiment, Progress], "Decoding"]

ONE_LAYER = Message("A sequence over layers needs two layers or more with this stage.")
OF_VALUES = Message("A sequence over the decoding shows values; it has no gradients.")
GROWING = ("stage", "heads", "sites", "layers", "pipeline")
"""Kinds of pictures that hide the cells of later tokens."""

LARGE = 1e9
"""Numbers from which powers of ten are shown."""
SUM = "sum"
"""The sequence of the parts of a sum of values, and the kind of its pictures."""
PULLED = 17
"""Its pictures: four seconds at the usual pace."""
TRAINING = "training"
"""The sequence of the kept states of a training run."""
NO_RUN = Message("A sequence over the training needs a run beside the document.")
USUAL_KIND = {SUM: SUM, TRAINING: "layers"}
"""The kind of the pictures of a sequence, where none is chosen."""
STEP = N_("step {step} of {count}: {token}")


@dataclass(frozen=True, eq=False)
class Frame:
    """One picture of a sequence and its label, which stands behind the title.

    `grows`: some of its rows have no numbers yet.
    """

    subject: Subject
    label: str
    grows: bool = False

    def styled(self, style: Style) -> Style:
        """The style without the sums of rows that have no numbers."""
        return dataclasses.replace(style, sums=False) if self.grows else style


@dataclass(frozen=True)
class Engines:
    """The functions that compute experiments: a full pass, or what pictures show of one, and a decoding."""

    run: Run
    decode: Decode


def frames(
    over: str, subject: Subject, engines: Engines, progress: Progress, kind: str = "stage"
) -> tuple[Frame, ...]:
    """The frames over `decode`, `layers`, `sum`, `training`, or a sweep such as `temperature=0.1:2:20`.

    `subject` selects what is drawn of each trace, as a picture of `kind`; its own trace is the document's.
    All frames share the ends of their colours. Raises `ValueError` for a sequence that the document does not
    have, and what `progress` raises.
    """
    if kind == "cost" and not _changes_costs(over, subject):
        raise FieldError(
            "kind", kind, must_be("a picture that changes over {over}", over=over.partition("=")[0])
        )
    if over == SUM and kind != SUM:
        raise FieldError("kind", kind, must_be("{kind} for this sequence", kind=SUM))
    subject = dataclasses.replace(subject, shared=SharedEnds())
    if over in OVER:
        return OVER[over](subject, engines, progress, kind)
    return _swept(Sweep.parsed(over), subject, engines, progress)


def _changes_costs(over: str, subject: Subject) -> bool:
    """True if the curves of the cost differ from picture to picture."""
    if over in OVER:
        return False
    swept = Sweep.parsed(over).frames(subject.trace.experiment, subject.shown_site.name)
    stacks = [drawn_stacks(experiment) for _value, experiment in swept]
    return any(one != stacks[0] for one in stacks)


def _decoded(subject: Subject, engines: Engines, progress: Progress, kind: str) -> tuple[Frame, ...]:
    """A frame for each token: those of the prompt one by one, or at once where tokens were generated."""
    if subject.shown_site.quantity != "value":
        raise InputError(OF_VALUES)
    given = subject.trace.experiment
    decoding = engines.decode(given, progress.part(0.0, 0.5))
    tokens = decoding.experiment.tokens
    first = given.n_queries if len(tokens) > given.n_queries else 1
    counts = range(first, len(tokens) + 1)
    steps = _grown if kind in GROWING else _passes
    traces = steps(decoding.experiment, counts, engines, progress.part(0.5, 1.0))
    return tuple(
        Frame(
            dataclasses.replace(subject, trace=trace, view=replace(subject.view, query=count - 1)),
            _(STEP).format(
                step=count, count=len(tokens), token=visible(shown_token(given.vocabulary, tokens[count - 1]))
            ),
            grows=True,
        )
        for count, trace in zip(counts, traces, strict=True)
    )


def _grown(experiment: Experiment, counts: range, engines: Engines, progress: Progress) -> list[Trace]:
    """One pass, of which later tokens are hidden: the picture keeps its places."""
    whole = engines.run(experiment, progress)
    return [grown(whole, count) for count in counts]


def _passes(experiment: Experiment, counts: range, engines: Engines, progress: Progress) -> list[Trace]:
    """A pass over the tokens of each step."""
    return [
        engines.run(up_to(experiment, count), progress.step(index, len(counts)))
        for index, count in enumerate(counts)
    ]


def alike(subject: Subject) -> list[str]:
    """The attentions of the same kind in the same stack that have the stage, from the first layer up."""
    trace = subject.trace
    here = place_of(trace.experiment, subject.shown_site.name)
    places = [place_of(trace.experiment, name) for name in trace.sites]
    return [
        place.name
        for place in places
        if (place.stack, place.kind) == (here.stack, here.kind)
        and subject.shown_stage in trace.site(place.name).stages
    ]


def _layers(subject: Subject, engines: Engines, progress: Progress, kind: str) -> tuple[Frame, ...]:
    """A frame for each attention of the same kind in the same stack."""
    sites = alike(subject)
    if len(sites) < 2 or subject.site == ALL_SITES:
        raise InputError(ONE_LAYER)
    return tuple(Frame(dataclasses.replace(subject, site=name), "") for name in sites)


def _pulled(subject: Subject, engines: Engines, progress: Progress, kind: str) -> tuple[Frame, ...]:
    """A frame for each part of the way of a sum of values: the query alone first, its weights last."""
    parts = np.linspace(0.0, 1.0, PULLED).tolist()
    return tuple(Frame(dataclasses.replace(subject, part=part), f"t = {part:.2f}") for part in parts)


def _trained(subject: Subject, engines: Engines, progress: Progress, kind: str) -> tuple[Frame, ...]:
    """A frame for each kept state, with its held-out accuracy where that was measured."""
    if subject.run is None:
        raise InputError(NO_RUN)
    run = subject.run()
    accuracies = {one.step: one.accuracy for one in run.curves.measures}
    made = []
    for index, step in enumerate(run.steps):
        trace = engines.run(run.at(step), progress.step(index, len(run.steps)))
        label = _("step {step}").format(step=step)
        if step in accuracies:
            accuracy = _("accuracy {accuracy}").format(accuracy=f"{accuracies[step]:.2f}")
            label = f"{label} · {accuracy}"
        made.append(Frame(dataclasses.replace(subject, trace=trace), label))
    return tuple(made)


OVER: dict[str, Callable[[Subject, Engines, Progress, str], tuple[Frame, ...]]] = {
    "decode": _decoded,
    "layers": _layers,
    SUM: _pulled,
    TRAINING: _trained,
}
"""Sequences by name; every other text is a sweep."""


def _swept(sweep: Sweep, subject: Subject, engines: Engines, progress: Progress) -> tuple[Frame, ...]:
    """A frame for each value of a number."""
    steps = list(sweep.frames(subject.trace.experiment, subject.shown_site.name))
    swept = []
    for index, (value, experiment) in enumerate(steps):
        trace = engines.run(experiment, progress.step(index, len(steps)))
        label = f"{_title(sweep.path)} = {_short(value)}"
        swept.append(Frame(dataclasses.replace(subject, trace=trace), label))
    return tuple(swept)


def _short(value: float) -> str:
    """A whole number as it is, another with four digits: titles of all frames are about as long."""
    return f"{value:.0f}" if value == round(value) and abs(value) < LARGE else f"{float(f'{value:.4g}'):g}"


def _title(path: str) -> str:
    """The title of a field where it has one, else its path."""
    row = field_at(path)
    return path if row is None else _(row.field.title)
