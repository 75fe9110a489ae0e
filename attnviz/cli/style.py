"""The options of a figure's style, which several commands have."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from attnviz.figures.options import OPTIONS, Option
from attnviz.figures.style import Style
from attnviz.i18n import _


def add_style(command: ArgumentParser, rows: Sequence[Option] = OPTIONS) -> None:
    """Add an option for each row."""
    for row in rows:
        if row.control == "switch":
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
    if row.default is None or row.control == "switch":
        return hint
    return _("{hint} (default: {value})").format(hint=hint, value=row.default)
