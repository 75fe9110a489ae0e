"""The title of the document: what is written is stored, undone, shown, and saved with the document."""

from __future__ import annotations

import pytest
from desk import MakeDesk
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QLineEdit

from attnviz.checkpoints.presets import load_preset
from attnviz.gui.dialogs.title import TitleDialog
from attnviz.i18n import set_language


def person(dialog: TitleDialog, typed: str, key: Qt.Key) -> int:
    line = dialog.findChild(QLineEdit, "title_line")
    assert line is not None
    dialog.show()
    if typed:
        line.selectAll()
        QTest.keyClicks(line, typed)
    QTest.keyClick(line, key)
    return dialog.result()


@pytest.mark.parametrize(
    ("typed", "key", "expected"),
    [
        ("Anna and Ben", Qt.Key.Key_Return, "Anna and Ben"),
        ("Anna", Qt.Key.Key_Escape, "Who is she?"),
        ("", Qt.Key.Key_Return, "Who is she?"),
    ],
)
def test_the_title_that_is_written_is_that_of_the_document(
    make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch, typed: str, key: Qt.Key, expected: str
) -> None:
    desk = make_desk(load_preset("stories-name"))
    monkeypatch.setattr(TitleDialog, "exec", lambda dialog: person(dialog, typed, key))
    set_language("zh_CN")
    try:
        desk.window.commands["title"].trigger()
    finally:
        set_language("en")
    assert desk.store.document.title == expected
    assert (expected in desk.window.windowTitle()) and desk.store.is_modified == (expected != "Who is she?")
    desk.store.undo()
    assert desk.store.document.title == "Who is she?"


def test_nobody_writes_a_title_that_is_too_long(make_desk: MakeDesk) -> None:
    desk = make_desk(load_preset("stories-name"))
    dialog = TitleDialog(desk.window, desk.window.services)
    assert person(dialog, "a" * 1200, Qt.Key.Key_Return) == QDialog.DialogCode.Accepted
    assert len(dialog.text) == 1000 and desk.store.entitle(dialog.text)
