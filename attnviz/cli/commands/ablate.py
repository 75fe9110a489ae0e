"""`attnviz ablate`: the effect of each head, attention or feed-forward layer on a logit."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from msgspec.structs import replace

from attnviz.cli.command import Command, Condition
from attnviz.cli.options import Count, add_document, add_target, document, print_table
from attnviz.core.text import number
from attnviz.i18n import N_, _
from attnviz.model.edit.edits import set_tokens
from attnviz.model.sites.titles import head_title, layer_label
from attnviz.model.text import MODEL, split_text


def add(command: ArgumentParser) -> None:
    """Add the options."""
    from attnviz.study.ablation import PARTS, REPLACEMENTS

    add_document(command)
    add_target(command)
    parts = [row.id for row in PARTS]
    command.add_argument("--part", default=parts[0], choices=parts, help=_("the ablated parts"))
    ways = [row.id for row in REPLACEMENTS]
    command.add_argument("--by", default=ways[0], choices=ways, help=_("the numbers that replace them"))
    command.add_argument(
        "--other-text",
        metavar="TEXT",
        help=_("with --by other: a text of as many tokens"),
    )
    command.add_argument(
        "--top", action=Count, default=10, metavar="N", help=_("only the first N (default: 10)")
    )


def run(options: Namespace) -> int:
    """Print the parts whose ablation changes the target most."""
    from attnviz.study.ablation import ablate
    from attnviz.study.target import Target

    known = document(options)
    other = None
    if options.other_text is not None:
        tokens = split_text(known.experiment, options.other_text, MODEL.id)
        other = replace(known, experiment=set_tokens(known.experiment, tokens))
    target = Target(options.target, options.against, options.position)
    where = {"engine": options.engine, "device": options.device}
    ablation = ablate(known, target, options.part, options.by, other, **where)
    print(_("logit without ablation: {value}").format(value=number(ablation.base, 4)))
    parts = [
        (float(change), site, head)
        for site, values in ablation.values.items()
        for head, change in enumerate(values)
    ]
    parts.sort(key=lambda row: -abs(row[0]))
    of_heads, given = options.part == "heads", known.experiment
    rows = [
        (
            head_title(given, site, head) if of_heads else layer_label(given, site),
            number(change, 4),
            f"--site {site} --head {head}" if of_heads else f"--site {site}",
        )
        for change, site, head in parts[: options.top]
    ]
    print_table([(_("head") if of_heads else _("layer"), _("change"), _("as options")), *rows])
    return 0


CONDITIONS = (
    Condition("--other-text", "--by", ("other",)),
    Condition("--by", "--other-text", of=("other",)),
)

COMMAND = Command(
    "ablate",
    N_("ablate each head or layer of a model; list the effects on a logit"),
    add,
    run,
    conditions=CONDITIONS,
)
