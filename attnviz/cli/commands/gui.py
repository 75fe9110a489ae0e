"""`attnviz gui`: open the window."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from attnviz.checkpoints.hub import is_downloaded
from attnviz.checkpoints.presets import preset_ids
from attnviz.cli.command import Command, Refused
from attnviz.cli.options import no_document
from attnviz.i18n import N_, _


def add(command: ArgumentParser) -> None:
    """Add the document."""
    command.add_argument(
        "document",
        nargs="?",
        metavar="DOC",
        help=_("a document file, the name of a preset, a lesson, or a trained model"),
    )


def run(options: Namespace) -> int:
    """Open the window, with the given document."""
    return open_window(getattr(options, "document", None), options.language)


def open_window(document: str | None, language: str | None = None) -> int:
    """Open the window, in this language from now on, and return its exit code.

    Raises `Refused` without the document or a display.
    """
    first = None if document is None else _named(document)
    has_display = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"))
    if sys.platform.startswith("linux") and not has_display:
        raise Refused(
            _(
                "the window needs a display; found none. attnviz --help lists the commands that work "
                "without one"
            )
        )
    try:
        from attnviz.gui.interpreter import tune_interpreter

        tune_interpreter()
        from attnviz.gui.app import main as window
    except ImportError as error:
        raise Refused(_("the window cannot be opened: {reason}").format(reason=error)) from None
    return window(first, language)


def _named(document: str) -> Path | str:
    """A file, a name of the hub, or the id of a preset. Raises `Refused` if it is none."""
    if document and (Path(document).exists() or is_downloaded(document)):
        return Path(document)
    if document in preset_ids():
        return document
    if Path(document).suffix:
        raise Refused(_("{file}: no such file").format(file=document))
    raise Refused(no_document(document).text())


ARRAYS = N_(
    "An .npz file of another program opens too. From q, k and perhaps v (or query, key, value), each "
    "(head, token, feature), with mask (or attn_mask; true where a query attends, or numbers to add), "
    "is_causal and scale (or softmax_scale), every stage is computed; layout is 'head token feature' or "
    "'token head feature', where the sizes fit both. From attentions (or weights) alone, (layer, head, "
    "query, key), the weights are as given. tokens and memory_tokens are texts."
)
"""The arrays that `model/io/activations.py` reads."""

COMMAND = Command("gui", N_("open the window"), add, run, ARRAYS)
