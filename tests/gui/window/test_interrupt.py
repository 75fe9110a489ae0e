"""Ctrl+C in the terminal: the window closes, asks about unsaved work, and never prints a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from desk import WAIT_MS, Answers, Desk
from PySide6.QtWidgets import QApplication, QDialog, QMessageBox

from attnviz.gui.window import interrupt as interrupt_
from attnviz.gui.window.interrupt import SIGNALLED, Interrupt
from attnviz.model.edit.paths import putting

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a process cannot send itself Ctrl+C there")

INTERRUPTED = SIGNALLED + signal.SIGINT

WINDOW = """
import sys
from PySide6.QtCore import QTimer
from attnviz.gui import app

class Window(app.Window):
    def showEvent(self, event):
        super().showEvent(event)
        QTimer.singleShot(WAIT, lambda: print("shown", flush=True))
        if WAIT == 0:  # something goes on all the time
            self.timer = QTimer(self)
            self.timer.timeout.connect(lambda: sum(range(20_000)))
            self.timer.start(0)

app.Window = Window
sys.exit(app.main())
"""


@pytest.fixture
def interrupt(desk: Desk) -> Iterator[Interrupt]:
    made = Interrupt(desk.window, desk.window.ask_to_close, desk.window.keeping)
    yield made
    made.uninstall()
    made.__dict__.clear()  # as `Desk.leave`: it holds nothing of the window


@pytest.mark.parametrize("wait", [1500, 0], ids=["idle", "busy"])
def test_ctrl_c_ends_a_window_in_a_process_of_its_own(wait: int) -> None:
    code = WINDOW.replace("WAIT", str(wait))
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "shown\n"
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, said) == (INTERRUPTED, "")


def test_unsaved_work_is_asked_about_and_cancel_keeps_the_window(
    desk: Desk, interrupt: Interrupt, answers: Answers
) -> None:
    desk.store.edit_attention(putting("temperature"), 2.0)
    for times in (1, 2):  # a question that was answered does not make the next signal the second one
        os.kill(os.getpid(), signal.SIGINT)
        desk.qtbot.waitUntil(lambda times=times: answers.boxes == ["unsaved_box"] * times, timeout=WAIT_MS)
        desk.settle()
        assert desk.window.isVisible() and not interrupt.obeyed
    answers.button = QMessageBox.StandardButton.Discard
    os.kill(os.getpid(), signal.SIGINT)
    desk.qtbot.waitUntil(lambda: interrupt.obeyed != 0, timeout=WAIT_MS)
    assert not desk.window.isVisible()


def test_a_second_signal_while_the_window_asks_ends_the_process(
    desk: Desk, interrupt: Interrupt, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(interrupt_, "end_process", ended.append)

    def press_again(box: QMessageBox) -> QMessageBox.StandardButton:
        os.kill(os.getpid(), signal.SIGINT)
        return QMessageBox.StandardButton.Discard

    monkeypatch.setattr(QMessageBox, "exec", press_again)
    desk.store.edit_attention(putting("temperature"), 2.0)
    os.kill(os.getpid(), signal.SIGINT)
    desk.qtbot.waitUntil(lambda: interrupt.obeyed != 0, timeout=WAIT_MS)
    assert ended == [INTERRUPTED]


def test_a_dialog_goes_before_the_window(desk: Desk, interrupt: Interrupt) -> None:
    dialog = QDialog(desk.window)
    dialog.open()
    os.kill(os.getpid(), signal.SIGINT)
    desk.qtbot.waitUntil(lambda: interrupt.obeyed != 0, timeout=WAIT_MS)
    assert not dialog.isVisible() and QApplication.activeModalWidget() is None
    dialog.deleteLater()


def test_afterwards_ctrl_c_is_what_it_was(desk: Desk) -> None:
    before = signal.getsignal(signal.SIGINT)
    made = Interrupt(desk.window, desk.window.ask_to_close, desk.window.keeping)
    assert signal.getsignal(signal.SIGINT) != before
    made.uninstall()
    assert signal.getsignal(signal.SIGINT) == before
