"""`attnviz cost`: parameters, operations and bytes of a published model or of a document."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attnviz.cli.command import Command, Condition
from attnviz.cli.options import Count, add_text, document, print_table
from attnviz.core.cost.lines import rounded, valued
from attnviz.core.cost.memory import FORMATS, MEMORIES
from attnviz.core.cost.memory_fit import sentence
from attnviz.core.cost.published_models import PUBLISHED
from attnviz.core.cost.roofline import DEVICES
from attnviz.core.text import columns
from attnviz.i18n import N_, _

if TYPE_CHECKING:
    from attnviz.core.cost.lines import Line
    from attnviz.core.cost.published_models import Published
    from attnviz.explain.bills import Question
    from attnviz.model.spec.experiment import Experiment

FORMAT_IDS = tuple(row.id for row in FORMATS)
COUNTED = ("cache", "fits", "parameters", "prefill", "step", "bound")
"""The quantities of Cost that need neither a run nor a measurement."""

JSON_FORMAT = N_(
    "With --json: one object with format, version, model, quantity, context, batch, weights_format, "
    "cache_format, memory_gb, weights_bytes, cache_bytes, free_bytes, longest_context (null: any), "
    "largest_batch (null: any) and lines; a line has label, symbols, digits, value, unit and kind. "
    "FLOPs are those of matrix products, scores and softmax; attnviz decode counts norms, activations, "
    "residuals and biases besides."
)


def add(command: ArgumentParser) -> None:
    """Add the options."""
    says = _("a published model, such as llama-3-70b, or a document (default: list the models)")
    command.add_argument("document", metavar="MODEL", nargs="?", help=says)
    add_text(command)
    command.add_argument(
        "--quantity", choices=COUNTED, default="cache", help=_("what is counted (default: cache)")
    )
    command.add_argument(
        "--context", action=Count, metavar="N", help=_("tokens of a sequence (default: those of the model)")
    )
    command.add_argument("--batch", action=Count, default=1, metavar="N", help=_("sequences (default: 1)"))
    command.add_argument("--weights", choices=FORMAT_IDS, help=_("the number format of the parameters"))
    command.add_argument("--kv", choices=FORMAT_IDS, help=_("the number format of cached keys and values"))
    command.add_argument(
        "--group", action=Count, default=32, metavar="N", help=_("numbers that share a scale (default: 32)")
    )
    sizes = ", ".join(f"{memory.gb} ({memory.devices})" for memory in MEMORIES)
    command.add_argument(
        "--memory",
        action=Count,
        default=80,
        metavar="GB",
        help=_("the device memory, such as {sizes} (default: 80)").format(sizes=sizes),
    )
    command.add_argument(
        "--device",
        choices=tuple(row.id for row in DEVICES),
        default=DEVICES[0].id,
        help=_("the device whose peaks bound the time"),
    )
    command.add_argument(
        "--window",
        action=Count,
        least=0,
        metavar="N",
        help=_("a window of N tokens in every layer, 0 for none"),
    )
    command.add_argument("--json", action="store_true", help=_("print JSON"))


def run(options: Namespace) -> int:
    """Print the bill of a model, or the list of the published ones."""
    from attnviz.explain.bills import bill, caveats, origin

    if options.document is None:
        return _list_models()
    experiment = _experiment(options)
    question = _asked(options, experiment)
    lines = (*bill(question, None), *caveats(question, experiment), *origin(question))
    if options.json:
        print(json.dumps(_plain(options, question, lines), ensure_ascii=False))
        return 0
    print(sentence(question.fit, question.n, question.batch, question.memory_gb))
    _print_lines(lines)
    return 0


def _published(options: Namespace) -> Published | None:
    """The published model that the options name; a text makes it a model of the hub."""
    name = options.document.lower()
    found = next((row for row in PUBLISHED if name in (row.id, row.name.lower())), None)
    return found if options.text is None else None


def _experiment(options: Namespace) -> Experiment | None:
    """The document's experiment; None for a published model."""
    if _published(options) is not None:
        return None
    return document(Namespace(**vars(options), dtype=None)).experiment


def _asked(options: Namespace, experiment: Experiment | None) -> Question:
    """The question that the options ask."""
    from attnviz.explain.architectures import architecture_of
    from attnviz.explain.bills import Question, of_experiment, of_published

    model = _published(options)
    if model is not None:
        question = of_published(Question(architecture=model.architecture), model.id)
    else:
        assert experiment is not None
        question = of_experiment(Question(architecture=architecture_of(experiment)), experiment)
    given = {"n": options.context, "weights": options.weights, "kv": options.kv}
    question = replace(
        question,
        quantity=options.quantity,
        batch=options.batch,
        group=options.group,
        memory_gb=options.memory,
        device=options.device,
        **{field: value for field, value in given.items() if value is not None},
    )
    return question if options.window is None else question.with_window(options.window)


def _plain(options: Namespace, question: Question, lines: tuple[Line, ...]) -> dict[str, Any]:
    fit = question.fit
    return {
        "format": "attnviz-cost",
        "version": 1,
        "model": options.document,
        "quantity": question.quantity,
        "context": question.n,
        "batch": question.batch,
        "weights_format": question.weights,
        "cache_format": question.kv,
        "memory_gb": question.memory_gb,
        "weights_bytes": fit.weights,
        "cache_bytes": fit.cache,
        "free_bytes": fit.free,
        "longest_context": fit.tokens,
        "largest_batch": fit.batch,
        "lines": [line._asdict() for line in lines],
    }


def _print_lines(lines: tuple[Line, ...]) -> None:
    """Label, product and value in columns; titles and notes as they are."""
    rows = [
        (line.label, line.formula, valued(line.value, line.unit), rounded(line.value, line.unit))
        for line in lines
        if line.kind not in ("title", "note")
    ]
    label, formula, value = (max((columns(row[at]) for row in rows), default=0) for at in range(3))
    counted = iter(rows)
    for line in lines:
        if line.kind in ("title", "note"):
            print(f"\n{line.label}" if line.kind == "title" else line.label)
            continue
        texts = next(counted)
        sizes = (label, formula, 0, 0)
        cells = [text + " " * (size - columns(text)) for text, size in zip(texts, sizes, strict=True)]
        cells[2] = " " * (value - columns(texts[2])) + texts[2]
        print("  ".join(cells).rstrip())


def _list_models() -> int:
    """List the published models: id, name, parameters in billions, and the context."""
    head = (_("id"), _("model"), _("billions of parameters"), _("context"))
    rows = [(row.id, row.name, row.stated, f"{row.architecture.context:,}") for row in PUBLISHED]
    print_table([head, *rows])
    return 0


CONDITIONS = (Condition("--device", "--quantity", ("bound",)),)

COMMAND = Command(
    "cost",
    N_("count parameters, operations and bytes of a published model or a document"),
    add,
    run,
    JSON_FORMAT,
    CONDITIONS,
)
