"""The pair in focus, and its score before and after rotation."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from first_layer import stacked
from msgspec.structs import replace

from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.explain.score_pair import Pair, pair_in_focus, pair_scores
from attnviz.model.edit.layers import set_n_layers
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import ExplicitVectors, Heads, Pairing, Rope, SeededVectors
from attnviz.model.spec.view import Cell, View

Q, K = (1.0, 0.5, -0.3, 0.8), (0.2, 1.0, 0.4, -0.6)


def rotated_pair(pairing: Pairing, start: int = 0) -> Experiment:
    """q at position 5 and k at position 2, all else zero; identity projections."""
    rows = np.zeros((6, 4))
    rows[5], rows[2] = Q, K
    return stacked(
        tokens=tuple("abcdef"),
        vectors=ExplicitVectors(Matrix(rows)),
        position=Rope(pairing=pairing, start=start),
        dtype="float64",
    )


@pytest.mark.parametrize(
    ("pairing", "start", "score"),
    [("interleaved", 0, -1.169916), ("interleaved", 100, -1.169916), ("half_split", 0, -0.027288)],
)
def test_known_scores_of_the_pair(pairing: Pairing, start: int, score: float) -> None:
    trace = run(NumpyEngine("float64"), rotated_pair(pairing, start))
    scores = pair_scores(trace.only, Pair(0, 5, 2))
    assert scores is not None
    assert scores[0] == pytest.approx(0.1, abs=1e-12)
    assert scores[1] == pytest.approx(score, abs=5e-7)


def test_a_trace_that_lacks_the_pair_says_nothing() -> None:
    trace = run(NumpyEngine("float64"), rotated_pair("interleaved"))
    assert pair_scores(trace.only, Pair(0, 6, 0)) is None
    assert pair_scores(trace.only, Pair(1, 0, 0)) is None


def test_scores_past_the_range_of_float64_warn_nobody() -> None:
    rows = np.random.default_rng(2).standard_normal((6, 4)) * 1e160
    huge = replace(rotated_pair("interleaved"), vectors=ExplicitVectors(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = pair_scores(run(NumpyEngine("float64"), huge).only, Pair(0, 5, 2))
    assert scores is not None and not np.isfinite(scores[0])


@pytest.mark.parametrize(
    ("hover", "expected"),
    [
        (None, Pair(1, 2, 0)),
        (Cell("weights", 3, 1, 0), Pair(0, 3, 1)),
        (Cell("q", 3, 0, 1), Pair(1, 3, 0)),
        (Cell("k_rotated", 3, 0, 1), Pair(2, 2, 3)),
        (Cell("x", 1, 0), Pair(1, 1, 0)),
    ],
)
def test_which_pair_is_looked_at(hover: Cell | None, expected: Pair) -> None:
    experiment = stacked(tokens=tuple("abcd"), vectors=SeededVectors(4, 8), heads=Heads(4, 2, 4))
    assert pair_in_focus(Document(experiment, View(head=1, query=2)), hover) == expected


def test_the_locked_cell_holds_until_another_is_hovered() -> None:
    experiment = Experiment(tokens=tuple("abcd"), vectors=SeededVectors(4, 8))
    document = Document(experiment, View(locked=Cell("scores", 3, 2)))
    assert pair_in_focus(document, None) == Pair(0, 3, 2)
    assert pair_in_focus(document, Cell("scores", 1, 0)) == Pair(0, 1, 0)
    past_the_end = Document(experiment, View(head=9, query=9))
    assert pair_in_focus(past_the_end, None) == Pair(0, 3, 0)


def test_the_pair_and_its_scores_are_those_of_the_layer_looked_at() -> None:
    stack = set_n_layers(rotated_pair("interleaved"), 2)
    document = Document(stack, View(query=3, site="layers.1.self", locked=Cell("weights", 5, 2)))
    pair = pair_in_focus(document, None)
    assert pair == Pair(0, 5, 2)
    site = run(NumpyEngine("float64"), stack).site("layers.1.self")
    scores = pair_scores(site, pair)
    assert scores is not None
    assert scores[1] == site["scores"][0, 5, 2]
    assert scores[0] == pytest.approx(float(site["q"][0, 5] @ site["k"][0, 2]), abs=1e-12)


def test_a_cell_that_is_locked_in_another_layer_says_nothing_here() -> None:
    stack = set_n_layers(rotated_pair("interleaved"), 2)
    document = Document(stack, View(query=3, locked=Cell("weights", 5, 2, site="layers.1.self")))
    assert document.locked_here is None
    assert pair_in_focus(document, None) == Pair(0, 3, 0)
    there = Document(stack, replace(document.view, site="layers.1.self"))
    assert there.locked_here == document.view.locked
    assert pair_in_focus(there, None) == Pair(0, 5, 2)
