"""attnviz: the mechanics of attention, for scripts and notebooks.

    import attnviz

    document = attnviz.presets.load_preset("toy-attention")
    trace = attnviz.run(document)
    trace["weights"]                # (head, query, key), a NumPy array
    trace.site("layers.0.self")     # one attention of several, by name

    decoding = attnviz.decode(document, steps=6)
    decoding.steps[5].next_token

    attnviz.render(document, "weights.pdf", stage="weights", head=0)

    document = attnviz.import_checkpoint("SmolLM2-135M", text="The cat sat")    # a trained model

The structs of an `Experiment` are in `attnviz.parts` (`Heads`, `Causal`, `Rope`, `Writing`, ...). Everything
is imported on first use: `import attnviz` itself loads nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from attnviz.version import __version__

if TYPE_CHECKING:
    import os
    from pathlib import Path
    from typing import Literal

    from attnviz import analysis, parts
    from attnviz.checkpoints import presets
    from attnviz.checkpoints.importing import import_checkpoint
    from attnviz.checkpoints.reader import CheckpointError
    from attnviz.checkpoints.stories import load
    from attnviz.compute.budget import BudgetError
    from attnviz.engines.decode.run import Decoding
    from attnviz.engines.decode.step import DecodeStep
    from attnviz.engines.engine import EngineError
    from attnviz.figures.style import Style
    from attnviz.model.gradient import Gradient
    from attnviz.model.io.files import save
    from attnviz.model.io.schema import document_schema
    from attnviz.model.spec.document import Document
    from attnviz.model.spec.experiment import Experiment, one_layer
    from attnviz.model.spec.view import View
    from attnviz.model.trace import SiteTrace, Trace
    from attnviz.pages.show import show
    from attnviz.training.run import Run
    from attnviz.training.step import Step

__all__ = [
    "BudgetError",
    "CheckpointError",
    "DecodeStep",
    "Decoding",
    "Document",
    "EngineError",
    "Experiment",
    "Gradient",
    "SiteTrace",
    "Trace",
    "View",
    "__version__",
    "analysis",
    "animate",
    "backward",
    "decode",
    "document_schema",
    "holds",
    "import_checkpoint",
    "load",
    "load_run",
    "one_layer",
    "parts",
    "presets",
    "render",
    "run",
    "save",
    "show",
    "script",
    "step",
    "train",
]

_HOMES = {
    "BudgetError": "attnviz.compute.budget",
    "CheckpointError": "attnviz.checkpoints.reader",
    "DecodeStep": "attnviz.engines.decode.step",
    "Decoding": "attnviz.engines.decode.run",
    "Document": "attnviz.model.spec.document",
    "EngineError": "attnviz.engines.engine",
    "Experiment": "attnviz.model.spec.experiment",
    "Gradient": "attnviz.model.gradient",
    "SiteTrace": "attnviz.model.trace",
    "Trace": "attnviz.model.trace",
    "View": "attnviz.model.spec.view",
    "document_schema": "attnviz.model.io.schema",
    "import_checkpoint": "attnviz.checkpoints.importing",
    "load": "attnviz.checkpoints.stories",
    "one_layer": "attnviz.model.spec.experiment",
    "save": "attnviz.model.io.files",
    "show": "attnviz.pages.show",
}
"""Module of each public name that is imported on first use."""

_MODULES = {
    "analysis": "attnviz.analysis",
    "parts": "attnviz.parts",
    "presets": "attnviz.checkpoints.presets",
}


def run(
    experiment: Experiment | Document,
    engine: str = "numpy",
    device: str = "auto",
    *,
    check: Callable[[], None] | None = None,
    budget: int | None = None,
) -> Trace:
    """Compute one experiment and return its stages.

    `engine` is "numpy" or "torch"; `device` is "auto" (for Torch, CUDA if available), "cpu", "cuda" or
    "cuda:N". `check` is called between stages; what it raises stops the run. `budget` is the number of
    available bytes (None: measured); half of it may be used.

    If Torch or CUDA fails, NumPy computes instead and `trace.notices` says so. Raises `ValueError` for
    an unknown engine, or a device or dtype that it lacks, `BudgetError` (a `ValueError`) for a run that
    would not fit, `EngineError` if the engine fails on the requested "cpu".
    """
    from attnviz.compute.execute import execute
    from attnviz.engines.program import never_cancelled

    return execute(_experiment(experiment), engine, device, check or never_cancelled, budget)


def backward(
    experiment: Experiment | Document,
    target: str,
    engine: str = "numpy",
    device: str = "auto",
    *,
    check: Callable[[], None] | None = None,
) -> Gradient:
    """The gradient of `target` by every stage and parameter: a trace of the same sites and stages.

    `target` is a cell, "layers.0.self.weights[0, 2, 1]" in public order; "loss", the mean cross-entropy of
    the next token at every position; or "loss[3]", that at one. `gradient.parameters` has the gradients by
    matrices, biases and gains.
    Raises `ValueError` with one sentence for a target that does not exist; see `run` for the rest.
    """
    from attnviz.compute.execute import execute_backward
    from attnviz.engines.program import never_cancelled

    return execute_backward(_experiment(experiment), target, engine, device, check or never_cancelled)[1]


def step(
    experiment: Experiment | Document,
    target: str = "loss",
    rate: float = 0.1,
    what: str = "all",
    engine: str = "numpy",
    device: str = "auto",
    *,
    check: Callable[[], None] | None = None,
) -> Step:
    """One step of gradient descent, w ← w − η g; `step.experiment` has the new numbers.

    `target` is as in `backward`, `rate` is η. `what` is "all", a parameter as `gradient.parameters` names it,
    "layers.0.self.projections.query", or one of its numbers, "layers.0.self.projections.query[3, 2]". `step`
    has the target `before` and `after`, and the change −η Σ g² that the gradient `predicted`.
    Raises `ValueError` with one sentence for a wrong rate or parameter, or a step that ends in no number.
    """
    from attnviz.engines.program import never_cancelled
    from attnviz.training.step import take_step

    given = _experiment(experiment)
    return take_step(given, target, rate, what, engine, device, check or never_cancelled)


def train(
    experiment: Experiment | Document,
    task: str = "copy",
    steps: int = 2000,
    batch: int = 16,
    rate: float = 2e-3,
    seed: int = 0,
    engine: str = "numpy",
    device: str = "auto",
    *,
    new_words: bool = False,
    check: Callable[[], None] | None = None,
    **sizes: int,
) -> Run:
    """Train a document on a task, "copy", "lookup" or "addition", with AdamW and clipped gradients.

    `sizes` are those of the task: n_words=16, longest=12 of "copy", modulus=59 of "addition". The document
    needs a vocabulary of that many words; with `new_words` it gets one. `run.experiment` has the trained
    weights, `run.at(step)` those of a kept step (`run.steps`), `run.curves` the losses, accuracies and scores
    of the heads, and `run.save(path)` writes all of it: see `load_run`. Raises `ValueError` with one sentence
    for a document that cannot be trained, or a run whose loss is no number any more.
    """
    from attnviz.engines.program import never_cancelled
    from attnviz.training.optimiser import Settings
    from attnviz.training.record import Course
    from attnviz.training.run import train as run_
    from attnviz.training.tasks import made_task
    from attnviz.training.words import with_words, words_for

    given, sampler = _experiment(experiment), made_task(task, **sizes)
    if new_words:
        given = with_words(given, words_for(sampler.n_words), seed)
    settings = Settings(rate, steps=steps)
    course = Course(batch, seed)
    return run_(given, sampler, course, settings, engine, device, check=check or never_cancelled)


def load_run(
    path: str | os.PathLike[str],
    steps: int | None = None,
    engine: str = "numpy",
    device: str = "auto",
    *,
    check: Callable[[], None] | None = None,
) -> Run:
    """The run in a file of `Run.save` or of `attnviz train`; with `steps`, it goes on to this step.

    A run that goes on takes the same steps, to the last bit, as one that was never saved. Raises `ValueError`
    with one sentence for a file without a run, or with a wrong one, and what `train` raises.
    """
    from dataclasses import replace

    from attnviz.checkpoints.stories import load
    from attnviz.engines.program import never_cancelled
    from attnviz.training.file import load_run as loaded
    from attnviz.training.run import train

    document = load(path)
    run = loaded(path, document, engine, device)
    if steps is None:
        return run
    record = run.training.record()
    settings, heard = replace(record.settings, steps=steps), check or never_cancelled
    where = engine, device
    return train(
        document.experiment, record.sampler, record.course, settings, *where, check=heard, record=record
    )


def decode(
    experiment: Experiment | Document,
    steps: int | None = None,
    engine: str = "numpy",
    device: str = "auto",
    *,
    check: Callable[[], None] | None = None,
    budget: int | None = None,
) -> Decoding:
    """Decode token by token with a cache of keys and values.

    The experiment's tokens are computed first. Further steps use the token that the previous step chose:
    sampled as the experiment's `writing` defines, or without it the most probable token. `steps` None: all
    existing tokens, and with `writing` as many new ones until it stops. With a full or paged cache the steps
    equal the full pass of `decoding.experiment`; other caches lose some precision or positions. Parameters
    and errors are otherwise those of `run`; `check` is called at every step.
    """
    from attnviz.compute.execute import execute_decoding
    from attnviz.engines.program import never_cancelled

    return execute_decoding(_experiment(experiment), steps, engine, device, check or never_cancelled, budget)


def render(
    given: Experiment | Document | Trace | Run,
    path: str | os.PathLike[str],
    stage: str | None = None,
    head: int | Literal["all"] | None = None,
    *,
    site: str | None = None,
    theme: str = "light",
    picture: str | None = None,
    kind: str | None = None,
    dpi: int = 200,
    style: Style | None = None,
    engine: str = "numpy",
    device: str = "auto",
) -> Path:
    """Draw one stage as a heat map into a file, `.svg`, `.pdf` or `.png`; returns its path.

    A document's view determines colour range and orientation, and site, stage and head where they are None;
    an experiment or a trace has the default view (weights, head 0). `head` counts from 0; "all" draws every
    head, small. `site` names one attention of several, such as "decoder.0.cross"; "all" draws all of them
    side by side, with their numbers of pairs. `theme` is "light" or "dark"; `picture` is "map" or "lines",
    which weights have; `kind` is the id of another kind of picture (`attnviz render --help` lists them),
    without it a run of `train` is drawn as its curves; `dpi` counts for PNG. `style`
    (`attnviz.figures.Style`) has these and all further options. For the matplotlib figure itself, or another
    view, see `attnviz.figures.render`. The file carries the document: `load` reads it from there.

    Raises `ValueError` for a suffix, site, stage, head, theme or dpi that does not exist, `OSError` if
    writing fails, and what `run` raises.
    """
    from attnviz.checkpoints.stories import record_of
    from attnviz.figures import save_figure
    from attnviz.figures.figure import figure_of, kind_of
    from attnviz.figures.files import format_of
    from attnviz.figures.kinds.table import CURVES
    from attnviz.figures.style import Style
    from attnviz.figures.subject import Subject
    from attnviz.model.spec.document import Document
    from attnviz.model.trace import Trace

    format_of(path)
    shown, training = _of_run(given)
    trace = shown if isinstance(shown, Trace) else run(shown, engine, device)
    whole = shown if isinstance(shown, Document) else Document(trace.experiment)
    style = style or Style(theme=theme, dpi=dpi)
    subject = Subject(
        trace, whole.view, stage, head, site, title=whole.title, caption=whole.caption, run=training
    )
    kind = kind or (kind_of(subject, picture) if training is None else CURVES)
    figure = figure_of(kind, subject, style)
    return save_figure(figure, path, dpi=style.dpi, record=record_of(subject.document(whole)))


def animate(
    given: Experiment | Document | Run,
    path: str | os.PathLike[str],
    over: str,
    stage: str | None = None,
    head: int | Literal["all"] | None = None,
    *,
    site: str | None = None,
    kind: str | None = None,
    fps: float = 4.0,
    dpi: int | None = None,
    style: Style | None = None,
    engine: str = "numpy",
    device: str = "auto",
    check: Callable[[], None] | None = None,
) -> Path:
    """Draw a sequence of pictures into a file: `.gif`, `.mp4`, a page each in `.pdf`; or numbered `.png` or
    `.svg` files in a folder. Returns its path.

    `over` is "decode", "layers", "sum", "training" of a run of `train`, whose kept states are drawn, or a
    sweep of a number of the document such as "temperature=0.1:2:20". All pictures share the ends of their
    colours. `fps` are the pictures per second, `dpi` None is what is usual for the kind of file; the rest is
    as in `render`.

    Raises `ValueError` for a sequence that the document does not have, `OSError` if writing fails, what `run`
    raises and what `check` raises; nothing is then written.
    """
    from dataclasses import replace

    from attnviz.checkpoints.stories import record_of
    from attnviz.core.progress import Progress, never_cancelled
    from attnviz.figures.figure import kind_of
    from attnviz.figures.sequences import Sequence, frames, save_sequence
    from attnviz.figures.sequences.frames import USUAL_KIND, Engines
    from attnviz.figures.style import Style
    from attnviz.figures.subject import Subject
    from attnviz.model.spec.document import Document

    shown, training = _of_run(given)
    document = shown if isinstance(shown, Document) else Document(_experiment(shown))
    progress = Progress(check or never_cancelled)
    engines = Engines(
        lambda experiment, check: run(experiment, engine, device, check=check),
        lambda experiment, check: decode(experiment, None, engine, device, check=check),
    )
    subject = Subject(engines.run(document.experiment, progress), document.view, stage, head, site)
    subject = replace(subject, run=training)
    usual = kind_of(subject) if head is not None or site is not None else USUAL_KIND.get(over)
    drawn = kind or usual or kind_of(subject)
    sequence = Sequence(frames(over, subject, engines, progress, drawn), drawn, style or Style())
    return save_sequence(sequence, path, progress, fps=fps, dpi=dpi, record=record_of(document))


def script(
    given: Experiment | Document,
    library: Literal["numpy", "torch"] = "numpy",
    stages: Iterable[str] | None = None,
    site: str | None = None,
) -> str:
    """A Python program that recomputes a document with one array library, without attnviz.

    It prints the `stages` of all attentions or of the `site`; None: the stage that the document shows, and
    the result. Raises `ValueError` for an unknown library, and for more than 16,384 explicit numbers, which
    need a file beside the program: see `attnviz script`.
    """
    from attnviz.errors import FieldError, among
    from attnviz.explain.scripts.library import LIBRARY_BY_ID
    from attnviz.explain.scripts.script import Wanted
    from attnviz.explain.scripts.script import script as written
    from attnviz.model.spec.document import Document

    if library not in LIBRARY_BY_ID:
        raise FieldError("library", library, among(LIBRARY_BY_ID))
    document = given if isinstance(given, Document) else Document(_experiment(given))
    wanted = Wanted(None if stages is None else tuple(stages), site)
    return written(document, LIBRARY_BY_ID[library], wanted)


def holds(
    claim: str, given: Experiment | Document | Trace, engine: str = "numpy", device: str = "auto"
) -> bool:
    """True if a claim holds, such as `weights[2].sum() == 1` or `max(scores) < 20`; see docs/lessons.md.

    A claim is parsed, never run as code. Stages are those of the selected attention and head.

    Raises `ValueError` for a text that is no condition over the stages, and what `run` raises.
    """
    from attnviz.model.spec.document import Document
    from attnviz.model.spec.view import View
    from attnviz.model.trace import Trace
    from attnviz.study.claims.scope import Scope
    from attnviz.study.claims.scope import holds as is_true

    trace = given if isinstance(given, Trace) else run(given, engine, device)
    return is_true(claim, Scope(trace, given.view if isinstance(given, Document) else View()))


def _of_run(given: Any) -> tuple[Any, Callable[[], Run] | None]:
    """The trained experiment of a run, and what returns the run; anything else stays."""
    from attnviz.training.run import Run

    return (given.experiment, lambda: given) if isinstance(given, Run) else (given, None)


def _experiment(given: Any) -> Experiment:
    from attnviz.model.spec.document import Document
    from attnviz.model.spec.experiment import Experiment

    if isinstance(given, Document):
        return given.experiment
    if isinstance(given, Experiment):
        return given
    raise TypeError(f"experiment must be an Experiment or a Document; got a {type(given).__name__}.")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = import_module(_MODULES[name])
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'attnviz' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
