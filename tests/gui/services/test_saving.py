"""Saving a large document: the window stays alive, shows the progress, and can be cancelled."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from desk import Answers, Desk, MakeDesk
from first_layer import change
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QProgressBar

import attnviz
from attnviz.gui.services.saving import Saving
from attnviz.model.io import turns
from attnviz.model.io.files import Progress
from attnviz.model.io.files import save as save_file
from attnviz.model.spec.document import Document

STEPS, STEP_S = 30, 0.05


class Watch:
    """The window as a person sees it while it saves."""

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


def slow(document: Document, path: Path, progress: Progress, **_more: bool) -> Path:
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
    change(made.store, temperature=2.0)
    monkeypatch.setattr(turns, "save", slow)
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
    assert desk.said() == "Saving was cancelled; the file is unchanged"
    desk.qtbot.waitUntil(lambda: desk.window.services.schedulers.run.idle)
    assert path.read_bytes() == before and desk.store.is_modified
    assert not [file for file in path.parent.iterdir() if file.suffix == ".tmp"]


def test_closing_with_a_cancelled_saving_keeps_the_window(desk: Desk, answers: Answers) -> None:
    from PySide6.QtWidgets import QMessageBox

    answers.button = QMessageBox.StandardButton.Save
    watch = Watch(cancels=True)
    desk.close()
    watch.stop()
    assert desk.window.isVisible()


@pytest.mark.parametrize("suffix", [".json", ".safetensors"])
@pytest.mark.parametrize("fault", [KeyError("q"), RuntimeError("boom"), ValueError("")], ids=repr)
def test_an_unexpected_error_is_a_sentence_and_offers_another_file(
    desk: Desk, answers: Answers, monkeypatch: pytest.MonkeyPatch, fault: Exception, suffix: str
) -> None:
    def fail(*_of: object, **_more: object) -> Path:
        raise fault

    monkeypatch.setattr(turns, "save", fail)
    with desk.qtbot.captureExceptions() as logged:
        assert not desk.window.documents._write((desk.store.path or Path()).with_suffix(suffix))
    says = f"Something went wrong: {type(fault).__name__}"
    assert answers.boxes == ["not_saved_box"] and says in answers.texts[0]
    assert desk.said().startswith(says) and desk.store.is_modified
    assert [kind for kind, _error, _where in logged] == [type(fault)]


class SlowDisk:
    """`os.fsync` that waits until it is told that the disk has everything."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.began, self.may_end = threading.Event(), threading.Event()
        plain = os.fsync

        def fsync(descriptor: int) -> None:
            self.began.set()
            assert self.may_end.wait(8)
            plain(descriptor)

        monkeypatch.setattr(turns, "save", save_file)
        monkeypatch.setattr(os, "fsync", fsync)


def test_a_cancel_while_the_disk_takes_the_last_bytes_leaves_the_old_file(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, disk = desk.store.path, SlowDisk(monkeypatch)
    assert path is not None
    before = path.read_bytes()

    def cancel() -> None:
        dialog = QApplication.activeModalWidget()
        if isinstance(dialog, Saving) and disk.began.is_set():
            timer.stop()
            dialog.reject()
            disk.may_end.set()

    timer = QTimer()
    timer.timeout.connect(cancel)
    timer.start(10)
    assert not desk.window.documents.save()
    assert desk.said() == "Saving was cancelled; the file is unchanged"
    desk.qtbot.waitUntil(lambda: desk.window.services.schedulers.run.idle)
    assert path.read_bytes() == before and desk.store.is_modified
    assert not list(path.parent.glob(".*"))


def test_a_cancel_that_comes_too_late_is_none(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the decision and the rename: the file is saved, and said to be."""
    path, reached, may_end = desk.store.path, threading.Event(), threading.Event()
    assert path is not None
    plain = os.replace

    def rename(*names: Path) -> None:
        reached.set()
        assert may_end.wait(8)
        plain(*names)

    monkeypatch.setattr(turns, "save", save_file)
    monkeypatch.setattr(os, "replace", rename)

    def cancel() -> None:
        dialog = QApplication.activeModalWidget()
        if isinstance(dialog, Saving) and reached.is_set():
            timer.stop()
            dialog.reject()
            may_end.set()

    timer = QTimer()
    timer.timeout.connect(cancel)
    timer.start(10)
    assert desk.window.documents.save()
    assert desk.said() == "Saved d.json" and not desk.store.is_modified
    assert attnviz.load(path) == desk.store.document


def test_a_short_saving_shows_no_dialog(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "save", lambda document, path, *_more, **_named: save_file(document, path))
    watch = Watch(cancels=False)
    assert desk.window.documents.save()
    watch.stop()
    assert watch.shares == []
