"""Texts of argparse itself, in the program's language."""

from __future__ import annotations

import argparse
import re

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
    N_("invalid choice: %(value)r (choose from %(choices)s)"),
)
"""The argparse messages that a user of this program can encounter."""


class Help(argparse.HelpFormatter):
    """Counts columns instead of characters, breaks Chinese lines, and ends Chinese headings in Chinese."""

    def format_help(self) -> str:
        # argparse itself puts a half-width colon behind every heading.
        return re.sub(r"(?<=[\u4e00-\u9fff]):$", "：", super().format_help(), flags=re.MULTILINE)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(text, width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(indent + line for line in wrapped(text, width - len(indent)))


def speak() -> None:
    """Let argparse look up its texts in the program's catalogue.

    By default it uses the catalogue of the process, which follows the environment alone and not --language,
    through two names in its own module; if those names are missing, its texts stay English.
    """
    vars(argparse).update(_=_, ngettext=ngettext)
