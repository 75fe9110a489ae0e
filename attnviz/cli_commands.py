"""The shell's commands, one function each. None of them needs a display."""

from __future__ import annotations

import json
import math
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from attnviz.checkpoints.presets import PRESETS, load_preset, preset_ids
from attnviz.core.text import columns, number, visible
from attnviz.errors import (
    FieldError,
    InputError,
    Message,
    about,
    among,
    listed,
    message_of,
    must_be,
    quoted,
    suffix_error,
    whole_number,
)
from attnviz.i18n import _
from attnviz.model.captions import plain_caption
from attnviz.model.edit.edits import set_tokens
from attnviz.model.edit.generation import set_stop
from attnviz.model.io.files import DocumentError, load, save
from attnviz.model.spec.document import Document
from attnviz.model.spec.pieces import byte_pairs
from attnviz.model.spec.value import require
from attnviz.model.spec.view import Ranges, View
from attnviz.model.text import MODEL, join_text, shown_token, split_text

if TYPE_CHECKING:
    from attnviz.engines.decode.cost import Cost
    from attnviz.engines.decode.run import Decoding
    from attnviz.engines.decode.step import DecodeStep, SiteStep
    from attnviz.model.trace import Trace


class Named(InputError):
    """An error whose message already names the file."""


def presets(options: Namespace) -> int:
    """List the presets: id and purpose."""
    longest = max(len(id_) for id_ in preset_ids())
    for preset in PRESETS:
        print(f"{preset.id:<{longest}}  {_(preset.title)} · {plain_caption(_(preset.description))}")
    return 0


def run(options: Namespace) -> int:
    """Compute a document; write the arrays, or list the stages."""
    from attnviz.compute.saving import save_arrays
    from attnviz.model.io.numbers import NPZ_SUFFIX

    document, output = _document(options), options.output
    if output is not None and Path(output).suffix.lower() != NPZ_SUFFIX:
        raise Named(about(output, suffix_error(Path(output).suffix, (NPZ_SUFFIX,)).message))
    trace = _execute(document, options)
    sites = _sites(trace, options.site)
    stages = _stages(trace, sites, options.stages)
    if output is None:
        _print_stages(trace, sites, stages)
        return 0
    _written(output, lambda: save_arrays(trace, stages, output, sites=sites))
    return 0


def render(options: Namespace) -> int:
    """Draw one stage into a file: one head or all of them, or one head of all attentions."""
    from attnviz.figures import render as draw
    from attnviz.figures import save_figure
    from attnviz.figures.files import format_of
    from attnviz.figures.palette import palette

    document = _document(options)
    head = _head(options.head)
    palette(options.theme)
    _written(options.output, lambda: format_of(options.output))
    trace = _execute(document, options)
    view = document.view
    if options.orientation is not None:
        view = replace(view, orientation=options.orientation)
    if options.range is not None:
        view = replace(view, ranges=Ranges.of_all(options.range))
    if options.query is not None:
        view = _with_query(view, options.query)
    where = {"site": options.site, "theme": options.theme, "picture": options.picture}
    figure = draw(trace, view, options.stage, head, **where)
    _written(options.output, lambda: save_figure(figure, options.output, dpi=options.dpi))
    return 0


def decode(options: Namespace) -> int:
    """Decode and print every step, as a table or as JSON."""
    from attnviz.compute.execute import execute_decoding
    from attnviz.engines.decode.decodable import MAX_STEPS

    experiment, steps = _document(options).experiment, options.steps
    if options.new is not None:
        require(1 <= options.new <= MAX_STEPS, "new", options.new, whole_number(1, MAX_STEPS))
        if experiment.writing is None:
            steps = experiment.n_queries + options.new
        else:
            experiment = set_stop(experiment, length=options.new)
    decoding = execute_decoding(experiment, steps, options.engine, options.device)
    for notice in decoding.notices:
        _notice(notice)
    if options.json:
        print(json.dumps(decoding_json(decoding, options.document), ensure_ascii=False, allow_nan=False))
    else:
        _print_decoding(decoding)
    return 0


def import_(options: Namespace) -> int:
    """Import a checkpoint and a text as a document, and save it."""
    from attnviz.checkpoints import CheckpointError, import_checkpoint

    try:
        document = import_checkpoint(
            options.folder,
            options.text,
            _ids("ids", options.ids),
            memory_text=options.memory_text,
            memory_ids=_ids("memory_ids", options.memory_ids),
            dtype=options.dtype,
            attention_only=options.attention_only,
        )
    except CheckpointError as error:
        raise Named(error.message) from None
    _written(options.output, lambda: save(document, options.output))
    return 0


def _ids(name: str, text: str | None) -> tuple[int, ...] | None:
    """Parse whole numbers separated by commas."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise Named(FieldError(name, text, must_be("whole numbers with commas between them")).message)
    return tuple(map(int, parts))


def bench(options: Namespace) -> int:
    """Measure this machine: engines and window, or decoding."""
    if options.subject == "decode":
        from attnviz.bench.decoding.bench import main as of_decoding

        return of_decoding(json=options.json)
    from attnviz.bench import main

    return int(main(json=options.json))


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
    found = float(str(values))
    if math.isfinite(found):
        return found
    return "NaN" if math.isnan(found) else "Infinity" if found > 0 else "-Infinity"


def _document(options: Namespace) -> Document:
    """The file or preset that `DOC` names, with the requested text and dtype."""
    name = options.document
    try:
        document = load_preset(name) if name in preset_ids() and not Path(name).is_file() else load(name)
    except DocumentError as error:
        message = error.message
        if not Path(name).suffix and not Path(name).exists():
            message = Message(
                "The document must be a file or a preset ({ids}); got {name}.",
                ids=", ".join(preset_ids()),
                name=quoted(name),
            )
        raise Named(message) from None
    if options.text is not None:
        tokens = split_text(document.experiment, options.text, MODEL.id)
        document = replace(document, experiment=set_tokens(document.experiment, tokens))
    if options.dtype is None:
        return document
    from attnviz.engines.decode.run import ITEMSIZE

    if options.dtype not in ITEMSIZE:
        raise FieldError("dtype", options.dtype, among(ITEMSIZE))
    return replace(document, experiment=replace(document.experiment, dtype=options.dtype))


def _execute(document: Document, options: Namespace) -> Trace:
    from attnviz.compute.execute import execute

    trace = execute(document.experiment, options.engine, options.device)
    for notice in trace.notices:
        _notice(notice)
    return trace


def _sites(trace: Trace, wanted: str | None) -> tuple[str, ...]:
    """The site named by `--site`, or all."""
    if wanted is None:
        return trace.sites
    if wanted not in trace.sites:
        raise FieldError("site", wanted, among(trace.sites))
    return (wanted,)


def _stages(trace: Trace, sites: tuple[str, ...], wanted: str | None) -> tuple[str, ...] | None:
    """The stages named by `--stages`, None for all."""
    if wanted is None:
        return None
    names = tuple(dict.fromkeys(name.strip() for name in wanted.split(",") if name.strip()))
    stages = tuple(dict.fromkeys(stage for site in sites for stage in trace.site(site).stages))
    for name in names:
        if name not in stages:
            raise FieldError("stage", name, among(stages))
    if not names:
        raise FieldError("stages", wanted, must_be("one or more of {choices}", choices=listed(stages)))
    return names


def _head(text: str | None) -> Any:
    if text is None or text == "all":
        return text
    if not text.isascii() or not text.isdigit():
        raise FieldError("head", text, must_be("a whole number of at least 0, or 'all'"))
    return int(text)


def _with_query(view: View, text: str) -> View:
    """The view whose lines start from one query, counted from 0, or from all of them."""
    if text == "all":
        return replace(view, lines=replace(view.lines, queries="all"))
    if not text.isascii() or not text.isdigit():
        raise FieldError("query", text, must_be("a whole number of at least 0, or 'all'"))
    return replace(view, query=int(text), lines=replace(view.lines, queries="one"))


def _written(path: str, write: Any) -> None:
    """Write a file, and prefix every error with its name."""
    try:
        write()
    except OSError as error:
        raise Named(about(path, message_of(error))) from None
    except ValueError as error:
        message = message_of(error)
        is_named = str(message).startswith(Path(path).name)
        raise Named(message if is_named else about(path, message)) from None


def _notice(notice: Message) -> None:
    print(f"attnviz: {visible(notice.text())}", file=sys.stderr)


def _print_stages(trace: Trace, sites: tuple[str, ...], stages: tuple[str, ...] | None) -> None:
    seconds = number(trace.seconds * 1000)
    dtype = trace.experiment.dtype
    print(
        _("{engine} on {device}, {dtype}, {time} ms").format(
            engine=trace.engine, device=trace.device, dtype=dtype, time=seconds
        )
    )
    shown = [
        (f"{name}.{stage}", " × ".join(map(str, trace.site(name).shape(stage))))
        for name in sites
        for stage in trace.site(name).stages
        if stages is None or stage in stages
    ]
    longest = max(len(array) for array, _shape in shown)
    for array, shape in shown:
        print(f"{array:<{longest}}  {shape}")


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
    _print_table((head, *rows, total))
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


def _print_table(rows: tuple[tuple[str, ...], ...]) -> None:
    """Print columns as wide as their widest text; Chinese characters occupy two places."""
    sizes = [max(columns(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [text + " " * (size - columns(text)) for text, size in zip(row, sizes, strict=True)]
        print("  ".join(cells).rstrip())


def _cost(cost: Cost) -> dict[str, int]:
    from dataclasses import asdict as fields

    return {**fields(cost), "bytes_moved": cost.bytes_moved}
