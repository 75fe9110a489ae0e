"""Edits of the generation of text."""

from __future__ import annotations

import pytest
from experiments import small
from hypothesis import given
from hypothesis import strategies as st

from attnviz.model.caches import FullCache, RingCache
from attnviz.model.edit.generation import (
    FRESH,
    differs_in_writing,
    force,
    forced_positions,
    move_operation,
    operation_value,
    release,
    remove_operation,
    rewrite,
    set_cache,
    set_operation,
    set_seed,
    set_stop,
    set_writing,
    shown_strings,
    strings_shown,
    with_value,
    writing_of,
)
from attnviz.model.spec.generation import Forced, Writing
from attnviz.model.spec.sampling import (
    SAMPLING_OPERATIONS,
    MinP,
    RepetitionPenalty,
    Sampling,
    StopConditions,
    Temperature,
    TopK,
    TopP,
)

BARE = small()
WRITES = small(writing=Writing(Sampling((TopK(5), Temperature(0.5)), 7), RingCache(3)))


def operations(experiment: object) -> list[object]:
    return list(writing_of(experiment).sampling.operations)  # type: ignore[arg-type]


def test_writing_is_switched_on_and_off_and_nothing_else_changes() -> None:
    on = set_writing(BARE, FRESH)
    assert on.writing == FRESH and set_writing(on, None) == BARE
    assert FRESH.cache == FullCache() and FRESH.sampling.stop.length == 32


def test_two_that_differ_in_nothing_but_writing_have_the_same_numbers() -> None:
    assert differs_in_writing(BARE, WRITES) and differs_in_writing(BARE, small())
    assert not differs_in_writing(BARE, small(temperature=2.0, writing=WRITES.writing))


def test_an_edit_of_what_does_not_write_yet_begins_to_write() -> None:
    for edited in (set_seed(BARE, 3), set_stop(BARE, length=2), set_cache(BARE, RingCache(2))):
        assert edited.writing is not None and operations(edited) == [Temperature(0.0)]


def test_an_operation_keeps_its_place_when_its_number_changes() -> None:
    assert operations(set_operation(WRITES, TopK(9))) == [TopK(9), Temperature(0.5)]


def test_a_new_operation_stands_where_it_is_usually_applied() -> None:
    experiment = set_writing(BARE, Writing())
    for operation in (MinP(0.1), RepetitionPenalty(1.1), TopP(0.5), Temperature(2.0), TopK(3)):
        experiment = set_operation(experiment, operation)
    kinds = [type(one) for one in operations(experiment)]
    assert kinds == [row.kind for row in SAMPLING_OPERATIONS]
    # Of an order that somebody chose, it comes before the first that usually stands behind it.
    assert operations(set_operation(WRITES, RepetitionPenalty(1.3)))[0] == RepetitionPenalty(1.3)
    assert operations(set_operation(WRITES, TopP(0.3)))[-1] == TopP(0.3)


def test_operations_move_as_far_as_there_are_places() -> None:
    later = move_operation(WRITES, TopK, 1)
    assert operations(later) == [Temperature(0.5), TopK(5)]
    assert move_operation(later, TopK, 1) == later and move_operation(later, TopK, -1) == WRITES
    with pytest.raises(
        ValueError, match=r"sampling\.operations must be one of 'top_k', 'temperature'; got 'top_p'\."
    ):
        move_operation(WRITES, TopP, 1)
    assert operations(remove_operation(WRITES, TopK)) == [Temperature(0.5)]
    assert remove_operation(WRITES, TopP) == WRITES


def test_the_number_of_an_operation_is_read_and_written_by_the_table() -> None:
    for row in SAMPLING_OPERATIONS:
        made = with_value(row, operation_value(row.fresh))
        assert made == row.fresh
    assert with_value(SAMPLING_OPERATIONS[2], 7.0) == TopK(7)
    with pytest.raises(ValueError, match="temperature"):
        with_value(SAMPLING_OPERATIONS[1], -1.0)


def test_seed_stop_and_cache_leave_the_rest_alone() -> None:
    assert set_seed(WRITES, 8).writing == Writing(Sampling((TopK(5), Temperature(0.5)), 8), RingCache(3))
    stopped = set_stop(WRITES, strings=(".",), end_token=False)
    assert writing_of(stopped).sampling.stop == StopConditions(False, 256, (".",))
    assert writing_of(set_cache(WRITES, FullCache())).sampling == writing_of(WRITES).sampling


def test_what_was_written_before_a_replaced_token_becomes_the_documents() -> None:
    written = ("the", "cat", "the", "<s>", "猫", "cat", "the")
    later = rewrite(BARE, written, 5, ("the", "猫"))
    assert later.tokens == ("the", "cat", "the", "<s>", "猫", "the", "猫")
    assert rewrite(BARE, written, 1, ("猫",)).tokens == ("the", "猫", "the", "<s>", "猫")
    with pytest.raises(ValueError, match=r"index must be a whole number from 0 to 6; got 7\."):
        rewrite(BARE, written, 7, ("the",))


def test_a_forced_token_drops_those_after_it_and_is_released() -> None:
    n = BARE.n_queries
    forced = force(force(force(WRITES, n + 1, "cat"), n + 4, "the"), n + 2, "猫")
    assert writing_of(forced).forced == (Forced(1, "cat"), Forced(2, "猫"))
    assert forced_positions(forced) == {n + 1, n + 2}
    assert writing_of(forced).sampling == writing_of(WRITES).sampling and forced.tokens == WRITES.tokens
    assert release(forced, n + 2) == force(WRITES, n + 1, "cat")
    assert release(forced, n + 1) == WRITES
    again = force(forced, n + 1, "<s>")
    assert writing_of(again).forced == (Forced(1, "<s>"),)


def test_a_token_that_is_forced_in_the_prompt_ends_it_there() -> None:
    shorter = force(force(BARE, BARE.n_queries, "cat"), 2, "猫")
    assert shorter.tokens == (*BARE.tokens[:2], "猫") and not forced_positions(shorter)
    assert writing_of(shorter) == FRESH
    with pytest.raises(ValueError, match=r"index must be a whole number from 1 to 5; got 0\."):
        force(BARE, 0, "cat")


def test_a_text_that_is_rewritten_behind_forced_tokens_has_them_in_its_prompt() -> None:
    written = (*BARE.tokens, "cat", "the", "猫")
    later = rewrite(force(WRITES, BARE.n_queries, "cat"), written, BARE.n_queries + 1, ("<s>",))
    assert later.tokens == (*BARE.tokens, "cat", "<s>") and not forced_positions(later)
    assert rewrite(BARE, written, BARE.n_queries + 1, ("<s>",)).writing is None


def test_forced_steps_ascend_in_a_file() -> None:
    with pytest.raises(ValueError, match=r"forced must be ascending steps, each once; got \[2, 2\]\."):
        Writing(forced=(Forced(2, "a"), Forced(2, "b")))
    with pytest.raises(ValueError, match=r"forced\.step"):
        Forced(-1, "a")


@given(st.lists(st.text("ab|\\n\n 。", min_size=1), max_size=4))
def test_stop_strings_are_read_as_they_are_written(strings: list[str]) -> None:
    line = shown_strings(strings)
    assert "\n" not in line and strings_shown(line) == tuple(strings)


@pytest.mark.parametrize(
    ("line", "strings"),
    [
        ("a\\", ("a\\",)),
        ("\\", ("\\",)),
        ("a\\|b|c\\", ("a|b", "c\\")),
        ("\\d\\n|\\\\n", ("\\d\n", "\\n")),
        ("|a||", ("a",)),
    ],
)
def test_a_backslash_that_escapes_nothing_is_kept(line: str, strings: tuple[str, ...]) -> None:
    assert strings_shown(line) == strings
    assert strings_shown(shown_strings(strings)) == strings
