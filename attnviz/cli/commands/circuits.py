"""`attnviz circuits`: the OV or QK circuit of a head through the vocabulary."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from attnviz.cli.command import Command
from attnviz.cli.options import add_document, document, print_table, whole_number_option
from attnviz.core.text import number, visible
from attnviz.i18n import N_, _


def add(command: ArgumentParser) -> None:
    """Add the options."""
    add_document(command)
    command.add_argument(
        "--site", required=True, metavar="SITE", help=_("an attention, such as layers.0.self")
    )
    command.add_argument(
        "--head", type=int, required=True, metavar="N", help=_("one of its heads, counted from 0")
    )
    command.add_argument(
        "--kind", default="ov", metavar="ID", help=_("ov: source to output token, or qk (default: ov)")
    )
    command.add_argument("--token", metavar="TOKEN", help=_("only pairs with this token as the first"))
    command.add_argument(
        "--top", type=whole_number_option, default=10, metavar="N", help=_("only the first N (default: 10)")
    )


def run(options: Namespace) -> int:
    """Print the strongest pairs of tokens."""
    from attnviz.analysis.circuits import circuit

    found = circuit(
        document(options),
        options.site,
        options.head,
        options.kind,
        options.top,
        options.token,
        engine=options.engine,
        device=options.device,
    )
    head = (_("query"), _("key"), _("score")) if options.kind == "qk" else (_("source"), _("output"), "logit")
    print_table([head, *((visible(p.first), visible(p.second), number(p.value, 3)) for p in found)])
    return 0


COMMAND = Command("circuits", N_("list the token pairs of a head's OV or QK circuit"), add, run)
