"""`attnviz bench`: measure this machine."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from attnviz.cli.command import Command
from attnviz.i18n import N_, _


def add(command: ArgumentParser) -> None:
    """Add the options."""
    command.add_argument(
        "subject",
        nargs="?",
        choices=("decode",),
        help=_("decode: tokens per second compared with transformers (default: engines and window)"),
    )
    command.add_argument("--json", action="store_true", help=_("print JSON"))


def run(options: Namespace) -> int:
    """Measure this machine: engines and window, or decoding."""
    if options.subject == "decode":
        from attnviz.bench.decoding.bench import main as of_decoding

        return of_decoding(json=options.json)
    from attnviz.bench import main

    return int(main(json=options.json))


COMMAND = Command("bench", N_("measure the engines and the window on this machine, or decoding"), add, run)
