"""The journal of a window: written soon after an edit, in a worker; removed by a clean close."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
import threading
import time
from pathlib import Path
from weakref import ref

import platformdirs
import pytest
from desk import WAIT_MS, Answers, Desk, MakeDesk
from kill_many import MOST_LOST_S, kill_many, program, words
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMessageBox

from attnviz.gui.window.interrupt import SIGNALLED, Interrupt
from attnviz.model.edit.chapters import Chapters
from attnviz.model.edit.paths import putting
from attnviz.model.journal.crashes import find_abandoned
from attnviz.model.journal.journal import Journal


def journals() -> list[Path]:
    folder = Path(platformdirs.user_state_dir("attnviz", appauthor=False)) / "journals"
    return sorted(folder.glob("*.journal"))


def edit(desk: Desk, temperature: float) -> None:
    desk.store.edit_here(putting("temperature"), temperature)


def written(desk: Desk) -> None:
    """Until the journal has the present state."""
    keeping = desk.window.keeping.autosave
    desk.qtbot.waitUntil(lambda: keeping.is_up_to_date, timeout=WAIT_MS)


def test_an_edit_is_written_within_a_second_and_not_in_the_window_s_thread(
    make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk(inline=False)
    calls: list[tuple[float, str]] = []
    plain = Journal.write

    def write(journal: Journal, session: Chapters) -> None:
        plain(journal, session)
        calls.append((time.monotonic(), threading.current_thread().name))

    monkeypatch.setattr(Journal, "write", write)
    desk.qtbot.wait(300)
    assert not calls and not journals()  # nothing is unsaved
    began = time.monotonic()
    for number in range(2, 6):
        edit(desk, number)
    written(desk)
    assert len(calls) == 1 and calls[0][0] - began < MOST_LOST_S
    assert calls[0][1] == "attnviz-compute"
    assert len(journals()) == 1


def test_a_drag_that_goes_on_is_written_while_it_goes_on(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[float] = []
    plain = Journal.write
    monkeypatch.setattr(Journal, "write", lambda *args: (times.append(time.monotonic()), plain(*args)))
    began = time.monotonic()
    desk.store.begin_gesture()
    number = 0
    while time.monotonic() - began < 1.2:
        number += 1
        edit(desk, 1 + number / 1e5)
        QApplication.processEvents()
    desk.store.end_gesture()
    gaps = [after - before for before, after in zip([began, *times], times, strict=False)]
    assert len(times) >= 2 and max(gaps) < MOST_LOST_S


def test_what_was_saved_or_undone_to_the_end_of_redo_needs_no_journal(desk: Desk, tmp_path: Path) -> None:
    edit(desk, 2.0)
    written(desk)
    assert len(journals()) == 1
    desk.store.mark_saved(tmp_path / "d.json", desk.store.document)
    written(desk)
    assert journals() == []
    desk.store.undo()  # the file has the later state, and redo leads there
    written(desk)
    assert len(journals()) == 1


@pytest.mark.parametrize("answer", ["Discard", "Cancel"])
def test_a_clean_close_removes_the_journal_and_a_cancelled_one_does_not(
    desk: Desk, answers: Answers, answer: str
) -> None:
    edit(desk, 2.0)
    written(desk)
    answers.button = getattr(QMessageBox.StandardButton, answer)
    desk.close()
    assert len(journals()) == (answer == "Cancel")


def test_a_full_disk_is_said_once_and_the_next_writing_works(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    desk.window.keeping.autosave.failed.connect(lambda message: said.append(str(message)))

    def full(journal: Journal, session: Chapters) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "write", full)
        for number in (2, 3):
            edit(desk, number)
            desk.window.keeping.autosave.flush()
    assert said == ["Changes are not saved automatically: No space left on device"]
    card = desk.window.keeping.card
    assert card.isVisible() and card.accessibleName() == said[0]
    edit(desk, 4.0)
    written(desk)
    assert len(journals()) == 1 and not card.isVisible()


def test_a_folder_that_cannot_be_written_is_named(desk: Desk) -> None:
    said: list[str] = []
    autosave = desk.window.keeping.autosave
    autosave.failed.connect(lambda message: said.append(str(message)))
    assert not autosave.folder.exists()
    autosave.folder.parent.mkdir(parents=True, exist_ok=True)
    autosave.folder.write_text("a file in the place of the folder")
    edit(desk, 2.0)
    autosave.flush()
    (sentence,) = said
    assert sentence.startswith(f"Changes are not saved automatically: {autosave.folder}")
    autosave.folder.unlink()


def test_two_windows_have_two_journals_and_neither_is_offered(make_desk: MakeDesk) -> None:
    for number, desk in enumerate((make_desk(), make_desk())):
        edit(desk, 2.0 + number)
        written(desk)
        desk.window.keeping.restoring.start()
        assert desk.window.keeping.card.question is None
    assert len(journals()) == 2


@pytest.mark.parametrize("through", ["signal", "session"])
def test_the_end_of_the_session_asks_nothing_and_leaves_the_journal(
    desk: Desk, answers: Answers, through: str
) -> None:
    interrupt = Interrupt(desk.window, desk.window.ask_to_close, desk.window.keeping)
    edit(desk, 7.0)
    if through == "signal":
        os.kill(os.getpid(), signal.SIGTERM)
        desk.qtbot.waitUntil(lambda: interrupt.obeyed == signal.SIGTERM, timeout=WAIT_MS)
    else:
        interrupt.on_commit(None)  # type: ignore[arg-type]
        desk.close()
    interrupt.uninstall()
    assert not desk.window.isVisible() and answers.boxes == []
    (found,) = find_abandoned(journals()[0].parent)
    assert found.read() == desk.store.chapters
    found.remove()


def test_the_end_of_the_session_does_not_wait_for_the_answer_to_a_question(desk: Desk) -> None:
    interrupt = Interrupt(desk.window, desk.window.ask_to_close, desk.window.keeping)
    edit(desk, 7.0)
    asked: list[str] = []

    def end() -> None:
        box = QApplication.activeModalWidget()
        asked.append("" if box is None else box.objectName())
        os.kill(os.getpid(), signal.SIGTERM)

    QTimer.singleShot(200, end)
    desk.close()  # until the question is closed
    desk.qtbot.waitUntil(lambda: interrupt.obeyed == signal.SIGTERM, timeout=WAIT_MS)
    interrupt.uninstall()
    assert asked == ["unsaved_box"]
    assert not desk.window.isVisible() and len(journals()) == 1


def test_a_session_that_goes_on_after_all_asks_again(desk: Desk, answers: Answers) -> None:
    edit(desk, 2.0)
    desk.window.keeping.end_session()
    edit(desk, 3.0)
    desk.close()
    assert answers.boxes == ["unsaved_box"] and desk.window.isVisible()


@pytest.mark.skipif(sys.platform == "win32", reason="there a process is ended without a word")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_process_that_is_asked_to_end_keeps_everything(tmp_path: Path, name: str) -> None:
    number = getattr(signal, name)
    with program(tmp_path, 1, "fresh") as process:
        assert process.stdout is not None
        words(process.stdout, "began")
        made = [int(words(process.stdout, "edit")[0]) for _edit in range(3)]
        process.send_signal(number)
        made += [int(line.split()[1]) for line in process.stdout]
        assert process.wait() == SIGNALLED + number
    with program(tmp_path, 2, "restore") as process:
        assert process.stdout is not None
        assert words(process.stdout, "restored") == [str(made[-1]), str(len(made) + 1), "1"]


def test_kills_at_random_moments_lose_at_most_the_last_second(tmp_path: Path) -> None:
    kills = list(kill_many(8, tmp_path, seed=5))
    assert len(kills) == 8
    assert max(kill.lost_s for kill in kills) < MOST_LOST_S
    assert all(kill.in_order and kill.steps > 1 for kill in kills)
    assert kills[-1].restored > kills[0].restored > 0


def test_a_closed_document_is_kept_by_no_state_that_was_written(desk: Desk) -> None:
    edit(desk, 2.0)
    written(desk)
    keeping = desk.window.keeping.autosave
    gone = ref(desk.store.chapters)
    keeping._timer.stop()
    desk.store.undo()
    keeping._timer.stop()  # nothing is written from here on, as on a full disk
    gc.collect()
    assert gone() is None and not keeping.is_up_to_date
