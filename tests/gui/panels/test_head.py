"""The card of the selected head: its sentence from the trace, and its buttons."""

from __future__ import annotations

import pytest
from desk import Desk, MakeDesk
from PySide6.QtCore import QUrl
from PySide6.QtWidgets import QPushButton

from attnviz.gui.widgets.elided_label import WholeLabel
from attnviz.gui.widgets.linked_text import LinkedText
from attnviz.model.spec.view import Cell


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    made = make_desk("decoder-only")
    made.go("model")
    made.bring("head")
    made.store.look(site="layers.1.self", head=1, query=3)
    return made


def test_the_sentence_is_the_greatest_weight_of_the_row(desk: Desk) -> None:
    row, tokens = desk.store.site["weights"][1, 3], desk.store.experiment.tokens
    key = int(row.argmax())
    sentence = desk.find(LinkedText, "head_sentence")
    assert sentence.toPlainText() == f"“{tokens[3]}” attends most to “{tokens[key]}”: {row[key]:.3f}."
    sentence.anchorClicked.emit(QUrl(f"key:{key}"))
    assert desk.store.document.view.locked == Cell("weights", 3, key, 1)
    assert 'href="query:3"' in sentence.toHtml() and f'href="key:{key}"' in sentence.toHtml()
    assert desk.find(WholeLabel, "head_title").text() == "layer 2 of 2 · head 2"


def test_the_buttons_switch_the_head_off_pin_and_explore(desk: Desk) -> None:
    switch = desk.find(QPushButton, "head_switch")
    assert switch.text() == "Switch head 2 off"
    desk.click(switch)
    desk.settle()
    assert desk.store.attention.heads.off == (1,) and switch.text() == "Switch head 2 on"
    desk.click(desk.find(QPushButton, "head_pin"))
    pinned = desk.window.panels["compare"].pinning.pinned
    assert pinned is not None and pinned.document == desk.store.document
    desk.click(desk.find(QPushButton, "head_explore"))
    assert desk.window.workspaces.present.id == "explore" and desk.store.document.view.head == 1
