"""`attnviz claims`: the verdicts on the claims of textbooks, or on those of a document."""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser, Namespace
from html import unescape
from typing import Any

from msgspec.structs import replace

from attnviz.checkpoints.presets import load_preset
from attnviz.cli.command import Command, Condition
from attnviz.cli.options import add_document, document, execute
from attnviz.core.text import in_json, visible
from attnviz.i18n import N_, _, current_language
from attnviz.study.claims.own import Answer, answers
from attnviz.study.claims.scope import Scope
from attnviz.study.claims.verdict import VERDICT_BY_ID
from attnviz.study.lessons.judging import Judged, judged
from attnviz.study.lessons.table import CLAIMS, shipped_claims

FAILED = 1
"""Exit code of a document with a claim that does not hold."""
_TAG = re.compile(r"<[^>]*>")


def add(command: ArgumentParser) -> None:
    """Add the document and more claims about it."""
    add_document(command, is_needed=False)
    command.add_argument(
        "--claim",
        action="append",
        default=[],
        metavar="EXPRESSION",
        help=_("a condition over the stages of DOC, such as 'weights[2].sum() == 1'; may be repeated"),
    )
    command.add_argument("--json", action="store_true", help=_("the verdicts as JSON"))


def run(options: Namespace) -> int:
    """Check the claims of a document; without one, list the textbooks' with their verdicts."""
    return _textbooks(options) if options.document is None else _own(options)


def _textbooks(options: Namespace) -> int:
    from attnviz.compute.execute import execute

    language, rows = current_language(), []
    for id_ in CLAIMS:
        group = shipped_claims(id_)
        if not options.json:
            print(group.title(language))
        for one in judged(group, load_preset, execute):
            rows.append(_row(one, language))
            if not options.json:
                print(f"  {VERDICT_BY_ID[one.verdict].sign} {rows[-1]['claim']}")
    if options.json:
        print(in_json(json.dumps(rows, ensure_ascii=False, indent=1)))
    return 0


def _row(one: Judged, language: str) -> dict[str, Any]:
    card = one.card(language)
    sentence, *says = (unescape(_TAG.sub("", text)) for text in (card.sentence, *card.says, card.cure))
    return {
        "id": one.step.id,
        "claim": sentence,
        "verdict": one.verdict,
        "says": [line for line in says if line],
    }


def _own(options: Namespace) -> int:
    known = document(options)
    known = replace(known, claims=(*known.claims, *options.claim))
    answered = answers(known.claims, Scope(execute(known, options), known.view))
    if options.json:
        print(in_json(json.dumps([_answer(one) for one in answered], ensure_ascii=False, indent=1)))
    else:
        for one in answered:
            sign = "?" if one.verdict is None else VERDICT_BY_ID[one.verdict].sign
            print(f"{sign} {visible(one.claim)}" + (f"  {one.problem_text()}" if one.problem else ""))
        if not answered:
            print(_("The document has no claims; --claim adds one."))
    return 0 if all(one.is_true for one in answered) else FAILED


def _answer(one: Answer) -> dict[str, Any]:
    return {"claim": one.claim, "holds": one.is_true, "problem": one.problem_text()}


OF_A_DOCUMENT = ("--claim", "--engine", "--device", "--dtype", "--text", "--edit")

COMMAND = Command(
    "claims",
    N_("check the claims of textbooks, or those of a document"),
    add,
    run,
    conditions=tuple(Condition(option, "DOC") for option in OF_A_DOCUMENT),
)
