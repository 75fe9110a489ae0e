"""Every study and every kind of picture reads score-shaped stages in windows, to the same digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from experiments import block, small
from msgspec.structs import replace as with_fields
from refusing import refuse_whole
from two_layers import COURSE, TASK, model

import attnviz
from attnviz import analysis
from attnviz.compute.storage import evicted_attention
from attnviz.core.levels import RANGES
from attnviz.engines.why_not import compare
from attnviz.explain.arithmetic.cell import explain
from attnviz.explain.gradients.cell import explain_gradient
from attnviz.figures import figure_bytes
from attnviz.figures.figure import figure_of
from attnviz.figures.kinds.table import KINDS
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.model.caches import RingCache
from attnviz.model.edit.layers import set_n_layers
from attnviz.model.links import word_lines
from attnviz.model.ranges import range_ends
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.parts import Causal, Heads, Rope, SeededVectors
from attnviz.model.spec.view import Cell, View
from attnviz.model.stages import STAGES
from attnviz.model.why_not import WHY_NOTS
from attnviz.study.claims.scope import scope_now
from attnviz.study.contrast.contrast import Shown, contrast
from attnviz.study.failures.checks import CHECKS, first_finding, moved
from attnviz.study.gradient_curves import CURVES
from attnviz.study.heads.mean import mean_ends
from attnviz.study.heads.orders import HEAD_ORDERS, measured
from attnviz.study.heads.search import search, wanted
from attnviz.study.heads.tiles import tiles
from attnviz.training.optimiser import Settings
from attnviz.training.run import Run, train

N = 80
WORDS = tuple("the cat sat on a mat".split())
PARTS: dict[str, Any] = {
    "tokens": tuple(WORDS[i % len(WORDS)] for i in range(N)),
    "vectors": SeededVectors(N, 6, 7),
    "heads": Heads(2, 2, 4),
    "position": Rope(),
    "masks": (Causal(),),
    "block": block("pre"),
    "dtype": "float32",
}
LONG = set_n_layers(small(**PARTS), 2)
OTHER = with_fields(LONG, tokens=(*LONG.tokens[:77], "cat", "cat", "cat"))
EVICTING = with_fields(LONG, writing=Writing(cache=RingCache(9)))
"""Past the 64 tokens up to which a source gives a stage whole."""
VIEW_FIELDS: dict[str, Any] = {
    "stage": "weights",
    "head": 1,
    "query": 70,
    "locked": Cell("weights", 70, 3, 1),
}
VIEW = View(**VIEW_FIELDS)
SCORES = tuple(row.id for row in STAGES if row.score_shaped)


def run() -> attnviz.Trace:
    return attnviz.run(LONG)


def of_sites(read: Callable[[Any], Any]) -> list[Any]:
    trace = run()
    return [read(trace.site(name)) for name in trace.sites]


def of_heads(read: Callable[[Any, str, int], Any]) -> list[Any]:
    return of_sites(lambda site: [read(site, stage, 1) for stage in SCORES if stage in site.stages])


def gradient() -> Any:
    return attnviz.backward(LONG, "loss")


def of_gradient(stage: str, row: int, column: int) -> Any:
    return explain_gradient(gradient().shown(""), Cell(stage, row, column, 1)).lines[0].recomputed


STUDIES: dict[str, Callable[[], Any]] = {
    "head scores": lambda: analysis.head_scores(run()),
    "rollout": lambda: analysis.rollout(run()),
    "lens": lambda: analysis.logit_lens(LONG, analysis.Target("cat")).ranks,
    "contributions": lambda: analysis.contributions(LONG, analysis.Target("cat")),
    "patching": lambda: (
        analysis.patch(LONG, OTHER, analysis.Target("cat"), "weights", each_head=False).values
    ),
    "ablation": lambda: analysis.ablate(LONG, analysis.Target("cat"), part="attention").values,
    "overviews": lambda: of_heads(lambda site, stage, head: site.overview(stage, head)),
    "means": lambda: of_sites(lambda site: [mean_ends(site, "weights", row.id) for row in RANGES]),
    "ranges": lambda: of_heads(
        lambda site, stage, head: [range_ends(site, stage, row.id, (head,)) for row in RANGES]
    ),
    "tiles": lambda: of_heads(lambda site, stage, _head: [vars(one) for one in tiles(site, stage, 64, True)]),
    "orders": lambda: of_sites(lambda site: [measured(site, order, 0) for order in HEAD_ORDERS]),
    "search": lambda: of_sites(lambda site: [search(site, wanted(text)) for text in ("sat the", "mat")]),
    "lines": lambda: of_sites(
        lambda site: [vars(one) for one in replace(word_lines(site, VIEW, "weights"), query=None).links()]
    ),
    "curves": lambda: of_sites(lambda site: [row.point(site, VIEW) for row in CURVES]),
    "failures": lambda: [first_finding(run(), lost=row.id) for row in CHECKS],
    "failures, moved": lambda: moved(run(), attnviz.run(set_n_layers(small(**PARTS, temperature=0.1), 2))),
    "comparison": lambda: [
        vars(contrast(*(Shown(run().shown(""), head) for head in (0, 1)), stage, "position"))["difference"]
        for stage in SCORES
        if stage in run().shown("").stages
    ],
    "why not": lambda: [compare(row, LONG, "", 1, 0, attnviz.run).right.values for row in WHY_NOTS],
    "claims": lambda: [
        scope_now(run(), VIEW).known(text, lambda kind: None) for text in ("max(weights)", "weights[7, 2]")
    ],
    "evicted": lambda: evicted_attention(attnviz.decode(EVICTING), run().shown("")),
    "gradient of a score": lambda: of_gradient("scores", 70, 3),
    "gradient of a weight": lambda: of_gradient("weights", 70, 3),
    "gradient of a value": lambda: of_gradient("v", 3, 1),
    "arithmetic": lambda: of_sites(
        lambda site: [
            line.recomputed
            for stage in site.stages
            if stage in SCORES
            for line in explain(site, Cell(stage, 70, 3, 1)).lines
        ]
    ),
}


def bits(found: Any) -> Any:
    """The numbers of a result, as bytes."""
    if isinstance(found, np.ndarray):
        return found.dtype.str, found.shape, found.tobytes()
    if isinstance(found, dict):
        return {key: bits(one) for key, one in found.items()}
    if isinstance(found, list | tuple):
        return [bits(one) for one in found]
    if hasattr(found, "__dict__"):
        return {} if callable(found) else bits(vars(found))
    return "" if callable(found) else repr(found)


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_reads_windows_alone(study: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = bits(STUDIES[study]())
    refused = refuse_whole(monkeypatch)
    assert bits(STUDIES[study]()) == whole
    assert not refused


def subject(of: attnviz.Trace) -> Subject:
    return Subject(of, VIEW, stage="weights", decoding=lambda: attnviz.decode(LONG), run=trained)


@lru_cache(maxsize=1)
def trained() -> Run:
    return train(model(), TASK, COURSE, Settings(steps=4))


@pytest.mark.parametrize("kind", KINDS, ids=lambda row: row.id)
def test_a_picture_reads_windows_alone(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn() -> bytes:
        shown = replace(subject(run()), other=subject(run()))
        assert kind.why_not(shown) is None
        return figure_bytes(figure_of(kind.id, shown, Style(sums=True)), "png", dpi=50)

    whole = drawn()
    refused = refuse_whole(monkeypatch)
    assert drawn() == whole
    assert not refused


def test_the_source_refuses_a_whole_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = refuse_whole(monkeypatch)
    for trace in (run(), gradient()):
        with pytest.raises(AssertionError, match="whole"):
            trace.shown("").window("weights")
    assert len(refused) == 2
