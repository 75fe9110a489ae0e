"""A document that has just been opened."""

from __future__ import annotations

from pathlib import Path

import pytest
from desk import MakeDesk
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QPlainTextEdit

import attnviz
from attnviz.gui.window.size import first_size
from attnviz.model.io.presets import load_preset


def test_a_long_sentence_is_shown_from_its_beginning(make_desk: MakeDesk) -> None:
    desk = make_desk()
    desk.store.open(load_preset("long-sentence"))
    desk.settle()
    text = desk.find(QPlainTextEdit, "token_line")
    assert len(text.toPlainText()) > 400
    assert text.textCursor().position() == text.verticalScrollBar().value() == 0


def test_a_document_from_a_file_is_called_by_the_files_name(make_desk: MakeDesk, tmp_path: Path) -> None:
    desk = make_desk()
    assert desk.window.windowTitle().startswith("A fluffy blue creature")
    attnviz.save(load_preset("toy-attention").experiment, tmp_path / "mine.json")
    desk.store.open(attnviz.load(tmp_path / "mine.json"), tmp_path / "mine.json")
    assert desk.window.windowTitle().startswith("mine.json")


@pytest.mark.parametrize(
    ("room", "size"),
    [
        (QSize(1280, 800), QSize(1280, 772)),  # its status line must not lie below the screen
        (QSize(1440, 900), QSize(1280, 800)),
        (QSize(1366, 768), QSize(1280, 740)),
        (QSize(2560, 1440), QSize(2048, 1152)),
        (QSize(800, 600), QSize(1000, 600)),
    ],
)
def test_the_first_window_leaves_room_for_its_title_bar(room: QSize, size: QSize) -> None:
    assert first_size(room) == size
