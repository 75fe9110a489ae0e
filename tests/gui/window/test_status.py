"""The status line: one sentence, never wider than the window, never about what is over."""

from __future__ import annotations

import numpy as np
from desk import WAIT_MS, MakeDesk
from first_layer import change
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from attnviz.checkpoints.presets import load_preset
from attnviz.gui.player import GoTo
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.slider_field import SliderField
from attnviz.model.spec.parts import ExplicitVectors


def test_a_long_sentence_does_not_widen_the_window_and_is_whole_in_its_tooltip(make_desk: MakeDesk) -> None:
    desk = make_desk()
    desk.window.status.warn("short")
    desk.qtbot.wait(20)
    width, least = desk.window.width(), desk.window.minimumSizeHint().width()
    desk.window.status.warn("<b>scores</b>: " + "2 heads × 100000 queries × 100000 keys " * 12)
    desk.qtbot.wait(20)
    assert desk.window.width() == width
    assert desk.window.minimumSizeHint().width() == least
    assert "&lt;b&gt;scores" in desk.find(QLabel, "status_message").toolTip()
    hint = desk.find(QLabel, "status_hint")
    assert hint.isHidden(), "the keys leave their room to a sentence that needs it"
    desk.window.status.clear()
    assert not hint.isHidden()


def test_a_refusal_is_said_wherever_it_was_typed_and_goes_with_the_next_edit(make_desk: MakeDesk) -> None:
    desk = make_desk()
    for name in ("d_model_field", "vectors_seed_field", "n_tokens_field", "decode_speed"):
        desk.window.status.clear()
        desk.find(DragNumber, name).rejected.emit(ValueError(f"{name} is too large"))
        assert desk.window.status.message() == f"{name} is too large"
    change(desk.store, temperature=2.0)
    assert desk.window.status.message() == ""


def test_a_refused_number_that_is_typed_again_leaves_no_complaint(qtbot: QtBot, make_desk: MakeDesk) -> None:
    """Also if the number is the old one, so that the document stays as it is."""
    desk = make_desk()
    number = desk.find(SliderField, "temperature_field").number
    for text, complaint in (("-1", "must be"), ("1.00", "")):
        number.setFocus()
        number.open_editor(text)
        editor = number.findChild(QLineEdit, "number_editor")
        assert editor is not None
        qtbot.keyClick(editor, Qt.Key.Key_Return)
        assert complaint in desk.window.status.message()
        assert bool(desk.window.status.message()) == bool(complaint)


def test_what_was_done_is_not_wiped_away_by_an_edit(make_desk: MakeDesk) -> None:
    desk = make_desk()
    desk.window.status.say("Saved lecture.json")
    change(desk.store, temperature=2.0)
    assert desk.window.status.message() == "Saved lecture.json"


def test_after_a_run_that_failed_the_old_numbers_are_not_called_ready(make_desk: MakeDesk) -> None:
    desk = make_desk()
    facts = desk.find(QLabel, "status_facts")
    assert facts.text().startswith("ready · ")
    change(desk.store, dtype="bfloat16")
    desk.qtbot.waitUntil(lambda: not facts.text().startswith("ready"), timeout=WAIT_MS)
    assert facts.text() == "not computed: the numbers are from the previous state"
    assert "bfloat16" in desk.window.status.message()
    desk.store.undo()
    desk.settle()
    assert facts.text().startswith("ready · ")


def test_a_notice_of_a_run_follows_the_language_without_another_run(make_desk: MakeDesk) -> None:
    desk = make_desk()
    shape = desk.store.experiment.n_queries, desk.store.experiment.d_model
    change(desk.store, vectors=ExplicitVectors(np.full(shape, 1e30)), dtype="float32")
    desk.settle()
    facts, trace = desk.find(QLabel, "status_facts"), desk.store.trace
    english, chinese = "Numbers exceed the range of float32", "数值超出 float32 的范围"
    assert desk.said().startswith(english) and english in facts.toolTip()
    desk.press_key(Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    assert desk.said().startswith(chinese) and english not in desk.said()
    assert chinese in facts.toolTip() and english not in facts.toolTip()
    desk.settle()
    assert desk.store.trace is trace
    desk.press_key(Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    assert desk.said().startswith(english)
    change(desk.store, temperature=2.0)  # the next edit ends what was said of this one
    assert not desk.said()


def test_a_failed_run_is_not_called_ready_in_another_language(make_desk: MakeDesk) -> None:
    desk = make_desk()
    facts = desk.find(QLabel, "status_facts")
    change(desk.store, dtype="bfloat16")
    desk.qtbot.waitUntil(lambda: not facts.text().startswith("ready"), timeout=WAIT_MS)
    desk.press_key(Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    assert facts.text() == "未计算：数值来自之前的状态"
    desk.store.undo()
    desk.settle()
    assert facts.text().startswith("就绪 · ")


def test_what_was_done_is_not_left_in_another_language(make_desk: MakeDesk) -> None:
    desk = make_desk()
    desk.window.status.say("Saved lecture.json")
    desk.press_key(Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    assert desk.said() == "Saved lecture.json"  # colours do not end it
    desk.press_key(Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    message = desk.find(QLabel, "status_message")
    assert (message.text(), message.accessibleName(), message.toolTip()) == ("", "", "")


def test_a_text_longer_than_those_of_the_training_is_a_notice_in_the_line_and_in_generate(
    make_desk: MakeDesk,
) -> None:
    document = load_preset("stories-en")
    n = document.experiment.n_queries
    assert document.trained_length == 256
    desk = make_desk(replace(document, trained_length=n))
    desk.go("generate")
    desk.qtbot.waitUntil(lambda: desk.store.player.decoded is not None, timeout=WAIT_MS)
    facts, where = desk.find(QLabel, "status_facts"), desk.find(ElidedLabel, "decode_where")
    assert "notice" not in facts.text() and "trained" not in where.text()
    desk.store.play(GoTo(n))
    said = f"The model was trained on texts of up to {n} tokens; this one has {n + 1}."
    assert where.text().endswith(said)
    desk = make_desk(replace(document, trained_length=n - 1))
    desk.settle()
    facts = desk.find(QLabel, "status_facts")
    assert facts.text().startswith("ready, with a notice")
    assert f"up to {n - 1} tokens; this one has {n}." in facts.toolTip()
