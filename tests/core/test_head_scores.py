"""Scores of a head against weights whose scores are known beforehand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from attnviz.core.head_scores import HEAD_SCORE_BY_ID, HEAD_SCORES, Head, Repeats

N = 6
CAUSAL = np.triu(np.ones((N, N), np.bool_), 1)
EVEN = np.where(CAUSAL, 0, 1 / np.arange(1, N + 1)[:, None])
PREVIOUS = np.eye(N, k=-1)
PREVIOUS[0, 0] = 1
FIRST = np.zeros((N, N))
FIRST[:, 0] = 1


def head(
    weights: np.ndarray,
    blocked: np.ndarray | None = None,
    tokens: tuple[int, ...] = (),
    references: tuple[tuple[int, int], ...] = (),
) -> Head:
    """A head over different tokens, or the given ones."""
    return Head(weights, blocked, Repeats(np.array(tokens or range(len(weights)))), references)


def test_heads_that_look_for_repeats() -> None:
    """a b c a b c: the token at 3 was at 0, and 1 came after it."""
    tokens = (0, 1, 2, 0, 1, 2)
    same, induction = np.eye(6), np.eye(6)
    same[3:] = np.eye(6)[[0, 1, 2]]
    induction[3:] = np.eye(6)[[1, 2, 3]]
    for id_, weights in (("same", same), ("induction", induction)):
        scores = {row.id: row.of(head(weights, CAUSAL, tokens)) for row in HEAD_SCORES}
        assert scores[id_] == 1
        assert scores["induction" if id_ == "same" else "same"] == 0


@pytest.mark.parametrize(
    ("references", "pronouns"),
    [(((4, 1),), (4,)), (((5, 0), (4, 3), (4, 2), (2, 3)), (2, 4, 5)), ((), ())],
    ids=["one token", "a name of two tokens", "none"],
)
def test_a_pronoun_counts_with_all_tokens_of_its_name(
    references: tuple[tuple[int, int], ...], pronouns: tuple[int, ...]
) -> None:
    weights = np.random.default_rng(3).dirichlet(np.ones(N), N)
    sums = []
    for pronoun in pronouns:
        total = 0.0
        for key in range(N):
            total += weights[pronoun, key] if (pronoun, key) in references else 0
        sums.append(total)
    wanted = sum(sums) / len(sums) if sums else math.nan
    found = HEAD_SCORE_BY_ID["reference"].of(head(weights, references=references))
    assert found == pytest.approx(wanted, nan_ok=True)


def test_the_place_after_the_token_before_is_the_query_itself_and_does_not_count() -> None:
    """a a: the first a is followed by the query."""
    assert math.isnan(HEAD_SCORE_BY_ID["induction"].of(head(np.eye(2), None, (0, 0))))


def test_near_keys_count_from_the_query_that_has_others() -> None:
    """Row 3 of an even causal head has 3 of 4 keys at most two away, rows 4 and 5 have 3 of 5 and of 6."""
    assert HEAD_SCORE_BY_ID["near"].of(head(EVEN, CAUSAL)) == pytest.approx((3 / 4 + 3 / 5 + 3 / 6) / 3)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (PREVIOUS, {"previous": 1, "first": 1 / (N - 1), "entropy": 0}),
        (FIRST, {"previous": 1 / (N - 1), "first": 1, "entropy": 0}),
        # Σ 1/(i + 1) over i = 1…5, divided by 5.
        (EVEN, {"previous": 0.29, "first": 0.29, "entropy": 1}),
    ],
    ids=["previous", "first", "even"],
)
def test_heads_of_a_known_kind(weights: np.ndarray, expected: dict[str, float]) -> None:
    for id_, value in expected.items():
        assert HEAD_SCORE_BY_ID[id_].of(head(weights, CAUSAL)) == pytest.approx(value, abs=1e-12), id_


def test_the_distance_is_a_share_of_the_furthest_key_in_sight() -> None:
    """First key: all of the way. Row i of an even causal head: i / 2 positions of i."""
    far = HEAD_SCORE_BY_ID["distance"].of
    assert (far(head(FIRST, CAUSAL)), far(head(np.eye(N), CAUSAL))) == (1, 0)
    assert far(head(EVEN, CAUSAL)) == pytest.approx(0.5)
    # Row 1 sees one token to either side: half of the weight, one position away, of one.
    assert far(head(np.array([[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1.0]]))) == pytest.approx((0 + 0.5 + 0) / 3)


def test_half_the_weight_on_each_of_two_of_four_keys_is_half_the_entropy() -> None:
    weights = np.array([[0.5, 0.5, 0, 0]] * 3)
    assert HEAD_SCORE_BY_ID["entropy"].of(head(weights)) == pytest.approx(0.5)


@pytest.mark.parametrize("row", HEAD_SCORES, ids=lambda row: row.id)
def test_one_token_has_no_score(row: object) -> None:
    assert math.isnan(row.of(head(np.ones((1, 1)))))  # type: ignore[attr-defined]


@given(arrays.arrays(np.float64, (4, 4), elements=st.floats(1e-3, 1)))
def test_every_score_is_from_zero_to_one(raw: np.ndarray) -> None:
    weights = raw / raw.sum(axis=1, keepdims=True)
    for row in HEAD_SCORES:
        assert 0 <= row.of(head(weights, None, (0, 1, 0, 1), ((2, 0), (2, 1), (3, 1)))) <= 1 + 1e-12, row.id


def test_a_nan_row_gives_nan_and_no_warning() -> None:
    weights = np.full((3, 3), np.nan)
    assert all(math.isnan(row.of(head(weights))) for row in HEAD_SCORES)
