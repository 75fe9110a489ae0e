"""Kept results of an experiment live as long as the experiment, and belong to no other."""

from __future__ import annotations

import gc

from experiments import small

from attnviz.model.memo import WeakMemo
from attnviz.model.spec.experiment import Experiment


def test_it_is_found_once_for_each_and_goes_with_it() -> None:
    asked: list[int] = []

    def find(experiment: Experiment) -> int:
        asked.append(experiment.n_queries)
        return experiment.n_queries

    remembered = WeakMemo(find)
    one, equal = small(), small()
    assert one == equal and one is not equal
    for _time in range(3):
        assert remembered(one) == remembered(equal) == one.n_queries
    assert len(asked) == 2 and len(remembered._found) == 2
    del equal
    gc.collect()
    assert list(remembered._found) == [id(one)]


def test_thousands_that_come_and_go_are_never_mistaken_for_each_other() -> None:
    remembered = WeakMemo(lambda experiment: experiment.layers[0].temperature)
    for index in range(1, 2000):
        assert remembered(small(temperature=float(index))) == index
    assert not remembered._found


def test_an_owner_that_is_like_a_living_one_has_its_result() -> None:
    asked: list[float] = []

    def find(experiment: Experiment) -> float:
        asked.append(experiment.layers[0].temperature)
        return experiment.n_queries

    remembered = WeakMemo(find, like=lambda one, other: one.n_queries == other.n_queries)
    kept = [small(temperature=float(index)) for index in range(1, 5)]
    assert [remembered(one) for one in kept] == [kept[0].n_queries] * 4
    assert asked == [1.0] and len(remembered._found) == 4
    kept.clear()
    gc.collect()
    assert not remembered._found
    remembered(small(temperature=9.0))
    assert asked == [1.0, 9.0]
