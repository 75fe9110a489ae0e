"""The document as Python from the window: on the clipboard and in files."""

from __future__ import annotations

from pathlib import Path

import pytest
from desk import Desk, MakeDesk
from msgspec.structs import replace
from PySide6.QtGui import QGuiApplication

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.explain.scripts.library import LIBRARY_BY_ID
from attnviz.explain.scripts.script import script
from attnviz.gui.export.source import Choice
from attnviz.gui.export.table import EXPORT_BY_ID


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
    ("row", "library", "name", "has"),
    [
        ("script", "numpy", "a.py", "import numpy as np"),
        ("script", "torch", "b.py", "import torch"),
        ("notebook", "torch", "c.ipynb", '"nbformat": 4'),
    ],
)
def test_a_file_is_written_as_its_kind_says(
    row: str, library: str, name: str, has: str, desk: Desk, tmp_path: Path
) -> None:
    exporter = desk.window.handlers._exporter
    made = EXPORT_BY_ID[row].make(exporter.source({}), Choice(library, ()), lambda: None)
    exporter.write(tmp_path / name, made)
    desk.settle()
    assert has in (tmp_path / name).read_text(encoding="utf-8")
    assert made.copied == script(desk.store.document, LIBRARY_BY_ID[library])  # type: ignore[index]
    assert desk.said() == f"Saved {name}"


def test_arrays_of_a_large_document_stand_beside_its_script(make_desk: MakeDesk, tmp_path: Path) -> None:
    desk = make_desk(load_preset("stories-en"))
    exporter = desk.window.handlers._exporter
    made = EXPORT_BY_ID["script"].make(exporter.source({}), Choice("numpy", ()), lambda: None)
    assert made.save(tmp_path / "tale.py") == (tmp_path / "tale.py", tmp_path / "tale.npz")
    assert len(made.files) == 2 and (tmp_path / "tale.npz").read_bytes() == made.files[1]
    assert attnviz.load(tmp_path / "tale.py") == desk.store.document


def test_a_disk_that_refuses_is_told(desk: Desk, tmp_path: Path) -> None:
    exporter = desk.window.handlers._exporter
    made = EXPORT_BY_ID["script"].make(exporter.source({}), Choice("numpy", ()), lambda: None)
    exporter.write(tmp_path / "no" / "x.py", made)
    desk.settle()
    assert desk.said().startswith(f"{tmp_path / 'no' / 'x.py'}: ")


def test_the_copied_program_is_that_of_the_edited_document(desk: Desk) -> None:
    desk.store.edit_attention(lambda site: replace(site, temperature=0.5))
    desk.settle()
    desk.window.commands["copy_python"].trigger()
    desk.settle()
    assert " / 0.5" in QGuiApplication.clipboard().text()
    assert attnviz.run(desk.store.experiment).sites == desk.store.trace.sites
