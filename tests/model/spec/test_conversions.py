"""Conversions live with their owner and while they fit; passes over too many keep those that do."""

from __future__ import annotations

import gc

import numpy as np

from attnviz.model.spec.conversions import Conversions


class Owner:
    pass


def test_a_conversion_is_made_once_and_goes_with_its_owner() -> None:
    made: list[int] = []

    def make(memory: object) -> np.ndarray:
        made.append(1)
        return np.zeros(4)

    kept, owner = Conversions(1000), Owner()
    assert kept.of(owner, 32, make) is kept.of(owner, 32, make)
    assert len(made) == 1 and kept.nbytes == 32
    del owner
    gc.collect()
    assert kept.nbytes == 0 and not kept._known


def test_passes_over_more_than_fits_convert_only_what_does_not_fit() -> None:
    owners, made = [Owner() for _ in range(5)], list[int]()
    kept = Conversions(3 * 80)

    def a_pass() -> int:
        made.clear()
        for number, owner in enumerate(owners):
            kept.of(owner, 80, lambda memory, number=number: made.append(number) or np.zeros(10))
        return len(made)

    assert [a_pass(), a_pass(), a_pass()] == [5, 2, 2]
    assert kept.nbytes <= 240


def test_what_is_used_again_displaces_what_is_not() -> None:
    old, new = [Owner() for _ in range(3)], [Owner() for _ in range(3)]
    kept = Conversions(3 * 80)
    for owners in (old, new, new):
        arrays = [kept.of(owner, 80, lambda memory: np.zeros(10)) for owner in owners]
    again = [kept.of(owner, 80, lambda memory: np.ones(10)) for owner in new]
    assert all(one is two for one, two in zip(arrays, again, strict=True))


def test_memory_of_what_is_not_kept_is_used_again() -> None:
    kept, seen = Conversions(0), set[int]()

    def make(memory: np.ndarray) -> np.ndarray:
        seen.add(memory.ctypes.data)
        return np.ndarray(4, np.float32, memory)

    first, owners = Owner(), [Owner() for _ in range(3)]
    array = kept.of(first, 16, make)
    array[:] = 7
    for owner in owners:
        kept.of(owner, 16, make)[:] = 1
    assert len(seen) == 2 and (array == 7).all()


def test_memory_of_what_a_view_reads_is_not_used_again() -> None:
    """A transposed matrix keeps its numbers while others are converted, though nobody holds the matrix."""
    kept = Conversions(0)

    def make(memory: np.ndarray) -> np.ndarray:
        return np.ndarray((2, 2), np.float32, memory)

    first, owners = Owner(), [Owner() for _ in range(3)]
    array = kept.of(first, 16, make)
    array[:] = [[1, 2], [3, 4]]
    column = array.T[1].reshape(2, 1)
    del array
    gc.collect()
    for owner in owners:
        kept.of(owner, 16, make)[:] = 7
    assert column.tolist() == [[2], [4]]


def test_what_can_go_in_parts_is_kept_only_where_the_whole_was_needed_or_many_passes_follow() -> None:
    kept, whole, brief = Conversions(1000), Owner(), Owner()
    kept.of(whole, 80, lambda memory: np.zeros(10))
    for _use in range(3):
        assert kept.goes_in_parts(brief, 80) and kept.nbytes == 80
    with kept.held():
        assert not kept.goes_in_parts(brief, 80)
    array = kept.of(brief, 80, lambda memory: np.ones(10))
    assert kept.nbytes == 160 and not kept.goes_in_parts(brief, 80)
    kept.rest([whole, brief])
    assert kept.nbytes == 80 and kept.goes_in_parts(brief, 80) and (array == 1).all()
    kept.limit = 159
    assert kept.goes_in_parts(brief, 80), "the whole would displace another"
    with kept.held():
        assert kept.goes_in_parts(brief, 80), "the whole would pass the limit"


def test_a_rest_lets_go_everything_of_owners_that_are_not_present() -> None:
    kept, present, past = Conversions(1000), Owner(), Owner()
    kept.of(present, 80, lambda memory: np.zeros(10))
    array = kept.of(past, 80, lambda memory: np.ones(10))
    kept.form_of(past, "numpy", np.asarray)
    kept.rest([present])
    assert kept.nbytes == 80 and kept.form_of(past, "numpy", np.asarray) is None and (array == 1).all()
    assert kept.of(past, 80, lambda memory: np.full(10, 2.0)).tolist() == [2.0] * 10


def test_a_form_is_made_once_and_goes_with_its_conversion() -> None:
    kept, first, second = Conversions(80), Owner(), Owner()
    assert kept.form_of(first, "numpy", np.asarray) is None, "nothing is kept yet"
    kept.of(first, 80, lambda memory: np.zeros(10))
    form = kept.form_of(first, "numpy", lambda array: array[::-1])
    assert kept.form_of(first, "numpy", lambda array: array[::-1]) is form
    kept.of(second, 80, lambda memory: np.ones(10))
    kept.of(second, 80, lambda memory: np.ones(10))
    kept._has_room(80, kept._turn + 1)
    assert kept.form_of(first, "numpy", np.asarray) is None
