"""The options of a picture, which several commands have, and the subject that they select."""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, get_args

from msgspec.structs import replace

from attnviz.cli.command import Condition, check_conditions
from attnviz.cli.options import document, head, number_option, place
from attnviz.core.alignment import ALIGNMENT_BY_ID
from attnviz.core.levels import RANGES
from attnviz.errors import FieldError, among, must_be, whole_number
from attnviz.figures.figure import kind_of
from attnviz.figures.kinds.table import KIND_BY_ID, KINDS, OF_WORDS, PAIRS
from attnviz.figures.options import OPTIONS, Option
from attnviz.figures.style import NARROW_MM, Style
from attnviz.i18n import _
from attnviz.model.io.titles import as_shown
from attnviz.model.projections import PROJECTION_BY_ID
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import DRAWN, Cell, Quantity, View


def add_style(command: ArgumentParser, rows: Sequence[Option] = OPTIONS) -> None:
    """Add an option for each row."""
    for row in rows:
        if row.is_by_width:
            command.add_argument(row.flag, action=BooleanOptionalAction, help=_help(row))
        elif row.control == "switch":
            action = "store_false" if row.default else "store_true"
            command.add_argument(row.flag, dest=row.field, action=action, help=_help(row))
        else:
            command.add_argument(row.flag, metavar=row.metavar, help=_help(row))


def style(options: Namespace) -> Style:
    """The style of these options. Raises `ValueError` for one that is no value."""
    given = {row: getattr(options, row.field, None) for row in OPTIONS}
    values = {row.field: row.read(one) if isinstance(one, str) else one for row, one in given.items()}
    return Style(**{field: value for field, value in values.items() if value is not None})


def _help(row: Option) -> str:
    """The sentence of the option; one that removes a part says so."""
    hint = _(row.hint)
    if hint[1:2].islower():  # the hints of the window begin with a capital, those of the shell do not
        hint = hint[0].lower() + hint[1:]
    if row.control == "switch" and row.default:
        return _("without {part}").format(part=hint)
    if row.is_by_width:
        return _("{hint} (default: in a figure of at least {width} mm)").format(hint=hint, width=NARROW_MM)
    if row.default is None or row.control == "switch":
        return hint
    return _("{hint} (default: {value})").format(hint=hint, value=row.default)


if TYPE_CHECKING:
    from attnviz.figures.subject import Subject
    from attnviz.model.trace import SiteTrace, Trace

ORIENTATIONS = ("queries_as_rows", "queries_as_columns")

OF_THE_STATE_A = tuple(
    Condition(option, "--against") for option in ("--against-site", "--against-head", "--align")
)
OF_THE_TARGET = Condition("--target", "--show", ("value",), is_barred=True)


def _kinds(option: str) -> tuple[str, ...]:
    """The kinds of pictures that an option changes."""
    return tuple(row.id for row in KINDS if option in row.options)


OF_THE_PICTURE = (
    *(Condition(f"--{name}", "--kind", _kinds(name)) for name in ("stage", "orientation", "range", "square")),
    Condition("--site", "--kind", _kinds("site"), but=("all",)),
    Condition("--site", "--kind", ("sites",), of=("all",)),
    Condition("--head", "--kind", _kinds("head"), but=("all",)),
    Condition("--head", "--kind", ("stage", "heads", *OF_WORDS), of=("all",)),
    Condition("--as", "--kind", _kinds("orientation"), of=("map",)),
    Condition("--as", "--kind", ("stage",), of=("mean",)),
    Condition("--as", "--head", of=("mean",), is_barred=True),
    *(Condition("--as", "--kind", (kind,), of=(kind,)) for kind in OF_WORDS),
    Condition("--query", "--kind", _kinds("query"), but=("all",)),
    Condition("--query", "--kind", ("lines",), of=("all",)),
    Condition("--key", "--kind", PAIRS),
    Condition("--plane", "--kind", ("plane",)),
    Condition("--plane", "--projection", ("features",)),
    Condition("--projection", "--kind", ("plane",)),
    Condition("--part", "--kind", _kinds("part")),
    OF_THE_TARGET,
)
"""Of the options of `add_picture` and `add_gradient`; a picture without a part needs no option against it."""


def add_picture(command: ArgumentParser) -> None:
    """Add what is drawn, and the style."""
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
        help=_("the view of weights: a map, the map of the heads' mean, lines between tokens, or arcs"),
    )
    query = _("one query, 0 the first; with lines also all (default: the view's)")
    command.add_argument("--query", metavar="N|all", help=query)
    command.add_argument(
        "--key", metavar="N", help=_("the key of the pair, 0 the first, in a picture of a query and a key")
    )
    pair = _("the two features on the axes of the plane, 0 the first (default: the view's)")
    command.add_argument("--plane", metavar="I,J", help=pair)
    projected = _("the projection of many features into the plane (default: the view's)")
    command.add_argument("--projection", choices=list(PROJECTION_BY_ID), help=projected)
    part = _("the part of the way of a sum of values, from 0, the query alone, to 1 (default: 1)")
    command.add_argument("--part", type=number_option, metavar="T", help=part)
    add_style(command)


def add_gradient(command: ArgumentParser) -> None:
    """Add the choice between the values of the stages and the gradients of a target."""
    of_cell = _("a cell, such as weights[0,2,1], or loss: the number whose gradient is drawn")
    command.add_argument("--target", metavar="TARGET", help=of_cell)
    shown = _("the stages' values, their gradients, or both multiplied (default: the view's)")
    command.add_argument("--show", choices=get_args(Quantity), help=shown)


def add_step(command: ArgumentParser) -> None:
    """Add the decoding step, and the choice to show the tokens generated up to it."""
    step = _("the step of a decoding, 0 the first (default: the view's)")
    command.add_argument("--step", metavar="N", help=step)
    follow = _("compute the tokens generated up to that step in place of the document's")
    command.add_argument("--follow", action="store_true", help=follow)


def add_against(command: ArgumentParser) -> None:
    """Add the state A of a comparison, its place and the alignment."""
    command.add_argument("--against", metavar="DOC", help=_("the state A of a comparison; DOC is B"))
    command.add_argument("--against-site", metavar="NAME", help=_("the attention of A (default: that of B)"))
    command.add_argument("--against-head", metavar="N", help=_("the head of A (default: that of B)"))
    aligned = _("how the tokens of A and B are aligned (default: by position)")
    command.add_argument("--align", choices=list(ALIGNMENT_BY_ID), default="position", help=aligned)


def other_of(options: Namespace, view: View) -> Subject | None:
    """The state A of a comparison, with the quantity of the view of B; None without one."""
    if options.against is None:
        return None
    from attnviz.compute.execute import execute_shown
    from attnviz.figures.subject import Subject

    known = document(Namespace(**{**vars(options), "document": options.against, "text": None}))
    trace = execute_shown(known.experiment, view, options.engine, options.device)
    site, place = options.against_site or options.site, options.against_head or options.head
    if options.against_site not in (None, *trace.sites):
        raise FieldError("against_site", options.against_site, among(trace.sites))
    first = Subject(trace, known.view, options.stage, head(place), site, title=as_shown(known.title))
    last = trace.shown(site or known.view.site).experiment.heads.n_heads - 1
    if options.against_head is not None and not (isinstance(first.head, int) and first.head <= last):
        raise FieldError("against_head", options.against_head, whole_number(0, last))
    return first


def computed(known: Document, options: Namespace) -> tuple[Document, Trace]:
    """The document with the chosen quantity in its view, and its values or gradients.

    A target without `--show` means its gradient. Raises `FieldError` for gradients without a target.
    """
    target = known.view.target if options.target is None else options.target
    quantity = options.show or (known.view.quantity if options.target is None else "gradient")
    known = replace(known, view=replace(known.view, target=target, quantity=quantity))
    from attnviz.compute.execute import execute_decoding, execute_shown

    where = options.engine, options.device
    experiment = known.experiment
    if options.follow:
        step = known.view.step if options.step is None else place("step", options.step)
        experiment = execute_decoding(experiment, None, *where).up_to(step)
    return known, execute_shown(experiment, known.view, *where)


def subject_of(known: Document, trace: Trace, options: Namespace) -> Subject:
    """The chosen stage, head and site of a trace. Raises `ValueError` for an option that is no value."""
    from attnviz.figures.subject import Subject

    view = known.view
    if options.orientation is not None:
        view = replace(view, orientation=options.orientation)
    if options.range is not None:
        view = view.ranged(options.range)
    if options.picture is not None:
        view = replace(view, picture=options.picture)
    elif view.picture == "arcs":  # a document opens with them; a command draws them by name
        view = replace(view, picture="map")
    if options.query is not None:
        view = _with_query(view, options.query)
    if options.step is not None:
        view = replace(view, step=place("step", options.step))
    if options.plane is not None:
        view = replace(view, plane=_pair("plane", options.plane))
    if options.projection is not None:
        view = replace(view, projection=options.projection)
    chosen = options.stage, head(options.head), options.site
    site = Subject(trace, view, *chosen).shown_site
    _check_places(site, options)
    if options.key is not None:
        view = _with_key(view, site.raw_map, place("key", options.key), chosen[1])
    return Subject(
        trace,
        view,
        *chosen,
        title=as_shown(known.title),
        caption=as_shown(known.caption),
        part=1.0 if options.part is None else options.part,
    )


def drawn_kind(subject: Subject, options: Namespace, conditions: Iterable[Condition]) -> str:
    """The kind of the picture. Raises `Refused` for an option that has no effect beside it and the view."""
    kind: str = options.kind or kind_of(subject, options.picture)
    known = {"kind": kind, "projection": subject.view.projection}
    check_conditions(Namespace(**{**vars(options), **known}), conditions)
    return kind


def _check_places(site: SiteTrace, options: Namespace) -> None:
    """Refuse a query, a key and an axis of the plane that the attention does not have."""
    n_queries, n_keys = site.shape(site.raw_map)[-2:]
    for name, text, count in (("query", options.query, n_queries), ("key", options.key, n_keys)):
        if text not in (None, "all") and place(name, text) >= count:
            raise FieldError(name, int(text), whole_number(0, count - 1))
    if options.plane is None or "q" not in site.stages:
        return
    last = max(1, site.shape("q")[-1] - 1)
    if max(_pair("plane", options.plane)) > last:
        needed = must_be("two different whole numbers from {least} to {most}", least=0, most=last)
        raise FieldError("plane", options.plane, needed)


def _pair(name: str, text: str) -> tuple[int, int]:
    """Two places counted from 0, with a comma between them."""
    parts = text.split(",")
    is_pair = len(parts) == 2 and all(part.isascii() and part.isdigit() for part in parts)
    if not is_pair or int(parts[0]) == int(parts[1]):
        raise FieldError(name, text, must_be("two different whole numbers of at least 0, such as 0,1"))
    return int(parts[0]), int(parts[1])


def _with_key(view: View, stage: str, key: int, head: object) -> View:
    """The view whose query and head stand beside a key."""
    one = head if isinstance(head, int) else view.head
    return replace(view, locked=Cell(stage, view.query, key, one))


def _with_query(view: View, text: str) -> View:
    """The view whose lines and pairs start from one query, counted from 0, or whose lines start from all."""
    if text == "all":
        return replace(view, lines=replace(view.lines, queries="all"))
    if not text.isascii() or not text.isdigit():
        raise FieldError("query", text, must_be("a whole number of at least 0, or 'all'"))
    query = int(text)
    locked = view.locked if query == view.query else None
    return replace(view, query=query, lines=replace(view.lines, queries="one"), locked=locked)
