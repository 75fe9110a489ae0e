"""`attnviz train`: train a document on a task; its curves as a table or JSON, and a file of the run."""

from __future__ import annotations

import dataclasses
import json
import signal
import sys
import time
from argparse import ArgumentParser, Namespace
from types import FrameType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from attnviz.cli.command import Command, Condition, Named
from attnviz.cli.options import Count, add_document, document, notice, number_option, print_table, written
from attnviz.core.text import in_json, number
from attnviz.errors import FieldError, InputError, Message, about, message_of, must_be, verbatim, whole_number
from attnviz.i18n import N_, _
from attnviz.model.io.regular_file import read_text

if TYPE_CHECKING:
    from attnviz.model.spec.document import Document
    from attnviz.model.spec.experiment import Experiment
    from attnviz.training.optimiser import Settings
    from attnviz.training.record import Course, Measures, Record
    from attnviz.training.run import Run, Training
    from attnviz.training.tasks import Sampler

TRAIN_FORMAT = N_(
    "With --json: one object a line for each measured state, with step, loss (the mean over held-out texts), "
    "accuracy (the share of right answers in them), trained_accuracy, and scores, a list of score, site, "
    "head and value. Ctrl+C ends the run after its step, and what there is is saved. With --resume, DOC is "
    "the file of a run, which goes on as if it had never ended and is saved there, or in that of --output."
)


def add_course(command: ArgumentParser) -> None:
    """Add the options of a run, `COURSE`: its task, its steps and their settings."""
    from attnviz.training.optimiser import OPTIMISERS, SCHEDULES, Settings
    from attnviz.training.tasks import TASKS

    tasks = [task.id for task in TASKS]
    command.add_argument("--task", choices=tasks, default=tasks[0], help=_("the task (default: copy)"))
    command.add_argument(
        "--sizes",
        default="",
        metavar="NAME=N,…",
        help=_("sizes of the task, such as n_words=16,longest=12 or modulus=59"),
    )
    command.add_argument("--lines", metavar="FILE", help=_("with --task lines: the text"))
    command.add_argument(
        "--new-words", action="store_true", help=_("give the document a vocabulary for the task first")
    )
    command.add_argument("--steps", action=Count, default=2000, metavar="N", help=_("the number of steps"))
    command.add_argument("--batch", action=Count, default=16, metavar="N", help=_("the texts of a step"))
    usual = Settings()
    command.add_argument(
        "--rate", type=number_option, default=usual.rate, metavar="η", help=_("the learning rate")
    )
    kinds = [row.id for row in OPTIMISERS]
    command.add_argument("--optimiser", choices=kinds, default=usual.optimiser, help=_("the optimiser"))
    command.add_argument(
        "--decay", type=number_option, default=usual.decay, metavar="λ", help=_("the weight decay")
    )
    command.add_argument(
        "--clip",
        type=number_option,
        default=usual.clip,
        metavar="N",
        help=_("the largest gradient norm"),
    )
    command.add_argument(
        "--warmup", action=Count, least=0, default=0, metavar="N", help=_("the steps in which the rate rises")
    )
    schedules = [row.id for row in SCHEDULES]
    command.add_argument(
        "--schedule", choices=schedules, default=usual.schedule, help=_("the rate after them")
    )
    command.add_argument(
        "--seed", action=Count, least=0, default=0, metavar="N", help=_("the seed of the texts")
    )


def add(command: ArgumentParser) -> None:
    """Add the options."""
    add_document(command)
    command.add_argument("--resume", action="store_true", help=_("go on with the run in the file DOC"))
    add_course(command)
    command.add_argument(
        "--until", type=number_option, metavar="SHARE", help=_("end above this held-out accuracy")
    )
    command.add_argument("--json", action="store_true", help=_("print JSON lines instead of a table"))
    command.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help=_("the run, .safetensors, or its document alone, .json"),
    )


def run(options: Namespace) -> int:
    """Train, print the curves, and save the run."""
    from attnviz.model.io.files import check_target
    from attnviz.training.file import save_run
    from attnviz.training.parameters import parameters_of, size_of
    from attnviz.training.run import train
    from attnviz.training.trainable import has_dropout

    known = document(options)
    experiment, sampler, course, settings, record = _resumed(known, options) or _begun(known, options)
    if has_dropout(experiment):
        notice(Message("Dropout drops other numbers in each step and text."))
    output = options.output or (options.document if options.resume else None)
    if output is not None:
        count = size_of(parameters_of(experiment))
        written(output, lambda: check_target(output, count))
    progress = _Progress(options.json, settings.steps, 0 if record is None else record.step)
    with _Interrupted() as interrupted:

        def is_over(training: Training) -> bool:
            measures = training.curves.measures
            is_solved = options.until is not None and measures and measures[-1].accuracy > options.until
            return interrupted.is_set or bool(is_solved)

        where = options.engine, options.device
        done = train(
            experiment, sampler, course, settings, *where, progress.told, is_over=is_over, record=record
        )
    progress.end(done)
    if interrupted.is_set:
        notice(Message("stopped after {n} steps", n=done.training.step))
    if output is not None:
        trained = replace(known, experiment=done.experiment)
        written(output, lambda: save_run(trained, done.training.record(), output))
    return 0


Begun = tuple["Experiment", "Sampler", "Course", "Settings", "Record | None"]
"""A run to begin, or to go on with from its record."""


def _begun(known: Document, options: Namespace) -> Begun:
    """The run of the options."""
    experiment, sampler = prepared(known.experiment, options)
    return experiment, sampler, *course_of(options), None


def course_of(options: Namespace) -> tuple[Course, Settings]:
    """The texts of each step and the settings. Raises `FieldError`."""
    from attnviz.training.optimiser import Settings
    from attnviz.training.record import Course

    settings = Settings(
        options.rate,
        options.optimiser,
        decay=options.decay,
        clip=options.clip,
        warmup=options.warmup,
        schedule=options.schedule,
        steps=options.steps,
    )
    return Course(options.batch, options.seed), settings


def _resumed(known: Document, options: Namespace) -> Begun | None:
    """The run in the file of the document; None without --resume."""
    from attnviz.training.file import run_beside

    if not options.resume:
        return None
    try:
        record = run_beside(options.document, known.experiment)
    except (OSError, ValueError) as error:
        raise Named(about(verbatim(options.document), message_of(error))) from None
    settings = record.settings
    if "--steps" in options.typed:
        settings = dataclasses.replace(settings, steps=options.steps)
    if settings.steps <= record.step:
        raise FieldError("--steps", settings.steps, whole_number(record.step + 1))
    return known.experiment, record.sampler, record.course, settings, record


def prepared(experiment: Experiment, options: Namespace) -> tuple[Experiment, Sampler]:
    """The experiment with the words of the task, and the task with its sizes."""
    from attnviz.training.words import task_for, with_words, words_of_task

    sizes = _sizes(options.sizes)
    text = "" if options.lines is None else _text(options.lines)
    if options.new_words:
        experiment = with_words(experiment, words_of_task(options.task, text, **sizes), options.seed)
    return experiment, task_for(experiment, options.task, text, **sizes)


def _text(path: str) -> str:
    """The text of a file; its errors name it."""
    from attnviz.training.words import MOST_BYTES

    try:
        return read_text(path, MOST_BYTES)
    except (OSError, InputError) as error:
        raise Named(about(verbatim(path), message_of(error))) from None


def _sizes(text: str) -> dict[str, int]:
    """`n_words=16,longest=12` as numbers by name. Raises `FieldError` for no number."""
    found: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _sign, value = (one.strip() for one in part.partition("="))
        if not value.isdigit():
            raise FieldError(f"--sizes {name}", value, must_be("a whole number"))
        found[name] = int(value)
    return found


class _Interrupted:
    """Ctrl+C while it is entered: `is_set`, and the step under way ends."""

    def __init__(self) -> None:
        self.is_set = False

    def __enter__(self) -> _Interrupted:
        self._before = signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(self, *error: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.is_set = True


class _Progress:
    """The output: a line in the terminal while the run goes on, JSON lines, or a table at the end."""

    def __init__(self, is_json: bool, steps: int, first: int) -> None:
        """`steps` are those of the whole run, which is at the `first` now."""
        self._is_json, self._steps, self._first = is_json, steps, first
        self._begun = time.monotonic()

    def told(self, training: Training) -> None:
        """Print the last measures."""
        measures, steps = training.curves.measures[-1], self._steps
        if self._is_json:
            print(in_json(json.dumps(_record(measures))), flush=True)
        elif sys.stderr.isatty():
            seconds = time.monotonic() - self._begun
            speed = (training.step - self._first) / seconds if seconds else 0.0
            left = (steps - training.step) / speed if speed else 0.0
            line = _("step {step} of {steps}: loss {loss}, {speed} steps/s, {left} s left").format(
                step=training.step,
                steps=steps,
                loss=number(measures.loss),
                speed=number(speed, 1),
                left=number(left, 0),
            )
            print(f"\r{line:<79}", end="", file=sys.stderr, flush=True)

    def end(self, run: Run) -> None:
        """Print the table of the measured states, twelve at most."""
        if self._is_json:
            return
        if sys.stderr.isatty():
            print(file=sys.stderr)
        measures = run.curves.measures
        every = max(1, -(-len(measures) // MOST_ROWS))
        shown = [one for index, one in enumerate(measures) if index % every == 0 or one is measures[-1]]
        rows: list[tuple[str, ...]] = [
            (_("step"), _("loss"), _("accuracy"), _("induction"), _("previous token"))
        ]
        for one in shown:
            best = (_best(one, score) for score in ("induction", "previous"))
            rows.append((str(one.step), number(one.loss, 4), number(one.accuracy, 3), *best))
        print_table(rows)


MOST_ROWS = 12


def _best(measures: Measures, score: str) -> str:
    """The largest score of a head, and the head."""
    of_heads = {key: value for key, value in measures.scores.items() if key[0] == score and value == value}
    if not of_heads:
        return ""
    (_score, site, head), value = max(of_heads.items(), key=lambda pair: pair[1])
    return f"{number(value, 3)} {site} {_('head {head}').format(head=head + 1)}"


def _record(measures: Measures) -> dict[str, object]:
    """The measures of a state as JSON has them."""
    scores = [
        {"score": score, "site": site, "head": head, "value": None if value != value else value}
        for (score, site, head), value in measures.scores.items()
    ]
    trained = measures.trained_accuracy
    return {
        "step": measures.step,
        "loss": measures.loss,
        "accuracy": measures.accuracy,
        "trained_accuracy": None if trained != trained else trained,
        "scores": scores,
    }


COURSE = (
    "--task",
    "--sizes",
    "--lines",
    "--new-words",
    "--steps",
    "--batch",
    "--rate",
    "--optimiser",
    "--decay",
    "--clip",
    "--warmup",
    "--schedule",
    "--seed",
)
"""The options of a run."""
GIVEN_ONCE = (*(option for option in COURSE if option != "--steps"), "--dtype", "--text", "--edit")
"""Options that a run has from its beginning."""
OF_THE_TASK = (
    Condition("--lines", "--task", ("lines",)),
    Condition("--task", "--lines", of=("lines",)),
)

CONDITIONS = (*(Condition(option, "--resume", is_barred=True) for option in GIVEN_ONCE), *OF_THE_TASK)

COMMAND = Command(
    "train", N_("train a document on a task, from its weights on"), add, run, TRAIN_FORMAT, CONDITIONS
)
