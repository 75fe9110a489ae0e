"""`attnviz bench`: measure this machine."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable

from attnviz.cli.command import Command
from attnviz.i18n import N_, _


def add(command: ArgumentParser) -> None:
    """Add the options."""
    command.add_argument(
        "subject",
        nargs="?",
        choices=tuple(SUBJECTS),
        help=_(
            "decode: tokens per second compared with transformers; train: a training step compared with "
            "torch (default: engines and window)"
        ),
    )
    command.add_argument("--json", action="store_true", help=_("print JSON"))


def run(options: Namespace) -> int:
    """Measure this machine: engines and window, decoding, or training."""
    return SUBJECTS.get(options.subject, _machine)(options.json)


def _machine(json: bool) -> int:
    from attnviz.bench import main

    return int(main(json=json))


def _decode(json: bool) -> int:
    from attnviz.bench.decoding.bench import main

    return main(json=json)


def _train(json: bool) -> int:
    from attnviz.bench.training.bench import main

    return main(json=json)


SUBJECTS: dict[str, Callable[[bool], int]] = {"decode": _decode, "train": _train}
"""The measurements by name; without a name, that of engines and window."""

COMMAND = Command(
    "bench", N_("measure the engines and the window on this machine, decoding, or training"), add, run
)
