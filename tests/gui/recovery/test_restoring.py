"""The start after a crash: offered by name and time, restored with its history, or discarded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from desk import WAIT_MS, Desk, MakeDesk
from documents import explicit
from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from sessions import left_behind, session_of, titled

from attnviz.gui.state_folder import state_folder
from attnviz.gui.workspaces.table import WORKSPACES
from attnviz.model.edit.chapters import Chapter, Chapters
from attnviz.model.edit.history import History
from attnviz.model.journal.crashes import find_abandoned


@pytest.fixture
def folder() -> Path:
    """The folder of the journals."""
    return state_folder() / "journals"


def start(desk: Desk) -> None:
    desk.window.keeping.restoring.start()
    scheduler = desk.window.keeping.autosave.scheduler
    desk.qtbot.waitUntil(lambda: not scheduler.is_busy("find"), timeout=WAIT_MS)


def press(desk: Desk, answer: str) -> None:
    QApplication.processEvents()  # the buttons of another question show themselves
    buttons = desk.window.findChildren(QPushButton, f"answer_{answer}")
    desk.click(next(button for button in buttons if button.isVisible()))


def sentence(desk: Desk) -> str:
    label = desk.find(QLabel, "question_sentence")
    return label.text() if label.isVisible() else ""


def test_restored_it_has_its_history_and_its_file_and_undo_works(
    make_desk: MakeDesk, folder: Path, tmp_path: Path
) -> None:
    steps = [explicit(5, 4, seed) for seed in range(4)]
    session = session_of(steps, index=2, path=tmp_path / "größe\n.json")
    old = left_behind(folder, session)
    desk = make_desk(inline=False)
    before = desk.store.document
    start(desk)
    assert "größe␊.json" in sentence(desk) and sentence(desk).startswith("The program ended at ")
    assert desk.store.document is before  # nobody is held up, nothing changes unasked
    press(desk, "restore")
    desk.qtbot.waitUntil(lambda: desk.store.document == steps[2], timeout=WAIT_MS)
    assert desk.store.path == tmp_path / "größe\n.json" and desk.store.is_modified
    desk.store.undo()
    assert desk.store.document == steps[1]
    desk.store.redo()
    desk.store.redo()
    assert desk.store.document == steps[3]
    assert sentence(desk) == ""
    # The window's own journal takes over, and then the old one goes.
    desk.qtbot.waitUntil(lambda: not old.exists(), timeout=WAIT_MS)
    assert len(list(folder.glob("*.journal"))) == 1


def test_discarded_it_is_gone(desk: Desk, folder: Path) -> None:
    left_behind(folder, session_of(titled(explicit(3, 3), "a", "b")))
    before = desk.store.document
    start(desk)
    press(desk, "discard")
    assert desk.store.document is before and list(folder.iterdir()) == [] and sentence(desk) == ""


@pytest.mark.parametrize("answer", ["later", None])
def test_not_answered_it_is_offered_at_the_next_start(
    make_desk: MakeDesk, folder: Path, answer: str | None
) -> None:
    left_behind(folder, session_of(titled(explicit(3, 3), "a", "b")))
    desk = make_desk()
    start(desk)
    if answer is not None:
        press(desk, answer)
    desk.close()
    again = make_desk()
    start(again)
    assert "“b”" in sentence(again)


@pytest.mark.parametrize(("index", "says"), [(1, "unsaved changes in “b”"), (0, "undone changes in “a”")])
def test_the_edited_document_is_named_and_not_the_one_in_sight(
    desk: Desk, folder: Path, index: int, says: str
) -> None:
    session = session_of(titled(explicit(3, 3), "a", "b"), index=index)
    left_behind(folder, session.open(*titled(explicit(3, 3), "not edited")))
    start(desk)
    assert says in sentence(desk)


def test_several_are_offered_one_after_the_other_and_undo_reaches_all(desk: Desk, folder: Path) -> None:
    for name in ("first", "second"):
        path = left_behind(folder / name, session_of(titled(explicit(3, 3), "", name)))
        path.rename(folder / f"{name}.journal")
    start(desk)
    assert "“second”" in sentence(desk)
    press(desk, "restore")
    assert "“first”" in sentence(desk)
    press(desk, "restore")
    assert [chapter.document.title for chapter in desk.store.chapters.chapters][-2:] == ["second", "first"]
    for title in ("", "second"):
        desk.store.undo()
        assert desk.store.document.title == title


def test_restoring_lets_no_unsaved_document_go(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits of the history wait for a document that somebody opens, which asks."""
    left_behind(folder, session_of(titled(explicit(3, 3), "a", "b")))
    monkeypatch.setattr("attnviz.model.edit.chapters.MOST_CHAPTERS", 1)
    desk.store.describe("mine")
    before = desk.store.document
    start(desk)
    press(desk, "restore")
    assert desk.store.document.title == "b"
    assert [one.document for one in desk.store.chapters.unsaved] == [before]
    assert [one.document for one in desk.store.chapters.lost_by_leaving] == [before, desk.store.document]


def test_markup_in_a_title_is_shown_as_it_is(desk: Desk, folder: Path) -> None:
    left_behind(folder, session_of(titled(explicit(3, 3), "a", "<b>{x} 猫\u202e\ud800")))
    start(desk)
    assert "“<b>{x} 猫⟨U+202E⟩⟨U+D800⟩”" in sentence(desk)


def test_a_damaged_journal_is_one_sentence_and_is_kept(desk: Desk, folder: Path) -> None:
    path = left_behind(folder, session_of([explicit(3, 3)], index=0))
    content = bytearray(path.read_bytes())
    content[60] ^= 1  # in the first record
    path.write_bytes(content)
    before = desk.store.document
    start(desk)
    press(desk, "restore")
    kept = path.with_suffix(".damaged")
    assert sentence(desk) == (
        f"The changes in “large” cannot be restored. {path.name}: Every record of a journal must be "
        f"intact; got a damaged one. The journal is kept as {kept}."
    )
    assert kept.read_bytes() == content and find_abandoned(folder) == ()
    press(desk, "close")
    assert sentence(desk) == "" and desk.store.document is before


def assert_in_reach(desk: Desk) -> None:
    """Nothing lies over the question or its buttons, and it lies over no panel."""
    QApplication.processEvents()
    window, card = desk.window, desk.window.keeping.card
    place = QRect(card.mapTo(window, QPoint()), card.size())
    assert window.rect().contains(place)
    buttons = [button for button in card.findChildren(QPushButton) if button.isVisible()]
    assert len(buttons) == 3
    for button in buttons:
        assert window.childAt(button.mapTo(window, button.rect().center())) is button
    for dock in window.docks.values():
        if not dock.visibleRegion().isEmpty():
            assert not QRect(dock.mapTo(window, QPoint()), dock.size()).intersects(place)


def test_the_question_stays_in_reach_in_every_workspace_size_and_theme(desk: Desk, folder: Path) -> None:
    left_behind(folder, session_of(titled(explicit(3, 3), "a", "b" * 300)))
    start(desk)
    for size in ((1024, 640), (1600, 900)):
        desk.window.resize(*size)
        for row in WORKSPACES:
            desk.window.workspaces.switch(row.id)
            assert_in_reach(desk)
        for command in ("dark", "language", "language"):
            desk.window.commands[command].trigger()
            assert_in_reach(desk)


def test_the_question_is_translated_and_takes_no_focus(desk: Desk, folder: Path) -> None:
    left_behind(folder, session_of(titled(explicit(3, 3), "a", "b" * 300)))
    start(desk)
    card = desk.window.keeping.card
    english = sentence(desk)
    desk.window.commands["language"].trigger()
    assert sentence(desk) != english and "b" * 300 in sentence(desk)
    assert not card.hasFocus() and not any(b.hasFocus() for b in card.findChildren(QPushButton))


def test_a_journal_without_a_whole_state_is_told_and_kept(desk: Desk, folder: Path) -> None:
    path = left_behind(folder, session_of([explicit(3, 3)], index=0))
    cut = path.read_bytes()[:-5]
    path.write_bytes(cut)
    start(desk)
    kept = path.with_suffix(".damaged")
    assert sentence(desk).startswith("The changes in “Untitled” cannot be restored.")
    assert sentence(desk).endswith(f"The journal is kept as {kept}.") and kept.read_bytes() == cut
    press(desk, "close")
    assert sentence(desk) == ""


def test_a_document_whose_saved_content_is_damaged_is_restored_as_unsaved(desk: Desk, folder: Path) -> None:
    saved, present = explicit(30, 30, 0), explicit(30, 30, 1)
    path = left_behind(folder, Chapters((Chapter(0, History((present,)), saved, folder / "d.json"),)))
    content = bytearray(path.read_bytes())
    number = np.asarray(np.random.default_rng(0).standard_normal((30, 30))).tobytes()[:64]
    content[content.index(number)] ^= 1
    path.write_bytes(content)
    start(desk)
    press(desk, "restore")
    assert desk.store.document == present and desk.store.is_modified
    kept = path.with_suffix(".damaged")
    assert sentence(desk) == f"Some changes in “d.json” cannot be restored. The journal is kept as {kept}."
    desk.qtbot.waitUntil(lambda: kept.exists(), timeout=WAIT_MS)
    assert kept.read_bytes() == content and len(list(folder.glob("*.journal"))) == 1


def test_a_journal_of_a_newer_program_is_told_and_left_alone(desk: Desk, folder: Path) -> None:
    folder.mkdir(parents=True)
    path = folder / "x.journal"
    path.write_bytes(b"attnviz journal 2\nwhatever")
    start(desk)
    assert sentence(desk) == (
        "The journal must be of version 1, which this program reads; got 2. "
        f"The journal {path} is left as it is for the newer attnviz that wrote it."
    )
    press(desk, "close")
    desk.window.close()
    assert path.read_bytes() == b"attnviz journal 2\nwhatever"
    assert [one.name for one in folder.iterdir()] == ["x.journal"]
