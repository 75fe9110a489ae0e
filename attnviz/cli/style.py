"""The options of a figure's style, which several commands have."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from attnviz.figures.options import OPTIONS, Option
from attnviz.figures.style import Style
from attnviz.i18n import _


def add_style(command: ArgumentParser) -> None:
    """Add a row of `OPTIONS` each."""
    for row in OPTIONS:
        if row.control == "switch":
            action = "store_false" if row.default else "store_true"
            command.add_argument(row.flag, dest=row.field, action=action, help=_help(row))
        else:
            command.add_argument(row.flag, metavar=row.metavar, help=_help(row))


def style(options: Namespace) -> Style:
    """The style of these options. Raises `ValueError` for one that is no value."""
    given = {row.field: getattr(options, row.field) for row in OPTIONS}
    texts = {row.field: row.read(given[row.field]) for row in OPTIONS if isinstance(given[row.field], str)}
    return Style(**{field: value for field, value in (given | texts).items() if value is not None})


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
