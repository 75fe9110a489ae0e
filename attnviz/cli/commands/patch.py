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
    texts = command.add_mutually_exclusive_group(required=True)
    texts.add_argument(
        "--corrupted-text",
        metavar="TEXT",
        help=_("a text of as many tokens with another answer; it runs, with the stage of the document"),
    )
    texts.add_argument(
        "--clean-text",
        metavar="TEXT",
        help=_("such a text whose stage is put into the document, which runs; as in the window"),
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

    known = document(options)
    given, is_clean = known.experiment, options.clean_text is None
    text = options.corrupted_text if is_clean else options.clean_text
    other = replace(known, experiment=set_tokens(given, split_text(given, text, MODEL.id)))
    clean, corrupted = (known, other) if is_clean else (other, known)
    target = Target(options.target, options.against, options.position)
    patched = patch(clean, corrupted, target, options.stage, engine=options.engine, device=options.device)
    says = (
        _("The corrupted text runs, with {stage} of the document: clean {clean}, corrupted {corrupted}")
        if is_clean
        else _("The document runs, with {stage} of the clean text: clean {clean}, corrupted {corrupted}")
    )
    clean_logit, corrupted_logit = (number(logit, 4) for logit in (patched.clean, patched.corrupted))
    print(says.format(stage=options.stage, clean=clean_logit, corrupted=corrupted_logit))
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
