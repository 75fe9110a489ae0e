"""Documents: saved, opened, dropped, remembered; unsaved work stays in the history, and closing asks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from html import escape
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import Any

import numpy as np
import pytest
from desk import WAIT_MS, Answers, Desk, MakeDesk
from documents import explicit
from msgspec.structs import replace
from pointer import drag
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QAction, QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFileDialog,
    QLineEdit,
    QMenu,
    QMessageBox,
    QPlainTextEdit,
    QWidget,
)

import attnviz
from attnviz.checkpoints.presets import PRESETS, grouped_presets, load_preset
from attnviz.gui.panels.mechanism.search import SearchLine
from attnviz.gui.widgets.caption import CaptionEditor
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.gui.widgets.document_text import DocumentText
from attnviz.gui.widgets.window_keys import LineEdit
from attnviz.model.captions import plain_caption
from attnviz.model.edit.edits import set_vectors
from attnviz.model.io.carriers.table import files_carrying
from attnviz.model.io.files import record_of, replace_files
from attnviz.model.sandbox.process import Process
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import ExplicitVectors
from attnviz.model.spec.vocabulary import Vocabulary

BUTTON = QMessageBox.StandardButton


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file that the file dialogs answer."""
    made = tmp_path / "größe 注意.json"
    for name in ("getSaveFileName", "getOpenFileName"):
        monkeypatch.setattr(QFileDialog, name, lambda *_args, **_named: (str(made), ""))
    yield made


def change(desk: Desk) -> None:
    drag(desk.vectors.viewport(), desk.vector_center(0, 0), QPoint(0, -50))
    desk.settle()


def trigger(desk: Desk, action: str) -> None:
    desk.window.commands[action].trigger()


def drop(desk: Desk, *paths: Path, over: QWidget | None = None, goes_on: bool = True) -> bool:
    """Drag files over the window, or a part of it, and let them fall; whether that wanted them.

    A file manager proposes to move them, and offers their names as text. The event loop `goes_on` after it.
    """
    mime, target = QMimeData(), over or desk.window
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    mime.setText("\n".join(map(str, paths)))
    actions = Qt.DropAction.CopyAction | Qt.DropAction.MoveAction
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    entered = QDragEnterEvent(QPoint(9, 9), actions, mime, left, none)
    entered.setDropAction(Qt.DropAction.MoveAction)
    entered.ignore()
    QApplication.sendEvent(target, entered)
    if entered.isAccepted():
        assert entered.dropAction() == Qt.DropAction.CopyAction  # the file stays where it is
        QApplication.sendEvent(target, QDropEvent(QPointF(9, 9), actions, mime, left, none))
        if goes_on:
            QApplication.processEvents()
    return entered.isAccepted()


def test_saved_changed_and_opened_again_it_is_the_saved_document(
    desk: Desk, file: Path, answers: Answers
) -> None:
    change(desk)
    desk.store.look(stage="scores", head=2)
    desk.press_key(Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    saved = desk.store.document
    assert desk.said() == f"Saved {file.name}"
    assert not desk.store.is_modified and desk.window.windowTitle() == f"{file.name} — attnviz"
    assert attnviz.load(file) == saved
    change(desk)
    assert desk.window.windowTitle() == f"{file.name} • — attnviz"
    desk.press_key(Qt.Key.Key_O, Qt.KeyboardModifier.ControlModifier)
    desk.settle()
    assert desk.store.document == saved and answers.boxes == []
    assert desk.window.windowTitle() == f"{file.name} — attnviz"
    np.testing.assert_array_equal(desk.map.content.values, attnviz.run(saved)["scores"][2])


def test_save_writes_to_the_same_file_without_asking(
    desk: Desk, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(desk)
    trigger(desk, "save_as")
    monkeypatch.delattr(QFileDialog, "getSaveFileName")
    change(desk)
    trigger(desk, "save")
    assert attnviz.load(file) == desk.store.document


def large(desk: Desk) -> None:
    """Vectors past what a .json holds."""
    values = np.random.default_rng(0).standard_normal((4, 5000))
    desk.store.edit(set_vectors, values)
    desk.settle()


def test_a_document_that_is_too_large_for_json_is_saved_beside_it(
    desk: Desk, file: Path, answers: Answers
) -> None:
    change(desk)
    trigger(desk, "save_as")
    small = attnviz.load(file)
    large(desk)
    trigger(desk, "save")
    assert answers.boxes == ["not_saved_box"] and desk.store.is_modified
    assert (
        "must have at most 16,384 numbers; got 20,000. Save it as .safetensors instead." in answers.texts[-1]
    )
    answers.button = BUTTON.Save
    trigger(desk, "save")
    tensors = file.with_suffix(".safetensors")
    assert answers.offers[-1] == f"Save as {tensors.name}"
    assert attnviz.load(tensors) == desk.store.document and not desk.store.is_modified
    assert attnviz.load(file) == small, "the old file stays as it was"
    assert desk.window.windowTitle() == f"{tensors.name} — attnviz"


def test_another_file_is_not_written_over_without_a_question(
    desk: Desk, file: Path, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = file.with_suffix(".safetensors")
    attnviz.save(load_preset("toy-attention"), other)
    trigger(desk, "save_as")
    large(desk)
    asked: list[str] = []

    def ask(_parent: object, _title: str, start: str, _kinds: str) -> tuple[str, str]:
        asked.append(start)
        return "", ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", ask)
    answers.button = BUTTON.Save
    trigger(desk, "save")
    assert asked == [str(other)] and answers.offers[-1] == "Save as…"
    assert attnviz.load(other) == load_preset("toy-attention") and desk.store.is_modified
    without = file.with_suffix("")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_a, **_n: (str(without), ""))
    answers.button = BUTTON.Cancel
    trigger(desk, "save_as")
    assert answers.boxes[-1] == "replace_box" and attnviz.load(other) == load_preset("toy-attention")
    answers.button = BUTTON.Save
    trigger(desk, "save_as")
    assert attnviz.load(other) == desk.store.document
    attnviz.save(load_preset("toy-attention"), other)
    answers.button = BUTTON.Cancel
    desk.window.documents.save_with_weights()
    assert answers.boxes[-1] == "replace_box" and attnviz.load(other) == load_preset("toy-attention")


def test_a_document_that_cannot_be_saved_keeps_the_window(
    desk: Desk, file: Path, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    large(desk)
    pressed = iter((BUTTON.Save, BUTTON.Cancel))
    monkeypatch.setattr(QMessageBox, "exec", lambda box: next(pressed))
    desk.close()
    assert desk.window.isVisible() and desk.store.is_modified and not file.exists()


def test_undo_back_to_what_is_on_the_disk_is_not_modified(desk: Desk, file: Path) -> None:
    trigger(desk, "save_as")
    change(desk)
    assert desk.store.is_modified
    desk.store.undo()
    assert not desk.store.is_modified


BROKEN = (
    "",
    "{",
    "[1, 2]",
    '{"format": "attnviz", "version": 99, "experiment": {}}',
    '{"format": "attnviz", "version": 1, "experiment": {"tokens": ["a"], "vectors": 3}, "view": {}}',
    '{"format": "attnviz", "version": 1, "experiment": {"tokens": ["<b>x"], "vectors": '
    '{"kind": "explicit", "values": [[NaN]]}}, "view": {}}',
    '{"format": "attnviz", "version": 1, "experiment": {"tokens": ["a"], "vectors": '
    '{"kind": "explicit", "values": [[1.0]]}}, "view": {"locked": {"stage": "nonsense", '
    '"row": 0, "column": 0}}}',
    '{"format": "attnviz", "version": 1, "experiment": {"tokens": ["a"], "vectors": '
    '{"kind": "explicit", "values": [[1.0]]}}, "view": {"stage": "nonsense"}}',
)


def test_a_file_that_is_no_document_is_said_in_a_sentence_and_changes_nothing(
    desk: Desk, file: Path, answers: Answers
) -> None:
    change(desk)
    before = desk.store.document
    answers.button = BUTTON.Discard
    for content in BROKEN:
        file.write_text(content, encoding="utf-8")
        desk.window.status.clear()
        trigger(desk, "open")
        assert file.name in desk.said() and "\n" not in desk.said(), content
        assert desk.store.document == before and desk.store.can_undo and desk.store.path is None
    assert desk.window.settings.recent() == ()


def test_a_file_that_is_not_there_is_said(desk: Desk, file: Path) -> None:
    trigger(desk, "open")
    assert file.name in desk.said()


def test_a_place_that_cannot_be_written_loses_nothing(
    desk: Desk, tmp_path: Path, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(desk)
    target = tmp_path / "no such folder" / "a.json"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_args: (str(target), ""))
    trigger(desk, "save")
    assert "a.json" in desk.said() or "no such folder" in desk.said()
    assert answers.boxes == ["not_saved_box"] and desk.said() in answers.texts[0]
    assert answers.offers == ["Save as…"]
    assert desk.store.is_modified and desk.store.path is None


WAYS = ("new", "open", "preset", "recent", "drop")


def leaves(menu: QMenu) -> list[QAction]:
    """The entries of a menu and of its submenus, in order."""
    parts = {part.menuAction(): part for part in menu.findChildren(QMenu)}
    found = [leaves(parts[action]) if action in parts else [action] for action in menu.actions()]
    return [action for some in found for action in some if not action.isSeparator()]


def leave_by(desk: Desk, way: str, file: Path) -> None:
    """Another document, as a person opens it."""
    before = desk.store.document
    if way == "drop":
        assert drop(desk, file)
    elif way in ("preset", "recent"):
        menu = desk.find(QMenu, "menu_presets" if way == "preset" else "menu_recent")
        menu.aboutToShow.emit()
        leaves(menu)[0].trigger()
    else:
        trigger(desk, way)
    desk.qtbot.waitUntil(lambda: desk.store.document is not before, timeout=WAIT_MS)
    desk.settle()


def test_another_document_asks_nothing_and_undo_returns(desk: Desk, file: Path, answers: Answers) -> None:
    attnviz.save(load_preset("toy-attention"), file)
    desk.window.settings.add_recent(file)
    for way in WAYS:
        desk.store.open(load_preset("dog-bites-man"))
        desk.settle()
        change(desk)
        before, title, values = desk.store.document, desk.window.windowTitle(), desk.map.content.values
        leave_by(desk, way, file)
        assert answers.boxes == [] and desk.store.document != before, way
        after, path = desk.store.document, desk.store.path
        trigger(desk, "undo")
        desk.settle()
        assert desk.store.document == before and desk.store.path is None, way
        assert desk.window.windowTitle() == title and "•" in title
        np.testing.assert_array_equal(desk.map.content.values, values)
        assert desk.said() == "Back to Dog bites man; redo returns"
        trigger(desk, "redo")
        assert (desk.store.document, desk.store.path) == (after, path), way


def test_the_status_line_says_where_redo_leads(desk: Desk) -> None:
    """Undo before another document opens leaves edits that redo repeats first."""
    change(desk)
    edited = desk.store.document
    trigger(desk, "undo")
    undone = desk.store.document
    desk.store.open(load_preset("dog-bites-man"))
    opened = desk.store.document
    trigger(desk, "undo")
    assert desk.store.document == undone
    assert desk.said() == "Back to A fluffy blue creature; redo first repeats its undone edits"
    trigger(desk, "redo")
    assert desk.store.document == edited and desk.said() == ""
    trigger(desk, "redo")
    assert desk.store.document == opened and desk.said() == "Forward to Dog bites man; undo returns"
    trigger(desk, "undo")
    assert desk.said() == "Back to A fluffy blue creature; redo returns"


def test_recent_edits_return_to_unsaved_documents(desk: Desk, file: Path) -> None:
    menu = desk.find(QMenu, "menu_recent_edits")
    desk.window.commands.menu("file").aboutToShow.emit()
    assert menu.title() == "Recent edits" and not menu.isEnabled()
    change(desk)
    edited = desk.store.document
    desk.store.open(replace(load_preset("toy-attention"), title="R&D <b>\n"))
    change(desk)
    desk.store.open(load_preset("sigmoid"))
    desk.window.commands.menu("file").aboutToShow.emit()
    assert menu.isEnabled()
    menu.aboutToShow.emit()
    entries = [action.text().split("\t") for action in menu.actions()]
    assert [name for name, _time in entries] == ["R&&D <b>", "A fluffy blue creature"]
    assert all(datetime.strptime(time, "%H:%M") for _name, time in entries)
    menu.actions()[1].trigger()
    desk.settle()
    assert desk.store.document == edited and desk.store.is_modified


def test_closing_names_every_unsaved_document_and_saves_all(
    desk: Desk, tmp_path: Path, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(desk)
    first = desk.store.document
    desk.close()
    assert answers.texts == ["“A fluffy blue creature” has unsaved changes."] and desk.window.isVisible()
    desk.store.open(load_preset("dog-bites-man"))
    desk.store.open(load_preset("toy-attention"))
    desk.settle()
    change(desk)
    second = desk.store.document
    desk.close()
    assert answers.texts[1].splitlines()[2:] == [f"• {second.title}", f"• {first.title}"]
    assert answers.offers == ["Save", "Save all"] and desk.window.isVisible()
    asked: list[str] = []

    def ask(_parent: object, _title: str, start: str, _kinds: str) -> tuple[str, str]:
        asked.append(start)
        return str(tmp_path / start), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", ask)
    answers.button = BUTTON.Save
    desk.close()
    assert not desk.window.isVisible() and asked == [f"{second.title}.json", f"{first.title}.json"]
    assert [attnviz.load(tmp_path / name) for name in asked] == [second, first]


def test_a_document_too_large_for_the_history_is_asked_about(
    desk: Desk, file: Path, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnviz.model.edit.chapters.MOST_NUMBERS", 15)
    change(desk)
    before = desk.store.document
    desk.window.documents.open_preset("sigmoid")
    assert answers.boxes == ["unsaved_box"] and "too large for undo" in answers.texts[0]
    assert desk.store.document == before
    answers.button = BUTTON.Discard
    desk.window.documents.open_preset("sigmoid")
    assert desk.store.document != before


def test_earlier_documents_that_undo_has_no_room_for_are_asked_about(
    desk: Desk, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnviz.model.edit.chapters.MOST_CHAPTERS", 2)
    change(desk)
    first = desk.store.document
    desk.window.documents.open_preset("sigmoid")
    change(desk)
    before = desk.store.document
    desk.window.documents.open_preset("dog-bites-man")
    assert answers.boxes == ["unsaved_box"] and answers.texts[0].splitlines()[2:] == [f"• {first.title}"]
    assert desk.store.document == before
    answers.button = BUTTON.Discard
    desk.window.documents.open_preset("dog-bites-man")
    assert [one.document for one in desk.store.chapters.unsaved] == [before]


def test_where_saving_fails_the_window_stays_open(
    desk: Desk, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(desk)
    answers.button = BUTTON.Save
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_args: ("", ""))
    desk.close()
    assert desk.window.isVisible()


def test_a_dropped_document_opens_and_other_files_are_not_wanted(desk: Desk, tmp_path: Path) -> None:
    document = load_preset("dog-bites-man")
    for name in ("a.json", "b.safetensors", "D.JSON"):
        file = tmp_path / name
        attnviz.save(document, file)
        assert drop(desk, file)
        desk.settle()
        assert desk.store.experiment == document.experiment and desk.store.path == file
    other = tmp_path / "c.txt"
    other.write_bytes(b"")
    assert not drop(desk, other)
    assert not drop(desk, tmp_path / "a.json", tmp_path / "b.safetensors")


def test_a_dropped_figure_opens_its_document_without_its_file(desk: Desk, tmp_path: Path) -> None:
    document = load_preset("dog-bites-man")
    picture = attnviz.render(document, tmp_path / "c.png", stage="scores")
    assert drop(desk, picture)
    desk.settle()
    assert desk.store.experiment == document.experiment
    assert desk.store.document.view.stage == "scores"
    assert desk.store.path is None  # saving must not replace the picture


def test_a_dropped_table_opens_its_document_without_its_file(desk: Desk, tmp_path: Path) -> None:
    document = load_preset("dog-bites-man")
    record = record_of(document)
    tables = files_carrying(b"", tmp_path / "c.csv", record) | files_carrying(
        b"| a |", tmp_path / "c.md", record
    )
    for path in replace_files(tables):
        desk.store.open(load_preset("toy-attention"))
        assert drop(desk, path)
        desk.settle()
        assert desk.store.document == document and desk.store.path is None


def test_a_dialog_opens_after_the_drop_and_a_second_file_falls_into_it(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model").mkdir()
    seen: list[tuple[str, str]] = []

    def stand(dialog: QDialog) -> int:
        folder = dialog.findChild(QLineEdit, "import_folder")
        words = dialog.findChild(QPlainTextEdit, "import_text")
        assert not drop(desk, tmp_path / "words.txt", over=words.viewport())
        assert drop(desk, tmp_path / "other", over=folder)
        seen.append((folder.text(), words.toPlainText()))
        return QDialog.DialogCode.Rejected

    monkeypatch.setattr(QDialog, "exec", stand)
    assert drop(desk, tmp_path / "model", goes_on=False)
    assert seen == [], "a dialog opened inside the event"
    QApplication.processEvents()
    assert seen == [(str(tmp_path / "other"), "")]


def test_a_question_follows_the_event_of_closing(desk: Desk, answers: Answers) -> None:
    change(desk)
    desk.window.close()
    desk.window.close()
    assert answers.boxes == [], "a question opened inside the event"
    QApplication.processEvents()
    assert answers.boxes == ["unsaved_box"] and desk.window.isVisible()
    answers.button = BUTTON.Discard
    desk.close()
    assert not desk.window.isVisible()


@pytest.mark.parametrize("kind", [DocumentText, DocumentLine, LineEdit, CaptionEditor, SearchLine])
def test_a_file_over_a_text_falls_into_the_window(desk: Desk, tmp_path: Path, kind: type[QWidget]) -> None:
    file = attnviz.save(load_preset("dog-bites-man"), tmp_path / "a.json")
    text = kind()
    text.setParent(desk.window)
    text.show()
    target = text.viewport() if isinstance(text, QPlainTextEdit) else text
    assert drop(desk, file, over=target)
    desk.settle()
    assert desk.store.path == file


def test_a_dropped_model_is_imported(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(desk.window.handlers, "import_model", asked.append)
    (tmp_path / "model").mkdir()
    for name in ("model", "tiny.gguf"):
        assert drop(desk, tmp_path / name)
    assert asked == [str(tmp_path / name) for name in ("model", "tiny.gguf")]


def test_a_tokenizer_is_loaded_outside_the_thread_of_the_window(
    make_desk: MakeDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes seconds for a large one; then a text with special tokens is the package's ids at each key."""
    tokenizers = pytest.importorskip("tokenizers")
    words = {"[UNK]": 0, "the": 1, "cat": 2, "[MASK]": 3, "[CLS]": 4}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, "[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.add_special_tokens(["[MASK]", "[CLS]"])
    made.post_processor = tokenizers.processors.TemplateProcessing("[CLS] $A", None, [("[CLS]", 4)])
    rows = Matrix(np.random.default_rng(0).standard_normal((5, 4)))
    known = Vocabulary(tuple(words), rows, begin="[CLS]", tokenizer=made.to_str())
    vectors = ExplicitVectors(Matrix(rows.array[[4, 1]]))
    file = attnviz.save(Experiment(("[CLS]", "the"), vectors, vocabulary=known), tmp_path / "d.json")
    loaded: list[Thread] = []
    ask = Process.ask

    def listening(process: Process, task: str, **given: Any) -> Any:
        loaded.extend([current_thread()] if task == "load" else [])
        return ask(process, task, **given)

    monkeypatch.setattr(Process, "ask", listening)
    desk = make_desk(inline=False)
    desk.window.documents.open(file)
    desk.qtbot.waitUntil(lambda: desk.store.path == file, timeout=WAIT_MS)
    desk.settle()
    line = desk.find(DocumentText, "token_line")
    assert line.text() == "the"
    line.setFocus()
    line.selectAll()
    QTest.keyClicks(line, "the [MASK] cat")
    desk.settle()
    assert list(desk.store.experiment.tokens) == made.encode("the [MASK] cat").tokens
    assert line.text() == "the [MASK] cat"
    assert len(loaded) == 1 and loaded[0] is not main_thread()


def test_a_dropped_array_is_one_sentence(desk: Desk, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((2, 3, 3)))
    assert drop(desk, tmp_path / "a.npy")
    desk.settle()
    said = "The file is one array of NumPy without a name: numpy.savez(file, attentions=array) gives it one."
    assert desk.said() == f"a.npy: {said}"


def test_a_damaged_survey_is_one_sentence(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "heads.parquet").write_bytes(b"PAR1\xff")
    desk.window.open_file(tmp_path / "heads.parquet")
    desk.settle()
    assert desk.said() == "heads.parquet: The file must be a survey of attnviz; got 'heads.parquet'."


def test_recent_files_are_listed_latest_first_with_plain_names(desk: Desk, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.json", "R&D <b>.json")]
    for path in files:
        attnviz.save(load_preset("toy-attention"), path)
        desk.window.documents.open(path)
        desk.settle()
    menu = desk.find(QMenu, "menu_recent")
    desk.window.commands.menu("file").aboutToShow.emit()
    assert menu.isEnabled() and menu.title() == "Open recent"
    menu.aboutToShow.emit()
    assert [action.text() for action in menu.actions()] == ["R&&D <b>.json", "one.json"]
    menu.actions()[1].trigger()
    desk.settle()
    assert desk.store.path == files[0]
    menu.aboutToShow.emit()
    assert menu.actions()[0].text() == "one.json"


def test_file_names_that_would_deceive_are_shown_character_by_character(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "a\n\u202enosj.json"
    attnviz.save(load_preset("toy-attention"), file)
    desk.window.documents.open(file)
    desk.settle()
    assert desk.window.windowTitle().startswith("a␊⟨U+202E⟩nosj.json")
    menu = desk.find(QMenu, "menu_recent")
    menu.aboutToShow.emit()
    assert menu.actions()[0].text() == "a␊⟨U+202E⟩nosj.json"
    assert "\u202e" not in menu.actions()[0].toolTip()


def test_a_large_document_opens_from_one_safetensors_file(make_desk: MakeDesk, tmp_path: Path) -> None:
    desk = make_desk("toy-attention")
    document = explicit(200, 100)
    file = tmp_path / "large.safetensors"
    attnviz.save(document, file)
    assert drop(desk, file)
    desk.settle()
    assert desk.store.document == document
    np.testing.assert_array_equal(desk.vectors.values(), document.experiment.vectors.values.array)


def test_every_preset_opens_runs_and_is_painted(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    menu = desk.find(QMenu, "menu_presets")
    menu.aboutToShow.emit()
    assert [action.objectName() for action in leaves(menu)] == [f"preset_{preset.id}" for preset in PRESETS]
    assert [action.text() for action in menu.actions()] == [group for group, _presets in grouped_presets()]
    for preset in PRESETS:
        menu.aboutToShow.emit()
        action = next(action for action in leaves(menu) if action.data() == preset.id)
        assert escape(plain_caption(preset.description)) in action.toolTip()
        action.trigger()
        desk.qtbot.waitUntil(lambda title=preset.title: desk.store.document.title == title, timeout=WAIT_MS)
        desk.settle()
        document = load_preset(preset.id)
        assert desk.store.document == document and desk.said() == ""
        stage, heads = document.view.stage, document.attention.heads
        target = document.view.target
        trace = attnviz.run(document) if target is None else attnviz.backward(document, target)
        values = trace.shown(document.view.site)[stage]
        if values.ndim == 3:
            head = document.view.head
            values = values[head if len(values) == heads.n_heads else head // heads.group_size]
        np.testing.assert_array_equal(desk.map.content.values, values)
        assert not desk.window.grab().toImage().isNull()
        assert document.title in desk.window.windowTitle()


def test_saving_proposes_the_name_of_what_is_open(
    make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, asked = make_desk("cross-attention"), []

    def ask(_parent: object, _title: str, start: str, _kinds: str) -> tuple[str, str]:
        asked.append(start)
        return "", ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", ask)
    title = desk.store.document.title
    for name, proposed in (
        (title, f"{title}.json"),
        ("", "attention.json"),
        ('a/b: "c"\n?.', "a b c.json"),
        ("長" * 100, "長" * 60 + ".json"),
    ):
        desk.store.open(replace(desk.store.document, title=name))
        trigger(desk, "save_as")
        assert asked.pop() == proposed


def test_a_new_document_and_an_open_menu_point_at_no_stage(desk: Desk) -> None:
    desk.store.set_stage_hover("weights")
    desk.store.open(load_preset("toy-attention"))
    assert desk.store.pointer.stage == ""
    desk.store.set_stage_hover("weights")
    desk.window.commands.menu("presets").aboutToShow.emit()
    assert desk.store.pointer.stage == ""
