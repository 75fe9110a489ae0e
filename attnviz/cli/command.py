"""A command of the shell, and the ways in which it refuses its input."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnviz.errors import InputError

if TYPE_CHECKING:
    from attnviz.cli.condition import Condition


class Refused(Exception):
    """Wrong input: one sentence for standard error."""


class Named(InputError):
    """An error whose message already names the file."""


@dataclass(frozen=True)
class Command:
    """A row of `COMMANDS`: the name, one line of help, the options, and what it does.

    `help` and `epilog` are messages. `run` returns the exit code; it imports what it needs when it runs, so
    that `attnviz --help` stays quick. Options that do not meet the `conditions` are refused before it.
    """

    name: str
    help: str
    add: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]
    epilog: str = ""
    conditions: tuple[Condition, ...] = ()
