"""Saving a large document: the window stays alive, shows the progress, and can be cancelled."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from desk import Answers, Desk, MakeDesk
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QProgressBar

import attnviz
from attnviz.gui.dialogs import saving
from attnviz.gui.dialogs.saving import Saving
from attnviz.model.io.files import Progress
from attnviz.model.io.files import save as save_file
from attnviz.model.spec.document import Document

pytestmark = pytest.mark.qt_log_ignore("propagateSizeHints", r"does not support raise\(\)")

STEPS, STEP_S = 30, 0.05


class Watch:
    """What a person sees of the window while it saves."""

    def __init__(self, *, cancels: bool) -> None:
        self.shares: list[int] = []
        self.longest, self._last = 0.0, time.monotonic()
        self._cancels = cancels
        self._timer = QTimer()
        self._timer.setInterval(10)
        self._timer.timeout.connect(self._look)
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()

    def _look(self) -> None:
        now = time.monotonic()
        self.longest, self._last = max(self.longest, now - self._last), now
        dialog = QApplication.activeModalWidget()
        if not isinstance(dialog, Saving):
            return
        bar = dialog.findChild(QProgressBar, "saving_bar")
        assert isinstance(bar, QProgressBar)
        self.shares.append(bar.value())
        if self._cancels and bar.value() > 300:
            buttons = dialog.findChild(QDialogButtonBox)
            assert isinstance(buttons, QDialogButtonBox)
            buttons.button(QDialogButtonBox.StandardButton.Cancel).click()


def slow(document: Document, path: Path, progress: Progress) -> Path:
    """A saving of a second and a half."""
    for step in range(STEPS):
        time.sleep(STEP_S)
        progress(step / STEPS)
    return save_file(document, path)


@pytest.fixture
def desk(make_desk: MakeDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A window with a worker, a document with a file and a change, and a slow disk."""
    made = make_desk(inline=False)
    path = save_file(made.store.document, tmp_path / "d.json")
    made.store.open(made.store.document, path)
    made.store.change(temperature=2.0)
    monkeypatch.setattr(saving, "save", slow)
    return made


def test_the_window_stays_alive_and_shows_the_progress(desk: Desk) -> None:
    watch = Watch(cancels=False)
    assert desk.window.documents.save()
    watch.stop()
    assert watch.shares == sorted(watch.shares) and len(set(watch.shares)) > 5
    assert watch.longest < STEPS * STEP_S / 3, "the window stood still"
    assert attnviz.load(desk.store.path or "") == desk.store.document and not desk.store.is_modified


def test_a_cancelled_saving_leaves_the_file_and_the_changes(desk: Desk) -> None:
    path = desk.store.path
    assert path is not None
    before = path.read_bytes()
    watch = Watch(cancels=True)
    assert not desk.window.documents.save()
    watch.stop()
    assert desk.said() == "Saving was cancelled; the file is as it was"
    desk.qtbot.waitUntil(lambda: desk.window.scheduler.idle)
    assert path.read_bytes() == before and desk.store.is_modified
    assert not [file for file in path.parent.iterdir() if file.suffix == ".tmp"]


def test_closing_with_a_cancelled_saving_keeps_the_window(desk: Desk, answers: Answers) -> None:
    from PySide6.QtWidgets import QMessageBox

    answers.button = QMessageBox.StandardButton.Save
    watch = Watch(cancels=True)
    assert not desk.window.close()
    watch.stop()
    assert desk.window.isVisible()


def test_a_short_saving_shows_no_dialog(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "save", lambda document, path, progress: save_file(document, path))
    watch = Watch(cancels=False)
    assert desk.window.documents.save()
    watch.stop()
    assert watch.shares == []
