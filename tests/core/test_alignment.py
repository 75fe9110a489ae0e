"""Alignment: every token once and in order; by text, equal tokens only."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.core.alignment import ALIGNMENTS, Pairs, by_position, by_text

TEXTS = st.lists(st.sampled_from("abcd"), max_size=12)


@pytest.mark.parametrize("row", ALIGNMENTS, ids=lambda row: row.id)
@given(TEXTS, TEXTS)
def test_every_token_stands_once_and_in_order(row: object, first: list[str], second: list[str]) -> None:
    pairs: Pairs = row.pair(first, second)  # type: ignore[attr-defined]
    for index, sequence in enumerate((first, second)):
        own = [pair[index] for pair in pairs if pair[index] is not None]
        assert own == list(range(len(sequence)))
    assert all(pair != (None, None) for pair in pairs)


@given(TEXTS, TEXTS)
def test_by_text_pairs_equal_tokens_only(first: list[str], second: list[str]) -> None:
    for a, b in by_text(first, second):
        assert a is None or b is None or first[a] == second[b]


def test_an_inserted_token_moves_nothing_by_text_and_everything_by_position() -> None:
    first, second = "the cat sat".split(), "the big cat sat".split()
    assert by_text(first, second) == ((0, 0), (None, 1), (1, 2), (2, 3))
    assert by_position(first, second) == ((0, 0), (1, 1), (2, 2), (None, 3))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("", "ab", ((None, 0), (None, 1))),
        ("ab", "", ((0, None), (1, None))),
        ("ab", "ab", ((0, 0), (1, 1))),
        ("ab", "cd", ((0, None), (1, None), (None, 0), (None, 1))),
        ("aab", "ab", ((0, 0), (1, None), (2, 1))),
    ],
)
def test_ends_and_repeated_tokens(first: str, second: str, expected: Sequence[object]) -> None:
    assert by_text(first, second) == expected
