"""`attnviz table`: write a stage as a table."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from attnviz.cli.command import Command, Condition, Named
from attnviz.cli.options import add_document, document, recorded, written
from attnviz.cli.options import head as parse_head
from attnviz.cli.picture import (
    OF_THE_STATE_A,
    OF_THE_TARGET,
    add_against,
    add_gradient,
    add_step,
    computed,
    other_of,
)
from attnviz.errors import FieldError, InputError, Message, about, must_be, suffix_error, whole_number
from attnviz.i18n import N_, _
from attnviz.model.io.tables import MOST_DIGITS, TABLE_BY_ID, TABLES, TableFormat

CSV = "csv"
CARRIED = N_(
    "A file carries the document and opens in attnviz: Markdown and LaTeX in a comment at the end, NPZ in an "
    "array named attnviz, CSV in the file of its metadata beside it (CSV on the Web, W3C): "
    "weights.csv-metadata.json. Standard output has the table alone."
)


def add(command: ArgumentParser) -> None:
    """Add the options."""
    add_document(command)
    command.add_argument("-o", "--output", metavar="FILE", help=_("a file (default: standard output)"))
    command.add_argument("--stage", help=_("the stage (default: the one the document shows)"))
    command.add_argument("--site", metavar="NAME", help=_("the attention (default: the selected one)"))
    command.add_argument("--head", metavar="N", help=_("a head, 0 the first (default: the selected one)"))
    add_gradient(command)
    add_step(command)
    add_against(command)
    command.add_argument("--digits", metavar="N", help=_("decimals (default: every digit)"))
    of_suffix = _("the format (default: that of the file's suffix, or csv)")
    command.add_argument("--format", choices=list(TABLE_BY_ID), help=of_suffix)


def run(options: Namespace) -> int:
    """Write one head of a stage."""
    from attnviz.figures.content import chosen_heads
    from attnviz.figures.kinds.comparison import contrast_of
    from attnviz.figures.subject import Subject
    from attnviz.model.io.carriers.table import files_carrying
    from attnviz.model.io.files import replace_files
    from attnviz.model.io.tables import Table, table_bytes
    from attnviz.model.stages import STAGE_BY_ID
    from attnviz.study.contrast.contrast import contrast_csv

    row, digits, chosen = _format(options), _digits(options.digits), parse_head(options.head)
    if chosen == "all":
        raise FieldError("head", chosen, must_be("one head"))
    if options.against is not None and (row.id != CSV or digits is not None):
        raise InputError(Message("The table of a comparison must be CSV with all digits."))
    known, trace = computed(document(options), options)
    other = other_of(options, known.view)
    subject = Subject(
        trace, known.view, options.stage, chosen, options.site, other=other, alignment=options.align
    )
    site, stage = subject.shown_site, subject.checked_stage
    if other is None:
        (head,) = chosen_heads(site, known.view, STAGE_BY_ID[stage], chosen)
        data = table_bytes(Table.of(site, stage, head), row.id, digits)
    else:
        data = contrast_csv(contrast_of(subject)).encode("utf-8-sig", "backslashreplace")
    if options.output is None:
        sys.stdout.write(data.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n"))
    else:
        record = recorded(subject.document(known))
        files = files_carrying(data, Path(options.output), record)
        written(options.output, lambda: replace_files(files))
    return 0


def _format(options: Namespace) -> TableFormat:
    """The chosen format, or the first one of the file's suffix."""
    if options.format is not None:
        row = TABLE_BY_ID[options.format]
        if options.output is None and not row.is_text:
            raise InputError(Message("The format {format} must have a file (-o).", format=row.id))
        if options.output is not None:
            _suffix_among((row,), options.output)
        return row
    if options.output is None:
        return TABLES[0]
    return _suffix_among(TABLES, options.output)


def _suffix_among(formats: Sequence[TableFormat], output: str) -> TableFormat:
    """The first of some formats with the suffix of a file. Raises `Named` if none has it."""
    suffix = Path(output).suffix
    for row in formats:
        if row.suffix == suffix.lower():
            return row
    known = dict.fromkeys(row.suffix for row in formats)
    raise Named(about(output, suffix_error(suffix, known).message))


def _digits(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isascii() or not text.isdigit():
        raise FieldError("digits", text, whole_number(0, MOST_DIGITS))
    return int(text)


CONDITIONS = (
    *OF_THE_STATE_A,
    Condition("--step", "--follow"),
    OF_THE_TARGET,
)

COMMAND = Command("table", N_("write a stage as a table"), add, run, CARRIED, CONDITIONS)
