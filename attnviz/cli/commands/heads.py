"""`attnviz heads`: the heads of a model by a score."""

from __future__ import annotations

import json
import math
import re
from argparse import ArgumentParser, Namespace

from msgspec.structs import replace

from attnviz.cli.command import Command, Condition
from attnviz.cli.options import Count, add_document, document, execute, notice, print_table
from attnviz.core.head_scores import HEAD_SCORE_BY_ID, HEAD_SCORES
from attnviz.core.text import number
from attnviz.errors import FieldError, Message, among, must_be
from attnviz.i18n import N_, _
from attnviz.model.sites.titles import head_title
from attnviz.model.spec.document import Document

NEEDS_REFERENCES = Message("needs a document with references, or --refers")
PAIRS = must_be("pairs of positions such as 7:2,9:2")


def add(command: ArgumentParser) -> None:
    """Add the options."""
    add_document(command)
    ids = ", ".join(row.id for row in HEAD_SCORES)
    command.add_argument(
        "--score", default="induction", metavar="ID", help=_("{ids} (default: induction)").format(ids=ids)
    )
    command.add_argument(
        "--refers",
        metavar="N:M,…",
        help=_("positions of pronouns, each with that of a token of its name, for the score reference"),
    )
    command.add_argument(
        "--top", action=Count, default=10, metavar="N", help=_("only the first N (default: 10)")
    )
    command.add_argument("--json", action="store_true", help=_("print all scores of all heads as JSON"))


def run(options: Namespace) -> int:
    """Print the heads with the largest scores; heads without one are left out."""
    from attnviz.study.heads.scores import head_scores

    if options.score not in HEAD_SCORE_BY_ID:
        raise FieldError("score", options.score, among(HEAD_SCORE_BY_ID))
    opened = _referring(document(options), options)
    if HEAD_SCORE_BY_ID[options.score].needs_references and not opened.experiment.references:
        raise FieldError("score", options.score, NEEDS_REFERENCES)
    scores = head_scores(execute(opened, options))
    if options.json:
        plain = {
            score: {site: [None if math.isnan(x) else x for x in row.tolist()] for site, row in of.items()}
            for score, of in scores.items()
        }
        print(json.dumps(plain))
        return 0
    heads = [
        (float(value), site, head)
        for site, values in scores[options.score].items()
        for head, value in enumerate(values)
        if not math.isnan(value)
    ]
    if not heads:
        notice(Message("No head has the score {score} on this text.", score=options.score))
    heads.sort(key=lambda row: -row[0])
    title = _(HEAD_SCORE_BY_ID[options.score].title)
    rows = [
        (head_title(opened.experiment, site, head), number(value, 3), f"--site {site} --head {head}")
        for value, site, head in heads[: options.top]
    ]
    print_table([(_("head"), title, _("as options")), *rows])
    return 0


def _referring(document: Document, options: Namespace) -> Document:
    """The document with the references of `--refers` in the place of its own."""
    if options.refers is None:
        return document
    if not re.fullmatch(r"[0-9]+:[0-9]+(,[0-9]+:[0-9]+)*", options.refers):
        raise FieldError("refers", options.refers, PAIRS)
    pairs = tuple(tuple(map(int, pair.split(":"))) for pair in options.refers.split(","))
    return replace(document, experiment=replace(document.experiment, references=pairs))


CONDITIONS = (
    Condition("--top", "--json", is_barred=True),
    Condition(
        "--refers", "--score", tuple(row.id for row in HEAD_SCORES if row.needs_references), also="--json"
    ),
)

COMMAND = Command(
    "heads",
    N_("list the heads of a model by a score, such as induction"),
    add,
    run,
    conditions=CONDITIONS,
)
