"""When a decoding is made and how long an older one stays, as values: no window, no thread, no timer."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from first_layer import with_fields

from attnviz.gui.live.freshness import Freshness, begin, clear, edit, expire, finish, forget, stop, want
from attnviz.gui.live.subject import Subject
from attnviz.model.edit.generation import set_seed
from attnviz.model.io.presets import load_preset

EXPERIMENT = load_preset("causal-decode").experiment
ONE = Subject(EXPERIMENT, "numpy", "auto")
OTHER = replace(ONE, experiment=with_fields(EXPERIMENT, temperature=2.0))
SAMPLED = replace(ONE, experiment=set_seed(EXPERIMENT, 77))
STEPS = cast(Any, object())


def shown(seconds: float) -> Freshness:
    """`ONE` is on the screen, and took so long."""
    return finish(
        Freshness(is_watched=True), ONE, cast(Any, SimpleNamespace(decoding=STEPS, seconds=seconds))
    )


def test_a_finished_decoding_is_shown_and_its_steps_may_be_reused() -> None:
    fresh = shown(0.2)
    assert fresh == Freshness(shown=ONE, earlier=STEPS, seconds=0.2, took=0.2, is_watched=True, is_due=False)
    assert fresh.due is None


WANTS: list[tuple[float, Subject, float, float]] = [
    (0.005, OTHER, 0.0, 0.3),  # a quick one follows the hand
    (0.01, OTHER, 0.0, 0.3),
    (0.011, OTHER, 0.12, 0.3),  # a slow one waits for it to rest
    (0.25, OTHER, 0.12, 0.3),
    (0.25, SAMPLED, 0.12, 1.5),  # the distributions are still right
    (3.0, SAMPLED, 0.12, 1.5),
    (0.005, replace(ONE, engine="torch"), 0.0, 1.5),
]


@pytest.mark.parametrize(("seconds", "subject", "rest", "stays"), WANTS)
def test_it_is_made_after_a_rest_and_the_older_one_stays_for_a_while(
    seconds: float, subject: Subject, rest: float, stays: float
) -> None:
    fresh = want(shown(seconds), subject, 10.0)
    assert fresh.shown == ONE
    assert fresh.decode_at == pytest.approx(10.0 + rest)
    assert fresh.clear_at == pytest.approx(10.0 + stays)
    assert fresh.due == fresh.decode_at


def test_where_the_next_takes_long_the_older_one_leaves_at_once_and_is_reused() -> None:
    fresh = want(shown(0.26), OTHER, 10.0)
    assert (fresh.shown, fresh.clear_at, fresh.earlier) == (None, None, STEPS)
    assert fresh.due == fresh.decode_at == pytest.approx(10.12)


def test_an_edit_that_is_taken_back_is_awaited_no_longer() -> None:
    fresh = want(shown(0.2), OTHER, 10.0)
    assert want(fresh, ONE, 10.05) == shown(0.2)


def test_an_older_one_leaves_when_its_time_is_over_and_not_before() -> None:
    fresh = begin(want(shown(0.2), OTHER, 10.0))
    assert fresh.due == pytest.approx(10.3)
    assert expire(fresh, 10.29) == fresh
    assert expire(fresh, 10.31) == clear(fresh) == replace(fresh, shown=None, clear_at=None)
    assert expire(clear(fresh), 99.0) == clear(fresh)


def test_one_that_every_edit_cancels_is_slow_until_it_is_done() -> None:
    fresh = shown(0.005)
    for moment in range(3):
        fresh = edit(begin(want(fresh, OTHER, float(moment))))
    assert fresh.seconds == math.inf and fresh.generation == 3 and fresh.decode_at is None
    assert want(fresh, OTHER, 5.0).decode_at == pytest.approx(5.12)


def test_hidden_nothing_is_awaited_and_an_edit_forgets_what_was_made() -> None:
    hidden = replace(shown(0.2), is_watched=False)
    assert want(hidden, OTHER, 10.0) == hidden
    assert edit(hidden) == replace(forget(hidden), generation=1, is_due=True)
    assert (forget(hidden).shown, forget(hidden).earlier) == (None, None)
    assert edit(shown(0.2)) == replace(shown(0.2), generation=1, is_due=True)


def test_one_is_due_from_the_edit_until_it_is_shown_fails_or_is_wanted_no_more() -> None:
    assert Freshness().is_due and not shown(0.2).is_due
    fresh = edit(shown(0.3))
    assert fresh.is_due
    fresh = want(fresh, OTHER, 10.0)
    assert fresh.is_due and begin(fresh).is_due and clear(fresh).is_due
    assert not stop(fresh).is_due and not stop(begin(fresh)).is_due
    assert want(stop(fresh), OTHER, 11.0).is_due
    assert not want(edit(shown(0.2)), ONE, 10.0).is_due
