"""The claim checker on the screen: verdicts, what makes a line true, the way back, and own claims."""

from __future__ import annotations

import time
from threading import Event
from typing import NoReturn

import pytest
from desk import Desk, MakeDesk
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

from attnviz.core.progress import Check
from attnviz.gui.look.words import speak
from attnviz.gui.panels.claims.claims import ClaimsPanel
from attnviz.gui.panels.claims.own import ClaimLine
from attnviz.gui.widgets.linked_text import LinkedText
from attnviz.gui.widgets.toggle import Toggle
from attnviz.i18n import set_language
from attnviz.model.io.presets import load_preset
from attnviz.study.claims.scope import Scope, holds
from attnviz.study.lessons.table import CLAIMS, shipped_claims

COUNT = sum(len(shipped_claims(id_).steps) for id_ in CLAIMS)


def panel(desk: Desk) -> ClaimsPanel:
    found = desk.window.panels["claims"]
    assert isinstance(found, ClaimsPanel)
    return found


def click(desk: Desk, widget: ClaimLine | QPushButton) -> None:
    desk.qtbot.mouseClick(widget, Qt.MouseButton.LeftButton, pos=widget.rect().center())
    desk.settle()


@pytest.fixture
def checker(make_desk: MakeDesk, qtbot: QtBot) -> Desk:
    desk = make_desk("toy-attention")
    desk.bring("claims")
    qtbot.waitUntil(lambda: len(panel(desk).lines()) == COUNT, timeout=20_000)
    return desk


@pytest.fixture
def told(checker: Desk) -> Desk:
    """The room with the verdicts of all claims."""
    checker.find(Toggle, "claims_show_all").click()
    return checker


def signs_seen(desk: Desk) -> set[str]:
    """The verdicts that the lines tell, painted or read out."""
    names = {line.accessibleName().rpartition(" — ")[2] for _judged, line in panel(desk).lines()}
    return names | {line.toolTip() for _judged, line in panel(desk).lines()}


def test_every_claim_asks_before_it_tells(checker: Desk) -> None:
    assert signs_seen(checker) == {"not answered yet", "<qt>not answered yet</qt>"}
    assert {line.verdict for _judged, line in panel(checker).lines()} == {None}
    assert checker.find(QPushButton, "claim_say_true").isVisible()  # the first one is open
    line = checker.find(ClaimLine, "claim_size-of-gpt3")
    click(checker, line)
    hidden = [checker.find(QLabel, "claim_verdict"), checker.find(LinkedText, "claim_text")]
    hidden += [checker.find(QPushButton, name) for name in ("claim_show", "claim_mend")]
    assert not any(part.isVisible() for part in hidden)


@pytest.mark.parametrize(
    ("claim", "said", "tone", "sentence"),
    [
        ("size-of-gpt3", "false", "right", "Your answer “False” is right."),
        ("size-of-gpt3", "true", "error", "Your answer “True” is wrong."),
        ("printed-line", "true", "error", "Your answer “True” is wrong."),  # it needs another setting
        ("sum-of-one", "true", "right", "Your answer “True” is right."),
    ],
)
def test_an_answer_reveals_the_verdict_and_stays(
    checker: Desk, claim: str, said: str, tone: str, sentence: str
) -> None:
    line = checker.find(ClaimLine, f"claim_{claim}")
    click(checker, line)
    click(checker, checker.find(QPushButton, f"claim_say_{said}"))
    answer = checker.find(QLabel, "claim_said")
    assert (answer.text(), answer.property("tone")) == (sentence, tone)
    assert checker.find(QLabel, "claim_verdict").isVisible()
    assert checker.find(LinkedText, "claim_text").isVisible()
    assert [one for _judged, one in panel(checker).lines() if one.verdict is not None] == [line]
    click(checker, checker.find(ClaimLine, "claim_between"))
    assert not answer.isVisible()
    checker.window.documents.open_preset("causal-decode")
    checker.settle()
    click(checker, line)
    assert answer.text() == sentence and line.verdict is not None


def test_keys_open_a_claim_and_answer_it(checker: Desk) -> None:
    line = checker.find(ClaimLine, "claim_sum-of-one")
    line.setFocus(Qt.FocusReason.TabFocusReason)
    checker.press_key(Qt.Key.Key_Return)
    false = checker.find(QPushButton, "claim_say_false")
    assert checker.find(QPushButton, "claim_say_true").hasFocus()
    checker.press_key(Qt.Key.Key_Right)
    assert false.hasFocus()
    checker.press_key(Qt.Key.Key_Space)
    assert line.verdict == "right" and line.hasFocus()
    assert checker.find(QLabel, "claim_said").text() == "Your answer “False” is wrong."


def test_all_answers_are_shown_by_a_switch_that_is_remembered(checker: Desk, make_desk: MakeDesk) -> None:
    every = [judged.verdict for judged, _line in panel(checker).lines()]
    switch = checker.find(Toggle, "claims_show_all")
    switch.click()
    assert [line.verdict for _judged, line in panel(checker).lines()] == every
    assert not checker.find(QPushButton, "claim_say_true").isVisible()
    later = make_desk("causal-decode")
    later.bring("claims")
    assert later.find(Toggle, "claims_show_all").value()
    later.qtbot.waitUntil(lambda: len(panel(later).lines()) == COUNT)
    assert [line.verdict for _judged, line in panel(later).lines()] == every
    switch.click()
    assert {line.verdict for _judged, line in panel(checker).lines()} == {None}


def test_a_claim_about_training_opens_the_trained_document_and_judges_no_edit(told: Desk) -> None:
    click(told, told.find(ClaimLine, "claim_induction-is-born"))
    click(told, told.find(QPushButton, "claim_show"))
    experiment = told.store.experiment
    assert len(experiment.tokens) == 32 and len(experiment.layers) == 2
    assert experiment.layers[0].projections != load_preset("induction-birth").experiment.layers[0].projections
    assert told.find(QLabel, "claim_now").isHidden()


def test_a_claim_is_shown_made_true_and_left(told: Desk) -> None:
    before = told.store.document
    click(told, told.find(ClaimLine, "claim_printed-line"))
    text = told.find(LinkedText, "claim_text")
    assert text.isVisible() and "0.9943" in text.toPlainText() and "÷√3" in text.toPlainText()
    now = told.find(QLabel, "claim_now")
    assert now.isHidden()
    click(told, told.find(QPushButton, "claim_mend"))
    assert now.isVisible() and now.text() == "✓ holds here"
    document, step = told.store.document, panel(told).detail.judged
    assert step is not None and told.store.trace is not None
    assert holds(step.step.claim, Scope(told.store.trace, document.view))
    assert document.attention.scale.value == pytest.approx(3**-0.5)  # type: ignore[union-attr]
    click(told, told.find(QPushButton, "claim_show"))
    assert not holds(step.step.claim, Scope(told.store.trace, told.store.document.view))
    assert now.text() == "✗ does not hold here"
    told.store.edit_attention(lambda site: replace(site, temperature=3**0.5))  # ÷√3 by another way
    told.settle()
    assert now.text() == "✓ holds here"
    told.store.undo()
    told.settle()
    click(told, told.find(QPushButton, "claim_back"))
    assert told.store.document == before
    assert not told.find(QPushButton, "claim_back").isVisible() and now.isHidden()


def test_a_second_window_computes_no_claim_again(
    told: Desk, make_desk: MakeDesk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("attnviz.gui.panels.claims.claims.judged")
    second = make_desk("causal-decode")
    second.bring("claims")
    qtbot.waitUntil(lambda: len(panel(second).lines()) == COUNT)
    both = (panel(desk).lines() for desk in (told, second))
    assert len({tuple((line.sentence, line.verdict) for _judged, line in lines) for lines in both}) == 1


def test_one_claim_is_open_at_a_time_and_a_second_click_closes_it(checker: Desk) -> None:
    first, second = (checker.find(ClaimLine, f"claim_{id_}") for id_ in ("diagonal", "one-length"))
    click(checker, first)
    click(checker, second)
    assert not first.isChecked() and second.isChecked()
    click(checker, second)
    assert not checker.find(QPushButton, "claim_say_true").isVisible()


def test_the_search_keeps_the_claims_with_the_words(checker: Desk, qtbot: QtBot) -> None:
    search = checker.find(QLineEdit, "claims_search")
    qtbot.keyClicks(search, "causal mask")
    shown = [line for _judged, line in panel(checker).lines() if line.isVisible()]
    assert 0 < len(shown) < 10 and all("causal mask" in line.sentence.casefold() for line in shown)
    search.setText("Half of the square")  # a title, as the palette types it
    shown = [line for _judged, line in panel(checker).lines() if line.isVisible()]
    assert [line.objectName() for line in shown] == ["claim_pairs"]


def test_the_sentences_follow_the_language(told: Desk) -> None:
    line = told.find(ClaimLine, "claim_size-of-gpt3")
    assert line.sentence == "GPT-3 has 17.5 billion parameters." and line.verdict == "wrong"
    set_language("zh_CN")
    speak()
    assert line.sentence == "GPT-3 有 175 亿个参数。"


def test_an_own_claim_is_typed_kept_followed_and_undone(checker: Desk, qtbot: QtBot) -> None:
    edit = checker.find(QLineEdit, "own_claim")
    qtbot.keyClicks(edit, "max(weights) < 0.6")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert checker.store.document.claims == ("max(weights) < 0.6",) and not edit.text()
    line = checker.find(ClaimLine, "own_claim_0")
    qtbot.waitUntil(lambda: line.verdict == "wrong")
    checker.store.edit_attention(lambda site: type(site)(**{**_fields(site), "temperature": 20.0}))
    checker.settle()
    qtbot.waitUntil(lambda: line.verdict == "right")
    click(checker, checker.find(QPushButton, "own_claim_0_remove"))
    assert checker.store.document.claims == ()
    checker.store.undo()
    assert checker.store.document.claims == ("max(weights) < 0.6",)


def test_a_bad_claim_stays_in_the_line_and_is_said(checker: Desk, qtbot: QtBot) -> None:
    edit = checker.find(QLineEdit, "own_claim")
    qtbot.keyClicks(edit, "weights[2")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert checker.store.document.claims == () and edit.text() == "weights[2"
    assert "at character" in checker.window.status.message()


def test_up_and_down_recall_what_was_tried(checker: Desk, qtbot: QtBot) -> None:
    edit = checker.find(QLineEdit, "own_claim")
    for tried in ("max(weights) < 0.6", "weights[2", "max(weights) < 0.6"):
        edit.setText(tried)
        qtbot.keyClick(edit, Qt.Key.Key_Return)
    edit.setText("sum(q")
    shown = []
    for key in (
        Qt.Key.Key_Up,
        Qt.Key.Key_Up,
        Qt.Key.Key_Up,
        Qt.Key.Key_Down,
        Qt.Key.Key_Down,
        Qt.Key.Key_Down,
    ):
        qtbot.keyClick(edit, key)
        shown.append(edit.text())
    first, second = "weights[2", "max(weights) < 0.6"
    assert shown == [second, first, first, second, "sum(q", "sum(q"]
    assert checker.window.settings.lines("claims") == (first, second)


def test_a_claim_about_an_unknown_name_says_so(checker: Desk, qtbot: QtBot) -> None:
    checker.store.claim(("foo > 2",))
    line = checker.find(ClaimLine, "own_claim_0")
    qtbot.waitUntil(lambda: "'foo'" in line.sentence)
    assert line.verdict is None and "must be one of" in line.toolTip()


def test_a_claim_in_a_reason_is_no_markup(checker: Desk, qtbot: QtBot) -> None:
    checker.store.claim(('weights["<b>x</b>", 0] > 0',))
    line = checker.find(ClaimLine, "own_claim_0")
    qtbot.waitUntil(lambda: "one of the text" in line.toolTip())
    assert "&lt;b&gt;x&lt;/b&gt;" in line.toolTip() and "<b>" not in line.toolTip()


def test_the_words_of_an_own_claim_follow_the_language(checker: Desk, qtbot: QtBot) -> None:
    checker.store.claim(("foo > 2", "max(weights) < 2"))
    first, second = (checker.find(ClaimLine, f"own_claim_{number}") for number in range(2))
    qtbot.waitUntil(lambda: second.verdict == "right")
    checker.window.commands["language"].trigger()
    assert "foo" in first.toolTip() and "must be one of" not in first.toolTip()
    assert "must be one of" not in first.sentence
    assert second.accessibleName().partition(" — ")[2] == "正确" and second.toolTip() == "<qt>正确</qt>"
    remove = checker.find(QPushButton, "own_claim_0_remove")
    assert remove.accessibleName() == "删除 foo > 2"


def test_a_long_claim_delays_neither_decoding_nor_closing(
    make_desk: MakeDesk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = Event()

    def asked_for_ever(claims: object, scope: object, check: Check) -> NoReturn:
        began.set()
        while True:
            time.sleep(0.01)
            check()

    monkeypatch.setattr("attnviz.gui.panels.claims.claims.answers", asked_for_ever)
    desk = make_desk(replace(load_preset("causal-decode"), claims=("max(weights) < 2",)), inline=False)
    desk.bring("claims")
    qtbot.waitUntil(began.is_set)
    done: list[str] = []
    for worker in (
        desk.window.services.schedulers.run,
        desk.window.services.schedulers.answers,
        desk.window.services.schedulers.survey,
    ):
        worker.submit(lambda token: "done", done.append, done.append)
    qtbot.waitUntil(lambda: done == ["done"] * 3)
    assert not desk.window.services.schedulers.claims.idle
    desk.window.close()
    assert desk.window.ended_cleanly


def test_a_claim_past_the_bounds_is_said_at_once(checker: Desk, qtbot: QtBot) -> None:
    checker.store.claim(("recurrent_gradient(10000, 10, 1) > 0", "max(weights) < 2"))
    first, second = (checker.find(ClaimLine, f"own_claim_{number}") for number in range(2))
    qtbot.waitUntil(lambda: second.verdict == "right")
    assert first.verdict is None and "must be a whole number from 1 to 64; got 10000." in first.toolTip()


def _fields(site: object) -> dict[str, object]:
    return {name: getattr(site, name) for name in site.__struct_fields__}  # type: ignore[attr-defined]
