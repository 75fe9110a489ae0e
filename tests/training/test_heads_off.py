"""Heads that are switched off while a model is trained: what they add, what they learn, what is kept."""

from __future__ import annotations

import numpy as np
import pytest
from two_layers import COURSE, TASK, model

from attnviz.engines.engine import Engine
from attnviz.engines.table import ENGINE_BY_ID
from attnviz.engines.torch_engine import ALONE
from attnviz.model.edit.intact import switch_off
from attnviz.model.sites.sites import at
from attnviz.study.ablation import ablate
from attnviz.study.target import Target
from attnviz.training.optimiser import Settings
from attnviz.training.run import Training
from attnviz.training.tasks import Texts

FIRST, LAST = "layers.0.self", "layers.1.self"
OFF = ((FIRST, 1),)
D_HEAD = 16


def engine_of(name: str) -> Engine:
    return ENGINE_BY_ID[name].make("float64", "cpu", ALONE)


def training(steps: int = 3) -> Training:
    """A model after some steps."""
    made = Training(engine_of("numpy"), model(dtype="float64"), TASK, COURSE, Settings(steps=100))
    for _step in range(steps):
        made.advance()
    return made


def numbers(given: Training) -> dict[str, np.ndarray]:
    return {name: np.array(np.asarray(one)) for name, one in given.parameters.items()}


def test_the_gradients_are_those_of_a_head_whose_rows_of_the_output_are_zero() -> None:
    run = training()
    texts = run.texts(7, 4)
    off = run._batch_with(OFF).loss_and_gradients(run.parameters, *texts)
    name = f"{FIRST}.projections.output"
    rows = slice(D_HEAD, 2 * D_HEAD)
    emptied = {**run.parameters, name: run.parameters[name].copy()}
    emptied[name][rows] = 0
    zero = run._batch_with(()).loss_and_gradients(emptied, *texts)
    assert off.loss == pytest.approx(zero.loss, rel=1e-12)
    assert off.gradients.keys() == zero.gradients.keys()
    for parameter, gradient in off.gradients.items():
        expected = zero.gradients[parameter].copy()
        if parameter == name:
            assert np.abs(expected[rows]).max() > 0
            expected[rows] = 0  # a head that adds nothing gives these rows nothing to learn from
        np.testing.assert_allclose(gradient, expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(("site", "head"), [(FIRST, 0), (FIRST, 1), (LAST, 1)])
def test_the_logits_and_the_loss_are_those_of_the_ablated_document(site: str, head: int) -> None:
    run = training()
    experiment = run.present()
    ids = run.held_out.ids[:1]
    texts = Texts(ids, np.append(ids[:, 1:], [[-1]], axis=1))
    outcome = run.outcome(texts, run.step, ((site, head),))
    logits = np.asarray(outcome.logits)[0]
    known = experiment.vocabulary
    assert known is not None
    found = np.zeros_like(logits)
    for position in range(logits.shape[0]):
        for column, token in enumerate(known.tokens):
            effects = ablate(experiment, Target(token, position=position))
            found[position, column] = effects.base + effects.values[site][head]
    np.testing.assert_allclose(logits, found, atol=1e-9)
    p = np.exp(found - found.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    asked = np.flatnonzero(texts.targets[0] >= 0)
    expected = -np.log(p[asked, texts.targets[0, asked]]).mean()
    assert outcome.loss == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("engine", ["numpy", "torch"])
@pytest.mark.parametrize("rule", ["adamw", "sgd"])
def test_a_head_that_is_off_learns_nothing_and_the_others_do(engine: str, rule: str) -> None:
    made = engine_of(engine)
    run = Training(made, model(dtype="float64"), TASK, COURSE, Settings(optimiser=rule, steps=100, decay=0.1))
    for _step in range(5):
        run.advance()
    run.switch(OFF)
    before = numbers(run)
    for _step in range(5):
        run.advance()
    after = numbers(run)
    columns, rows = np.s_[:, D_HEAD : 2 * D_HEAD], np.s_[D_HEAD : 2 * D_HEAD]
    for role in ("query", "key", "value"):
        name = f"{FIRST}.projections.{role}"
        np.testing.assert_array_equal(after[name][columns], before[name][columns])
        assert (after[name][:, :D_HEAD] != before[name][:, :D_HEAD]).all()
    output = f"{FIRST}.projections.output"
    np.testing.assert_array_equal(after[output][rows], before[output][rows])
    assert (after[output][:D_HEAD] != before[output][:D_HEAD]).all()
    later = f"{LAST}.projections.query"
    assert (after[later] != before[later]).all()


def test_the_loss_answers_at_once_and_both_measures_stay() -> None:
    run = training()
    run.measure()
    run.switch(OFF)
    first, second = run.curves.measures
    assert first.step == second.step == 3 and first.off == () and second.off == OFF
    assert second.loss == run.outcome(run.held_out, 3).loss != first.loss
    run.switch(())
    assert run.curves.measures[-1].loss == first.loss
    assert run.curves.measures[-1].scores == first.scores


def test_a_kept_state_knows_its_heads() -> None:
    run = training(steps=10)
    run.switch(OFF)
    for _step in range(10):
        run.advance()
    assert at(run.at(10), FIRST).heads.off == () and at(run.at(20), FIRST).heads.off == (1,)
    assert run.off_at(10) == () and run.off_at(20) == OFF
    assert run.at(10, OFF) == switch_off(run.at(10), OFF)
    run.rewind(10)
    assert run.off == () and run.step == 10
    fresh = training(steps=10)
    for name, expected in numbers(fresh).items():
        np.testing.assert_array_equal(numbers(run)[name], expected)
    run.advance()
    fresh.advance()
    assert run.curves.moments == fresh.curves.moments


def test_a_head_of_the_document_that_is_off_stays_as_it_is() -> None:
    made = engine_of("numpy")
    run = Training(made, switch_off(model(dtype="float64"), OFF), TASK, COURSE, Settings(steps=10, decay=1.0))
    name = f"{FIRST}.projections.output"
    before = numbers(run)[name][D_HEAD:]
    run.advance()
    np.testing.assert_array_equal(numbers(run)[name][D_HEAD:], before)


def test_the_norms_by_layer_make_the_norm() -> None:
    run = training()
    assert set(run.curves.parts) == {"", FIRST, LAST}
    for moment in run.curves.moments:
        assert np.linalg.norm(moment.norms) == pytest.approx(moment.norm, rel=1e-12)
    texts = run.texts(run.step, COURSE.batch)
    found = run._batch_with(()).loss_and_gradients(run.parameters, *texts).gradients
    moment = run.advance()
    for part, norm in zip(run.curves.parts, moment.norms, strict=True):
        owned = [g for name, g in found.items() if run._batch_with(()).owners()[name] == part]
        assert norm == pytest.approx(np.sqrt(sum(float((g**2).sum()) for g in owned)), rel=1e-12)
