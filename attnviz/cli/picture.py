"""The options of a picture, which several commands have, and the subject that they select."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, get_args

from msgspec.structs import replace

from attnviz.cli.options import head
from attnviz.cli.style import add_style
from attnviz.errors import FieldError, must_be, whole_number
from attnviz.i18n import _
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import DRAWN, Cell, Quantity, Ranges, View

if TYPE_CHECKING:
    from attnviz.figures.subject import Subject
    from attnviz.model.trace import Trace

ORIENTATIONS = ("queries_as_rows", "queries_as_columns")


def add_picture(command: ArgumentParser) -> None:
    """Add what is drawn, and the style."""
    from attnviz.core.levels import RANGES
    from attnviz.figures.kinds.table import KIND_BY_ID

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
        choices=DRAWN,
        help=_("the view of weights: a map, the map of the heads' mean, or lines between tokens"),
    )
    query = _("one query, 0 the first; with lines also all (default: the view's)")
    command.add_argument("--query", metavar="N|all", help=query)
    command.add_argument(
        "--key", metavar="N", help=_("the key of the pair, 0 the first, in a picture of a query and a key")
    )
    step = _("the step of a decoding, 0 the first (default: the view's)")
    command.add_argument("--step", metavar="N", help=step)
    add_style(command)


def add_gradient(command: ArgumentParser) -> None:
    """Add the choice between the values of the stages and the gradients of a target."""
    of_cell = _("a cell, such as weights[0,2,1], or loss: the number whose gradient is drawn")
    command.add_argument("--target", metavar="TARGET", help=of_cell)
    shown = _("the stages' values, their gradients, or both multiplied (default: the view's)")
    command.add_argument("--show", choices=get_args(Quantity), help=shown)


def computed(known: Document, options: Namespace) -> tuple[Document, Trace]:
    """The document with the chosen quantity in its view, and its values or gradients.

    A target without `--show` means its gradient. Raises `FieldError` for gradients without a target.
    """
    target = options.target or known.view.target
    quantity = options.show or ("gradient" if options.target else known.view.quantity)
    known = replace(known, view=replace(known.view, target=target, quantity=quantity))
    from attnviz.compute.execute import execute_shown

    return known, execute_shown(known.experiment, known.view, options.engine, options.device)


def subject_of(known: Document, trace: Trace, options: Namespace) -> Subject:
    """The chosen stage, head and site of a trace. Raises `ValueError` for an option that is no value."""
    from attnviz.figures.subject import Subject

    view = known.view
    if options.orientation is not None:
        view = replace(view, orientation=options.orientation)
    if options.range is not None:
        view = replace(view, ranges=Ranges.of_all(options.range))
    if options.picture is not None:
        view = replace(view, picture=options.picture)
    if options.query is not None:
        view = _with_query(view, options.query)
    if options.step is not None:
        view = replace(view, step=_position("step", options.step))
    chosen = options.stage, head(options.head), options.site
    if options.key is not None:
        view = _with_key(view, _position("key", options.key), chosen[1])
    return Subject(trace, view, *chosen, title=_(known.title), caption=_(known.caption))


def _position(name: str, text: str) -> int:
    """A place counted from 0."""
    if not text.isascii() or not text.isdigit():
        raise FieldError(name, text, whole_number(0))
    return int(text)


def _with_key(view: View, key: int, head: object) -> View:
    """The view whose query and head stand beside a key."""
    one = head if isinstance(head, int) else view.head
    return replace(view, locked=Cell("weights", view.query, key, one))


def _with_query(view: View, text: str) -> View:
    """The view whose lines and pairs start from one query, counted from 0, or whose lines start from all."""
    if text == "all":
        return replace(view, lines=replace(view.lines, queries="all"))
    if not text.isascii() or not text.isdigit():
        raise FieldError("query", text, must_be("a whole number of at least 0, or 'all'"))
    query = int(text)
    locked = view.locked if query == view.query else None
    return replace(view, query=query, lines=replace(view.lines, queries="one"), locked=locked)
