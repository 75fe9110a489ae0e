"""Scenes that train: what a line may say, that the run is the program's, and that models learn their task."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.compute.execute import execute
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.errors import InputError
from attnviz.study.claims.scope import holds, value_of
from attnviz.study.lessons import training as module
from attnviz.study.lessons.checking import problems, scope_of
from attnviz.study.lessons.lesson import Scene, Step
from attnviz.study.lessons.reading import read_lesson
from attnviz.study.lessons.scene import document_of
from attnviz.study.lessons.table import shipped_lesson
from attnviz.study.lessons.training import MOST, SceneTraining, read_training, trained
from attnviz.training.batch import Batch
from attnviz.training.optimiser import Settings
from attnviz.training.record import Course
from attnviz.training.run import Training, train
from attnviz.training.tasks import Addition

BIRTH = load_preset("induction-birth").experiment
LESSON = """---
lesson: 1
title: T
preset: induction-birth
---

# a
set: n_layers = 1
train: {line}
stage: weights

## en: One
Text.
"""


def test_a_line_has_a_task_its_steps_and_numbers() -> None:
    assert read_training("copy 250") == SceneTraining("copy", 250)
    numbers = (("batch", 512), ("rate", 0.005), ("decay", 1.0))
    assert read_training("addition 500 batch=512 rate=0.005 decay=1") == SceneTraining(
        "addition", 500, numbers
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("copy", "train must be a task and a number of steps, such as copy 250; got 'copy'"),
        ("copy many", "such as copy 250; got 'copy many'"),
        ("copy 10 speed=3", "train must be one of 'batch', 'seed', 'rate', 'decay'; got 'speed'"),
        ("copy 10 batch=some", "Line 9: train must be a value of this key; got 'copy 10 batch=some'."),
    ],
)
def test_a_wrong_line_is_refused_as_it_is_read(line: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_lesson(LESSON.format(line=line))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("chess 10", "task must be one of 'copy', 'lookup', 'addition'; got 'chess'"),
        ("lines 10", "task must be one of 'copy', 'lookup', 'addition'; got 'lines'"),
        ("copy 0", f"train.steps must be a whole number from 1 to {MOST['steps']:,}; got 0"),
        ("copy 9999", f"train.steps must be a whole number from 1 to {MOST['steps']:,}; got 9999"),
        ("copy 10 batch=9999", "train.batch must be a whole number from 1 to 512; got 9999"),
        ("copy 10 rate=0", "rate must be a finite number above 0; got 0"),
        ("addition 10", "vocabulary must be a vocabulary of at least 60 words; got 16 words"),
    ],
)
def test_the_checker_names_what_does_not_train(line: str, said: str) -> None:
    lesson = read_lesson(LESSON.format(line=line))
    (problem,) = problems(lesson, load_preset, execute)
    assert said in str(problem.message)


def test_a_scene_has_the_weights_of_the_run_of_python() -> None:
    scene = Scene("induction-birth", training=read_training("copy 12 batch=4 seed=3 rate=0.001"))
    document = document_of(scene, load_preset)
    run = attnviz.train(BIRTH, "copy", steps=12, batch=4, seed=3, rate=1e-3)
    assert document.experiment == run.experiment != BIRTH
    scope = scope_of(scene, load_preset, execute)
    assert value_of("accuracy", scope) == run.curves.measures[-1].accuracy
    assert value_of("trained_accuracy", scope) == run.curves.measures[-1].trained_accuracy


def test_a_document_that_was_not_trained_has_no_accuracy() -> None:
    scope = scope_of(Scene("induction-birth"), load_preset, execute)
    with pytest.raises(InputError, match="The name 'accuracy' must be one of"):
        value_of("accuracy", scope)


def test_a_training_is_remembered_and_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    class Cancelled(Exception):
        pass

    calls = iter(range(3))

    def check() -> None:
        if next(calls, None) is None:
            raise Cancelled

    monkeypatch.setattr(module, "_KNOWN", [])
    training = read_training("copy 6 batch=2")
    with pytest.raises(Cancelled):
        trained(BIRTH, training, check)
    first = trained(BIRTH, training)
    assert trained(BIRTH, training, check) is first  # `check` would raise in another run
    assert trained(BIRTH, read_training("copy 6 batch=3")) is not first
    for seed in range(module.MOST_KNOWN):
        trained(BIRTH, read_training(f"copy 1 batch=1 seed={seed}"))
    assert len(module._KNOWN) == module.MOST_KNOWN


def step_of(id_: str) -> Step:
    return next(step for step in shipped_lesson("induction").steps if step.id == id_)


def test_the_task_of_the_birth_is_done_by_training_and_not_before() -> None:
    step = step_of("watch")
    assert step.scene.workspace == "train" and step.scene.training is None
    assert not holds(step.task, scope_of(step.scene, load_preset, execute))
    scene = replace(step.scene, training=read_training("copy 250"))
    assert holds(step.task, scope_of(scene, load_preset, execute))


def best(score: str, layer: int) -> str:
    heads = (f'{score}(weights("layers.{layer}.self", {head}))' for head in range(2))
    return f"max(list({', '.join(heads)}))"


@pytest.mark.parametrize("seed", range(5))
def test_the_head_is_born_from_any_texts(seed: int) -> None:
    scene = Scene("induction-birth", training=read_training(f"copy 300 seed={seed}"))
    scope = scope_of(scene, load_preset, execute)
    assert value_of("accuracy", scope) > 0.9
    assert value_of(best("induction", 1), scope) > 0.6 > 0.3 > value_of(best("induction", 0), scope)
    assert value_of(best("previous", 0), scope) > 0.3


def test_sums_are_known_by_heart_long_before_they_are_understood() -> None:
    """Grokking (Power et al. 2022): all training sums are right by step 500, the others by step 4,000."""
    task, document = Addition(), load_preset("modular-addition")

    def is_over(training: Training) -> bool:
        last = training.curves.measures[-4:]
        return len(last) == 4 and min(one.accuracy for one in last) > 0.99

    settings = Settings(5e-3, decay=1.0, steps=4000)
    run = train(document.experiment, task, Course(512, measured=50, kept=500), settings, is_over=is_over)
    by_heart = next(one for one in run.curves.measures if one.trained_accuracy == 1)
    assert by_heart.step <= 500 and by_heart.accuracy < 0.2
    assert run.curves.measures[-1].step < 4000
    batch = Batch(NumpyEngine("float32"), run.experiment, task.n_tokens)
    pairs = np.concatenate([task.pairs[True], task.pairs[True][:, ::-1]])
    ids = np.column_stack([pairs, np.full(len(pairs), task.modulus)])
    targets = np.full(ids.shape, -1)
    targets[:, -1] = pairs.sum(axis=1) % task.modulus
    outcome = batch.loss(batch.parameters(), ids, targets)
    assert (outcome.predictions(batch.engine)[:, -1] == targets[:, -1]).mean() > 0.99
