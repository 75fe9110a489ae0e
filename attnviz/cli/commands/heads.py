"""`attnviz heads`: the heads of a model by a score."""

from __future__ import annotations

import json
import math
from argparse import ArgumentParser, Namespace

from attnviz.cli.command import Command
from attnviz.cli.options import Count, add_document, document, execute, print_table
from attnviz.core.head_scores import HEAD_SCORE_BY_ID, HEAD_SCORES
from attnviz.core.text import number
from attnviz.errors import FieldError, among
from attnviz.i18n import N_, _


def add(command: ArgumentParser) -> None:
    """Add the options."""
    add_document(command)
    ids = ", ".join(row.id for row in HEAD_SCORES)
    command.add_argument(
        "--score", default="induction", metavar="ID", help=_("{ids} (default: induction)").format(ids=ids)
    )
    command.add_argument(
        "--top", action=Count, default=10, metavar="N", help=_("only the first N (default: 10)")
    )
    command.add_argument("--json", action="store_true", help=_("print all scores of all heads as JSON"))


def run(options: Namespace) -> int:
    """Print the heads with the largest scores; heads without one are left out."""
    from attnviz.analysis.scores import head_scores

    if options.score not in HEAD_SCORE_BY_ID:
        raise FieldError("score", options.score, among(HEAD_SCORE_BY_ID))
    found = head_scores(execute(document(options), options))
    if options.json:
        plain = {
            score: {site: [None if math.isnan(x) else x for x in row.tolist()] for site, row in of.items()}
            for score, of in found.items()
        }
        print(json.dumps(plain))
        return 0
    heads = [
        (float(value), site, head)
        for site, values in found[options.score].items()
        for head, value in enumerate(values)
        if not math.isnan(value)
    ]
    heads.sort(key=lambda row: -row[0])
    title = _(HEAD_SCORE_BY_ID[options.score].title)
    rows = [(site, str(head), number(value, 3)) for value, site, head in heads[: options.top]]
    print_table([(_("attention"), _("head"), title), *rows])
    return 0


COMMAND = Command("heads", N_("list the heads of a model by a score, such as induction"), add, run)
