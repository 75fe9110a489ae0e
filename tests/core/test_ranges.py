"""Lists of positions as people type them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.core.ranges import format_ranges, parse_ranges, runs


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        ("3, 5-7", (3, 5, 6, 7)),
        ("", ()),
        ("  ", ()),
        ("7 5,5", (5, 7)),
        ("0–2;4", (0, 1, 2, 4)),
        ("1，3、5", (1, 3, 5)),
        ("2 - 4", (2, 3, 4)),
    ],
)
def test_reads_numbers_and_ranges(text: str, positions: tuple[int, ...]) -> None:
    assert parse_ranges(text, 8) == positions


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("8", "positions must be numbers from 0 to 7; got 8."),
        ("0-99999999999", "from 0 to 7"),
        ("5-2", "positions must be in ascending order (2-5); got '5-2'."),
        ("three", "positions must be numbers and ranges, such as 3, 5-7; got 'three'."),
        ("-3", "positions must be numbers and ranges, such as 3, 5-7; got '-3'."),
        ("1.5", "positions must be numbers and ranges, such as 3, 5-7; got '1.5'."),
    ],
)
def test_says_what_is_wrong(text: str, said: str) -> None:
    with pytest.raises(
        ValueError,
        match="^positions must be ",
    ) as error:
        parse_ranges(text, 8)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("positions", "text"), [((3, 5, 6, 7), "3, 5-7"), ((0, 1), "0, 1"), ((), ""), ((9, 8, 7, 9), "7-9")]
)
def test_writes_runs_as_ranges(positions: tuple[int, ...], text: str) -> None:
    assert format_ranges(positions) == text


@given(st.sets(st.integers(0, 40)))
def test_what_was_written_reads_back(positions: set[int]) -> None:
    assert set(parse_ranges(format_ranges(tuple(positions)), 41)) == positions


def test_runs_are_unbroken() -> None:
    assert runs([3, 1, 2, 7, 2]) == [(1, 3), (7, 1)]
    assert runs([]) == []
