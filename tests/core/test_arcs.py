"""Places of words and arcs: nothing overlaps, every arc ends at its words, and the rest is counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from attnviz.core.arcs import LETTERS, Arcs, Measures, Word, arrange, sentence

MEASURES = Measures(line=20, space=6, rise=100, thick=15, cut=40, widest_space=60)
PER_LETTER = 8.0


def arranged(words: Sequence[Word], room: float, chosen: int = 0, keys: Sequence[Word] | None = None) -> Arcs:
    widths = [PER_LETTER * len(word.text) for word in words]
    others = [PER_LETTER * len(word.text) for word in keys or ()]
    return arrange(words, keys, (widths, others), (chosen, 0), 50.0, room, MEASURES)


def words(count: int, letters: int = 5) -> tuple[Word, ...]:
    return tuple(Word("w" * letters, is_apart=True) for _index in range(count))


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (("<s>", "By", " the", " lake", "."), [("<s>", False), ("By", True), ("the", True), ("lake", True)]),
        (("a", "fluffy"), [("a", True), ("fluffy", True)]),
        (("从", "前", "，"), [("从", False), ("前", False), ("，", False)]),
        (("\u2581a", "bc"), [("a", True), ("bc", False)]),
    ],
)
def test_a_space_before_a_token_stands_between_words(
    tokens: tuple[str, ...], expected: list[tuple[str, bool]]
) -> None:
    found = [(word.text, word.is_apart) for word in sentence(tokens)]
    assert found[: len(expected)] == expected
    assert len(found) == len(tokens)


@pytest.mark.parametrize("room", [300.0, 700.0, 1300.0])
@pytest.mark.parametrize("count", [1, 2, 9, 16, 17, 60])
def test_no_two_words_overlap_and_all_are_shown_or_counted(count: int, room: float) -> None:
    for chosen in (0, count // 2, count - 1):
        shown = arranged(words(count), room, chosen)
        row = shown.keys
        assert row.first + len(row.places) + row.after == count
        assert row.at(chosen) is not None
        for one, other in zip(row.places, row.places[1:], strict=False):
            assert one.row < other.row or one.right < other.left
        assert all(50 <= place.left and place.right <= 50 + room + 1e-9 for place in row.places)
        assert len(shown.tops) == 1 + max(place.row for place in row.places) <= 2


def test_a_sentence_has_two_lines_only_up_to_ninety_letters() -> None:
    short, long = words(LETTERS // 5), words(LETTERS // 5 + 1)
    one = arranged(short, 5000).keys
    assert (one.first, one.after, one.places[-1].row) == (0, 0, 0)
    two = arranged(short, 500).keys
    assert (two.first, two.after, two.places[-1].row) == (0, 0, 1)
    cut = arranged(long, 500, len(long) // 2).keys
    assert cut.first and cut.after and {place.row for place in cut.places} == {0}
    assert abs(cut.first - cut.after) <= 1, "as many words on both sides of the chosen one"


def test_an_arc_ends_at_its_words_and_a_farther_one_is_higher() -> None:
    shown = arranged(words(9), 700, chosen=8)
    peaks = []
    for key in range(8):
        curve = shown.curve(8, key)
        assert curve is not None
        assert curve[0].tolist() == [shown.queries.places[8].middle, shown.tops[0]]
        assert curve[3].tolist() == [shown.keys.places[key].middle, shown.tops[0]]
        at = shown.peak(8, key)
        assert at is not None and shown.tops[0] - MEASURES.rise - 1e-9 <= at[1] < shown.tops[0]
        peaks.append(at[1])
    assert peaks == sorted(peaks)


def test_between_two_lines_an_arc_runs_through_the_space_between_them() -> None:
    for shown, query, key in (
        (arranged(words(16), 400, chosen=15), 15, 0),
        (arranged(words(16), 400, chosen=0), 0, 15),
        (arranged(words(4), 700, 1, keys=words(3)), 1, 2),
    ):
        curve = shown.curve(query, key)
        assert curve is not None
        low, high = shown.tops[0] + MEASURES.line, shown.tops[1]
        assert low < high and {float(curve[0, 1]), float(curve[3, 1])} == {low, high}
        assert (low <= curve[:, 1]).all() and (curve[:, 1] <= high).all()


@pytest.mark.parametrize(("weight", "expected"), [(1.0, 15.0), (0.5, 7.5), (0.05, 0.75), (1e-6, 0.75)])
def test_thickness_is_the_weight(weight: float, expected: float) -> None:
    assert arranged(words(3), 700).thickness(weight) == pytest.approx(expected)


def test_the_pointer_finds_words_and_the_nearest_arc() -> None:
    shown = arranged(words(6), 700, chosen=5)
    for index, place in enumerate(shown.keys.places):
        assert shown.word_at(place.middle, shown.tops[0] + 10) == (index, index)
    assert shown.word_at(60, 0) == (-1, -1)
    for key in range(5):
        at = shown.peak(5, key)
        assert at is not None
        assert shown.arc_at(*at, 5, range(6), 4.0) == key
        assert shown.arc_at(at[0], at[1] - 30, 5, [key], 4.0) == -1


def test_of_two_sequences_each_has_its_line() -> None:
    shown = arranged(words(4), 700, 2, keys=words(3))
    assert [place.row for place in shown.queries.places] == [0] * 4
    assert [place.row for place in shown.keys.places] == [1] * 3
    assert not shown.is_one and np.all(np.diff(shown.tops) > MEASURES.line)
    middle = shown.keys.places[1].middle
    assert shown.word_at(middle, shown.tops[1] + 5) == (-1, 1)
