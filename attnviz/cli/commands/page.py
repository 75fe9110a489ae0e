"""`attnviz page`: a document as one file of HTML that opens in any browser."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from msgspec.structs import replace

from attnviz.cli.command import Command
from attnviz.cli.options import add_document, document, execute, recorded, written
from attnviz.i18n import N_, _

if TYPE_CHECKING:
    from attnviz.engines.decode.run import Decoding
    from attnviz.model.spec.document import Document


def add(command: ArgumentParser) -> None:
    """Add the options."""
    add_document(command)
    command.add_argument("-o", "--output", metavar="FILE.html", required=True, help=_("the page"))
    command.add_argument("--no-steps", action="store_true", help=_("omit the generated tokens"))


def run(options: Namespace) -> int:
    """Compute a document, decode it if it generates, and write its page."""
    from attnviz.pages.page import check_suffix, save_page

    known = document(options)
    written(options.output, lambda: check_suffix(options.output))
    decoding = None if options.no_steps else _decoding(known, options)
    # The picture grows with the steps: it needs the numbers of the tokens that were generated.
    whole = known if decoding is None else replace(known, experiment=decoding.experiment)
    trace = execute(whole, options)
    record = recorded(known)
    written(options.output, lambda: save_page(known, trace, options.output, decoding, record))
    return 0


def _decoding(known: Document, options: Namespace) -> Decoding | None:
    """The generated tokens of a document that generates; None for others."""
    if known.experiment.writing is None:
        return None
    from attnviz.compute.execute import execute_decoding

    return execute_decoding(known.experiment, None, options.engine, options.device)


COMMAND = Command("page", N_("save a page that opens in any browser without a network"), add, run)
