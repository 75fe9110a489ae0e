"""A run in turns against a run in one piece; rewinding, and the end of a run that diverges."""

from __future__ import annotations

import time

import numpy as np
import pytest
from two_layers import COURSE, TASK, model

from attnviz.training import turns
from attnviz.training.optimiser import Settings
from attnviz.training.parameters import parameters_of
from attnviz.training.run import Run, train
from attnviz.training.turns import Watched, begin

SETTINGS = Settings(steps=60)


@pytest.fixture(scope="module")
def run() -> Run:
    return train(model(), TASK, COURSE, SETTINGS)


def watched() -> Watched:
    return begin(model(), TASK, COURSE, SETTINGS)


def numbers(experiment: object) -> list[np.ndarray]:
    return [parameter.numbers() for parameter in parameters_of(experiment)]  # type: ignore[arg-type]


def assert_alike(one: object, other: object) -> None:
    for mine, theirs in zip(numbers(one), numbers(other), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_turns_are_the_run_in_one_piece(run: Run) -> None:
    watch = watched()
    picture = watch.turn(most=7)
    assert picture.step == 7 and picture.steps == (0, 7)
    while picture.step < 60:
        picture = watch.turn(most=7)
    assert picture.moments == tuple(run.curves.moments)
    assert [one.step for one in picture.measures] == [one.step for one in run.curves.measures]
    assert picture.measures[-1].loss == run.curves.measures[-1].loss
    assert picture.scores == run.curves.measures[-1].scores
    assert_alike(picture.experiment, run.experiment)


def test_a_look_at_a_kept_step_changes_nothing(run: Run) -> None:
    watch = watched()
    watch.turn(most=35)
    picture = watch.look(20)
    measured = next(one for one in run.curves.measures if one.step == 20)
    assert picture.scores == measured.scores and len(picture.moments) == 35
    assert picture.steps == (0, 10, 20, 30, 35)
    assert_alike(picture.experiment, run.at(20))
    assert watch.turn(most=1).step == 36


def test_a_run_goes_on_from_a_kept_step_as_a_fresh_one_would(run: Run) -> None:
    watch = watched()
    watch.turn(most=45)
    picture = watch.turn(start=20, most=10)
    assert picture.step == 30 and picture.steps == (0, 10, 20, 30)
    assert picture.moments == tuple(run.curves.moments[:30])
    assert [one.step for one in picture.measures] == [0, 20]
    assert_alike(picture.experiment, run.at(30))


def test_other_settings_hold_from_the_next_step_on(run: Run) -> None:
    watch = watched()
    watch.turn(most=20)
    watch.change(COURSE, Settings(steps=30, rate=1e-4))
    picture = watch.turn(most=50)
    assert picture.step == 30
    assert [moment.rate for moment in picture.moments] == [SETTINGS.rate] * 20 + [1e-4] * 10
    assert picture.moments[20].loss == run.curves.moments[20].loss != picture.moments[19].loss


def test_a_run_that_diverges_returns_to_its_last_kept_state() -> None:
    settings = Settings(rate=1e30, clip=None, optimiser="sgd", steps=20)
    watch = begin(model(), TASK, COURSE, settings)
    picture = watch.turn(most=20)
    assert picture.reason is not None and "must be" in picture.reason.text()
    assert picture.step == 0 and len(picture.moments) >= 1
    assert_alike(picture.experiment, watched().look(0).experiment)
    assert watch.look(0).moments == picture.moments
    watch.change(COURSE, Settings(optimiser="sgd", steps=20))
    again = watch.turn(most=5)
    assert again.reason is None and len(again.moments) == 5


def test_a_stop_ends_the_turn_after_its_step() -> None:
    taken = []

    def is_stopped() -> bool:
        taken.append(1)
        return len(taken) > 3

    assert watched().turn(is_stopped=is_stopped).step == 3


def test_pictures_take_their_share_of_the_time_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "TURN_S", 0.0)
    watch = begin(model(), TASK, COURSE, Settings(steps=100_000))
    whole = Watched.look

    def slow(self: Watched, *args: object, **named: object) -> object:
        picture = whole(self, *args, **named)  # type: ignore[arg-type]
        self._picture_s = 0.03
        return picture

    monkeypatch.setattr(Watched, "look", slow)
    watch.turn()
    begun = time.monotonic()
    watch.turn()
    assert time.monotonic() - begun >= 0.03 * (1 / 0.15 - 1)
