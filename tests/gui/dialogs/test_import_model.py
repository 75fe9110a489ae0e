"""Importing a trained model from the window: a folder, a text or ids, and the document that comes of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints.written import LLAMA_CONFIG, llama_arrays, write_folder
from desk import Answers, Desk
from PIL import Image
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QCheckBox,
    QDialog,
    QFileDialog,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
)

import attnviz
from attnviz.gui.dialogs.import_model import ImportDialog
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.toggle import Toggle
from attnviz.model.io.files import matrices

Act = Callable[["Person"], None]


class Person:
    """Hands on the dialog."""

    def __init__(self, desk: Desk, dialog: ImportDialog) -> None:
        self.desk, self.dialog = desk, dialog

    def write_folder(self, folder: Path) -> None:
        edit = self.dialog.findChild(QLineEdit, "import_folder")
        edit.selectAll()
        self.desk.type_text(edit, str(folder))
        edit.editingFinished.emit()

    def choose_folder(self) -> None:
        QTest.mouseClick(
            self.dialog.findChild(QPushButton, "import_choose_button"), Qt.MouseButton.LeftButton
        )

    def read(self, text: str) -> None:
        box = self.dialog.findChild(QPlainTextEdit, "import_text")
        box.clear()
        self.desk.type_text(box, text)

    def as_ids(self) -> None:
        kind = self.dialog.findChild(Segmented, "import_kind")
        QTest.mouseClick(kind.findChild(QAbstractButton, "segment_ids"), Qt.MouseButton.LeftButton)

    def alone(self) -> None:
        toggle = self.dialog.findChild(Toggle, "import_alone")
        QTest.mouseClick(toggle, Qt.MouseButton.LeftButton, pos=QPoint(14, toggle.height() // 2))

    @property
    def button(self) -> QPushButton:
        return self.dialog.findChild(QPushButton, "import_button")

    def press_import(self) -> None:
        assert self.button.isEnabled()
        QTest.mouseClick(self.button, Qt.MouseButton.LeftButton)

    def found(self) -> str:
        return self.dialog.findChild(QLabel, "import_found").text()

    def until(self, condition: Callable[[], bool]) -> None:
        self.desk.qtbot.waitUntil(condition, timeout=8000)

    def sees(self, text: str) -> None:
        self.until(lambda: text in self.found())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tiny").mkdir()
    return write_folder(tmp_path / "tiny", llama_arrays())


def library() -> Any:
    """`transformers`, without its bars, which leave a thread behind."""
    found = pytest.importorskip("transformers")
    found.logging.disable_progress_bar()
    return found


def act(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, what: Act, begin: Callable[[], object] | None = None
) -> None:
    """Choose the command, or `begin`, and do `what` with the dialog that comes up."""

    def stand(dialog: QDialog) -> int:
        assert isinstance(dialog, ImportDialog)
        dialog.show()
        what(Person(desk, dialog))
        if dialog.isVisible():
            dialog.reject()
        return dialog.result()

    monkeypatch.setattr(QDialog, "exec", stand)
    (begin or desk.window.commands["import_model"].trigger)()


def test_a_folder_and_ids_become_a_document(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_args, **_named: str(folder))

    def person(person: Person) -> None:
        assert not person.button.isEnabled()
        person.choose_folder()
        person.sees("Llama: 2 layers, 288 weights")
        assert not person.button.isEnabled()
        person.read("1, 0")
        box = person.dialog.findChild(QPlainTextEdit, "import_text")
        QTest.keyClick(box, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
        desk.qtbot.keyClicks(box, "6")
        assert box.toPlainText() == "1, 0\n6" and person.dialog.isVisible()
        QTest.keyClick(box, Qt.Key.Key_Return)
        person.until(lambda: not person.dialog.isVisible())

    act(desk, monkeypatch, person)
    desk.settle()
    expected = attnviz.import_checkpoint(folder, ids=[1, 0, 6])
    assert desk.store.document == expected
    assert desk.store.path is None and not desk.store.is_modified
    assert desk.window.windowTitle().startswith("tiny — layer 1 of 2")
    weights = attnviz.run(expected).site("layers.0.self")["weights"][0]
    np.testing.assert_array_equal(desk.map.content.values, weights)
    act(desk, monkeypatch, lambda person: person.sees("Llama: 2 layers"))  # the folder is remembered


def test_a_model_that_is_given_is_read_at_once(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def person(person: Person) -> None:
        person.sees("Llama: 2 layers, 288 weights")
        assert person.dialog.focusWidget().objectName() == "import_text"

    act(desk, monkeypatch, person, lambda: desk.window.open_file(folder))


def test_a_text(desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tokenizers")
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": {"?": 0, "cat": 3, "sat": 5}, "unk_token": "?"},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))

    def person(person: Person) -> None:
        person.write_folder(folder)
        person.sees("Llama: 2 layers")
        person.read("cat sat")
        person.press_import()
        person.until(lambda: not person.dialog.isVisible())

    act(desk, monkeypatch, person)
    assert desk.store.experiment.tokens == ("cat", "sat")


def test_what_is_wrong_is_said_and_can_be_mended(
    desk: Desk, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = desk.store.document

    def person(person: Person) -> None:
        person.write_folder(tmp_path)
        person.sees("config.json: The file must exist in ")
        person.read("1 2")
        assert not person.button.isEnabled()
        person.write_folder(folder)
        person.sees("Llama: 2 layers")
        for text in ("", "1 x", "-1", "1.5", "9" * 5000):
            person.read(text)
            assert not person.button.isEnabled(), text[:9]
        person.read("1 9")
        person.press_import()
        person.sees("Text[1] must be a whole number from 0 to 6; got 9.")
        assert person.dialog.focusWidget() is person.dialog.findChild(QPlainTextEdit, "import_text")
        assert person.dialog.isVisible() and desk.store.document == before
        person.read("1 6")
        person.press_import()
        person.until(lambda: not person.dialog.isVisible())

    act(desk, monkeypatch, person)
    assert desk.store.experiment.tokens == ("‹1›", "‹6›")


def test_the_attention_alone(desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def person(person: Person) -> None:
        person.write_folder(folder)
        person.alone()
        person.sees("Llama")
        person.read("1 6")
        person.press_import()
        person.until(lambda: not person.dialog.isVisible())

    act(desk, monkeypatch, person)
    assert len(desk.store.experiment.layers) == 1 and desk.store.experiment.vocabulary is None


def test_cancelled_it_changes_nothing(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch, answers: Answers
) -> None:
    before = desk.store.document
    act(desk, monkeypatch, lambda person: person.write_folder(folder))
    assert desk.store.document == before and answers.boxes == []


def test_undo_returns_from_an_imported_model_to_unsaved_work(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch, answers: Answers
) -> None:
    desk.press_key(Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
    before = desk.store.document

    def person(person: Person) -> None:
        person.write_folder(folder)
        person.sees("Llama")
        person.read("1 6")
        person.press_import()
        person.until(lambda: not person.dialog.isVisible())

    act(desk, monkeypatch, person)
    assert desk.store.document != before and answers.boxes == []
    desk.store.undo()
    assert desk.store.document == before and desk.store.is_modified


def test_a_sentence_is_wrapped_and_no_markup(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(folder, llama_arrays(), {**LLAMA_CONFIG, "hidden_act": "<b>word</b> " * 30})

    def person(person: Person) -> None:
        person.write_folder(folder)
        person.sees("<b>word</b> <b>word</b>")
        label = person.dialog.findChild(QLabel, "import_found")
        assert label.width() > 300
        person.until(lambda: label.heightForWidth(label.width()) <= label.height())  # the dialog grows

    act(desk, monkeypatch, person)


def test_a_model_that_is_read_moves_no_input(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def person(person: Person) -> None:
        line = person.dialog.findChild(QLineEdit, "import_folder")
        words = line.fontMetrics().horizontalAdvance(line.placeholderText())
        assert 0 < words < line.width() - 16  # whole
        box = person.dialog.findChild(QPlainTextEdit, "import_text")
        before = box.mapTo(person.dialog, QPoint()), person.dialog.size()
        person.write_folder(folder)
        person.sees("Llama")
        QApplication.processEvents()
        assert (box.mapTo(person.dialog, QPoint()), person.dialog.size()) == before

    act(desk, monkeypatch, person)


def test_an_image_for_a_model_of_images(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transformers = library()
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = transformers.ViTConfig(**sizes, image_size=8, patch_size=4)
    transformers.ViTModel(config).save_pretrained(tmp_path)
    image = tmp_path / "image.png"
    Image.fromarray(np.full((20, 30, 3), 128, np.uint8)).save(image)

    def person(person: Person) -> None:
        person.write_folder(tmp_path)
        person.sees("ViT: 1 layer,")
        assert person.dialog.findChild(QPlainTextEdit, "import_text").isHidden()
        assert not person.button.isEnabled()
        line = person.dialog.findChild(QLineEdit, "import_signal")
        assert line.placeholderText() == "An image, or a .npy file of features"
        person.desk.type_text(line, str(image))
        person.press_import()
        person.until(lambda: not person.dialog.isVisible())

    act(desk, monkeypatch, person)
    assert desk.store.experiment.tokens == ("[CLS]", "1,1", "1,2", "2,1", "2,2")
    assert desk.store.document.image is not None


def test_an_encoder_and_a_decoder_name_their_inputs(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transformers = library()
    sizes = {"d_model": 8, "d_kv": 4, "d_ff": 8, "num_layers": 1, "num_heads": 2, "vocab_size": 6}
    transformers.T5ForConditionalGeneration(transformers.T5Config(**sizes)).save_pretrained(tmp_path)

    def person(person: Person) -> None:
        person.write_folder(tmp_path)
        person.sees("T5: 1 + 1 layers,")
        box, encoder = (
            person.dialog.findChild(QPlainTextEdit, name) for name in ("import_text", "import_memory")
        )
        titles = [label.text() for label in person.dialog.findChildren(QLabel) if label.isVisible()]
        assert "Decoder text" in titles and "Encoder text" in titles and "Text" not in titles
        person.read("1 2")
        person.desk.type_text(encoder, "3 9")
        person.press_import()
        person.sees("Encoder text[1] must be a whole number from 0 to 5; got 9.")
        assert person.dialog.focusWidget() is encoder
        encoder.clear()
        person.desk.type_text(encoder, "3 4 5")
        QTest.keyClick(encoder, Qt.Key.Key_Return)
        person.until(lambda: not person.dialog.isVisible())
        assert box.toPlainText() == "1 2"

    act(desk, monkeypatch, person)
    assert desk.store.experiment.tokens == ("‹1›", "‹2›")


def test_keys_that_may_change_numbers_are_ticked_first(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = LLAMA_CONFIG | {"swing": 2, "made_with": "a & b", "empty": {}}
    folder = write_folder(tmp_path, llama_arrays(), config)
    shown: list[str] = []

    def person(person: Person) -> None:
        person.write_folder(folder)
        person.sees("Llama")
        person.read("1, 0")
        ticks = person.dialog.findChildren(QCheckBox)
        shown.extend(tick.text() for tick in ticks)
        for tick in ticks:
            assert not person.button.isEnabled()
            tick.click()
        ticks[0].click()
        assert not person.button.isEnabled()
        ticks[0].click()
        person.press_import()
        person.until(lambda: not person.dialog.isVisible())

    act(desk, monkeypatch, person)
    desk.settle()
    assert shown == ["swing: 2", 'made_with: "a && b"']
    found = matrices(desk.store.experiment)
    origins = [matrix.origin for _name, matrix in found if matrix.origin is not None]
    assert {origin.link.ignored_keys for origin in origins} == {("swing", "made_with")}


def test_of_two_encoders_one_is_chosen(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transformers = library()
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    texts = {**sizes, "vocab_size": 9, "max_position_embeddings": 4, "bos_token_id": 0, "eos_token_id": 1}
    images = {**sizes, "image_size": 8, "patch_size": 4}
    config = transformers.CLIPConfig(text_config=texts, vision_config=images)
    transformers.CLIPModel(config).save_pretrained(tmp_path)

    def person(person: Person) -> None:
        part = person.dialog.findChild(Segmented, "import_part")
        assert part.isHidden()
        person.write_folder(tmp_path)
        person.sees("CLIP (text): 1 layer,")
        assert part.isVisible() and person.dialog.findChild(QLineEdit, "import_signal").isHidden()
        QTest.mouseClick(part.findChild(QAbstractButton, "segment_image"), Qt.MouseButton.LeftButton)
        person.sees("CLIP (vision): 1 layer,")
        assert person.dialog.findChild(QLineEdit, "import_signal").isVisible()
        assert person.dialog.findChild(QPlainTextEdit, "import_text").isHidden()

    act(desk, monkeypatch, person)
