"""A run: its steps, measures and kept states against the passes of single texts."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace
from two_layers import COURSE, TASK, model

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.core.head_scores import HEAD_SCORE_BY_ID
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.model.spec.experiment import Experiment
from attnviz.study.heads.tiles import score_of
from attnviz.training import run as running
from attnviz.training.batch import Batch
from attnviz.training.optimiser import Settings
from attnviz.training.parameters import parameters_of
from attnviz.training.record import Course
from attnviz.training.run import Diverged, Run, train
from attnviz.training.words import characters_of, ids_of_words, lines_of, with_words, words_for


@pytest.fixture(scope="module")
def run() -> Run:
    return train(model(dtype="float64"), TASK, COURSE, Settings(steps=60))


def losses(experiment: Experiment, ids: np.ndarray, targets: np.ndarray) -> tuple[list[float], list[bool]]:
    """−ln p of the target at each asked position, and whether it is the most probable; text by text."""
    known, found, right = experiment.vocabulary, list[float](), list[bool]()
    assert known is not None
    for text, wanted in zip(ids.tolist(), targets.tolist(), strict=True):
        vectors = known.embedding.array[text] * known.embedding_scale
        given = attnviz.parts.ExplicitVectors(attnviz.parts.Matrix(vectors))
        tokens = tuple(known.tokens[index] for index in text)
        trace = attnviz.run(replace(experiment, tokens=tokens, vectors=given))
        p = trace.site(trace.sites[-1])["probabilities"]
        for at, target in enumerate(wanted):
            if target >= 0:
                found.append(-float(np.log(p[at, target])))
                right.append(int(p[at].argmax()) == target)
    return found, right


@pytest.mark.parametrize("step", [0, 30, 50])
def test_the_loss_of_a_step_is_that_of_its_texts_one_by_one(run: Run, step: int) -> None:
    texts = run.training.texts(step, COURSE.batch)
    each, _right = losses(run.at(step), *texts)
    assert run.curves.moments[step].loss == pytest.approx(np.mean(each), rel=1e-10)


def test_the_norms_of_a_step_are_finite_differences_on_its_texts_made_again(run: Run) -> None:
    """Along the gradient of each part, the loss changes by its norm."""
    step, engine = 30, NumpyEngine("float64")
    texts, state = run.training.texts(step, COURSE.batch), run.training.states[step].numbers
    batch, moment = Batch(engine, run.at(0), TASK.n_tokens), run.curves.moments[step]
    gradients, owners = batch.loss_and_gradients(state, *texts).gradients, batch.owners()
    for part, norm in zip(run.curves.parts, moment.norms, strict=True):
        own = {name: gradient for name, gradient in gradients.items() if owners[name] == part}
        length = np.sqrt(sum(float((gradient**2).sum()) for gradient in own.values()))
        ends = []
        for change in (1e-5, -1e-5):
            moved = {name: state[name] + change * gradient / length for name, gradient in own.items()}
            ends.append(batch.loss({**state, **moved}, *texts).loss)
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(norm, rel=1e-7), part
    assert moment.norm == pytest.approx(float(np.hypot.reduce(moment.norms)), rel=1e-12)


def test_the_measures_are_those_of_the_held_out_texts(run: Run) -> None:
    texts = run.training.texts(running.HELD_OUT, running.HELD_OUT_TEXTS, is_held_out=True)
    each, right = losses(run.experiment, *texts)
    last = run.curves.measures[-1]
    assert (last.step, last.accuracy) == (60, np.mean(right))
    assert last.loss == pytest.approx(np.mean(each), rel=1e-10)


def test_the_scores_are_those_of_the_document_at_that_step(run: Run) -> None:
    at = next(one for one in run.curves.measures if one.step == 40)
    trace = attnviz.run(run.at(40))
    assert at.scores.keys() == {
        (score, site, head) for score in running.SCORES for site in trace.sites for head in range(2)
    }
    for (score, site, head), value in at.scores.items():
        expected = score_of(trace.site(site), head, HEAD_SCORE_BY_ID[score])
        assert value == pytest.approx(expected, abs=1e-12)


def test_a_kept_state_is_that_of_a_fresh_run_to_its_step(run: Run) -> None:
    fresh = train(model(dtype="float64"), TASK, COURSE, Settings(steps=40))
    assert run.steps == (0, 10, 20, 30, 40, 50, 60)
    pairs = zip(parameters_of(run.at(40)), parameters_of(fresh.experiment), strict=True)
    for kept, made in pairs:
        np.testing.assert_array_equal(kept.numbers(), made.numbers())


def test_the_first_state_is_the_document(run: Run) -> None:
    for kept, given in zip(parameters_of(run.at(0)), parameters_of(model()), strict=True):
        np.testing.assert_array_equal(kept.numbers(), given.numbers())


def test_both_engines_train_alike() -> None:
    made = [
        train(model(dtype="float64"), TASK, COURSE, Settings(steps=20), engine, "cpu")
        for engine in ("numpy", "torch")
    ]
    one, other = ([moment.loss for moment in run.curves.moments] for run in made)
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_two_layers_learn_to_copy_and_one_does_not() -> None:
    settings = Settings(rate=5e-3, steps=150)
    course = Course(batch=16, measured=50)
    two, one = (train(model(n_layers), TASK, course, settings).curves for n_layers in (2, 1))
    assert two.first_above(0.9) is not None
    assert one.measures[-1].accuracy < 0.7 < two.measures[-1].accuracy
    scores = two.measures[-1].scores
    best = max(scores, key=lambda key: scores[key] if key[0] == "induction" else 0.0)
    assert best[1] == "layers.1.self" and scores[best] > 0.6


def test_too_large_a_rate_ends_the_run_with_its_reason() -> None:
    with pytest.raises((Diverged, ValueError), match="must be (a number|numbers)"):
        train(model(), TASK, COURSE, Settings(rate=1e30, clip=None, optimiser="sgd", steps=20))


def test_the_reason_names_the_longest_step_before() -> None:
    settings = Settings(rate=1e3, optimiser="sgd", steps=100)  # its last gradients are 0
    with pytest.raises(Diverged, match=r"is NaN at step \d+. The longest step before was 1000.000, the"):
        train(model(), TASK, COURSE, settings)


def test_the_states_keep_to_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    size = sum(parameter.numbers().size for parameter in parameters_of(model())) * 4 * 3  # with two moments
    monkeypatch.setattr(running, "KEPT_BYTES", 5 * size)
    run = train(model(), TASK, Course(batch=2, measured=100, kept=2), Settings(steps=40))
    assert len(run.steps) <= 5 and run.steps[0] == 0
    assert all(step % 8 == 0 for step in run.steps[:-1])


def test_another_step_than_a_kept_one_is_refused(run: Run) -> None:
    with pytest.raises(ValueError, match="step must be a kept step, such as 60; got 7"):
        run.at(7)


def test_words_are_the_tokens_that_neither_begin_nor_end_a_text() -> None:
    story = load_preset("stories-name").experiment
    known = story.vocabulary
    assert known is not None
    ids = ids_of_words(story)
    assert {known.begin, known.end} & {known.tokens[index] for index in ids} == set()
    with pytest.raises(ValueError, match="vocabulary must be a vocabulary of at least 99,?999 words"):
        ids_of_words(story, 99_999)


def test_a_document_gets_the_words_of_a_task() -> None:
    made = with_words(load_preset("toy-attention").experiment, words_for(20))
    known = made.vocabulary
    assert known is not None and len(known.tokens) == len(set(known.tokens)) == 20
    assert made.tokens == known.tokens[:4] and made.readout == "vocabulary"


def test_lines_are_numbers_of_words() -> None:
    text = "ab\n\nba b\n"
    made = with_words(model(), characters_of(text))
    words = characters_of(text)
    assert words == ("\n", " ", "a", "b")
    lines = lines_of(made, text)
    assert ["".join(words[index] for index in line) for line in lines] == ["ab\n", "\n", "ba b\n"]
    with pytest.raises(ValueError, match="text must be a token of the vocabulary; got 'c'"):
        lines_of(made, "abc")
