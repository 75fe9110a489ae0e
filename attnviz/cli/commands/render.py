"""`attnviz render`: save a stage as a picture."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from attnviz.cli.command import Command, Condition
from attnviz.cli.options import add_document, document, head, notice, recorded, trained, written
from attnviz.cli.picture import (
    OF_THE_PICTURE,
    OF_THE_STATE_A,
    add_against,
    add_gradient,
    add_picture,
    add_step,
    computed,
    drawn_kind,
    other_of,
    style,
    subject_of,
)
from attnviz.errors import FieldError, whole_number
from attnviz.figures.kinds.table import UNFOLLOWED
from attnviz.i18n import N_, _

if TYPE_CHECKING:
    from attnviz.engines.decode.run import Decoding
    from attnviz.model.spec.document import Document


def add(command: ArgumentParser) -> None:
    """Add the options."""
    add_document(command)
    command.add_argument("-o", "--output", metavar="FILE", required=True, help=_(".svg, .pdf or .png"))
    add_picture(command)
    add_gradient(command)
    add_step(command)
    add_against(command)


def run(options: Namespace) -> int:
    """Draw one stage into a file: one head or all of them, or one head of all attentions."""
    from attnviz.figures import save_figure
    from attnviz.figures.figure import reported
    from attnviz.figures.files import format_of

    known, look = document(options), style(options)
    head(options.head)
    written(options.output, lambda: format_of(options.output))
    known, trace = computed(known, options)
    subject = subject_of(known, trace, options)
    kind = drawn_kind(subject, options, CONDITIONS)
    subject = replace(
        subject,
        decoding=partial(_decoded, known, options),
        other=other_of(options, known.view),
        alignment=options.align,
        run=partial(trained, known, options),
    )
    figure, report = reported(kind, subject, look)
    unmet = (check.text for check in report.checks if not check.is_met)
    for said in (*(() if report.without is None else (report.without,)), *unmet):
        notice(said)
    record = recorded(subject.document(known))
    written(options.output, lambda: save_figure(figure, options.output, dpi=look.dpi, record=record))
    return 0


def _decoded(known: Document, options: Namespace) -> Decoding:
    """The decoding of a document. Raises `FieldError` if it does not have the chosen step."""
    from attnviz.compute.execute import execute_decoding

    decoding = execute_decoding(known.experiment, None, options.engine, options.device)
    if options.step is not None and int(options.step) >= len(decoding.steps):
        raise FieldError("step", int(options.step), whole_number(0, len(decoding.steps) - 1))
    return decoding


CONDITIONS = (
    *OF_THE_PICTURE,
    *OF_THE_STATE_A,
    Condition("--against", "--kind", ("comparison",)),
    Condition("--step", "--kind", ("step",), also="--follow"),
    Condition("--follow", "--kind", UNFOLLOWED, is_barred=True),
)

COMMAND = Command("render", N_("save a picture of a document"), add, run, conditions=CONDITIONS)
