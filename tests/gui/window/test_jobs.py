"""Jobs that take longer than half a second: what they are, how far, and a person who cancels them."""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from desk import WAIT_MS, MakeDesk
from first_layer import change
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QProgressBar, QPushButton
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.compute.scheduler import CancelToken, Scheduler, Stopped
from attnviz.gui.bridge import Bridge
from attnviz.gui.live import trace as live_module
from attnviz.gui.look.words import speak
from attnviz.gui.services import documents
from attnviz.gui.window.jobs import JOB_BY_KEY, SHOWN_AFTER_S, JobLine
from attnviz.i18n import set_language

GUI = Path(attnviz.__file__).parent / "gui"


class Bench:
    """A line over two workers, and jobs that last until they are told to go on."""

    def __init__(self, qtbot: QtBot) -> None:
        self.qtbot, self.bridge = qtbot, Bridge()
        self.schedulers = (Scheduler(self.bridge.post), Scheduler(self.bridge.post))
        self.line = JobLine(self.schedulers)
        qtbot.addWidget(self.line)
        self.go_on = threading.Event()
        self.failed: list[BaseException] = []

    def submit(self, key: str, share: float | None = None, worker: int = 0) -> None:
        def job(token: CancelToken) -> None:
            if share is not None:
                token.progress.at(share)
            assert self.go_on.wait(WAIT_MS / 1000)

        self.schedulers[worker].submit(job, lambda _result: None, self.failed.append, key)

    def text(self) -> str:
        label = self.line.findChild(QLabel, "job_title")
        assert isinstance(label, QLabel)
        return label.text()


@pytest.fixture
def bench(qtbot: QtBot) -> Iterator[Bench]:
    made = Bench(qtbot)
    yield made
    made.go_on.set()
    assert all(scheduler.wait(WAIT_MS / 1000) for scheduler in made.schedulers)
    made.bridge.close()
    assert all(scheduler.close(2.0) for scheduler in made.schedulers)


def test_a_long_job_is_shown_with_its_share_and_goes_when_it_is_done(bench: Bench) -> None:
    bench.submit("decode", 0.43, worker=1)
    assert bench.line.isHidden()
    bench.qtbot.waitUntil(lambda: not bench.line.isHidden(), timeout=WAIT_MS)
    busy = bench.schedulers[1].busy()
    assert busy is not None and busy.seconds >= SHOWN_AFTER_S
    assert bench.text() == "Decoding… 43 %"
    bar = bench.line.findChild(QProgressBar, "job_bar")
    assert isinstance(bar, QProgressBar) and bar.value() / bar.maximum() == pytest.approx(0.43)
    set_language("zh_CN")
    speak()
    assert bench.text() == "正在解码… 43%"
    bench.go_on.set()
    bench.qtbot.waitUntil(bench.line.isHidden, timeout=WAIT_MS)
    assert bench.failed == []


def test_a_job_that_does_not_say_how_far_it_is_counts_seconds(bench: Bench) -> None:
    bench.submit("file")
    bench.qtbot.waitUntil(lambda: bench.text().startswith("Opening… "), timeout=WAIT_MS)
    assert bench.text().endswith(" s")
    bar = bench.line.findChild(QProgressBar, "job_bar")
    assert isinstance(bar, QProgressBar) and bar.maximum() == 0


def test_a_file_that_is_opened_shows_the_share_that_is_read(
    make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    desk, go_on = make_desk("toy-attention", inline=False), threading.Event()
    path = attnviz.save(load_preset("stories-en"), tmp_path / "d.safetensors")
    plain = documents.load

    def slow(path: Path, progress: Any, **_more: Any) -> Any:
        def at(share: float) -> None:
            progress(share)
            while 0.3 < share < 0.9 and not go_on.wait(0.005):
                progress(share)

        return plain(path, at)

    monkeypatch.setattr(documents, "load", slow)
    desk.window.documents.open(path)
    desk.qtbot.waitUntil(lambda: desk.window.jobs.is_shown, timeout=WAIT_MS)
    label = desk.find(QLabel, "job_title").text()
    assert label.startswith("Opening… 3") and label.endswith(" %")
    line, cancel = desk.window.jobs, desk.find(QPushButton, "job_cancel")
    assert line.rect().contains(cancel.geometry()), "the text of the button is cut off"
    desk.press_key(Qt.Key.Key_Escape)
    desk.qtbot.waitUntil(lambda: not desk.window.jobs.is_shown, timeout=WAIT_MS)
    go_on.set()
    assert desk.store.path is None


def test_the_button_cancels_what_is_shown(bench: Bench) -> None:
    bench.submit("run", 0.5)
    bench.qtbot.waitUntil(lambda: bench.line.is_shown, timeout=WAIT_MS)
    button = bench.line.findChild(QPushButton, "job_cancel")
    assert isinstance(button, QPushButton)
    button.click()
    bench.qtbot.waitUntil(lambda: [type(error) for error in bench.failed] == [Stopped], timeout=WAIT_MS)
    assert bench.line.isHidden() and not bench.line.is_shown


def test_a_short_job_is_not_shown(bench: Bench) -> None:
    bench.submit("run")
    bench.go_on.set()
    bench.qtbot.wait(200)
    assert bench.line.isHidden() and bench.text() == ""


def test_every_job_that_the_window_submits_has_a_title() -> None:
    keys: set[str] = set()
    for file in GUI.rglob("*.py"):
        if "recovery" in file.parts:  # it has a scheduler of its own, whose jobs nobody waits for
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and node.arg == "key" and isinstance(node.value, ast.Constant):
                keys.add(str(node.value.value))
            is_named = isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            if is_named and any(isinstance(one, ast.Name) and one.id == "KEY" for one in node.targets):
                keys.add(str(node.value.value))
    assert keys <= set(JOB_BY_KEY) and len(keys) >= 8


def test_escape_cancels_a_run_and_the_old_numbers_are_not_called_ready(
    make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk("toy-attention", inline=False)
    plain, go_on = live_module.execute, threading.Event()

    def slow(experiment: Any, *args: Any, **named: Any) -> Any:
        if experiment.layers[0].temperature != 1.0:
            while not go_on.wait(0.005):
                named["check"].at(0.5)
        return plain(experiment, *args, **named)

    monkeypatch.setattr(live_module, "execute", slow)
    change(desk.store, temperature=2.0)
    desk.qtbot.waitUntil(lambda: desk.window.jobs.is_shown, timeout=WAIT_MS)
    assert desk.find(QLabel, "job_title").text() == "Computing… 50 %"
    desk.press_key(Qt.Key.Key_Escape)
    desk.qtbot.waitUntil(lambda: desk.said() == "Cancelled.", timeout=WAIT_MS)
    assert desk.find(QLabel, "status_facts").text().startswith("not computed")
    go_on.set()
    desk.store.undo()
    desk.settle()
    assert desk.find(QLabel, "status_facts").text().startswith("ready")


def test_esc_leaves_the_first_run_of_a_window(make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without numbers that could stay, a person who closes the start page would end what fills the window."""
    desk = make_desk("toy-attention", inline=False)
    plain, go_on = live_module.execute, threading.Event()

    def slow(experiment: Any, *args: Any, **named: Any) -> Any:
        while not go_on.wait(0.005):
            named["check"].at(0.5)
        return plain(experiment, *args, **named)

    monkeypatch.setattr(live_module, "execute", slow)
    desk.store.trace = None
    change(desk.store, temperature=2.0)
    desk.qtbot.waitUntil(lambda: desk.window.jobs.is_shown, timeout=WAIT_MS)
    desk.press_key(Qt.Key.Key_Escape)
    assert desk.window.jobs.is_shown
    go_on.set()
    desk.settle()
    assert desk.find(QLabel, "status_facts").text().startswith("ready")
