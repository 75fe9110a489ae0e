"""`attnviz render`: save a stage as a picture."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from msgspec.structs import replace

from attnviz.cli.command import Command
from attnviz.cli.options import add_document, command_line, document, execute, head, written
from attnviz.cli.style import add_style, style
from attnviz.errors import FieldError, must_be
from attnviz.i18n import N_, _
from attnviz.model.io.files import record_of
from attnviz.model.spec.view import Ranges, View

ORIENTATIONS = ("queries_as_rows", "queries_as_columns")
PICTURES = ("map", "lines")


def add(command: ArgumentParser) -> None:
    """Add the options."""
    from attnviz.core.levels import RANGES
    from attnviz.figures.kinds.table import KIND_BY_ID

    add_document(command)
    command.add_argument("-o", "--output", metavar="FILE", required=True, help=_(".svg, .pdf or .png"))
    command.add_argument("--stage", help=_("the stage (default: the one the document shows)"))
    command.add_argument(
        "--site",
        metavar="NAME|all",
        help=_("the attention, such as decoder.0.cross, or all of them (default: the selected one)"),
    )
    command.add_argument("--head", metavar="N|all", help=_("a head, 0 the first, or all of them"))
    command.add_argument(
        "--kind", choices=list(KIND_BY_ID), help=_("the kind of picture (default: the stage)")
    )
    command.add_argument("--orientation", choices=ORIENTATIONS, help=_("the orientation of the matrix"))
    command.add_argument("--range", choices=[row.id for row in RANGES], help=_("the range of the colours"))
    command.add_argument(
        "--as",
        dest="picture",
        choices=PICTURES,
        help=_("a map, or lines from words to words, of weights"),
    )
    command.add_argument(
        "--query", metavar="N|all", help=_("with lines: one query, 0 the first, or all (default: the view's)")
    )
    add_style(command)


def run(options: Namespace) -> int:
    """Draw one stage into a file: one head or all of them, or one head of all attentions."""
    from attnviz.figures import save_figure
    from attnviz.figures.figure import figure_of, kind_of
    from attnviz.figures.files import format_of
    from attnviz.figures.subject import Subject

    known, of_head, look = document(options), head(options.head), style(options)
    written(options.output, lambda: format_of(options.output))
    view = known.view
    if options.orientation is not None:
        view = replace(view, orientation=options.orientation)
    if options.range is not None:
        view = replace(view, ranges=Ranges.of_all(options.range))
    if options.query is not None:
        view = _with_query(view, options.query)
    subject = Subject(
        execute(known, options),
        view,
        options.stage,
        of_head,
        options.site,
        title=_(known.title),
        caption=_(known.caption),
    )
    kind = options.kind or kind_of(subject, options.picture)
    figure = figure_of(kind, subject, look)
    record = record_of(subject.document(known), command_line())
    written(options.output, lambda: save_figure(figure, options.output, dpi=look.dpi, record=record))
    return 0


def _with_query(view: View, text: str) -> View:
    """The view whose lines start from one query, counted from 0, or from all of them."""
    if text == "all":
        return replace(view, lines=replace(view.lines, queries="all"))
    if not text.isascii() or not text.isdigit():
        raise FieldError("query", text, must_be("a whole number of at least 0, or 'all'"))
    return replace(view, query=int(text), lines=replace(view.lines, queries="one"))


COMMAND = Command("render", N_("save a stage as a heat map"), add, run)
