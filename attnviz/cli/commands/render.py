"""`attnviz render`: save a stage as a picture."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from typing import TYPE_CHECKING

from attnviz.checkpoints.stories import record_of
from attnviz.cli.command import Command
from attnviz.cli.options import add_document, command_line, document, head, written
from attnviz.cli.picture import add_gradient, add_picture, computed, subject_of
from attnviz.cli.style import style
from attnviz.core.alignment import ALIGNMENT_BY_ID
from attnviz.i18n import N_, _

if TYPE_CHECKING:
    from attnviz.figures.subject import Subject


def add(command: ArgumentParser) -> None:
    """Add the options."""
    add_document(command)
    command.add_argument("-o", "--output", metavar="FILE", required=True, help=_(".svg, .pdf or .png"))
    add_picture(command)
    add_gradient(command)
    command.add_argument("--against", metavar="DOC", help=_("the state A of a comparison; DOC is B"))
    aligned = _("how the tokens of A and B are aligned (default: by position)")
    command.add_argument("--align", choices=list(ALIGNMENT_BY_ID), default="position", help=aligned)


def run(options: Namespace) -> int:
    """Draw one stage into a file: one head or all of them, or one head of all attentions."""
    from attnviz.compute.execute import execute_decoding
    from attnviz.figures import save_figure
    from attnviz.figures.figure import figure_of, kind_of
    from attnviz.figures.files import format_of

    known, look = document(options), style(options)
    head(options.head)
    written(options.output, lambda: format_of(options.output))
    known, trace = computed(known, options)
    subject = replace(
        subject_of(known, trace, options),
        decoding=lambda: execute_decoding(known.experiment, None, options.engine, options.device),
        other=_other(options),
        alignment=options.align,
    )
    figure = figure_of(options.kind or kind_of(subject, options.picture), subject, look)
    record = record_of(subject.document(known), command_line())
    written(options.output, lambda: save_figure(figure, options.output, dpi=look.dpi, record=record))
    return 0


def _other(options: Namespace) -> Subject | None:
    """The state A of a comparison, computed like the document."""
    if options.against is None:
        return None
    named = Namespace(**{**vars(options), "document": options.against, "text": None})
    known = document(named)
    return subject_of(*computed(known, named), named)


COMMAND = Command("render", N_("save a picture of a document"), add, run)
