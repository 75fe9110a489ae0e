"""`page_html`: a trace as one file of HTML, with its stages, heads, sources of every cell, and steps.

The page holds numbers and the functions that draw them; it fetches nothing, and its policy forbids it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnviz import i18n, resources
from attnviz.core.color_maps import color_table
from attnviz.core.positions import pair_of
from attnviz.core.text import visible
from attnviz.errors import suffix_error
from attnviz.i18n import N_, _
from attnviz.model.captions import plain_caption
from attnviz.model.explain.formulas.stages import stage_formula
from attnviz.model.io.carriers.table import carrying
from attnviz.model.io.files import record_of, replace_file
from attnviz.model.positions import changes, rope_of, rotated_features
from attnviz.model.provenance import rule_of
from attnviz.model.sites.titles import site_title
from attnviz.model.spec.document import Document
from attnviz.model.stages import STAGE_BY_ID, inputs
from attnviz.model.trace import SiteTrace, Trace
from attnviz.pages.numbers import Block
from attnviz.version import __version__

if TYPE_CHECKING:
    from attnviz.engines.decode.run import Decoding

SUFFIX = ".html"
EXACT_BYTES = 6 * 2**20
"""Stages of queries and keys past this size are written in half precision, and the page says so."""
MOST_BYTES = 48 * 2**20
"""Bytes of arrays before their compression; further stages of queries and keys are left out."""
ALWAYS = ("weights", "scores")
"""Stages of queries and keys that a page has whatever its size."""
MOST_TOKENS = 512
"""Columns of logits up to which a page has them."""
TOP = 5
"""Next tokens that are shown at a step."""

WORDS = {
    "cell": N_("One number"),
    "hover": N_("Point at a cell of the map; a click keeps it. Arrow keys move."),
    "blocked": N_("masked"),
    "row": N_("The row of “{token}” over its keys:"),
    "head": N_("head {n}"),
    "generation": N_("Generation"),
    "theme": N_("Light / dark"),
    "half": N_("Numbers of this stage are in half precision: three digits are exact."),
    "made": N_("Made by attnviz. Open this file in the program to edit the document."),
    "range_row": N_("Range: each row"),
    "range_head": N_("Range: this head"),
    "range_all": N_("Range: all heads"),
    "range_log": N_("Range: logarithmic"),
}
"""Texts of the page, in every language."""


def page_html(document: Document, trace: Trace, decoding: Decoding | None = None) -> str:
    """The page of a document with the numbers of `trace`, and the steps of `decoding` if it is given.

    Raises `FieldError` for a trace without sites of the document.
    """
    block = Block()
    view = document.view
    site = trace.shown(view.site)
    room = MOST_BYTES
    sites = []
    for name in trace.sites:
        sites.append(_site(trace, trace.site(name), block, room // len(trace.sites)))
    stage = view.stage if view.stage in site.stages else "weights"
    data = {
        "version": __version__,
        "titles": _in_each_language(lambda: _(document.title) or "attnviz"),
        "captions": _in_each_language(lambda: plain_caption(_(document.caption))),
        "words": _in_each_language(lambda: {key: _(text) for key, text in WORDS.items()}),
        "language": i18n.current_language(),
        "sites": sites,
        "site": trace.sites.index(site.name),
        "stage": stage,
        "head": min(view.head, sites[trace.sites.index(site.name)]["heads"] - 1),
        "row": view.query or 0,
        "colors": {
            "sequential": _colors("sequential", False),
            "diverging": _colors("diverging", False),
            "diverging_dark": _colors("diverging", True),
        },
        "steps": [] if decoding is None else _steps(decoding),
    }
    parts = {
        "generator": f"attnviz {__version__}",
        "title": escape(document.title or "attnviz"),
        "style": resources.path("page", "page.css").read_text(encoding="utf-8"),
        "script": resources.path("page", "page.js").read_text(encoding="utf-8"),
        # No text of a token may end the element that holds the data.
        "data": json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
        "numbers": block.text(),
    }
    page = resources.path("page", "page.html").read_text(encoding="utf-8")
    for name, part in parts.items():
        head, _mark, tail = page.partition(f"{{{name}}}")
        page = head + part + tail
    return page


def save_page(
    document: Document, trace: Trace, path: str | os.PathLike[str], decoding: Decoding | None = None
) -> Path:
    """Write the page of a document, which carries it, and return the path. Raises `OSError`."""
    file = Path(path)
    check_suffix(file)
    replace_file(file, page_bytes(document, trace, decoding))
    return file


def page_bytes(document: Document, trace: Trace, decoding: Decoding | None = None) -> bytes:
    """The file of a page, which carries its document."""
    data = page_html(document, trace, decoding).encode("utf-8", "backslashreplace")
    return carrying(data, SUFFIX, record_of(document))


def check_suffix(path: str | os.PathLike[str]) -> None:
    """Raises `InputError` unless a file's suffix is .html."""
    if Path(path).suffix.lower() != SUFFIX:
        raise suffix_error(Path(path).suffix, (SUFFIX,))


def _in_each_language(say: Callable[[], Any]) -> dict[str, Any]:
    """The result of `say` in every language of the program."""
    found = {}
    for language in i18n.LANGUAGES:
        with i18n.language(language.code):
            found[language.code] = say()
    return found


def _site(trace: Trace, site: SiteTrace, block: Block, room: int) -> dict[str, Any]:
    """One attention: names, sizes, masks, and its stages with their places in the block."""
    experiment = site.experiment
    hidden = site.blocked()
    heads = experiment.heads
    stages, end = [], block.size + room
    for stage in site.stages:
        row = STAGE_BY_ID[stage]
        if row.score_shaped and stage not in ALWAYS and block.size > end:
            continue
        if row.axes[-1] == "vocabulary" and site.shape(stage)[-1] > MOST_TOKENS:
            continue
        values = site[stage]
        if row.score_shaped and values.nbytes > EXACT_BYTES:
            values = _half(values)
        stages.append(
            {
                "id": stage,
                "titles": _in_each_language(partial(_, row.title)),
                "formulas": _in_each_language(partial(stage_formula, experiment, stage)),
                "axes": list(row.axes),
                "signed": row.signed,
                "rule": rule_of(experiment, row),
                "reads": list(inputs(stage, site.stages)),
                "hatched": site.hatched(stage) is not None,
                **block.add(values),
            }
        )
    return {
        "titles": _in_each_language(lambda: site_title(trace.experiment, site.name)),
        "queries": [visible(token) for token in site.labels("query")],
        "keys": [visible(token) for token in site.labels("key")],
        "vocabulary": _vocabulary(site),
        "heads": heads.n_heads,
        "group": heads.group_size,
        "d_head": heads.d_head,
        "pairs": _pairs(site),
        "hidden": None if hidden is None else block.add_bits(hidden),
        "stages": stages,
    }


def _pairs(site: SiteTrace) -> list[list[int]] | None:
    """The pair of every feature that RoPE turns, for each feature; None without a rotation."""
    if changes(site.experiment.position) != "rotation":
        return None
    rope, turned = rope_of(site.experiment), rotated_features(site.experiment)
    pairs = [pair_of(d, len(turned), rope.pairing, turned.start) for d in range(site.experiment.d_qk)]
    return [[d] if pair is None else list(pair) for d, pair in enumerate(pairs)]


def _half(values: NDArray[Any]) -> NDArray[np.float16]:
    with np.errstate(over="ignore"):
        return values.astype(np.float16)


def _vocabulary(site: SiteTrace) -> list[str]:
    return [visible(token) for token in site.labels("vocabulary")] if "logits" in site.stages else []


def _colors(kind: Any, is_dark: bool) -> list[int]:
    return [int(part) for part in color_table(kind, is_dark).ravel()]


def _steps(decoding: Decoding) -> list[dict[str, Any]]:
    """The tokens of a decoding, the probability of each generated one, and what could follow it."""
    found: list[dict[str, Any]] = []
    before: Any = None
    names = decoding.vocabulary
    for step in decoding.steps:
        probability = None
        if step.generated and before is not None and step.token in names:
            probability = float(before[names.index(step.token)])
        order: Any = np.argsort(-step.probabilities, kind="stable")[:TOP] if len(step.probabilities) else []
        found.append(
            {
                "token": visible(step.token),
                "p": probability,
                "next": [[visible(names[i]), float(step.probabilities[i])] for i in order],
            }
        )
        before = step.probabilities if len(step.probabilities) else None
    return found
