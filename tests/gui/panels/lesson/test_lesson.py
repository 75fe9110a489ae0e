"""Lessons in the window: the step sets the program, numbers are live, answers are judged by them."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from desk import Answers, Desk, MakeDesk, color_in, picture, pixels
from numpy.typing import NDArray
from pointer import drag
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QRadioButton, QTextBrowser, QWidget

import attnviz
from attnviz.gui.export.source import Choice, Leaves, Made
from attnviz.gui.export.table import EXPORT_BY_ID
from attnviz.gui.forms.sentence import Pill, SentenceNumber
from attnviz.gui.panels.gradients.gradients import SHOWN
from attnviz.gui.panels.lesson.lesson import LessonPanel
from attnviz.gui.panels.lesson.library import LessonButton
from attnviz.gui.settings import Settings
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.linked_text import LinkedText
from attnviz.gui.workspaces.table import WORKSPACE_BY_ID
from attnviz.model.edit import edits
from attnviz.model.edit.paths import put_at
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.parts import Causal
from attnviz.model.spec.view import Cell
from attnviz.resources import path
from attnviz.study.lessons.judging import answer_of
from attnviz.study.lessons.scene import document_of
from attnviz.study.lessons.table import LESSONS, shipped_lesson


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    made = make_desk()
    made.go("learn")
    return made


def panel_of(desk: Desk) -> LessonPanel:
    panel = desk.window.panels["lesson"]
    assert isinstance(panel, LessonPanel)
    return panel


def open_step(desk: Desk, lesson: str, step: int = 0) -> LessonPanel:
    desk.window.lesson_live.open(lesson)
    desk.window.lesson_live.go(step)
    desk.settle()
    return panel_of(desk)


def do_the_task(desk: Desk) -> None:
    """The task of the last step of the first lesson."""
    desk.store.edit(edits.set_vector_cell, 2, 0, 0.9)
    desk.settle()


def text(desk: Desk, name: str) -> str:
    return desk.find(QTextBrowser, name).toPlainText()


def test_the_shelf_opens_a_lesson(desk: Desk) -> None:
    buttons = panel_of(desk).findChildren(LessonButton)
    assert [button.shelved.lesson.id for button in buttons] == list(LESSONS)
    for button in buttons:  # the whole sentence, on as many lines as it takes
        about = button.shelved.lesson.about("en")
        lines = -(-button.fontMetrics().horizontalAdvance(about) // (button.width() - 44))
        assert button.height() >= 40 + 13 * lines, about
    desk.click(buttons[0])
    desk.settle()
    assert desk.store.document.title == "Which word is most like “invite”?"
    assert "0.24, 0.14 and 0.28" in text(desk, "lesson_text")


def test_next_and_back_and_the_keys_go_through_the_steps(desk: Desk) -> None:
    panel = open_step(desk, "dot-product")
    desk.click(desk.find(QPushButton, "lesson_next"))
    assert panel.index == 1
    panel.setFocus(Qt.FocusReason.OtherFocusReason)
    desk.press_key(Qt.Key.Key_Right)
    assert panel.index == 2
    desk.press_key(Qt.Key.Key_Left)
    desk.click(desk.find(QPushButton, "lesson_back"))
    assert panel.index == 0
    desk.press_key(Qt.Key.Key_PageDown)
    assert panel.index == 1


def test_the_arrows_go_through_the_steps_of_a_lesson_that_opens_over_a_focused_map(desk: Desk) -> None:
    """The keys that the status line names work at once; Space plays, and does not press Next."""
    desk.map.setFocus(Qt.FocusReason.OtherFocusReason)
    panel = open_step(desk, "dot-product")
    desk.press_key(Qt.Key.Key_Right)
    desk.settle()
    assert panel.index == 1
    desk.press_key(Qt.Key.Key_Space)
    desk.settle()
    assert panel.index == 1


def test_the_last_step_leads_back_to_the_shelf_and_progress_is_kept(desk: Desk, settings: Settings) -> None:
    last = len(shipped_lesson("dot-product").steps) - 1
    panel = open_step(desk, "dot-product", last)
    desk.click(desk.find(QPushButton, "lesson_next"))
    assert panel.step is None
    assert settings.lesson("dot-product") == (last, last + 1)
    desk.window.lesson_live.open("dot-product")  # an unfinished one where it was left
    assert panel.index == last


def test_a_lesson_is_finished_when_every_question_is_answered_and_every_task_done(
    desk: Desk, settings: Settings
) -> None:
    steps = shipped_lesson("dot-product").steps
    live, panel = desk.window.lesson_live, open_step(desk, "dot-product")
    for _step in steps:
        desk.press_key(Qt.Key.Key_PageDown)
        desk.settle()
    assert panel.step is None
    none = f"0 of {len(LESSONS)} lessons finished"
    assert live.progress() == none and len(settings.done("dot-product")) < len(steps)
    numbered = {step.id: index for index, step in enumerate(steps)}
    open_step(desk, "dot-product", numbered["who-wins"])
    panel.question.reveal()  # without an answer
    assert "who-wins" not in settings.done("dot-product")
    desk.find(QLineEdit, "answer_entry").setText("0.5")  # a wrong one is one
    panel.question.reveal()
    assert "who-wins" in settings.done("dot-product")
    open_step(desk, "dot-product", numbered["diagonal"])
    desk.find(QRadioButton, "answer_1").click()
    panel.question.reveal()
    assert live.progress() == none
    open_step(desk, "dot-product", numbered["try-it"])
    assert not panel.task.is_done and live.progress() == none
    do_the_task(desk)
    assert panel.task.is_done and live.progress() == f"1 of {len(LESSONS)} lessons finished"
    live.show_shelf()
    shown = [one.toolTip() for one in panel.findChildren(LessonButton) if one.isVisible()]
    assert f"{len(steps)} of {len(steps)} steps done" in shown
    open_step(desk, "dot-product", len(steps) - 1)
    live.show_shelf()
    live.open("dot-product")  # a finished one begins anew
    assert panel.index == 0


def test_a_lesson_asks_to_save_nothing_but_own_later_edits(desk: Desk, answers: Answers) -> None:
    open_step(desk, "dot-product", len(shipped_lesson("dot-product").steps) - 1)
    do_the_task(desk)
    assert panel_of(desk).task.is_done and not desk.store.is_modified
    assert desk.window.documents.may_close() and answers.boxes == []
    desk.go("explore")
    assert desk.window.documents.may_close() and answers.boxes == []
    desk.store.edit_attention(lambda site: put_at(site, "temperature", 2.0))
    assert desk.store.is_modified
    assert not desk.window.documents.may_close() and answers.boxes == ["unsaved_box"]


def test_the_cells_of_the_step_stay_bright_and_the_others_fade(desk: Desk) -> None:
    open_step(desk, "dot-product")
    spot = desk.store.pointer.spot
    assert spot is not None and spot.cells == {(3, 1)}
    corner = desk.map.cell_center(3, 1) - desk.map.cell_center(2, 0)
    image = picture(desk.map)
    lit, faded = (color_in(image, desk.map.cell_center(row, 1) + corner * 0.3).saturation() for row in (3, 2))
    assert faded < lit / 2
    desk.go("explore")
    assert desk.store.pointer.spot is None


def luminance(color: NDArray[np.int64]) -> NDArray[np.float64]:
    """Relative luminance of WCAG 2.2."""
    share = color / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    light: NDArray[np.float64] = linear @ np.array([0.2126, 0.7152, 0.0722])
    return light


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_numbers_of_faded_cells_are_legible(desk: Desk, settings: Settings, theme: str) -> None:
    settings["theme"] = theme
    desk.window.handlers.apply_preferences()
    open_step(desk, "dot-product")
    spot = desk.store.pointer.spot
    assert desk.theme.name == theme and spot is not None and spot.cells == {(3, 1)}
    image, layout = picture(desk.map), desk.map.layout_shown
    for row, column in [(row, column) for row in range(4) for column in range(4)]:
        if (row, column) not in spot.covered | spot.cells:
            light = luminance(pixels(image, layout.cell_rect(row, column).adjusted(4, 4, -4, -4)))
            ground = float(np.median(light))
            ratios = (np.maximum(light, ground) + 0.05) / (np.minimum(light, ground) + 0.05)
            assert ratios.max() >= 3, (row, column)


def test_the_number_to_predict_is_covered_until_it_is_revealed(desk: Desk) -> None:
    for step in (0, 1):  # the step before has no question, and shows the map of the same scores
        open_step(desk, "dot-product", step)
        assert desk.store.pointer.spot is not None and desk.store.pointer.spot.covered == {(3, 0), (0, 3)}
    assert color_in(picture(desk.map), desk.map.cell_center(3, 0) * 1.0 + _off()) == QColor(desk.theme.panel)
    desk.click(desk.find(QPushButton, "reveal_button"))
    assert desk.store.pointer.spot is not None and desk.store.pointer.spot.covered == frozenset()
    assert desk.find(QLabel, "answer_verdict").text() == "It is 0.530."


def _off():  # type: ignore[no-untyped-def]
    from PySide6.QtCore import QPointF

    return QPointF(16, 12)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("0.53", "Right: it is 0.530."),
        ("0,54", "Right: it is 0.530."),
        ("53 %", "Right: it is 0.530."),
        ("0.6", "Not quite."),
        ("much", "The answer must be a number; got 'much'."),
    ],
)
def test_an_answer_is_judged_by_the_live_number(desk: Desk, typed: str, said: str) -> None:
    panel = open_step(desk, "dot-product", 1)
    entry = desk.find(QLineEdit, "answer_entry")
    entry.setText(typed)
    entry.setFocus(Qt.FocusReason.OtherFocusReason)
    desk.press_key(Qt.Key.Key_Return)
    assert desk.find(QLabel, "answer_verdict").text() == said
    assert panel.question.is_revealed == said.startswith("Right")


def test_a_number_is_typed_after_a_step_with_a_choice(desk: Desk) -> None:
    panel = open_step(desk, "dot-product", 3)
    assert panel.question.entry.isHidden()
    open_step(desk, "dot-product", 1)
    assert not panel.question.entry.isHidden()


def test_every_panel_that_a_step_names_stands_in_the_workspace() -> None:
    known = WORKSPACE_BY_ID["learn"].panels
    for id_ in LESSONS:
        for step in shipped_lesson(id_).steps:
            assert set(step.scene.panels) <= known, (id_, step.id)
            assert step.scene.workspace in ("", *WORKSPACE_BY_ID), (id_, step.id)


def test_a_choice_is_judged_by_the_live_conditions(desk: Desk) -> None:
    open_step(desk, "dot-product", 3)
    desk.find(QRadioButton, "answer_0").setChecked(True)
    desk.click(desk.find(QPushButton, "reveal_button"))
    assert desk.find(QLabel, "answer_verdict").text() == "Not quite."
    open_step(desk, "dot-product", 4)
    open_step(desk, "dot-product", 3)
    desk.find(QRadioButton, "answer_1").setChecked(True)
    desk.click(desk.find(QPushButton, "reveal_button"))
    assert desk.find(QLabel, "answer_verdict").text() == "Right."


@pytest.mark.parametrize(("step", "said"), [(1, "It is 0.530."), (3, "The answer is: “tiny”.")])
def test_without_an_answer_the_value_is_told_and_nobody_was_wrong(desk: Desk, step: int, said: str) -> None:
    open_step(desk, "dot-product", step)
    verdict = desk.find(QLabel, "answer_verdict")
    desk.click(desk.find(QPushButton, "reveal_button"))
    assert verdict.text() == said and verdict.property("tone") == ""
    choice = desk.window.findChild(QRadioButton, "answer_0")
    if choice is not None:
        choice.setChecked(True)
    else:
        desk.type_text(desk.find(QLineEdit, "answer_entry"), "7")
    desk.click(desk.find(QPushButton, "reveal_button"))
    assert verdict.text() != said and verdict.property("tone") == "error"


@pytest.mark.parametrize(("step", "told"), [(1, "It is 0.530."), (3, "The answer is: “tiny”.")])
def test_a_wrong_answer_may_be_tried_again_before_the_right_one_is_shown(
    desk: Desk, settings: Settings, step: int, told: str
) -> None:
    def answer(is_right: bool) -> None:
        choice = desk.window.findChild(QRadioButton, f"answer_{int(is_right)}")
        if choice is not None:
            choice.setChecked(True)
        else:
            desk.type_text(desk.find(QLineEdit, "answer_entry"), "0.53" if is_right else "7")

    panel, reveal = open_step(desk, "dot-product", step), desk.find(QPushButton, "reveal_button")
    verdict, show = desk.find(QLabel, "answer_verdict"), desk.find(QPushButton, "show_answer")
    assert reveal.text() == "Reveal" and show.isHidden()
    answer(False)
    desk.click(reveal)
    assert verdict.text() == "Not quite." and verdict.property("tone") == "error"
    assert reveal.text() == "Try again" and show.isVisible() and not panel.question.is_revealed
    assert desk.find(QTextBrowser, "reveal_text").isHidden() and settings.done("dot-product") == frozenset()
    assert desk.store.pointer.spot is not None and desk.store.pointer.spot.covered
    desk.click(show)
    assert verdict.text() == told and verdict.property("tone") == "" and show.isHidden()
    assert panel.question.is_revealed and panel.step is not None
    assert panel.step.id in settings.done("dot-product")
    open_step(desk, "dot-product", 4 - step)  # the other question of the lesson
    open_step(desk, "dot-product", step)
    answer(False)
    desk.click(reveal)
    answer(True)
    desk.click(reveal)
    assert verdict.text().startswith("Right") and show.isHidden() and reveal.text() == "Reveal"


def test_the_last_step_leads_to_the_next_lesson(desk: Desk) -> None:
    panel, button = open_step(desk, "dot-product", 4), desk.find(QPushButton, "next_lesson")
    assert button.isHidden()
    open_step(desk, "dot-product", 5)
    second = shipped_lesson(LESSONS[1])
    assert button.text() == f"Next lesson: {second.title('en')}"
    desk.click(button)
    desk.settle()
    assert panel.lesson is not None and panel.lesson.id == second.id and panel.index == 0
    open_step(desk, LESSONS[-1], len(shipped_lesson(LESSONS[-1]).steps) - 1)
    assert button.isHidden()


def test_a_done_task_is_explained(desk: Desk) -> None:
    """The pills of three changes are alternatives, and one of them does the task."""
    open_step(desk, "dot-product", 5)
    shown = desk.find(QTextBrowser, "task_reveal")
    for word, matches in (("second", 0.47), ("third", 0.645), ("first", 0.68)):
        assert shown.isHidden()
        desk.click(control_in(desk, "lesson_text", word))
        desk.settle()
        assert desk.store.site["scores"][0, 3, 2] == pytest.approx(matches)
    assert panel_of(desk).task.is_done and shown.toPlainText().startswith("The first:")
    desk.store.undo()
    desk.settle()
    assert not panel_of(desk).task.is_done and shown.isVisible()


TWO_STEPS = """---
lesson: 1
title: Masks
preset: toy-attention
---

# masked
set: masks = [{"kind": "causal"}]
stage: weights

## en: With a mask
Text.

# bare
stage: weights
task: visible.sum() < n * n

## en: Without one
> Switch a mask on.

! Now it hides something.
"""


def test_the_document_of_the_step_before_does_no_task(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "masks.md"
    file.write_text(TWO_STEPS)
    desk.window.lesson_live.open_file(file)
    desk.settle()
    desk.window.lesson_live.go(1)
    desk.settle()
    shown = desk.find(QTextBrowser, "task_reveal")
    assert text(desk, "task_text") == "Switch a mask on." and not shown.isVisible()
    desk.store.edit_attention(lambda site: put_at(site, "masks", (Causal(),)))
    desk.settle()
    assert shown.isVisible() and text(desk, "task_reveal") == "Now it hides something."


def test_a_step_that_trains_opens_the_trained_document(desk: Desk) -> None:
    steps = shipped_lesson("induction").steps
    index = next(index for index, step in enumerate(steps) if step.scene.training is not None)
    open_step(desk, "induction", index)
    wanted = document_of(steps[index].scene, load_preset)  # two steps, as everything in this folder trains
    assert desk.store.experiment == wanted.experiment != load_preset("induction-birth").experiment
    assert len(desk.store.experiment.tokens) == 32


def test_lengths_are_left_out_by_a_pill_of_the_sentence_about_them(desk: Desk) -> None:
    open_step(desk, "dot-product", 4)
    without, kept = (control_in(desk, "lesson_text", word) for word in ("Without lengths", "with them"))
    assert isinstance(without, Pill) and isinstance(kept, Pill)
    assert not without.isChecked() and kept.isChecked()
    desk.click(without)
    desk.settle()
    assert without.isChecked() and not kept.isChecked()
    assert desk.store.site["scores"][0, 3, :3] == pytest.approx([0.558390, 0.709308, 0.398766], abs=2e-6)
    desk.click(kept)
    desk.settle()
    assert desk.store.site["scores"][0, 3, 1] == pytest.approx(0.66)


def test_the_curve_alone_beside_the_map_has_the_width_of_its_place(desk: Desk) -> None:
    """Its sentence was cut: the place had a width only while the panels above it were open."""
    desk.window.resize(1280, 800)
    open_step(desk, "recurrent", 3)
    open_step(desk, "recurrent", 2)
    desk.qtbot.waitUntil(lambda: desk.window.docks["gradients"].width() >= 200, timeout=4000)
    says = desk.find(QLabel, "gradients_says")
    assert "–" not in says.text() and "The dot" not in says.text()  # 127 steps: past the end of the axis
    assert says.heightForWidth(says.width()) <= says.height()


def test_a_task_is_done_when_the_live_numbers_say_so(desk: Desk) -> None:
    panel = open_step(desk, "dot-product", 5)
    assert not panel.task.is_done
    desk.store.edit(edits.set_vector_cell, 2, 0, 0.9)
    desk.settle()
    assert panel.task.is_done
    desk.click(desk.find(QPushButton, "lesson_return"))
    desk.settle()
    assert not panel.task.is_done and desk.find(QPushButton, "lesson_return").isHidden()
    desk.store.undo()  # the reader's own work is still there
    assert desk.store.experiment.vectors.values.array[2, 0] == 0.9  # type: ignore[union-attr]


def test_a_step_opens_the_panels_that_it_needs(desk: Desk) -> None:
    docks = desk.window.docks
    open_step(desk, "dot-product", 0)
    assert docks["vectors"].isHidden() and not docks["stage"].isHidden()
    open_step(desk, "dot-product", 5)
    assert not docks["vectors"].isHidden() and docks["mechanism"].isHidden()


def test_every_step_with_mechanism_opens_a_section_that_exists(desk: Desk) -> None:
    known = [section.id for section in desk.window.panels["mechanism"].sections]
    for id_ in LESSONS:
        for step in shipped_lesson(id_).steps:
            assert ("mechanism" in step.scene.panels) == (step.scene.section in known), step.id
    for lesson, section in (("heads", "heads"), ("sampling", "score"), ("masks", "mask")):
        open_step(desk, lesson, len(shipped_lesson(lesson).steps) - 1)
        assert [one.id for one in desk.window.panels["mechanism"].sections if one.is_open] == [section]
    assert desk.window.settings.folds("mechanism") == ""  # the reader's own choice stays


def test_a_step_shows_the_curve_that_it_speaks_of(desk: Desk) -> None:
    pictures = {row[0] for row in SHOWN}
    for id_ in LESSONS:
        for step in shipped_lesson(id_).steps:
            assert ("gradients" in step.scene.panels) == (step.scene.curve in pictures), step.id
    for lesson in ("block", "recurrent"):
        for index, step in enumerate(shipped_lesson(lesson).steps):
            if step.scene.curve:
                open_step(desk, lesson, index)
                assert desk.find(Combo, "gradients_shown").value() == step.scene.curve


def test_a_lesson_hides_panels_in_every_workspace_while_it_is_open(desk: Desk, tmp_path: Path) -> None:
    text = path("lessons", "softmax.md").read_text(encoding="utf-8")
    file = tmp_path / "class.md"
    file.write_text(text.replace("lesson: 1", "lesson: 1\nhides: cost, lens"), encoding="utf-8")
    desk.window.lesson_live.open_file(file)
    desk.settle()
    docks = desk.window.docks
    for workspace in ("explore", "model", "generate"):
        desk.go(workspace)
        assert docks["cost"].isHidden() and not docks["stage"].isHidden(), workspace
    desk.go("learn")
    desk.window.lesson_live.show_shelf()
    desk.go("explore")
    assert not docks["cost"].isHidden()


def test_words_light_rows_and_columns(desk: Desk) -> None:
    panel = open_step(desk, "dot-product", 0)
    panel._on_pointed("token:key:1:0")
    assert desk.store.hovered is not None and desk.store.hovered.stage == "k"
    assert 1 in desk.map.highlight.columns
    panel._on_chosen("cell:3:1")
    assert desk.store.document.view.locked is not None
    assert (desk.store.document.view.locked.row, desk.store.document.view.locked.column) == (3, 1)


def test_a_number_of_the_text_is_the_cell_that_it_comes_from(desk: Desk) -> None:
    """Pointing at one lights its cell; a click shows its stage and head with the cell locked."""
    panel = open_step(desk, "projections", 1)
    keys = desk.find(QTextBrowser, "lesson_text").toHtml().split('href="number:')[1:]
    addresses = ["number:" + one.split('"')[0] for one in keys]
    assert addresses == ["number::q:0:3:0", "number::k:0:3:0"]
    panel._on_pointed(addresses[0])
    assert desk.map.highlight.cell == (3, 0)
    panel._on_chosen(addresses[1])
    desk.settle()
    view = desk.store.document.view
    assert (view.stage, view.locked) == ("k", Cell("k", 3, 0, 0))


def test_cells_that_tell_the_answer_of_a_choice_are_covered(desk: Desk) -> None:
    panel = open_step(desk, "softmax", 1)
    assert desk.store.pointer.spot is not None
    assert desk.store.pointer.spot.covered == {(0, column) for column in range(4)}
    assert not desk.map.color_bar.isVisible()  # its ends are the least and the largest weight
    middle = desk.map.layout_shown.cell_rect(0, 2).center().toPoint()
    QTest.mouseMove(desk.map, middle)
    assert desk.store.hovered is None
    panel.question.reveal()
    assert desk.map.color_bar.isVisible()


def test_a_step_opens_with_the_arithmetic_of_its_cell(desk: Desk) -> None:
    open_step(desk, "by-hand", 3)
    assert desk.store.document.view.locked == Cell("mixed", 0, 0)
    assert "1.662899" in desk.find(QTextBrowser, "inspector_page").toPlainText()


def test_the_language_changes_the_lesson_at_once(desk: Desk) -> None:
    open_step(desk, "dot-product", 0)
    desk.window.handlers.on_language()
    assert "邀请 的向量是" in text(desk, "lesson_text")
    desk.settle()  # the words of the step are those of the language, and their numbers are computed anew
    assert "0.24、0.14 和 0.28" in text(desk, "lesson_text")


def test_the_scale_of_the_lesson_may_be_changed_in_the_window(desk: Desk) -> None:
    panel = open_step(desk, "softmax", 4)
    assert not panel.task.is_done
    desk.store.edit_attention(put_at, "scale", {"kind": "sqrt_d_head"})
    desk.settle()
    assert panel.task.is_done


def test_a_file_of_a_teacher_opens(desk: Desk, tmp_path: Path) -> None:
    source = path("lessons", "softmax.md").read_text(encoding="utf-8")
    file = tmp_path / "mine.md"
    file.write_text(source.replace("Scores become shares", "<b>My</b> lesson"), encoding="utf-8")
    desk.go("explore")
    desk.window.lesson_live.open_file(file)
    desk.settle()
    assert desk.window.workspaces.present.id == "learn"
    assert desk.find(QLabel, "lesson_title").text() == "<b>My</b> lesson"
    file.write_text("no lesson", encoding="utf-8")
    desk.window.lesson_live.open_file(file)
    assert "mine.md: A lesson must begin with" in desk.said()


def test_a_page_opens_only_after_a_question(
    desk: Desk, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    panel = open_step(desk, "dot-product", 0)
    panel._on_chosen("https://arxiv.org/abs/1706.03762")
    assert answers.boxes == ["page_question"] and opened == []
    answers.button = answers.button.__class__.Open
    panel._on_chosen("https://arxiv.org/abs/1706.03762")
    assert opened == ["https://arxiv.org/abs/1706.03762"]


def test_answers_are_read_as_people_write_them() -> None:
    assert [answer_of(one) for one in ("0.5", "0,5", "−2", "50 %", "1,000.5", ".3")] == [
        0.5,
        0.5,
        -2,
        0.5,
        1000.5,
        0.3,
    ]


def test_the_lesson_is_a_row_of_the_export_dialog(desk: Desk, tmp_path: Path) -> None:
    desk.window.handlers.export("lesson")
    assert desk.window.status.message() == "Open a lesson in Learn first."
    open_step(desk, "dot-product")
    source = desk.window.handlers._exporter.source({})
    for kind in EXPORT_BY_ID["lesson"].formats:
        slides = (("slides", "on" if kind.id == "pdf" else "off"),)
        made = EXPORT_BY_ID["lesson"].make(source, Choice(kind.id, slides), lambda: None)
        assert source.lesson is not None and isinstance(made.shown, Leaves)
        assert made.shown.count >= len(source.lesson.steps) and made.shown.fps == 0
        (file,) = made.save(tmp_path / f"mine{kind.suffix}")
        assert file.read_bytes().startswith(b"%PDF" if kind.id == "pdf" else b"<!")
        assert (b"/MediaBox [0 0 907" in made.data) == (kind.id == "pdf")  # 320 × 180 mm in points
        assert attnviz.load(file).title == source.lesson.title("en")


def test_a_lesson_is_laid_out_in_a_worker_without_warnings(desk: Desk) -> None:
    """Each warning of Qt fails the test."""
    open_step(desk, "dot-product")
    source = desk.window.handlers._exporter.source({})
    made: list[Made] = []

    def work() -> None:
        for slides in ("off", "on"):
            choice = Choice("pdf", (("slides", slides),))
            made.append(EXPORT_BY_ID["lesson"].make(source, choice, lambda: None))

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert [one.data[:4] for one in made] == [b"%PDF", b"%PDF"]


def test_a_lesson_file_opens_as_a_document_does(make_desk: MakeDesk) -> None:
    made = make_desk()
    made.window.open_file(path("lessons", "masks.md"))
    made.settle()
    lesson = panel_of(made).lesson
    assert lesson is not None and lesson.id == "masks" and made.window.workspaces.present.id == "learn"


def test_the_claim_of_a_step_is_answered_by_the_present_document(desk: Desk) -> None:
    open_step(desk, "softmax", 2)
    verdict, cure = desk.find(QLabel, "lesson_verdict"), desk.find(QPushButton, "lesson_cure")
    assert verdict.text() == "✗ does not hold here" and "0.0055, 0.0000, 0.9943" in text(desk, "claim_why")
    desk.click(cure)
    desk.settle()
    assert verdict.text() == "✓ holds here" and cure.isHidden()
    assert "0.0469, 0.0018, 0.9439" in text(desk, "claim_why")
    desk.store.undo()
    desk.settle()
    assert verdict.text() == "✗ does not hold here"
    desk.store.edit_attention(put_at, "scale", {"kind": "value", "value": 0.5773502691896258})
    desk.settle()
    assert verdict.text() == "✓ holds here"


def test_a_claim_about_tokens_that_are_gone_is_not_answered(desk: Desk) -> None:
    panel = open_step(desk, "dot-product", 4)
    desk.store.edit(edits.set_n_tokens, 2)
    desk.settle()
    assert panel.claim.is_true is None
    assert desk.find(QLabel, "lesson_verdict").text() == "? cannot be computed here"


def shown_texts(panel: LessonPanel) -> list[str]:
    """The texts of the step that can be seen, controls among them."""
    return [part.objectName() for part in panel.findChildren(LinkedText) if part.isVisible()]


def test_undo_past_the_start_of_a_step_hides_its_texts_and_redo_brings_them_back(
    desk: Desk, settings: Settings
) -> None:
    desk.store.edit_attention(put_at, "temperature", 2.0)
    before = desk.store.document
    panel = open_step(desk, "softmax", 2)
    set_up = desk.find(QPushButton, "lesson_set_up")
    own = "The softmax of 3.5, −2.1, 8.7 and 0.3 is"
    assert own in text(desk, "claim_sentence") and set_up.isHidden()
    desk.store.undo()
    desk.settle()
    assert desk.store.document == before and shown_texts(panel) == []
    assert desk.find(QLabel, "lesson_away").isVisible() and set_up.isVisible()
    assert desk.find(QPushButton, "lesson_return").isHidden() and desk.store.pointer.spot is None
    assert own in text(desk, "claim_sentence")  # nothing was computed over the other document
    desk.store.redo()
    desk.settle()
    assert set_up.isHidden() and own in text(desk, "claim_sentence")
    assert desk.find(QLabel, "lesson_verdict").text() == "✗ does not hold here"
    desk.click(desk.find(QPushButton, "lesson_cure"))
    desk.settle()
    assert desk.find(QLabel, "lesson_verdict").text() == "✓ holds here"


def test_a_step_over_another_document_is_neither_done_nor_shown_until_it_is_set_up_again(
    desk: Desk, settings: Settings
) -> None:
    last = len(shipped_lesson("dot-product").steps) - 1
    panel = open_step(desk, "dot-product", last)
    desk.window.documents.open_preset("toy-attention")
    desk.settle()
    desk.store.edit(edits.set_vector_cell, 2, 0, 99.0)
    desk.settle()
    assert shown_texts(panel) == [] and settings.done("dot-product") == frozenset()
    desk.click(desk.find(QPushButton, "lesson_set_up"))
    desk.settle()
    assert desk.store.experiment.tokens == ("little", "friend", "tiny", "invite")
    assert "task_text" in shown_texts(panel) and not panel.task.is_done
    do_the_task(desk)
    desk.click(desk.find(QPushButton, "lesson_return"))
    desk.settle()
    desk.store.undo()  # to the reader's own work in the same step
    desk.settle()
    assert "task_text" in shown_texts(panel) and panel.task.is_done


def test_a_document_with_the_number_of_a_chapter_that_is_gone_is_not_taken_for_the_step(desk: Desk) -> None:
    desk.window.lesson_live.open("softmax")
    desk.settle()
    panel = panel_of(desk)
    number = desk.store.chapters.present.number
    desk.store.undo()
    desk.settle()
    desk.store.edit_attention(put_at, "temperature", 2.0)  # drops the chapters after it
    desk.window.documents.open_preset("toy-attention")
    desk.settle()
    assert desk.store.chapters.present.number == number
    assert panel.is_away and shown_texts(panel) == []


def test_a_step_whose_document_is_computed_already_has_its_numbers_at_once(desk: Desk) -> None:
    open_step(desk, "by-hand", 5)
    desk.window.documents.open_preset("toy-attention")
    desk.settle()
    panel = panel_of(desk)
    lesson = shipped_lesson("masks")
    panel.show_step(lesson, 0, desk.store.document, 0)
    assert "0.560 of its weight" in text(desk, "lesson_text")
    panel.show_step(lesson, 5, desk.store.document, 0)
    assert desk.find(QTextBrowser, "lesson_text").isHidden()


def control_in(desk: Desk, text: str, word: str) -> QWidget:
    """The control of a word in one of the texts of the step."""
    inside = desk.find(LinkedText, text).viewport()
    return next(
        one for one in inside.findChildren(QWidget) if one.accessibleName() == word and not one.isHidden()
    )


def test_the_control_of_a_task_stands_over_its_room_and_does_it(desk: Desk) -> None:
    panel = open_step(desk, "sampling", 4)
    field = control_in(desk, "task_text", "temperature")
    assert isinstance(field, SentenceNumber) and field.text() == "1.0"
    shown = desk.find(LinkedText, "task_text")
    assert "temperature" in shown.accessibleName() and shown.viewport().rect().contains(field.geometry())
    before = shown.cursorForPosition(field.geometry().topLeft() - QPoint(4, -12))
    before.select(before.SelectionType.WordUnderCursor)
    assert before.selectedText().strip("\u00a0") == "temperature"
    shown.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(shown, Qt.Key.Key_Tab)  # to the one link of the text
    assert shown.hasFocus() and shown.textCursor().selectedText() == "a"
    QTest.keyClick(shown, Qt.Key.Key_Tab)
    assert field.hasFocus()
    QTest.keyClick(field, Qt.Key.Key_Return)
    editor = field.findChild(QLineEdit)
    assert editor is not None
    desk.type_text(editor, "9")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    desk.settle()
    assert desk.store.attention.temperature == 9 and panel.task.is_done
    assert control_in(desk, "task_text", "temperature") is field  # the text is the same one still
    desk.store.undo()
    assert desk.store.attention.temperature == 1 and field.text() == "1.0"


def test_a_drag_along_the_line_changes_a_live_number(desk: Desk) -> None:
    open_step(desk, "sampling", 4)
    field = control_in(desk, "task_text", "temperature")
    drag(field, field.rect().center(), QPoint(40, 0))
    assert desk.store.attention.temperature > 1
    assert not desk.find(LinkedText, "task_text").textCursor().hasSelection()
    desk.store.undo()
    assert desk.store.attention.temperature == 1


def test_a_drag_from_a_dotted_number_selects_no_text_and_a_click_opens_it(desk: Desk) -> None:
    open_step(desk, "projections", 1)
    text = desk.find(LinkedText, "lesson_text")
    place = next(
        at
        for y in range(0, text.height(), 4)
        for x in range(0, text.width(), 4)
        if text.anchorAt(at := QPoint(x, y)).startswith("number:")
    )
    drag(text.viewport(), place, QPoint(60, 0))
    assert not text.textCursor().hasSelection()
    before = desk.store.document.view.locked
    desk.click(text.viewport(), place)
    assert desk.store.document.view.locked not in (None, before)


def test_a_pill_of_a_lesson_switches_the_mask(desk: Desk) -> None:
    open_step(desk, "masks", 5)
    pill = control_in(desk, "task_text", "causal")
    assert isinstance(pill, Pill) and not pill.isChecked()
    desk.click(pill)
    desk.settle()
    assert pill.isChecked() and panel_of(desk).task.is_done
    desk.click(pill)
    desk.settle()
    assert desk.store.attention.masks == () and not panel_of(desk).task.is_done


def test_the_words_of_a_step_follow_the_language(desk: Desk) -> None:
    open_step(desk, "dot-product")
    assert desk.store.experiment.tokens == ("little", "friend", "tiny", "invite")
    desk.window.commands["language"].trigger()
    desk.settle()
    assert desk.store.experiment.tokens == ("小", "沈", "阳", "邀请")
    assert (
        "邀请" in text(desk, "lesson_text")
        and "token:query:3:0" in desk.find(LinkedText, "lesson_text").toHtml()
    )
    desk.store.edit(edits.set_vector_cell, 2, 0, 0.9)
    desk.window.commands["language"].trigger()
    assert desk.store.experiment.tokens == ("小", "沈", "阳", "邀请")  # somebody's work stays


def test_the_words_of_a_preset_follow_the_language(make_desk: MakeDesk) -> None:
    desk = make_desk("word-similarity")
    view = desk.store.document.view
    desk.window.commands["language"].trigger()
    assert desk.store.experiment.tokens == ("小", "沈", "阳", "邀请") and desk.store.document.view == view
    desk.store.undo()
    assert desk.store.experiment.tokens == ("little", "friend", "tiny", "invite")
