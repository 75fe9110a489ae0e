"""Lines between words against the arrays of a run."""

from __future__ import annotations

import numpy as np
import pytest
from experiments import small

import attnviz
from attnviz.model.links import LEAST, MOST_LINES, word_lines
from attnviz.model.spec.parts import Causal, Heads, Memory, SeededVectors
from attnviz.model.spec.view import Lines, View

CAUSAL = attnviz.run(small(heads=Heads(4, 2, 4), masks=(Causal(),))).only
CROSS = attnviz.run(
    small(heads=Heads(2, 2, 4), memory=Memory(("un", "chat", "!"), SeededVectors(3, 5, 8)))
).only


@pytest.mark.parametrize("site", [CAUSAL, CROSS], ids=["causal", "cross"])
def test_every_weight_past_the_least_is_a_line(site: attnviz.model.trace.SiteTrace) -> None:
    shown = word_lines(site, View(lines=Lines("all", "all")), "weights")
    weights = site["weights"]
    assert shown.heads == tuple(range(len(weights))) and shown.query is None
    assert (len(shown.queries), len(shown.keys)) == weights.shape[1:]
    least = LEAST * weights.max()
    for links in shown.links():
        found = {(q, k): w for q, k, w in zip(links.queries, links.keys, links.weights, strict=True)}
        expected = {cell: w for cell, w in np.ndenumerate(weights[links.head]) if w >= least}
        assert found == pytest.approx(expected)
        assert (np.diff(links.weights) >= 0).all(), "the strongest comes last, on top"


def test_one_query_and_one_head() -> None:
    shown = word_lines(CAUSAL, View(query=2, head=3), "weights")
    (links,) = shown.links()
    assert (shown.query, links.head) == (2, 3) and set(links.queries.tolist()) == {2}
    np.testing.assert_allclose(shown.given(1)[0], CAUSAL["weights"][3, 1])
    np.testing.assert_allclose(shown.received(0)[0], CAUSAL["weights"][3, :, 0])
    assert shown.hidden(1).tolist() == [key > 1 for key in range(len(shown.keys))]
    assert word_lines(CAUSAL, View(query=99), "weights").query == len(shown.queries) - 1
    assert word_lines(CAUSAL, View(), "weights", (1, 2)).heads == (1, 2)


def test_of_a_long_text_one_query_is_drawn_and_of_many_lines_the_strongest() -> None:
    for count, is_all in ((200, True), (300, False)):
        site = attnviz.run(attnviz.Experiment(("a",) * count, SeededVectors(count, 4))).only
        shown = word_lines(site, View(lines=Lines("all")), "weights")
        assert (shown.query is None) == is_all
        (links,) = shown.links()
        weights = np.sort(site["weights"][0].ravel())
        assert len(links.weights) <= MOST_LINES
        if is_all:
            assert len(links.weights) == MOST_LINES
            np.testing.assert_allclose(links.weights, weights[-MOST_LINES:])


def test_a_fully_masked_query_has_no_line() -> None:
    site = attnviz.run(small(masks=(Causal(), attnviz.parts.Padding((0,))), fully_masked_row="nan")).only
    assert np.isnan(site["weights"][0, 0]).all()
    (links,) = word_lines(site, View(query=0), "weights").links()
    assert len(links.weights) == 0
