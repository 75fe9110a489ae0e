"""The workspace Train in the tests: its model, its panel, and a run of some steps."""

from __future__ import annotations

from desk import WAIT_MS, Desk
from two_layers import model

from attnviz.gui.panels.training.training import TrainingPanel
from attnviz.model.spec.experiment import Experiment
from attnviz.training.words import with_words, words_for


def small() -> Experiment:
    """Two layers of 32 features with the sixteen words of the task."""
    return with_words(model(), words_for(16))


def panel_of(desk: Desk) -> TrainingPanel:
    panel = desk.window.panels["training"]
    assert isinstance(panel, TrainingPanel)
    return panel


def go_to(desk: Desk, steps: int) -> TrainingPanel:
    """The run after its first steps, paused."""
    panel = panel_of(desk)
    panel.choices.numbers["steps"].set_value(steps)
    panel.choices.changed.emit()
    panel.play_or_pause()
    desk.qtbot.waitUntil(lambda: not panel.live.is_playing, timeout=4 * WAIT_MS)
    assert panel.live.picture is not None and panel.live.picture.step == steps
    return panel
