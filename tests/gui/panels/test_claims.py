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


def test_a_claim_is_shown_made_true_and_left(checker: Desk) -> None:
    before = checker.store.document
    click(checker, checker.find(ClaimLine, "claim_printed-line"))
    text = checker.find(LinkedText, "claim_text")
    assert text.isVisible() and "0.9943" in text.toPlainText() and "÷√3" in text.toPlainText()
    now = checker.find(QLabel, "claim_now")
    assert now.isHidden()
    click(checker, checker.find(QPushButton, "claim_mend"))
    assert now.isVisible() and now.text() == "✓ holds here"
    document, step = checker.store.document, panel(checker).detail.judged
    assert step is not None and checker.store.trace is not None
    assert holds(step.step.claim, Scope(checker.store.trace, document.view))
    assert document.attention.scale.value == pytest.approx(3**-0.5)  # type: ignore[union-attr]
    click(checker, checker.find(QPushButton, "claim_show"))
    assert not holds(step.step.claim, Scope(checker.store.trace, checker.store.document.view))
    assert now.text() == "✗ does not hold here"
    checker.store.edit_attention(lambda site: replace(site, temperature=3**0.5))  # ÷√3 by another way
    checker.settle()
    assert now.text() == "✓ holds here"
    checker.store.undo()
    checker.settle()
    click(checker, checker.find(QPushButton, "claim_back"))
    assert checker.store.document == before
    assert not checker.find(QPushButton, "claim_back").isVisible() and now.isHidden()


def test_a_second_window_computes_no_claim_again(
    checker: Desk, make_desk: MakeDesk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("attnviz.gui.panels.claims.claims.judged")
    second = make_desk("causal-decode")
    second.bring("claims")
    qtbot.waitUntil(lambda: len(panel(second).lines()) == COUNT)
    both = (panel(desk).lines() for desk in (checker, second))
    assert len({tuple((line.sentence, line.verdict) for _judged, line in lines) for lines in both}) == 1


def test_one_claim_is_open_at_a_time_and_a_second_click_closes_it(checker: Desk) -> None:
    first, second = (checker.find(ClaimLine, f"claim_{id_}") for id_ in ("diagonal", "one-length"))
    click(checker, first)
    click(checker, second)
    assert not first.isChecked() and second.isChecked()
    click(checker, second)
    assert not checker.find(LinkedText, "claim_text").isVisible()


def test_the_search_keeps_the_claims_with_the_words(checker: Desk, qtbot: QtBot) -> None:
    search = checker.find(QLineEdit, "claims_search")
    qtbot.keyClicks(search, "causal mask")
    shown = [line for _judged, line in panel(checker).lines() if line.isVisible()]
    assert 0 < len(shown) < 10 and all("causal mask" in line.sentence.casefold() for line in shown)


def test_the_sentences_follow_the_language(checker: Desk) -> None:
    line = checker.find(ClaimLine, "claim_size-of-gpt3")
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
