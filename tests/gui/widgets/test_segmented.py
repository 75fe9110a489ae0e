"""An exclusive choice by mouse and by arrow keys."""

from __future__ import annotations

from pointer import Log, show_active
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication
from pytestqt.qtbot import QtBot
from written import Written

from attnviz.gui.look.theme import LIGHT
from attnviz.gui.widgets.segmented import Segmented

OPTIONS = [("none", "none", "No position"), ("rope", "RoPE", "Rotary"), ("alibi", "ALiBi", "<b>Bias</b>")]


def make(qtbot: QtBot) -> tuple[Segmented, Log]:
    choice = Segmented(OPTIONS, "none", "Position")
    qtbot.addWidget(choice)
    choice.apply_theme(LIGHT)
    show_active(qtbot, choice)
    return choice, Log(choice, "changed")


def segment(choice: Segmented, id_: str) -> QAbstractButton:
    found = choice.findChild(QAbstractButton, f"segment_{id_}")
    assert isinstance(found, QAbstractButton)
    return found


def test_a_click_chooses_and_says_so_once(qtbot: QtBot) -> None:
    choice, log = make(qtbot)
    QTest.mouseClick(segment(choice, "rope"), Qt.MouseButton.LeftButton)
    QTest.mouseClick(segment(choice, "rope"), Qt.MouseButton.LeftButton)
    assert log.values("changed") == ["rope"]
    assert choice.value() == "rope"
    assert [segment(choice, id_).isChecked() for id_, *_ in OPTIONS] == [False, True, False]


def test_the_chosen_segment_is_painted_in_the_accent(qtbot: QtBot) -> None:
    choice, _log = make(qtbot)
    for id_ in ("none", "rope", "alibi"):
        choice.set_value(id_)
        for other, *_rest in OPTIONS:
            button = segment(choice, other)
            color = button.grab().toImage().pixelColor(button.width() // 2, 4).name()
            assert (color == LIGHT.accent) == (other == id_)


def test_arrow_keys_choose_and_skip_what_is_unavailable(qtbot: QtBot) -> None:
    choice, log = make(qtbot)
    choice.set_option_unavailable("rope", "d_head must be even")
    segment(choice, "none").setFocus()
    QTest.keyClick(segment(choice, "none"), Qt.Key.Key_Right)
    assert log.values("changed") == ["alibi"]
    assert segment(choice, "alibi").hasFocus()
    QTest.keyClick(segment(choice, "alibi"), Qt.Key.Key_Left)
    assert choice.value() == "none"


def test_an_unavailable_option_says_why_and_does_nothing(qtbot: QtBot) -> None:
    choice, log = make(qtbot)
    choice.set_option_unavailable("alibi", "Not with <s>")
    QTest.mouseClick(segment(choice, "alibi"), Qt.MouseButton.LeftButton)
    assert log.events == []
    assert "Not with &lt;s&gt;" in segment(choice, "alibi").toolTip()
    choice.set_option_unavailable("alibi", None)
    assert "&lt;b&gt;Bias" in segment(choice, "alibi").toolTip()


def test_the_whole_choice_unavailable_says_why_on_every_segment(qtbot: QtBot) -> None:
    choice, log = make(qtbot)
    choice.set_unavailable("No attention")
    assert all("No attention" in segment(choice, id_).toolTip() for id_, *_ in OPTIONS)
    QTest.mouseClick(segment(choice, "rope"), Qt.MouseButton.LeftButton)
    assert log.events == []
    choice.set_unavailable(None)
    assert "Rotary" in segment(choice, "rope").toolTip()


def test_set_value_is_silent(qtbot: QtBot) -> None:
    choice, log = make(qtbot)
    choice.set_value("alibi")
    assert log.events == []


def test_new_options_keep_the_choice(qtbot: QtBot) -> None:
    choice, log = make(qtbot)
    choice.set_value("rope")
    choice.set_options([("rope", "旋转", ""), ("none", "无", "")])
    assert choice.value() == "rope"
    assert segment(choice, "rope").isChecked()
    assert segment(choice, "rope").accessibleName() == "旋转"
    assert log.events == []


def test_one_tab_stop(qtbot: QtBot) -> None:
    choice, _log = make(qtbot)
    stops = [id_ for id_, *_ in OPTIONS if segment(choice, id_).focusPolicy() & Qt.FocusPolicy.TabFocus]
    assert stops == ["none"]


def test_what_is_told_again_writes_nothing(qtbot: QtBot) -> None:
    """A form tells its controls everything after every edit; most of it is what they show."""
    choice, _log = make(qtbot)
    choice.set_option_unavailable("rope", "d_head must be even")
    written = Written(choice)
    choice.set_value("none")
    choice.set_option_unavailable("rope", "d_head must be even")
    choice.set_option_unavailable("none", None)
    choice.set_unavailable(None)
    assert written.log == []
    choice.set_option_unavailable("rope", "another reason")
    assert written.log == [(segment(choice, "rope"), "ToolTipChange")]
    assert "another reason" in segment(choice, "rope").toolTip()
    choice.set_option_unavailable("rope", None)
    assert segment(choice, "rope").isEnabled() and "another reason" not in segment(choice, "rope").toolTip()
    written.stop()


def test_space_on_what_is_chosen_is_left_to_the_window(qtbot: QtBot) -> None:
    """It would choose what is chosen; in the window it plays."""
    choice, log = make(qtbot)
    segment(choice, "none").setFocus()
    pressed = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Space, Qt.KeyboardModifier.NoModifier, " ")
    QApplication.sendEvent(segment(choice, "none"), pressed)
    assert not pressed.isAccepted() and choice.value() == "none"
    QTest.keyClick(segment(choice, "rope"), Qt.Key.Key_Space)
    assert log.values("changed") == ["rope"]
