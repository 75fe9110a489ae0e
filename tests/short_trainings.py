"""Scenes that train two steps: for tests that show claims and lessons, not their verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from attnviz.core.progress import Check, never_cancelled
from attnviz.model.spec.experiment import Experiment
from attnviz.study.lessons import scene
from attnviz.study.lessons.training import SceneTraining, Trained, trained


def two_steps(experiment: Experiment, training: SceneTraining, check: Check = never_cancelled) -> Trained:
    """The experiment after two steps of the training."""
    return trained(experiment, replace(training, steps=2), check)


@contextmanager
def short_trainings() -> Iterator[None]:
    """In it, every scene that trains takes two steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scene, "trained", two_steps)
        yield
