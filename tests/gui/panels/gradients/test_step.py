"""One step by hand in the panel of gradients."""

from __future__ import annotations

import numpy as np
import pytest
from desk import Desk, MakeDesk, picture
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QPushButton

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.core.text import number, signed
from attnviz.gui.panels.gradients.gradients import GradientsPanel
from attnviz.gui.panels.gradients.step import StepCard
from attnviz.model.spec.document import Document
from attnviz.training.parameters import parameters_of

STORY, TOY = load_preset("stories-name"), load_preset("toy-attention")
QUERY = "layers.2.self.projections.query"


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    return opened(make_desk, STORY)


def opened(make_desk: MakeDesk, document: Document) -> Desk:
    made = make_desk(document)
    made.window.workspaces.switch("explore")
    made.window.workspaces.show_panel("gradients")
    made.settle()
    return made


def panel(desk: Desk) -> GradientsPanel:
    found = desk.window.panels["gradients"]
    assert isinstance(found, GradientsPanel)
    return found


def card(desk: Desk) -> StepCard:
    return panel(desk).step


def said(desk: Desk) -> str:
    """All that the card says, without its typographic spaces."""
    words = card(desk).said.toPlainText() + "\n" + card(desk).table.toPlainText()
    return words.replace("\N{NO-BREAK SPACE}", "")


def turn(desk: Desk, rate: float) -> None:
    card(desk).rate.set_value(rate)
    card(desk).rate.changed.emit(rate)
    desk.settle()


def choose(desk: Desk, what: str) -> None:
    combo = card(desk).what
    combo.set_value(what)
    combo.activated.emit(combo.currentIndex())
    desk.settle()


def test_before_and_after_stand_side_by_side(desk: Desk) -> None:
    step = attnviz.step(STORY, rate=0.1)
    alone = attnviz.step(STORY, rate=0.1, what=str(step.weight))
    words = said(desk)
    for value in (step.before, step.after, alone.after):
        assert number(value, 5) in words
    assert signed(step.change) in words and signed(step.predicted) in words
    weight = step.weight
    place = f"[{weight.row}, {weight.column}]"
    assert place in words and number(weight.after(0.1), 5) in words
    site, view = STORY.site, STORY.view
    before, after = (attnviz.run(one).site(site)["weights"][view.head] for one in (STORY, step.experiment))
    answer = panel(desk).answer.result
    assert answer is not None
    for (drawn, _hidden), expected in zip(answer.maps, (before, after), strict=True):
        np.testing.assert_allclose(drawn, expected, atol=1e-6)
    pictures = [picture(one) for one in card(desk).maps]
    assert pictures[0] != pictures[1]


def test_the_button_takes_the_step_and_undo_takes_it_back(desk: Desk) -> None:
    step = attnviz.step(STORY, rate=0.1)
    desk.click(desk.find(QPushButton, "take_step"))
    desk.settle()
    store = desk.window.store
    for given, wanted in zip(parameters_of(store.experiment), parameters_of(step.experiment), strict=True):
        np.testing.assert_array_equal(given.numbers(), wanted.numbers())
    assert number(step.after, 5) in said(desk)  # what was after is now
    desk.window.commands["undo"].trigger()
    desk.settle()
    assert store.experiment == STORY.experiment


def test_one_number_alone_is_changed_by_its_link(desk: Desk) -> None:
    step = attnviz.step(STORY, rate=0.1)
    card(desk).said.chosen.emit("one")
    desk.settle()
    pairs = zip(parameters_of(STORY.experiment), parameters_of(desk.window.store.experiment), strict=True)
    changed = {old.name: int((old.numbers() != new.numbers()).sum()) for old, new in pairs}
    assert {name: count for name, count in changed.items() if count} == {step.weight.name: 1}


def test_a_matrix_can_be_chosen(desk: Desk) -> None:
    choose(desk, QUERY)
    step = attnviz.step(STORY, rate=0.1, what=QUERY)
    assert number(step.after, 5) in said(desk) and f"W_Q[{step.weight.row}" in said(desk)
    assert "layer 3" in said(desk)


def test_any_number_of_a_matrix_can_be_chosen(desk: Desk) -> None:
    choose(desk, QUERY)
    desk.type_number("step_row", "3")
    desk.settle()
    desk.type_number("step_column", "2")
    desk.settle()
    alone = attnviz.step(STORY, rate=0.1, what=f"{QUERY}[3, 2]")
    assert "W_Q[3, 2] · layer 3" in said(desk) and number(alone.weight.after(0.1), 5) in said(desk)
    assert "largest |g|" in said(desk).split("Change this number alone")[1]  # the link back to it
    card(desk).said.chosen.emit("one")
    desk.settle()
    store = desk.window.store.experiment
    changed = {
        old.name: np.argwhere(old.numbers() != new.numbers()).tolist()
        for old, new in zip(parameters_of(STORY.experiment), parameters_of(store), strict=True)
    }
    assert {name: places for name, places in changed.items() if places} == {QUERY: [[3, 2]]}


def test_too_large_a_rate_makes_it_worse_and_says_so(desk: Desk) -> None:
    assert "too long" not in said(desk)
    turn(desk, 50.0)
    step = attnviz.step(STORY, rate=50.0)
    assert number(step.after, 5) in said(desk)
    assert "The step is too long: the target moves the other way than the gradient says." in said(desk)


def test_a_rate_that_leaves_no_number_says_so_and_another_one_helps(desk: Desk) -> None:
    turn(desk, 1e3)
    turn(desk, 0.05)
    assert number(attnviz.step(STORY, rate=0.05).after, 5) in said(desk)
    assert desk.find(QPushButton, "take_step").isEnabled()


def test_a_document_without_a_loss_says_what_to_choose(make_desk: MakeDesk) -> None:
    desk = opened(make_desk, TOY)
    words = panel(desk)._says.text()
    assert "target must be a cell: the experiment has no logits" in words and "Choose a target" in words
    assert not desk.find(QPushButton, "take_step").isVisible()
    desk.window.store.look(target="weights[0, 0, 1]")
    desk.settle()
    assert number(attnviz.step(TOY, "weights[0, 0, 1]").after, 5) in said(desk)


def test_the_arrow_shows_both_ends(desk: Desk) -> None:
    line = card(desk).line
    weight = attnviz.step(STORY, rate=0.1).weight
    assert line.accessibleDescription() == f"{number(weight.number, 5)} → {number(weight.after(0.1), 5)}"
    image = picture(line)
    row = [image.pixelColor(QPoint(x, 26)).name() for x in range(40, image.width() - 40)]
    assert set(row) == {desk.theme.error}


def test_another_document_forgets_the_matrix(desk: Desk) -> None:
    choose(desk, QUERY)
    desk.window.store.open(TOY)
    desk.settle()
    assert card(desk).what.value() in ("", "all") and not card(desk).has_parameters
