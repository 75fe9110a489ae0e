"""`attnviz decode`: decode token by token with a cache; a table or JSON."""

from __future__ import annotations

import json
import math
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from attnviz.cli.command import Command
from attnviz.cli.options import Count, add_document, document, notice, print_table
from attnviz.core.text import in_json, number, visible
from attnviz.errors import whole_number
from attnviz.i18n import N_, _
from attnviz.model.edit.generation import set_stop
from attnviz.model.spec.pieces import byte_pairs
from attnviz.model.spec.value import require
from attnviz.model.text import MODEL, join_text, shown_token

if TYPE_CHECKING:
    from attnviz.engines.decode.cost import Cost
    from attnviz.engines.decode.run import Decoding
    from attnviz.engines.decode.step import DecodeStep, SiteStep


DECODE_FORMAT = N_(
    "With --json: one object with format, version, document, engine, device, dtype, seconds, "
    "notices, stopped, vocabulary, total and steps. Each step has index (from 0), token, generated, "
    "prefill (whether it was read in one pass with the rest of a prompt), seconds, read and appended "
    "(positions of the cache), weights (a list for each head, over the keys seen so far), output, "
    "probabilities (over the vocabulary), next_token, and the costs cached and uncached: "
    "kv_projections, score_pairs, bytes_read, bytes_written, bytes_moved, bytes_held, flops, over "
    "all layers; flops are those of attnviz cost with norms, activations, residuals and biases. With "
    "several attentions, read, appended, weights and output are those of the first "
    "one outside the encoder, and sites has the same for each of them by name. Numbers that JSON "
    'lacks are the strings "NaN", "Infinity" and "-Infinity".'
)


def add(command: ArgumentParser) -> None:
    """Add the options."""
    add_document(command)
    length = command.add_mutually_exclusive_group()
    length.add_argument(
        "--new",
        action=Count,
        metavar="N",
        help=_("the number of new tokens after the prompt (default: the document's, or none)"),
    )
    length.add_argument(
        "--steps",
        action=Count,
        metavar="N",
        help=_("the maximum number of tokens, the prompt included"),
    )
    command.add_argument("--json", action="store_true", help=_("print JSON instead of a table"))


def run(options: Namespace) -> int:
    """Decode and print every step, as a table or as JSON."""
    from attnviz.compute.execute import execute_decoding
    from attnviz.engines.decode.decodable import MAX_STEPS

    experiment, steps = document(options).experiment, options.steps
    if options.new is not None:
        require(1 <= options.new <= MAX_STEPS, "new", options.new, whole_number(1, MAX_STEPS))
        if experiment.writing is None:
            steps = experiment.n_queries + options.new
        else:
            experiment = set_stop(experiment, length=options.new)
    decoding = execute_decoding(experiment, steps, options.engine, options.device)
    for said in decoding.notices:
        notice(said)
    if options.json:
        record = decoding_json(decoding, options.document)
        print(in_json(json.dumps(record, ensure_ascii=False, allow_nan=False)))
    else:
        _print_decoding(decoding)
    return 0


def decoding_json(decoding: Decoding, document: str) -> dict[str, Any]:
    """A decoding as JSON values; `attnviz decode --help` describes the format."""
    cached, uncached = decoding.total(len(decoding.steps) - 1)
    return {
        "format": "attnviz-decoding",
        "version": 1,
        "document": document,
        "engine": decoding.engine,
        "device": decoding.device,
        "dtype": decoding.dtype,
        "seconds": decoding.seconds,
        "notices": [notice.text() for notice in decoding.notices],
        "stopped": decoding.stopped.text() if decoding.stopped is not None else "",
        "vocabulary": list(decoding.vocabulary),
        "total": {"cached": _cost(cached), "uncached": _cost(uncached)},
        "steps": [_step_json(step) for step in decoding.steps],
    }


def _step_json(step: DecodeStep) -> dict[str, Any]:
    several = {} if len(step.sites) == 1 else {"sites": {n: _site_json(s) for n, s in step.sites.items()}}
    return {
        "index": step.index,
        "token": step.token,
        "generated": step.generated,
        "prefill": step.prefill is not None,
        "seconds": step.seconds,
        **_site_json(step.main),
        "probabilities": json_numbers(step.probabilities),
        "next_token": step.next_token,
        "cached": _cost(step.cached),
        "uncached": _cost(step.uncached),
        **several,
    }


def _site_json(site: SiteStep) -> dict[str, Any]:
    return {
        "read": site.read,
        "appended": site.appended,
        "weights": json_numbers(site.weights),
        "output": json_numbers(site.attention_output),
    }


def json_numbers(values: Any) -> Any:
    """An array as nested lists; NaN and infinities, which JSON lacks, as strings.

    float32 is written with the digits that restore the same float32, not with those of its float64.
    """
    if values.ndim:
        return [json_numbers(part) for part in values]
    number = float(str(values))
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _print_decoding(decoding: Decoding) -> None:
    known = decoding.experiment.vocabulary
    head = (
        _("step"),
        _("token"),
        _("reads"),
        _("appends"),
        _("next"),
        _("p"),
        _("pairs"),
        _("without cache"),
    )
    rows = [
        (
            str(step.index),
            shown_token(known, step.token) + (" *" if step.generated else ""),
            str(step.read),
            str(step.appended),
            *_next_columns(decoding, step),
            str(step.cached.score_pairs),
            str(step.uncached.score_pairs),
        )
        for step in decoding.steps
    ]
    cached, uncached = decoding.total(len(decoding.steps) - 1)
    total = (_("sum"), "", "", "", "", "", str(cached.score_pairs), str(uncached.score_pairs))
    print_table((head, *rows, total))
    n_prefill = sum(step.prefill is not None for step in decoding.steps)
    if n_prefill:
        print(_("steps 0 to {last}: prefill, the prompt in one pass").format(last=n_prefill - 1))
    if any(step.generated for step in decoding.steps):
        is_drawn = decoding.experiment.writing is not None
        drawn = _("* sampled from the previous step's probabilities")
        print(drawn if is_drawn else _("* generated: the most probable token of the previous step"))
    if byte_pairs(known) is not None:
        tokens = tuple(step.token for step in decoding.steps)
        last = decoding.steps[-1].next_token
        if decoding.stopped and last is not None:  # the last sampled token is not computed
            tokens = (*tokens, last)
        print(visible(join_text(decoding.experiment, tokens, MODEL.id)))
    if decoding.stopped is not None:
        print(decoding.stopped.text())


def _next_columns(decoding: Decoding, step: DecodeStep) -> tuple[str, str]:
    """The next token and its probability; dashes if the logits have none."""
    if step.next_token is None:
        return "–", "NaN"
    probability = float(step.probabilities[decoding.vocabulary.index(step.next_token)])
    return shown_token(decoding.experiment.vocabulary, step.next_token), number(probability)


def _cost(cost: Cost) -> dict[str, int]:
    from dataclasses import asdict as fields

    return {**fields(cost), "bytes_moved": cost.bytes_moved}


COMMAND = Command("decode", N_("decode token by token with a cache"), add, run, DECODE_FORMAT)
