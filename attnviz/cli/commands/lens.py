"""`attnviz lens`: what each layer of a model would answer."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from attnviz.cli.command import Command
from attnviz.cli.options import Count, add_document, add_target, document, print_table
from attnviz.core.text import number
from attnviz.errors import FieldError, whole_number
from attnviz.i18n import N_, _
from attnviz.model.sites.titles import layer_label
from attnviz.model.text import shown_token


def add(command: ArgumentParser) -> None:
    """Add the options."""
    add_document(command)
    add_target(command, required=False, is_compared=False)
    command.add_argument(
        "--top",
        action=Count,
        default=3,
        metavar="N",
        help=_("the number of tokens (default: 3)"),
    )


def run(options: Namespace) -> int:
    """Print the most probable tokens after each layer, and the rank of the target."""
    from attnviz.study.lens import logit_lens
    from attnviz.study.target import Target

    target = None
    if options.target is not None:
        target = Target(options.target, position=options.position)
    where = {"engine": options.engine, "device": options.device}
    given = document(options)
    lens = logit_lens(given, target, top=options.top, **where)
    head = (_("layer"), *([_("rank")] if target else []), _("most probable tokens"))
    n_tokens, rows = lens.tokens.shape[1], []
    if not -n_tokens <= options.position < n_tokens:
        raise FieldError("position", options.position, whole_number(-n_tokens, n_tokens - 1))
    for layer, site in enumerate(lens.sites):
        tokens, shares = lens.tokens[layer][options.position], lens.probabilities[layer][options.position]
        names = (shown_token(given.experiment.vocabulary, lens.vocabulary[token]) for token in tokens)
        said = " · ".join(
            f"{name} {number(float(share), 3)}" for name, share in zip(names, shares, strict=True)
        )
        rank = [str(lens.ranks[layer][options.position])] if target else []
        rows.append((layer_label(given.experiment, site), *rank, said))
    print_table([head, *rows])
    return 0


COMMAND = Command("lens", N_("read every layer's output as logits: the logit lens"), add, run)
