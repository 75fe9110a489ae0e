"""`attnviz render`: save a stage as a picture."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from attnviz.cli.command import Command
from attnviz.cli.options import add_document, command_line, document, execute, head, written
from attnviz.cli.picture import add_picture, subject_of
from attnviz.cli.style import style
from attnviz.i18n import N_, _
from attnviz.model.io.files import record_of


def add(command: ArgumentParser) -> None:
    """Add the options."""
    add_document(command)
    command.add_argument("-o", "--output", metavar="FILE", required=True, help=_(".svg, .pdf or .png"))
    add_picture(command)


def run(options: Namespace) -> int:
    """Draw one stage into a file: one head or all of them, or one head of all attentions."""
    from attnviz.figures import save_figure
    from attnviz.figures.figure import figure_of, kind_of
    from attnviz.figures.files import format_of

    known, look = document(options), style(options)
    head(options.head)
    written(options.output, lambda: format_of(options.output))
    subject = subject_of(known, execute(known, options), options)
    figure = figure_of(options.kind or kind_of(subject, options.picture), subject, look)
    record = record_of(subject.document(known), command_line())
    written(options.output, lambda: save_figure(figure, options.output, dpi=look.dpi, record=record))
    return 0


COMMAND = Command("render", N_("save a stage as a heat map"), add, run)
