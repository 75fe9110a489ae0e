"""`attnviz circuits`: the OV or QK circuit of a head through the vocabulary, as a list or as a file."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from attnviz.cli.command import OUTPUT, Command, Condition, Named
from attnviz.cli.options import (
    Count,
    add_document,
    document,
    execute,
    notice,
    place,
    print_table,
    recorded,
    written,
)
from attnviz.cli.picture import add_style, style
from attnviz.core.text import number
from attnviz.errors import about, suffix_error
from attnviz.figures.files import FORMATS
from attnviz.figures.options import OPTIONS
from attnviz.i18n import N_, _
from attnviz.model.io.titles import as_shown
from attnviz.model.spec.document import Document
from attnviz.model.text import shown_token
from attnviz.study.circuit_texts import MOST_PAIRS, left_out

if TYPE_CHECKING:
    from attnviz.figures.kinds.pairs import Rows

LISTED = 10
CSV_SUFFIX = ".csv"
STYLE = tuple(row for row in OPTIONS if row.field not in ("names", "sums", "bar", "square"))
"""The options of a picture that has no matrix."""
PICTURES = tuple(f".{row.id}" for row in FORMATS)


def add(command: ArgumentParser) -> None:
    """Add the options."""
    add_document(command)
    says = _("{pictures} or .csv (default: a list on standard output)").format(pictures=".svg, .pdf, .png")
    command.add_argument("-o", "--output", metavar="FILE", help=says)
    command.add_argument(
        "--site", metavar="NAME", help=_("the attention, such as layers.0.self (default: the selected one)")
    )
    command.add_argument("--head", metavar="N", help=_("a head, 0 the first (default: the selected one)"))
    command.add_argument(
        "--kind", default="ov", metavar="ID", help=_("ov: source to output token, or qk (default: ov)")
    )
    command.add_argument("--token", metavar="TOKEN", help=_("only pairs with this token as the first"))
    first = _("only the first N (default: {listed}, in a file {written})")
    command.add_argument(
        "--top",
        action=Count,
        metavar="N",
        help=first.format(listed=LISTED, written=MOST_PAIRS),
    )
    add_style(command, STYLE)


def run(options: Namespace) -> int:
    """Print the strongest pairs of tokens, or write them as a picture or as a table."""
    look = style(options)
    if options.output is not None:
        _check_suffix(options.output)
    known = _at_head(document(options), options)
    pairs = _pairs(known, options)
    without = left_out(options.kind, known.attention)
    if without is not None:
        notice(without)
    if options.output is None:
        words = (_("query"), _("key"), _("score"))
        if options.kind != "qk":
            words = _("source"), _("output"), "logit"
        name = partial(shown_token, known.experiment.vocabulary)
        print_table([words, *((name(one), name(two), number(value, 3)) for one, two, value in pairs)])
        return 0
    from attnviz.figures import save_figure
    from attnviz.figures.kinds.pairs import circuit_csv, circuit_figure
    from attnviz.figures.subject import Subject
    from attnviz.model.io.carriers.table import files_carrying
    from attnviz.model.io.files import replace_files

    subject = Subject(
        execute(known, options), known.view, title=as_shown(known.title), caption=as_shown(known.caption)
    )
    record = recorded(subject.document(known))
    if Path(options.output).suffix.lower() == CSV_SUFFIX:
        files = files_carrying(circuit_csv(pairs), Path(options.output), record)
        written(options.output, lambda: replace_files(files))
        return 0
    figure = circuit_figure(pairs, options.kind, subject, look)
    written(options.output, lambda: save_figure(figure, options.output, dpi=look.dpi, record=record))
    return 0


def _check_suffix(output: str) -> None:
    known = (*PICTURES, CSV_SUFFIX)
    suffix = Path(output).suffix
    if suffix.lower() not in known:
        raise Named(about(output, suffix_error(suffix, known).message))


def _at_head(known: Document, options: Namespace) -> Document:
    """The document that shows the chosen head."""
    site = known.site if options.site is None else options.site
    head = known.view.head if options.head is None else place("head", options.head)
    return replace(known, view=replace(known.view, site=site, head=head))


def _pairs(known: Document, options: Namespace) -> Rows:
    from attnviz.study.circuits import circuit

    top = options.top or (LISTED if options.output is None else MOST_PAIRS)
    pairs = circuit(
        known,
        known.view.site,
        known.view.head,
        options.kind,
        top,
        options.token,
        engine=options.engine,
        device=options.device,
    )
    return [(pair.first, pair.second, pair.value) for pair in pairs]


CONDITIONS = (
    *(Condition(row.flag, OUTPUT) for row in STYLE),
    *(Condition(row.flag, OUTPUT, PICTURES) for row in STYLE),
)

COMMAND = Command(
    "circuits",
    N_("list or draw the token pairs of a head's OV or QK circuit"),
    add,
    run,
    conditions=CONDITIONS,
)
