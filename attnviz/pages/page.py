"""`page_html`: a trace as one file of HTML, with its stages, heads, sources of every cell, and steps.

The page holds numbers and the functions that draw them; it fetches nothing, and its policy forbids it. The
numbers of the first picture stand before the functions, all others behind them, so that a browser draws while
it still reads.
"""

from __future__ import annotations

import json
import os
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnviz import i18n, resources
from attnviz.core.arcs import LEAST_THICKNESS, STRONG
from attnviz.core.color_maps import color_table
from attnviz.core.phrases import named, phrased
from attnviz.core.shades import DARK, HEAD_HUES, LIGHT, Shades
from attnviz.errors import suffix_error
from attnviz.i18n import N_, _
from attnviz.model.captions import pieces, plain_caption
from attnviz.model.io.carriers.record import Record
from attnviz.model.io.carriers.table import carrying
from attnviz.model.io.files import record_of, replace_file
from attnviz.model.io.titles import as_shown
from attnviz.model.links import LEAST, LINED, MOST_CELLS, MOST_LINES
from attnviz.model.spec.document import Document
from attnviz.model.stages import OF_LAYER, STAGE_BY_ID
from attnviz.model.text import shown_token
from attnviz.model.trace import Trace
from attnviz.pages.contents import contents
from attnviz.pages.fonts import font_rules
from attnviz.pages.sites import Blocks, in_each_language, site_record
from attnviz.pages.sums import sum_card
from attnviz.version import __version__

WORDS = {
    "cell": N_("One number"),
    "hover": N_("Point at a cell of the map; a click keeps it. Arrow keys move."),
    "in_program": N_("Setting and typing works in the program; this page shows the numbers."),
    "blocked": N_("masked"),
    "nan": N_("NaN: {count}"),
    "infinite": N_("infinite: {count}"),
    "row": N_("The row of “{token}” over its keys:"),
    "head": N_("head {n}"),
    "generation": N_("Generation"),
    "theme": N_("Light / dark"),
    "half": N_("Numbers of this stage are in half precision: three digits are exact."),
    "left_out": N_("This page leaves out {n} stages of this attention to stay small; the program has them."),
    "made": N_("Made by attnviz. Open this file in the program to edit the document."),
    "old": N_("This page needs a browser of 2023 or later."),
    "range_row": N_("Range: each row"),
    "range_head": N_("Range: this head"),
    "range_all": N_("Range: all heads"),
    "range_log": N_("Range: logarithmic"),
    "view_map": N_("Map"),
    "hover_arcs": N_(
        "Click a word to see its arcs; point at a word or an arc for its weight. Arrow keys move."
    ),
    "first_off": N_("without the first token, whose share is {share}"),
    "view_arcs": N_("Arcs over a sentence"),
    "view_lines": N_("Lines between tokens"),
    "view_grid": N_("Layers × heads"),
    "from_one": N_("Lines of the selected query"),
    "from_all": N_("Lines of all queries"),
    "of_one": N_("Lines of the selected head"),
    "of_all": N_("Lines of all heads"),
    "queries": N_("queries"),
    "keys": N_("keys"),
    "stages": N_("Stages"),
    "heads": N_("Heads"),
    "attention": N_("Attention"),
    "range": N_("Range"),
    "picture": N_("Picture"),
    "from": N_("Lines of which queries"),
    "of": N_("Lines of which heads"),
    "play": N_("Play"),
    "step": N_("Step of the generation"),
    "colors": N_("Colours"),
    "sources": N_("Sources"),
}
"""Texts by the name that the page's script and markup use."""


JOINS = {
    "named": lambda: named("{first}", "{second}"),
    "phrased": lambda: phrased(("{first}", "{second}")),
}
"""Two texts joined in the active language, with gaps that the page's script fills."""


if TYPE_CHECKING:
    from attnviz.engines.decode.run import Decoding

TOP = 5
"""Next tokens that are shown at a step."""


def steps(decoding: Decoding) -> list[dict[str, Any]]:
    """The tokens of a decoding, the probability of each generated one, and what could follow it."""
    rows: list[dict[str, Any]] = []
    before: Any = None
    names, vocabulary = decoding.vocabulary, decoding.experiment.vocabulary
    for step in decoding.steps:
        probability = None
        if step.generated and before is not None and step.token in names:
            probability = float(before[names.index(step.token)])
        order: Any = np.argsort(-step.probabilities, kind="stable")[:TOP] if len(step.probabilities) else []
        rows.append(
            {
                "token": shown_token(vocabulary, step.token),
                "p": probability,
                "next": [[shown_token(vocabulary, names[i]), float(step.probabilities[i])] for i in order],
            }
        )
        before = step.probabilities if len(step.probabilities) else None
    return rows


if TYPE_CHECKING:
    from attnviz.engines.decode.run import Decoding

SUFFIX = ".html"
SCRIPTS = ("state", "numbers", "colors", "map", "lines", "arcs", "grid", "cell", "choices", "steps", "start")
"""Parts of the page's script, in order."""
PICTURES = ("lines", "arcs")
"""Pictures of a view that the page has as well; others are maps."""


def page_html(document: Document, trace: Trace, decoding: Decoding | None = None) -> str:
    """The page of a document with the numbers of `trace`, and the steps of `decoding` if it is given.

    With steps, `trace` is that of `decoding.experiment`, so that the picture shows the tokens generated so
    far. Raises `FieldError` for a trace without sites of the document.
    """
    return _filled(_parts(document, trace, decoding))


def page_and_rest(document: Document, trace: Trace) -> tuple[str, str]:
    """The page with the numbers of its first picture only, and the elements of all others."""
    parts = _parts(document, trace, None)
    return _filled({**parts, "rest": ""}), parts["rest"]


def _parts(document: Document, trace: Trace, decoding: Decoding | None) -> dict[str, str]:
    """The parts of a page by their names in its template."""
    blocks = Blocks()
    data = _data(document, trace, decoding, blocks)
    # No text of a token may end the element that holds the data.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    first, rest = blocks.elements(_drawn_first(data))
    return {
        "generator": f"attnviz {__version__}",
        "title": escape(as_shown(document.title) or "attnviz"),
        "fonts": font_rules(text),
        "colors": _rule(":root", LIGHT) + _rule(":root.dark", DARK),
        "style": _resource("page.css"),
        "data": text,
        "first": first,
        "script": "".join(_resource(f"{name}.js") for name in SCRIPTS),
        "rest": rest,
    }


def _filled(parts: dict[str, str]) -> str:
    # In one pass: no part is searched for the name of another.
    return re.sub(r"\{(\w+)\}", lambda match: parts[match[1]], _resource("page.html"))


def save_page(
    document: Document,
    trace: Trace,
    path: str | os.PathLike[str],
    decoding: Decoding | None = None,
    record: Record | None = None,
) -> Path:
    """Write the page of a document, which carries it or `record`, and return the path. Raises `OSError`."""
    file = Path(path)
    check_suffix(file)
    replace_file(file, page_bytes(document, trace, decoding, record))
    return file


def page_bytes(
    document: Document, trace: Trace, decoding: Decoding | None = None, record: Record | None = None
) -> bytes:
    """The file of a page, which carries its document, or `record`."""
    data = page_html(document, trace, decoding).encode("utf-8", "backslashreplace")
    return carrying(data, SUFFIX, record or record_of(document))


def check_suffix(path: str | os.PathLike[str]) -> None:
    """Raises `InputError` unless a file's suffix is .html."""
    if Path(path).suffix.lower() != SUFFIX:
        raise suffix_error(Path(path).suffix, (SUFFIX,))


def _data(document: Document, trace: Trace, decoding: Decoding | None, blocks: Blocks) -> dict[str, Any]:
    """All of the page but its numbers, which go into `blocks`."""
    view = document.view
    site = trace.shown(view.site)
    at = trace.sites.index(site.name)
    kept = contents(trace, site.name)
    sites = [site_record(trace, view, trace.site(name), several, blocks) for name, several in kept.items()]
    present = [stage["id"] for stage in sites[at]["stages"]]
    stage = _first_stage(view.stage, present) or site.raw_map
    picture = view.picture if view.picture in PICTURES and stage in LINED else "map"
    head = min(view.head, sites[at]["heads"] - 1)
    return {
        "titles": in_each_language(lambda: as_shown(document.title)),
        "captions": in_each_language(lambda: plain_caption(as_shown(document.caption))),
        "has_controls": any(piece.control is not None for piece in pieces(as_shown(document.caption))),
        "words": in_each_language(lambda: {key: _(text) for key, text in WORDS.items()}),
        "joins": in_each_language(lambda: {way: joined() for way, joined in JOINS.items()}),
        "language": i18n.current_language(),
        "sites": sites,
        "site": at,
        "stage": stage,
        "head": head,
        "row": view.query,
        "picture": picture,
        "sum": in_each_language(lambda: _sum(trace, site.name, head, view.query, picture)),
        "lines": {
            "stages": list(LINED),
            "from": view.lines.queries,
            "of": view.lines.heads,
            "least": LEAST,
            "most": MOST_LINES,
            "cells": MOST_CELLS,
            "hues": list(HEAD_HUES),
        },
        "arcs": {"strong": STRONG, "least": LEAST_THICKNESS},
        "colors": {
            "sequential": _colors("sequential", False),
            "diverging": _colors("diverging", False),
            "diverging_dark": _colors("diverging", True),
        },
        "steps": [] if decoding is None else steps(decoding),
    }


def _sum(trace: Trace, site: str, head: int, query: int, picture: str) -> str:
    """The card of the sum below a picture of words, which shows the weights of one query; else empty."""
    last = trace.site(site).shape(trace.site(site).map)[-2] - 1
    return sum_card(trace, site, head, min(query, last)) if picture in PICTURES else ""


def _first_stage(stage: str, present: list[str]) -> str:
    """The stage of the view, if it is one of the attention, and not of the layer around it; else empty."""
    return stage if stage in present and STAGE_BY_ID[stage].phase not in OF_LAYER else ""


def _drawn_first(data: dict[str, Any]) -> list[int]:
    """Numbers of the blocks of the first picture."""
    site = data["sites"][data["site"]]
    by_name = {stage["id"]: stage for stage in site["stages"]}
    stage = by_name[data["stage"]]
    while "repeats" in stage:
        stage = by_name[stage["repeats"]]
    head = data["head"] // (site["group"] if stage["axes"][0] == "kv_head" else 1)
    block = stage["blocks"][head if len(stage["shape"]) == 3 else 0]
    return [block] if site["hidden"] is None else [block, site["hidden"]]


def _resource(name: str) -> str:
    return resources.path("page", name).read_text(encoding="utf-8")


def _rule(selector: str, shades: Shades) -> str:
    """The colours of a theme, as variables of a style sheet."""
    names = ("ground", "panel", "line", "ink", "muted", "query", "key", "value", "hatch", "error", "warning")
    colors = "; ".join(f"--{name}: {getattr(shades, name)}" for name in names)
    scheme = "dark" if shades.is_dark else "light"
    return f"{selector} {{ color-scheme: {scheme}; {colors} }}\n"


def _colors(kind: Any, is_dark: bool) -> list[int]:
    return [int(part) for part in color_table(kind, is_dark).ravel()]
