"""What argparse says itself, in the program's language."""

from __future__ import annotations

import argparse

from attnviz.core.text import wrapped
from attnviz.i18n import N_, _, ngettext

WORDS = (
    N_("usage: "),
    N_("positional arguments"),
    N_("options"),
    N_("show this help message and exit"),
    N_("argument %(argument_name)s: %(message)s"),
    N_("unrecognized arguments: %s"),
    N_("the following arguments are required: %s"),
    N_("expected one argument"),
    N_("expected at least one argument"),
    N_("ignored explicit argument %r"),
    N_("not allowed with argument %s"),
    N_("invalid %(type)s value: %(value)r"),
    N_("invalid choice: %(value)r (choose from %(choices)s)"),
)
"""Its messages that a user of this program can come to see."""


class Help(argparse.HelpFormatter):
    """Counts columns where argparse counts characters, and breaks Chinese lines, which have no spaces."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(text, width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(indent + line for line in wrapped(text, width - len(indent)))


def speak() -> None:
    """Let argparse look its words up in the program's catalogue.

    It takes them from the catalogue of the process, which follows the environment alone and not --language,
    through two names of its own module; without these names its words stay English.
    """
    vars(argparse).update(_=_, ngettext=ngettext)
