"""One document, two windows or another program: noticed, and never overwritten without a question."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from desk import WAIT_MS, Answers, Desk, MakeDesk
from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QFileDialog, QLabel, QMessageBox, QPushButton

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.model.edit.paths import putting
from attnviz.model.io import turns
from attnviz.model.io.files import save
from attnviz.model.io.stamp import Stamp
from attnviz.model.io.turns import ChangedOnDisk, save_in_turn
from attnviz.model.spec.document import Document

BUTTON = QMessageBox.StandardButton


@pytest.fixture
def file(desk: Desk, tmp_path: Path) -> Path:
    """The file of a document that the window has opened."""
    path = tmp_path / "d.json"
    save(desk.store.document, path)
    desk.window.documents.open(path)
    desk.qtbot.waitUntil(lambda: desk.store.path == path, timeout=WAIT_MS)
    return path


def edit(desk: Desk, temperature: float) -> None:
    desk.store.edit_here(putting("temperature"), temperature)


def temperature_in(path: Path) -> float:
    return attnviz.load(path).attention.temperature


def change(path: Path, temperature: float) -> Document:
    """Contents that another program writes."""
    document = attnviz.load(path)
    layer = replace(document.experiment.layers[0], temperature=temperature)
    changed = replace(document, experiment=replace(document.experiment, layers=(layer,)))
    save(changed, path)
    return changed


def activate(desk: Desk) -> None:
    QCoreApplication.sendEvent(desk.window, QEvent(QEvent.Type.WindowActivate))
    scheduler = desk.window.keeping.autosave.scheduler
    desk.qtbot.waitUntil(lambda: not scheduler.is_busy("disk"), timeout=WAIT_MS)


def sentence(desk: Desk) -> str:
    label = desk.find(QLabel, "question_sentence")
    return label.text() if label.isVisible() else ""


def press(desk: Desk, answer: str) -> None:
    buttons = desk.window.findChildren(QPushButton, f"answer_{answer}")
    desk.click(next(button for button in buttons if button.isVisible()))


def test_of_two_windows_the_second_to_save_is_asked(
    desk: Desk, file: Path, make_desk: MakeDesk, answers: Answers
) -> None:
    other = make_desk()
    other.window.documents.open(file)
    edit(desk, 2.0)
    assert desk.window.documents.save()
    edit(other, 3.0)
    assert not other.window.documents.save()  # Cancel
    assert answers.boxes == ["changed_box"] and answers.offers == ["Overwrite"]
    assert answers.texts == ["d.json has changed on the disk since it was opened."]
    assert temperature_in(file) == 2.0 and other.store.is_modified
    answers.button = BUTTON.Save
    assert other.window.documents.save()
    assert temperature_in(file) == 3.0 and not other.store.is_modified
    assert other.window.documents.save()  # its own file now
    assert len(answers.boxes) == 2
    answers.button = BUTTON.Cancel
    assert not desk.window.documents.save() and len(answers.boxes) == 3


def test_save_as_keeps_both(
    desk: Desk, file: Path, answers: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(file, 2.0)
    edit(desk, 3.0)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_args: (str(tmp_path / "mine.json"), ""))
    answers.button = BUTTON.SaveAll
    assert desk.window.documents.save()
    assert (temperature_in(file), temperature_in(tmp_path / "mine.json")) == (2.0, 3.0)
    assert desk.store.path == tmp_path / "mine.json"


def test_saving_again_and_again_asks_nothing(desk: Desk, file: Path, answers: Answers) -> None:
    for number in range(2, 6):
        edit(desk, number)
        assert desk.window.documents.save()
        activate(desk)
    file.touch()  # the same content at another time
    activate(desk)
    assert sentence(desk) == ""
    edit(desk, 9.0)
    assert desk.window.documents.save()
    assert answers.boxes == [] and temperature_in(file) == 9.0


def test_a_change_is_noticed_when_the_window_comes_up_and_reload_is_undone(
    desk: Desk, file: Path, answers: Answers
) -> None:
    edit(desk, 3.0)
    mine = desk.store.document
    theirs = change(file, 2.0)
    activate(desk)
    assert sentence(desk) == "d.json has changed on the disk since it was opened."
    press(desk, "reload")
    assert desk.store.document == theirs and not desk.store.is_modified and sentence(desk) == ""
    desk.store.undo()
    assert desk.store.document == mine and desk.store.is_modified
    assert desk.window.documents.save()  # what is overwritten was seen
    assert answers.boxes == [] and temperature_in(file) == 3.0


def test_kept_it_is_not_asked_about_again_but_for_another_change_and_saving(
    desk: Desk, file: Path, answers: Answers
) -> None:
    edit(desk, 3.0)
    change(file, 2.0)
    activate(desk)
    press(desk, "keep")
    activate(desk)
    assert sentence(desk) == "" and desk.store.attention.temperature == 3.0
    assert not desk.window.documents.save() and answers.boxes == ["changed_box"]
    change(file, 4.0)
    activate(desk)
    assert sentence(desk) != ""
    answers.button = BUTTON.Save
    assert desk.window.documents.save()
    assert sentence(desk) == ""  # settled by overwriting


def test_a_removed_file_is_said_and_saving_writes_it_again(desk: Desk, file: Path, answers: Answers) -> None:
    file.unlink()
    activate(desk)
    assert desk.said() == "d.json is no longer on the disk; saving writes it again"
    edit(desk, 3.0)
    assert desk.window.documents.save()
    assert answers.boxes == [] and temperature_in(file) == 3.0


def test_a_change_in_the_middle_of_the_writing_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = load_preset("fluffy-blue-creature")
    path = tmp_path / "d.json"
    save(document, path)
    stamp = Stamp.of(path)
    plain = turns.save

    def slow(*args: object, **_more: object) -> Path:
        change(path, 2.0)
        return plain(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(turns, "save", slow)
    with pytest.raises(ChangedOnDisk):
        save_in_turn(document, path, stamp, tmp_path / "locks", lambda share: None)
    assert temperature_in(path) == 2.0 and sorted(tmp_path.iterdir()) == [path, tmp_path / "locks"]


def test_of_many_writers_at_once_one_writes_and_the_others_hear_of_it(tmp_path: Path) -> None:
    document = load_preset("fluffy-blue-creature")
    path = tmp_path / "d.json"
    save(document, path)
    stamp = Stamp.of(path)
    results: list[str] = []

    def write(number: int) -> None:
        mine = replace(document, title=str(number))
        try:
            save_in_turn(mine, path, stamp, tmp_path / "locks", lambda share: None)
            results.append(str(number))
        except ChangedOnDisk:
            results.append("changed")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results.count("changed") == 11
    (winner,) = (result for result in results if result != "changed")
    assert attnviz.load(path).title == winner
