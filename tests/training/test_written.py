"""Words that are written at kept states, and the loss of each word, against runs of the document."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace
from two_layers import COURSE, TASK, model

import attnviz
from attnviz.model.edit.edits import set_ids
from attnviz.training.batch import NOT_COUNTED
from attnviz.training.optimiser import Settings
from attnviz.training.tasks import Addition, Copy, Lookup, Sampler, Texts
from attnviz.training.turns import Watched, begin
from attnviz.training.words import with_words, words_for
from attnviz.training.written import Prompt, rows, written


@pytest.fixture(scope="module")
def watch() -> Watched:
    made = begin(replace(model(), dtype="float64"), TASK, COURSE, Settings(steps=60))
    made.turn(most=45)
    return made


def test_the_loss_of_each_word_is_minus_log_p_of_the_document_at_that_step(watch: Watched) -> None:
    for step in (20, 45):
        picture = watch.look(step)
        p = attnviz.run(picture.experiment)["probabilities"]
        assert len(picture.losses) == len(picture.targets) == TASK.n_tokens
        assert NOT_COUNTED in picture.targets
        for at, (loss, target) in enumerate(zip(picture.losses, picture.targets, strict=True)):
            expected = 0.0 if target == NOT_COUNTED else -np.log(p[at, target])
            assert loss == pytest.approx(expected, rel=1e-9)


def test_a_task_that_asks_for_one_word_shows_the_losses_of_several_texts() -> None:
    made = begin(
        replace(with_words(model(), words_for(10)), dtype="float64"), Lookup(3, 10), COURSE, Settings()
    )
    picture = made.turn(most=3)
    asked = [at for at, target in enumerate(picture.targets) if target >= 0]
    assert len(asked) == 9 and len(picture.targets) == 9 * 7
    known = [picture.losses[at] for at in asked]
    each = [
        made.training.outcome(Texts(*(one[n : n + 1] for one in made.training.held_out)), 3) for n in range(9)
    ]
    assert known == pytest.approx([one.loss for one in each], rel=1e-12)


@pytest.mark.parametrize("step", [0, 40, 45])
def test_each_word_is_the_most_probable_one_behind_those_before(watch: Watched, step: int) -> None:
    training, prompt = watch.training, Prompt.of(watch.training.held_out)
    state = training.present() if step == training.step else training.at(step)
    found = written(training, prompt, step)
    ids, last = list[int](), -1
    for (text, position), word in zip(prompt.places, found.ids, strict=True):
        ids = ids if text == last else prompt.ids[text, : position + 1].tolist()
        last = text
        logits = attnviz.run(set_ids(state, ids))["logits"]
        assert int(np.argmax(logits[-1])) == word
        ids.append(word)


@pytest.mark.parametrize("task", [Copy(), Lookup(), Addition(7), Copy(12, 8, 3, 5)])
def test_the_words_are_those_that_the_task_asks_for(task: Sampler) -> None:
    texts = task.texts(np.random.default_rng(0), 64, is_held_out=True)
    prompt = Prompt.of(texts)
    assert 5 <= len(prompt.places) == len(prompt.wanted) <= 9
    assert prompt.wanted == tuple(int(texts.targets[place]) for place in prompt.places)
    assert all(word >= 0 for word in prompt.wanted)
    for text in range(len(prompt.ids)):
        begin = min(at for one, at in prompt.places if one == text)
        np.testing.assert_array_equal(prompt.ids[text, : begin + 1], texts.ids[text, : begin + 1])
        assert set(prompt.ids[text, begin:].tolist()) == {int(texts.ids[text, begin])}, (
            "nothing is given away"
        )


def test_a_text_that_is_asked_everywhere_begins_in_its_middle() -> None:
    ids = np.arange(20).reshape(1, 20)
    prompt = Prompt.of(Texts(ids, ids + 1))
    assert prompt.places == tuple((0, at) for at in range(10, 19))


def test_the_rows_are_kept_steps_and_few() -> None:
    assert rows([0]) == (0,) and rows([0, 10, 20]) == (0, 10, 20)
    assert rows(range(0, 1001, 10)) == (0, 160, 320, 480, 640, 800, 960)
    assert all(len(rows(range(0, last, 10))) <= 7 for last in range(10, 3000, 10))


def test_the_rows_of_a_picture_are_made_once_and_follow_the_states(watch: Watched) -> None:
    first = watch.look(40).written
    assert [one.step for one in first] == [0, 10, 20, 30, 40]
    assert all(a is b for a, b in zip(first, watch.look(10).written, strict=True))
    picture = watch.turn(start=20, most=20)
    assert [one.step for one in picture.written] == [0, 10, 20, 30], "a quick picture has one new row at most"
    assert [one.step for one in watch.look(40).written] == [0, 10, 20, 30, 40]
    assert watch.look(40).written[3] is not first[3]


def test_a_run_beside_another_one_keeps_its_steps() -> None:
    one, other = (begin(model(), TASK, COURSE, Settings(steps=30)) for _run in range(2))
    picture = one.turn(most=25)
    beside = other.follow(25, seconds=60.0)
    assert beside.step == 25 and beside.moments == picture.moments
    assert [m.loss for m in beside.measures] == [m.loss for m in picture.measures]
    assert other.follow(10).step == 25 and other.follow(99, seconds=60.0).step == 30


def test_a_run_beside_another_one_ends_with_its_reason() -> None:
    settings = Settings(rate=1e30, clip=None, optimiser="sgd", steps=20)
    beside = begin(model(), TASK, COURSE, settings)
    found = beside.follow(20, seconds=60.0)
    assert found.reason is not None and found.step < 20
    assert beside.follow(20).moments == found.moments


def test_a_kept_state_is_seen_with_other_heads_off_and_stays_as_it_is(watch: Watched) -> None:
    off = (("layers.0.self", 1),)
    before = watch.look(20)
    picture = watch.look(20, off)
    assert picture.off == off and picture.switched is not None and picture.switched.off == off
    known = next(one for one in picture.measures if one.step == 20)
    assert picture.switched.loss != known.loss and before.switched is None
    again = watch.look(20)
    assert again.off == () and again.losses == before.losses
    switched = begin(model(dtype="float64"), TASK, COURSE, Settings(steps=60))
    switched.turn(most=20)
    assert switched.look(20, off).measures[-1].loss == picture.switched.loss
