"""`attnviz presets`: list the documents that ship with the program."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from attnviz.checkpoints.presets import PRESETS, preset_ids
from attnviz.cli.command import Command
from attnviz.i18n import N_, _
from attnviz.model.captions import plain_caption


def add(command: ArgumentParser) -> None:
    """No options."""


def run(options: Namespace) -> int:
    """List the presets: id and purpose."""
    longest = max(len(id_) for id_ in preset_ids())
    for preset in PRESETS:
        print(f"{preset.id:<{longest}}  {_(preset.title)} · {plain_caption(_(preset.description))}")
    return 0


COMMAND = Command("presets", N_("list the documents that ship with the program"), add, run)
