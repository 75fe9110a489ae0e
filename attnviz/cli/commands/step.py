"""`attnviz step`: steps of gradient descent on a document; a table, and the document after them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from msgspec.structs import replace

from attnviz.cli.command import Command
from attnviz.cli.options import Count, add_document, document, number_option, print_table, written
from attnviz.core.text import number, signed
from attnviz.i18n import N_, _

WRITTEN = N_(
    "Each step is w ← w − η g, with the rate η and the derivative g of the target by w. The table has the "
    "target after each step, its change, the change −η Σ g² that the gradient predicts, and the number "
    "with the largest |g|."
)


def add(command: ArgumentParser) -> None:
    """Add the options."""
    from attnviz.training.step import ALL

    add_document(command)
    command.add_argument(
        "--target", default="loss", help=_("loss, or a cell such as weights[0,2,1] (default: loss)")
    )
    command.add_argument(
        "--rate", type=number_option, default=0.1, metavar="η", help=_("the learning rate (default: 0.1)")
    )
    command.add_argument(
        "--steps", action=Count, default=1, metavar="N", help=_("the number of steps (default: 1)")
    )
    command.add_argument(
        "--what",
        default=ALL,
        metavar="NAME",
        help=_("the parameter that changes, or one of its numbers, such as vectors[2,0] (default: all)"),
    )
    command.add_argument(
        "-o", "--output", metavar="FILE", help=_("the document after them, .safetensors or .json")
    )


def run(options: Namespace) -> int:
    """Take the steps, print them, and save the document."""
    from attnviz.model.io.files import save
    from attnviz.training.step import take_step

    known = document(options)
    rows = [(_("step"), options.target, _("change"), "−η Σ g²", _("largest |g|"), "w", "w − η g")]
    for index in range(options.steps):
        step = take_step(
            known.experiment, options.target, options.rate, options.what, options.engine, options.device
        )
        if index == 0:
            rows.append(("0", number(step.before, 6), "", "", "", "", ""))
        weight = step.weight
        changed = number(weight.number, 6), number(weight.after(options.rate), 6)
        outcome = number(step.after, 6), signed(step.change), signed(step.predicted)
        rows.append((str(index + 1), *outcome, str(weight), *changed))
        known = replace(known, experiment=step.experiment)
    print_table(rows)
    if options.output is not None:
        written(options.output, lambda: save(known, options.output))
    return 0


COMMAND = Command("step", N_("take steps of gradient descent on a loss or a cell"), add, run, WRITTEN)
