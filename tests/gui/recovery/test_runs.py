"""A training run of a window is saved with its document, opened, asked about, and survives a crash."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from desk import WAIT_MS, Answers, Desk, MakeDesk
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QLabel, QMessageBox, QPushButton
from training_hands import panel_of
from two_layers import model

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.gui.panels.training.training import TrainingPanel
from attnviz.gui.recovery.autosave import RUN_MS
from attnviz.gui.state_folder import state_folder
from attnviz.model.edit.chapters import Begun, Chapters
from attnviz.model.edit.edits import set_tokens
from attnviz.model.edit.paths import putting
from attnviz.model.journal.journal import Journal
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.training.optimiser import Settings
from attnviz.training.parameters import parameters_of
from attnviz.training.record import Course
from attnviz.training.run import Run, train
from attnviz.training.tasks import Copy
from attnviz.training.words import with_words, words_for

BUTTON = QMessageBox.StandardButton
SIZES = Copy(n_tokens=20, n_words=12, longest=9)
COURSE = Course(8, 3, measured=10, kept=10)
SETTINGS = Settings(steps=60, clip=0.5, warmup=4)


def small() -> Experiment:
    return with_words(model(), words_for(16))


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the file dialogs answer."""
    made = tmp_path / "run.safetensors"
    for name in ("getSaveFileName", "getOpenFileName"):
        monkeypatch.setattr(QFileDialog, name, lambda *_args, **_named: (str(made), ""))
    return made


@pytest.fixture(scope="module")
def whole() -> Run:
    """A run of sizes and settings that no field of the window has."""
    return train(small(), SIZES, COURSE, SETTINGS)


@pytest.fixture
def part(tmp_path: Path) -> Path:
    """The file of the same run after 34 of its steps."""
    run = train(small(), SIZES, COURSE, SETTINGS, is_over=lambda training: training.step == 34)
    return run.save(tmp_path / "part.safetensors")


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    return make_desk(Document(small()))


def go_to(desk: Desk, steps: int) -> TrainingPanel:
    """The run after its first steps, paused."""
    desk.go("train")
    panel = panel_of(desk)
    panel.choices.numbers["steps"].set_value(steps)
    panel.choices.changed.emit()
    panel.play_or_pause()
    desk.qtbot.waitUntil(lambda: not panel.live.is_playing, timeout=4 * WAIT_MS)
    return panel


def opened(desk: Desk, path: Path) -> TrainingPanel:
    desk.window.open_file(path)
    panel = panel_of(desk)
    desk.qtbot.waitUntil(lambda: panel.live.picture is not None, timeout=4 * WAIT_MS)
    return panel


def weights(experiment: Experiment) -> list[np.ndarray]:
    return [one.numbers() for one in parameters_of(experiment)]


def alike(one: Experiment, other: Experiment) -> bool:
    return all(map(np.array_equal, weights(one), weights(other)))


def trigger(desk: Desk, action: str) -> None:
    desk.window.commands[action].trigger()


def test_a_run_that_was_opened_is_shown_and_goes_on_to_the_last_bit(
    desk: Desk, part: Path, whole: Run
) -> None:
    panel = opened(desk, part)
    assert desk.window.workspaces.present.id == "train" and not desk.store.is_modified
    picture = panel.live.picture
    assert picture is not None and picture.step == 34 and picture.steps == (0, 10, 20, 30, 34)
    assert picture.moments == tuple(whole.curves.moments[:34])
    assert len(panel.curves.plots["loss"].curves()[0][0]) == 34
    assert "step 34 of 60" in desk.find(QLabel, "training_where").text()
    fields = {id_: field.value() for id_, field in panel.choices.numbers.items()}
    assert (fields["batch"], fields["seed"], fields["steps"]) == (8, 3, 60)
    panel.go("first")
    assert panel.live.picture is not None and panel.live.picture.step == 0
    panel.go("last")
    panel.play_or_pause()
    desk.qtbot.waitUntil(lambda: not panel.live.is_playing, timeout=4 * WAIT_MS)
    picture = panel.live.picture
    assert picture is not None and picture.moments == tuple(whole.curves.moments)
    assert alike(picture.experiment, whole.experiment) and desk.store.is_modified
    record = picture.record
    assert (record.sampler, record.course, record.settings) == (SIZES, COURSE, SETTINGS)


def test_a_run_that_is_opened_again_is_shown_under_the_start_page(desk: Desk, part: Path) -> None:
    page = desk.window.start_page
    desk.store.opened.connect(page.show, Qt.ConnectionType.SingleShotConnection)
    opened(desk, part)
    assert page.is_shown and desk.window.workspaces.present.id == "train"


def test_other_settings_keep_what_the_fields_do_not_have(desk: Desk, part: Path) -> None:
    panel = opened(desk, part)
    panel.choices.numbers["steps"].set_value(40)
    panel.choices.changed.emit()
    panel.play_or_pause()
    desk.qtbot.waitUntil(lambda: not panel.live.is_playing, timeout=4 * WAIT_MS)
    picture = panel.live.picture
    assert picture is not None and picture.step == 40
    assert picture.record.settings == dataclasses.replace(SETTINGS, steps=40)
    assert (picture.record.sampler, picture.record.course) == (SIZES, COURSE)


def test_a_file_that_was_only_looked_at_is_not_changed(desk: Desk, part: Path) -> None:
    panel = opened(desk, part)
    before = desk.store.document
    panel.go("last")
    desk.go("explore")
    desk.settle()
    assert desk.store.document.experiment is before.experiment and not desk.store.is_modified


def test_saving_gives_the_document_its_weights_and_keeps_the_run(desk: Desk, file: Path) -> None:
    panel, tokens = go_to(desk, 34), desk.store.experiment.tokens
    assert desk.store.is_modified and desk.window.windowTitle().count("•") == 1
    trigger(desk, "save")
    picture = panel.live.picture
    assert picture is not None and not desk.store.is_modified and "•" not in desk.window.windowTitle()
    read = attnviz.load_run(file)
    assert read.curves.moments == list(picture.moments) and read.training.step == 34
    assert alike(read.experiment, picture.experiment)
    assert alike(attnviz.load(file).experiment, picture.experiment)
    assert alike(desk.store.experiment, picture.experiment) and desk.store.experiment.tokens == tokens
    assert panel.live.picture is picture  # the run is the same
    panel.choices.numbers["steps"].set_value(50)
    panel.choices.changed.emit()
    panel.play_or_pause()
    desk.qtbot.waitUntil(lambda: not panel.live.is_playing, timeout=4 * WAIT_MS)
    assert desk.store.is_modified
    desk.go("explore")  # gives the weights
    desk.store.edit(set_tokens, words_for(5))
    trigger(desk, "save")
    assert attnviz.load_run(file).training.step == 50 and not desk.store.is_modified
    assert len(attnviz.load(file).experiment.tokens) == 5


def test_a_run_of_a_document_that_was_edited_is_not_saved(desk: Desk, file: Path) -> None:
    go_to(desk, 20)
    desk.go("explore")
    desk.settle()
    desk.store.edit_here(putting("temperature"), 2.0)
    trigger(desk, "save")
    assert desk.store.path == file and attnviz.load(file).experiment == desk.store.experiment
    with pytest.raises(ValueError, match="it has none"):
        attnviz.load_run(file)


def test_a_plain_file_asks_for_one_with_room_for_the_run(desk: Desk, tmp_path: Path, file: Path) -> None:
    plain = tmp_path / "plain.json"
    desk.store.mark_saved(plain, desk.store.document)
    go_to(desk, 10)
    trigger(desk, "save")
    assert desk.store.path == file and not plain.exists()
    assert attnviz.load_run(file).training.step == 10


@pytest.mark.parametrize("button", [BUTTON.Save, BUTTON.Cancel])
def test_closing_asks_and_keeps(desk: Desk, file: Path, answers: Answers, button: BUTTON) -> None:
    go_to(desk, 10)
    answers.button = button
    desk.close()
    assert answers.boxes == ["unsaved_box"] and desk.window.isVisible() == (button == BUTTON.Cancel)
    if button == BUTTON.Save:
        assert attnviz.load_run(file).training.step == 10


def test_a_run_stays_with_its_document_while_another_is_open(desk: Desk) -> None:
    panel = go_to(desk, 20)
    moments = panel.live.picture.moments  # type: ignore[union-attr]
    desk.window.documents.show(Document(small(), title="other"))
    assert panel.live.picture is not None and panel.live.picture.step == 0 and desk.store.run is None
    desk.store.undo()
    assert panel.live.picture.step == 20 and panel.live.picture.moments == moments


def test_a_wrong_run_is_said_and_nothing_opens(desk: Desk, part: Path) -> None:
    data = bytearray(part.read_bytes())
    data[-5] ^= 1
    part.write_bytes(bytes(data))
    before = desk.store.document
    desk.window.open_file(part)
    assert desk.store.document is before and "checksum" in desk.said()


# --- crashes


def restored(desk: Desk) -> TrainingPanel:
    desk.window.keeping.restoring.start()
    scheduler = desk.window.keeping.autosave.scheduler
    desk.qtbot.waitUntil(lambda: not scheduler.is_busy("find"), timeout=WAIT_MS)
    desk.qtbot.waitUntil(
        lambda: bool(desk.window.findChildren(QPushButton, "answer_restore")), timeout=WAIT_MS
    )
    desk.click(desk.find(QPushButton, "answer_restore"))
    desk.qtbot.waitUntil(lambda: desk.store.run is not None, timeout=4 * WAIT_MS)
    panel = panel_of(desk)
    desk.qtbot.waitUntil(lambda: panel.live.picture is not None, timeout=4 * WAIT_MS)
    return panel


def test_a_run_is_restored_with_its_history(make_desk: MakeDesk, tmp_path: Path) -> None:
    first = make_desk(Document(small(), title="learner"))
    panel = go_to(first, 34)
    journal = Journal(state_folder() / "journals")
    journal.write(first.store.chapters)
    first.store.edit_here(putting("temperature"), 1.0)
    journal.leave()
    picture = panel.live.picture
    desk = make_desk(Document(model()))
    panel = restored(desk)
    again = panel.live.picture
    assert picture is not None and again is not None
    assert again.step == 34 and again.moments == picture.moments and again.steps == picture.steps
    assert alike(again.experiment, picture.experiment)
    assert desk.window.workspaces.present.id == "train" and desk.store.is_modified
    panel.choices.numbers["steps"].set_value(60)
    panel.choices.changed.emit()
    panel.play_or_pause()
    desk.qtbot.waitUntil(lambda: not panel.live.is_playing, timeout=4 * WAIT_MS)
    fresh = train(small(), Copy(), Course(16, 0, measured=10, kept=10), Settings(steps=60))
    assert panel.live.picture is not None
    assert panel.live.picture.moments == tuple(fresh.curves.moments)


def test_a_journal_has_a_kept_state_once(tmp_path: Path) -> None:
    training = train(small(), SIZES, COURSE, SETTINGS).training
    document = Document(training.present())
    folder = tmp_path / "journals"
    journal = Journal(folder)
    sizes = []
    for _step in range(30):
        record = training.record()
        journal.write(Chapters.of(document).with_run(Begun(record, (document.experiment,))))
        (path,) = folder.glob("*.journal")
        sizes.append(path.stat().st_size)
        training.advance()
    journal.remove()
    one = training.record().present.nbytes
    grown = np.diff(sizes)
    assert np.median(grown) < 1.5 * one  # the present state, and the curves


def test_a_run_is_written_seldom_and_in_the_worker(
    make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk(Document(small()), inline=False)
    desk.go("train")
    autosave, panel = desk.window.keeping.autosave, panel_of(desk)
    desk.qtbot.waitUntil(lambda: panel.live.picture is not None, timeout=4 * WAIT_MS)
    writes: list[float] = []
    plain = Journal.write
    monkeypatch.setattr(Journal, "write", lambda *args: (writes.append(time.monotonic()), plain(*args)))
    panel.choices.numbers["steps"].set_value(100_000)
    panel.choices.changed.emit()
    panel.play_or_pause()
    desk.qtbot.waitUntil(lambda: len(writes) == 1, timeout=4 * WAIT_MS)  # it is unsaved from now on
    desk.qtbot.wait(1500)
    assert len(writes) == 1 and autosave._timer.isActive() and autosave._timer.remainingTime() <= RUN_MS
    panel.live.pause()
    desk.qtbot.waitUntil(lambda: not panel.live.is_due, timeout=4 * WAIT_MS)


PROGRAM = '''
import os, sys
from PySide6.QtCore import QTimer
from attnviz.gui import app

class Window(app.Window):
    """Trains from its first moment on, and says how far it has come when the journal has it."""

    def begin(self):
        super().begin()
        self.keeping.autosave.written.connect(self.say)
        self.documents.open_preset("induction-birth")
        self.workspaces.switch("train")
        self.timer = QTimer(self)
        self.timer.timeout.connect(self.play)
        self.timer.start(50)

    def play(self):
        live = self.panels["training"].live
        if live.picture is not None and not live.is_playing:
            live.play()
            self.timer.stop()

    def say(self):
        run = self.store.run
        if run is not None:
            os.write(1, f"{run.record.step}\\n".encode())

import attnviz.gui.recovery.autosave as autosave
autosave.RUN_MS = 300
app.Window = Window
sys.exit(app.main())
'''


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a signal of POSIX")
def test_a_killed_program_offers_its_run_which_goes_on(make_desk: MakeDesk, tmp_path: Path) -> None:
    state = state_folder()
    folders = {
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_STATE_HOME": str(state.parent),
    }
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", **folders}
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            steps = [int(process.stdout.readline()) for _writing in range(3)]
        finally:
            process.send_signal(signal.SIGKILL)
    desk = make_desk(Document(model()))
    panel = restored(desk)
    picture = panel.live.picture
    assert picture is not None and picture.step >= steps[1] > 0
    assert len(picture.moments) == picture.step and picture.steps[0] == 0
    moments = picture.moments
    desk.window.panels["training"].live.step()  # type: ignore[attr-defined]
    assert panel.live.picture is not None and panel.live.picture.moments[:-1] == moments
    preset = load_preset("induction-birth").experiment
    course = Course(16, 0, measured=10, kept=10)
    fresh = train(preset, Copy(), course, Settings(), is_over=lambda run: run.step == picture.step + 1)
    assert panel.live.picture.moments == tuple(fresh.curves.moments)
