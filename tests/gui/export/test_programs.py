"""The document as Python from the window: on the clipboard and in files."""

from __future__ import annotations

from pathlib import Path

import pytest
from desk import Desk, MakeDesk
from msgspec.structs import replace
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.scripts.library import LIBRARY_BY_ID
from attnviz.scripts.script import script


def test_the_document_is_copied_as_python(desk: Desk) -> None:
    desk.window.commands["copy_python"].trigger()
    desk.settle()
    assert QGuiApplication.clipboard().text() == script(desk.store.document, LIBRARY_BY_ID["numpy"])
    assert desk.said() == "Copied the document as Python to the clipboard."


def test_too_many_numbers_are_refused_in_one_sentence(make_desk: MakeDesk) -> None:
    desk = make_desk(load_preset("stories-en"))
    QGuiApplication.clipboard().setText("before")
    desk.window.commands["copy_python"].trigger()
    desk.settle()
    assert QGuiApplication.clipboard().text() == "before"
    assert "16,384" in desk.said()


@pytest.mark.parametrize(
    ("kind", "name", "has"),
    [
        ("NumPy script (*.py)", "a.py", "import numpy as np"),
        ("PyTorch script (*.py)", "b", "import torch"),
        ("PyTorch notebook (*.ipynb)", "c", '"nbformat": 4'),
    ],
)
def test_a_file_is_written_as_its_kind_says(
    kind: str, name: str, has: str, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(*arguments: object) -> tuple[str, str]:
        assert kind in str(arguments[-1]).split(";;")
        return str(tmp_path / name), kind

    monkeypatch.setattr(QFileDialog, "getSaveFileName", ask)
    desk.window.commands["export_script"].trigger()
    desk.settle()
    (file,) = tmp_path.glob("[abc]*")
    assert has in file.read_text(encoding="utf-8")
    assert file.name in desk.said()


def test_a_disk_that_refuses_is_told(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a: (str(tmp_path / "no" / "x.py"), ""))
    desk.window.commands["export_script"].trigger()
    desk.settle()
    assert desk.said().startswith("x.py: ")


def test_the_copied_program_is_that_of_the_edited_document(desk: Desk) -> None:
    desk.store.edit_attention(lambda site: replace(site, temperature=0.5))
    desk.settle()
    desk.window.commands["copy_python"].trigger()
    desk.settle()
    assert " / 0.5" in QGuiApplication.clipboard().text()
    assert attnviz.run(desk.store.experiment).sites == desk.store.trace.sites
