"""`attnviz render`: save a stage as a picture."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace

from attnviz.checkpoints.stories import record_of
from attnviz.cli.command import Command
from attnviz.cli.options import add_document, command_line, document, head, written
from attnviz.cli.picture import (
    add_against,
    add_follow,
    add_gradient,
    add_picture,
    computed,
    other_of,
    subject_of,
)
from attnviz.cli.style import style
from attnviz.i18n import N_, _


def add(command: ArgumentParser) -> None:
    """Add the options."""
    add_document(command)
    command.add_argument("-o", "--output", metavar="FILE", required=True, help=_(".svg, .pdf or .png"))
    add_picture(command)
    add_gradient(command)
    add_follow(command)
    add_against(command)


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
        other=other_of(options, known.view),
        alignment=options.align,
    )
    figure = figure_of(options.kind or kind_of(subject, options.picture), subject, look)
    record = record_of(subject.document(known), command_line())
    written(options.output, lambda: save_figure(figure, options.output, dpi=look.dpi, record=record))
    return 0


COMMAND = Command("render", N_("save a picture of a document"), add, run)
