"""One attention as a page has it: names, sizes, masks, and stages with the numbers of their blocks."""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz import i18n
from attnviz.core.arcs import sentence
from attnviz.core.levels import RANGE_BY_ID
from attnviz.core.positions import pair_of
from attnviz.explain.formulas.stages import stage_formula
from attnviz.i18n import _
from attnviz.model.binding import bind
from attnviz.model.links import LINED
from attnviz.model.operands.matrices import vocabulary
from attnviz.model.positions import changes, rope_of, rotated_features
from attnviz.model.provenance import inputs_of
from attnviz.model.ranges import shown_range
from attnviz.model.sites.sites import place_of
from attnviz.model.sites.titles import site_title
from attnviz.model.spec.view import Cell, View
from attnviz.model.spec.vocabulary import Vocabulary
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.text import shown_token
from attnviz.model.trace import SiteTrace, Trace
from attnviz.pages.contents import HALF, MOST_TOKENS, Content

TYPES = {"float64": "f8", "float32": "f4", "float16": "f2"}

LEVEL = 1
"""Of zlib: higher levels take twice as long and save a hundredth."""


class Blocks:
    """Arrays, each compressed by itself: a browser unpacks the one that it draws."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def add(self, array: NDArray[Any]) -> int:
        """Append an array of floats, little-endian, and return its number.

        The first bytes of all numbers stand together, then the second ones, and so on: exponents are alike,
        so that they compress.
        """
        ordered = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
        planes = ordered.reshape(-1, 1).view(np.uint8).T
        return self._append(np.ascontiguousarray(planes).tobytes())

    def add_bits(self, cells: NDArray[np.bool_]) -> int:
        """Append true and false as bits, the first cell the highest bit; returns their number."""
        return self._append(np.packbits(cells.ravel()).tobytes())

    def elements(self, first: Iterable[int]) -> tuple[str, str]:
        """The elements of a page: those of the numbers in `first`, and all others."""
        wanted = set(first)
        parts: tuple[list[str], list[str]] = ([], [])
        for number, text in enumerate(self._texts):
            element = f'<script type="application/octet-stream" data-block="{number}">{text}</script>\n'
            parts[number not in wanted].append(element)
        return "".join(parts[0]), "".join(parts[1])

    def _append(self, data: bytes) -> int:
        self._texts.append(b64encode(zlib.compress(data, LEVEL)).decode("ascii"))
        return len(self._texts) - 1


Floats = NDArray[Any]


def in_each_language(say: Callable[[], Any]) -> dict[str, Any]:
    """The result of `say` in every language of the program."""
    texts = {}
    for language in i18n.LANGUAGES:
        with i18n.language(language.code):
            texts[language.code] = say()
    return texts


def site_record(
    trace: Trace, view: View, site: SiteTrace, several: tuple[Content, ...], blocks: Blocks
) -> dict[str, Any]:
    """A site for the page; its numbers go into `blocks`."""
    hidden = hidden_of(site)
    vocabulary = trace.experiment.vocabulary
    heads, place = site.experiment.heads, place_of(trace.experiment, site.name)
    return {
        "titles": in_each_language(lambda: site_title(trace.experiment, site.name)),
        "queries": [shown_token(vocabulary, token) for token in site.labels("query")],
        "keys": [shown_token(vocabulary, token) for token in site.labels("key")],
        "is_one": site.experiment.memory is None and site.labels("query") == site.labels("key"),
        "sentences": [_sentence(site.names(axis)) for axis in ("query", "key")],
        "vocabulary": _vocabulary(vocabulary, site),
        "heads": heads.n_heads,
        "group": heads.group_size,
        "d_head": heads.d_head,
        "off": list(heads.off),
        "pairs": _pairs(site),
        # Tokens that a generation appends, at the queries and at the keys.
        "grows": [place.stack != "encoder", place.stack != "encoder" and place.kind == "self"],
        "left_out": len(site.stages) - len(several),
        "hidden": None if hidden is None else blocks.add_bits(hidden),
        "stages": [_stage_record(content, view, blocks) for content in several],
    }


def hidden_of(site: SiteTrace) -> NDArray[np.bool_] | None:
    """The cells that a page draws as blocked, in every head: those of the last stage before the weights."""
    before = (stage for stage in reversed(site.stages) if STAGE_BY_ID[stage].is_infinite)
    return site.hatched(next(before, site.raw_map))


def _sentence(tokens: Sequence[str]) -> list[tuple[str, bool]]:
    """The words of the arcs: their texts, and whether a space stands before them."""
    return [(word.text, word.is_apart) for word in sentence(tokens)]


def _stage_record(content: Content, view: View, blocks: Blocks) -> dict[str, Any]:
    site, stage = content.site, content.stage
    row = STAGE_BY_ID[stage]
    windows = [site.window(stage, head) for head in range(site.n_matrices(stage))]
    kind = "f2" if content.width == HALF else TYPES[windows[0].dtype.name]
    hidden, all_hidden = site.hatched(stage), hidden_of(site)
    if hidden is not None and all_hidden is not None and not np.array_equal(hidden, all_hidden):
        hidden = None  # a page has one set of cells for all stages
    return {
        "id": stage,
        "titles": in_each_language(partial(_, row.title)),
        "formulas": in_each_language(partial(stage_formula, site.experiment, stage)),
        "axes": list(row.axes),
        "signed": row.signed,
        "pattern": bind(site.experiment, stage).pattern,
        "reads": list(inputs_of(site, stage)),
        "places": _places(site, stage),
        "hatched": hidden is not None,
        "type": kind,
        "shape": list(site.shape(stage)),
        "tops": [_top(window, hidden, row.signed) for window in windows],
        "first_off": [
            RANGE_BY_ID[shown_range(site, view, stage, head)].skips_first
            for head in range(site.n_matrices(stage))
            if stage in LINED
        ],
        **_numbers(content, windows, blocks),
    }


def _numbers(content: Content, windows: list[Floats], blocks: Blocks) -> dict[str, Any]:
    """The block of each head, or the stage that these numbers repeat."""
    repeat = content.repeat
    if repeat is None:
        return {"blocks": [blocks.add(_half(one) if content.width == HALF else one) for one in windows]}
    # JSON has no infinity: a text, which JavaScript reads as the number.
    blocked = None if repeat.blocked is None else str(repeat.blocked).replace("inf", "Infinity")
    return {"repeats": repeat.stage, "factor": repeat.factor, "blocked": blocked}


def _half(values: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return values.astype(np.float16)


def _top(values: Floats, hidden: NDArray[np.bool_] | None, is_signed: bool) -> float:
    """The end of the colours of one head: the largest visible number, of signed ones without its sign."""
    shown = np.isfinite(values) if hidden is None else np.isfinite(values) & ~hidden
    most = float(np.max(np.abs(values) if is_signed else values, initial=0.0, where=shown))
    return most if most > 0 else 1.0


def _places(site: SiteTrace, stage: str) -> list[int | None] | None:
    """Row or column of the second input for each column of a stage; None where the pattern says it.

    The expert's weight of a hidden feature, if it has one, and the first row of each token that is compared.
    """
    operation = bind(site.experiment, stage)
    if operation.pattern == "routed":
        columns = range(site.shape(stage)[-1])
        weights = [operation.made_of(1, Cell(stage, 0, column)) for column in columns]
        return [cells[1][0] if cells and cells[1] else None for cells in weights]
    if operation.pattern == "qd,wd->qw" and len(inputs_of(site, stage)) > 1:
        return list(vocabulary(site.experiment)[1])
    return None


def _pairs(site: SiteTrace) -> list[list[int]] | None:
    """The pair of every feature that RoPE rotates, for each feature; None without a rotation."""
    if changes(site.experiment.position) != "rotation":
        return None
    rope, turned = rope_of(site.experiment), rotated_features(site.experiment)
    pairs = [pair_of(d, len(turned), rope.pairing, turned.start) for d in range(site.experiment.d_qk)]
    return [[d] if pair is None else list(pair) for d, pair in enumerate(pairs)]


def _vocabulary(vocabulary: Vocabulary | None, site: SiteTrace) -> list[str]:
    """The texts of the columns of logits; none where the page leaves them out."""
    if "logits" not in site.stages or site.shape("logits")[-1] > MOST_TOKENS:
        return []
    return [shown_token(vocabulary, token) for token in site.labels("vocabulary")]
