"""`attnviz patch`: activation patching between two texts."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from msgspec.structs import replace

from attnviz.cli.command import Command
from attnviz.cli.options import add_document, add_target, document, print_table
from attnviz.core.text import number
from attnviz.i18n import N_, _
from attnviz.model.edit.edits import set_tokens
from attnviz.model.sites.titles import head_title, layer_label
from attnviz.model.text import MODEL, shown_token, split_text


def add(command: ArgumentParser) -> None:
    """Add the options."""
    add_document(command)
    add_target(command)
    command.add_argument(
        "--corrupted-text",
        metavar="TEXT",
        required=True,
        help=_("a text of as many tokens with another answer"),
    )
    command.add_argument(
        "--stage",
        default="layer_input",
        help=_("the patched stage (default: layer_input)"),
    )


def run(options: Namespace) -> int:
    """Print the recovered share of the target for each attention and position, or head and position."""
    from attnviz.study.patching import patch
    from attnviz.study.target import Target

    clean = document(options)
    tokens = split_text(clean.experiment, options.corrupted_text, MODEL.id)
    corrupted = replace(clean, experiment=set_tokens(clean.experiment, tokens))
    target = Target(options.target, options.against, options.position)
    patched = patch(clean, corrupted, target, options.stage, engine=options.engine, device=options.device)
    print(
        _("clean {clean}, corrupted {corrupted}").format(
            clean=number(patched.clean, 4), corrupted=number(patched.corrupted, 4)
        )
    )
    given = clean.experiment
    head = (_("attention"), *(shown_token(given.vocabulary, token) for token in given.tokens))
    rows = [
        (layer_label(given, site) if shares.ndim == 1 else head_title(given, site, index), *map(_share, row))
        for site, shares in patched.values.items()
        for index, row in enumerate(shares.reshape(-1, shares.shape[-1]))
    ]
    print_table([head, *rows])
    return 0


def _share(value: float) -> str:
    return number(float(value), 2)


COMMAND = Command("patch", N_("patch stages of one text into another; list what they recover"), add, run)
