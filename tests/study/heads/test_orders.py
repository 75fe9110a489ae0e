"""Orders of heads: ties, heads without a number, and rows that stand for a long run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from experiments import small

import attnviz
from attnviz.core.head_scores import HEAD_SCORES, Head, HeadScore, Repeats
from attnviz.model.spec.parts import Causal, Heads, SeededVectors
from attnviz.study.heads import orders as head_orders
from attnviz.study.heads.orders import HEAD_ORDER_BY_ID, HEAD_ORDERS, measured, ordered, sampled_rows


def test_ties_keep_the_order_of_numbers_and_nothing_comes_last() -> None:
    values = (2.0, math.nan, 1.0, 2.0)
    assert ordered(values, HEAD_ORDER_BY_ID["entropy"], 4) == (2, 0, 3, 1)
    assert ordered(values, HEAD_ORDER_BY_ID["similarity"], 4) == (0, 3, 2, 1)
    assert ordered((), HEAD_ORDER_BY_ID["number"], 3) == (0, 1, 2)


@pytest.mark.parametrize("order", HEAD_ORDERS, ids=lambda row: row.id)
def test_sampled_rows_are_rows_of_the_whole(
    order: head_orders.HeadOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = attnviz.run(
        small(tokens=tuple("abcdefghij"), vectors=SeededVectors(10, 4), heads=Heads(2, 1, 2))
    ).only
    whole = measured(site, order, 1)
    monkeypatch.setattr(head_orders, "MOST_CELLS", 2 * 10 * 4)
    assert sampled_rows(site).tolist() == [0, 3, 6, 9]
    part = measured(site, order, 1)
    assert len(part) == len(whole) == (0 if order.measure is None else 2)
    if order.id == "entropy":
        rows = site["weights"][:, [0, 3, 6, 9]].astype(np.float64)
        bits = -(rows * np.log2(np.where(rows > 0, rows, 1))).sum(axis=2)
        assert part == pytest.approx(bits.mean(axis=1))


@pytest.mark.parametrize(
    "score", [row for row in HEAD_SCORES if row.id not in ("entropy", "distance")], ids=lambda row: row.id
)
def test_heads_are_ordered_by_the_scores_of_their_patterns(score: HeadScore) -> None:
    references = ((3, 1), (4, 0))
    text: dict[str, Any] = {"tokens": tuple("abcab"), "vectors": SeededVectors(5, 4)}
    experiment = small(**text, heads=Heads(2, 1, 2), masks=(Causal(),), references=references)
    site = attnviz.run(experiment).only
    order = HEAD_ORDER_BY_ID[score.id]
    repeats = Repeats(np.array([0, 1, 2, 0, 1]))
    wanted = [score.of(Head(weights, site.blocked(), repeats, references)) for weights in site["weights"]]
    found = measured(site, order, 0)
    assert found == pytest.approx(wanted) and order.falls
    assert ordered(found, order, 2)[0] == int(np.argmax(wanted))
