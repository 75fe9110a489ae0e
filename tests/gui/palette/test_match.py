"""The search of the palette: what is found, and in which order."""

from __future__ import annotations

import pytest

from attnviz.gui.palette.entry import Entry
from attnviz.gui.palette.match import search


def entry(text: str, *words: str) -> Entry:
    return Entry(text, text, lambda: None, words)


ENTRIES = (
    entry("Dark theme", "深色主题"),
    entry("Next head", "下一个头"),
    entry("Sliding window", "滑动窗口", "Each query attends to its last three keys"),
    entry("Full screen"),
    entry("A window and a sink"),
    entry("Reset the layout"),
)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("dark", "Dark theme"),
        ("DARK THEME", "Dark theme"),
        ("theme dark", "Dark theme"),
        ("nh", "Next head"),
        ("nxthead", "Next head"),
        ("fs", "Full screen"),
        ("window", "Sliding window"),
        ("slid", "Sliding window"),
        ("深色", "Dark theme"),
        ("头", "Next head"),
        ("three keys", "Sliding window"),
        ("sink", "A window and a sink"),
    ],
)
def test_the_closest_entry_is_first(query: str, first: str) -> None:
    assert search(query, ENTRIES)[0].entry.text == first


def test_every_term_is_needed() -> None:
    assert [found.entry.text for found in search("window sink", ENTRIES)] == ["A window and a sink"]
    assert search("window banana", ENTRIES) == []
    assert search("zzz", ENTRIES) == []


def test_the_text_that_shows_counts_more_than_further_words() -> None:
    first, second = entry("Heat", "window"), entry("Window")
    assert [found.entry for found in search("window", (first, second))] == [second, first]


def test_the_named_letters_are_known() -> None:
    assert search("theme", ENTRIES)[0].places == frozenset(range(5, 10))
    assert search("nh", ENTRIES)[0].places == frozenset((0, 5))
    assert search("深色", ENTRIES)[0].places == frozenset()


def test_letters_far_apart_are_not_found() -> None:
    assert search("rw", (entry("Reset everything that was ever there"),)) == []
