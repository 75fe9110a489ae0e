"""Drive the window at random, and check what it shows whenever it rests.

`python tests/drive_many.py SEED ACTIONS [DOCUMENT]` prints each action before it is done, and ends with the
number of faults; `gui/test_drive.py` does a few. It begins with a preset, or with a document's file.
"""

from __future__ import annotations

import faulthandler
import os
import random
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QPoint,
    QPointF,
    Qt,
    QTimer,
    QtMsgType,
    qInstallMessageHandler,
)
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFileDialog,
    QLabel,
    QLineEdit,
    QMenu,
    QMessageBox,
    QWidget,
)
from shiboken6 import isValid

from attnviz.checkpoints.presets import PRESETS, load_preset
from attnviz.compute.execute import execute
from attnviz.explain.arithmetic.cell import explain
from attnviz.gui.commands.actions import ACTIONS
from attnviz.gui.panels.panel import Panel
from attnviz.gui.timing import window as timed
from attnviz.gui.widgets.heat.map import HeatMap
from attnviz.gui.workspaces.table import WORKSPACES
from attnviz.i18n import in_every_language
from attnviz.model.io.files import load, save
from attnviz.model.sites.sites import site_names
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell, shown_head
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import Trace

QT_SAYS = ("This plugin does not support", "The cached device pixel ratio")
"""Of the platform without a screen."""
REST_S = 60.0
"""Longest time until nothing is computed any more."""
STILL_S = 0.4
"""Time without a job after which the window rests: timers begin jobs later than the action."""
STILL_TURNS = 8
LEAST = 100
"""The offscreen platform gives a window that leaves the full screen after another scale the size 1 × 1."""
BETWEEN_RESTS = 20
LEFT_OUT = {"quit"}
LEAST_PX = 60
"""Pixels of a panel in sight: Qt leaves the corner of a dock behind others."""
LARGEST = 2**16
"""Cells of the largest stage that is compared with a fresh run."""
USER_FOLDERS = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")
KEYS = [
    getattr(Qt.Key, f"Key_{name}")
    for name in "Left Right Up Down Return Escape Tab Space Home End Delete Menu".split()
]
TEXTS = ("0", "1", "2", "0.5", "-1", "the cat", "a", "猫 在 这里", "1e400", "", "weights[0, 0] > 0.1")
SIZES = ((1024, 640), (1280, 800), (1600, 900), (1920, 1080), (2560, 1440))
WAITS = ("Computing the logit lens…", "Computing the map…", "Computing the verdicts…", "Comparing…")
READY = tuple(text.partition(" ")[0] for text in in_every_language("ready · {time}"))
WAITING = tuple(text.rstrip("…") for message in WAITS for text in in_every_language(message))


class Driver:
    """One window, its actions, and the faults that were found."""

    def __init__(self, seed: int, document: Document) -> None:
        self.dice = random.Random(seed)
        # Menus are answered when a timer fires: they would take numbers from the actions at any moment.
        self.answers = random.Random(seed)
        self.faults: list[str] = []
        self.count = 0
        self.timed = timed.TimedWindow(document)
        self.window = self.timed.window
        self.window.begin(in_pauses=True)
        weighted: tuple[tuple[int, Callable[[], None]], ...] = (
            (8, self.command),
            (3, self.preset),
            (3, self.workspace),
            (20, self.click),
            (6, self.menu),
            (6, self.drag),
            (6, self.wheel),
            (8, self.hover),
            (8, self.key),
            (6, self.type_text),
            (2, self.view),
            (1, self.resize),
            (1, self.place_dock),
            (1, self.engine),
        )
        self.actions = [action for weight, action in weighted for _ in range(weight)]
        # The menu of a button has an event loop of its own, which only a timer reaches.
        self.timer = QTimer(self.window)
        self.timer.timeout.connect(self.answer)
        self.timer.start(50)

    def drive(self, actions: int) -> None:
        """Act at random, with rests."""
        self.rest()
        for self.count in range(1, actions + 1):
            action = self.dice.choice(self.actions)
            self.say(action.__name__)
            try:
                action()
            except Exception:  # a fault of this script, or of a handler that it called: it goes on
                self.fault(traceback.format_exc())
            pause(self.dice.choice((0.0, 0.0, 0.005, 0.02, 0.1)))
            if self.window.height() < LEAST:
                self.resize()
            if self.count % BETWEEN_RESTS == 0:
                self.rest()

    def say(self, *words: object) -> None:
        """Print what is done."""
        print(self.count, *words, flush=True)

    def fault(self, text: str) -> None:
        """Note a fault."""
        self.faults.append(f"after action {self.count}: {text}")
        print("FAULT", self.faults[-1], flush=True)

    # --- actions

    def command(self) -> None:
        """A command of the menus, if it is enabled."""
        row = self.dice.choice([row for row in ACTIONS if row.id not in LEFT_OUT])
        self.say("  ", row.id)
        action = self.window.commands[row.id]
        if action.isEnabled():
            action.trigger()

    def preset(self) -> None:
        """Another document."""
        row = self.dice.choice(PRESETS)
        self.say("  ", row.id)
        self.window.store.open(load_preset(row.id))

    def workspace(self) -> None:
        self.window.workspaces.switch(self.dice.choice(WORKSPACES).id)

    def click(self) -> None:
        """One click, or two, on a widget in sight."""
        widget, at = self.place()
        act = QTest.mouseDClick if self.dice.random() < 0.1 else QTest.mouseClick
        is_with_ctrl = self.dice.random() < 0.2
        keys = Qt.KeyboardModifier.ControlModifier if is_with_ctrl else Qt.KeyboardModifier.NoModifier
        act(widget, Qt.MouseButton.LeftButton, keys, at)

    def menu(self) -> None:
        """The menu of a place, which `answer` chooses from."""
        widget, at = self.place()
        QTest.mouseClick(widget, Qt.MouseButton.RightButton, Qt.KeyboardModifier.NoModifier, at)

    def drag(self) -> None:
        """Press, move and release the mouse on one widget."""
        widget, at = self.place()
        QTest.mousePress(widget, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at)
        for _ in range(self.dice.randrange(1, 6)):
            at += QPoint(self.dice.randrange(-30, 31), self.dice.randrange(-30, 31))
            QTest.mouseMove(widget, at)
            pause(self.dice.choice((0.0, 0.02)))
            if not isValid(widget):
                return
        QTest.mouseRelease(widget, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at)

    def wheel(self) -> None:
        widget, at = self.place()
        turned = QPoint(0, self.dice.choice((-120, 120, 360)))
        keys = self.dice.choice((Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier))
        event = QWheelEvent(
            QPointF(at),
            QPointF(widget.mapToGlobal(at)),
            QPoint(),
            turned,
            Qt.MouseButton.NoButton,
            keys,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(widget, event)

    def hover(self) -> None:
        widget, at = self.place()
        QTest.mouseMove(widget, at)

    def key(self) -> None:
        """A key to whatever has the focus."""
        key = self.dice.choice(KEYS)
        QTest.keyClick(QApplication.focusWidget() or self.window, key)

    def type_text(self) -> None:
        """A text into a field in sight, finished with Enter or not."""
        fields = [one for one in self.in_sight() if isinstance(one, QLineEdit) and one.isEnabled()]
        if fields:
            field, text = self.dice.choice(fields), self.dice.choice(TEXTS)
            self.say("  ", field.objectName(), repr(text))
            field.setFocus()
            field.selectAll()
            field.insert(text)
            if self.dice.random() < 0.7:
                QTest.keyClick(field, Qt.Key.Key_Return)

    def view(self) -> None:
        """Another attention, head, stage or query."""
        store = self.window.store
        sites = site_names(store.experiment)
        field, value = self.dice.choice(
            (
                ("site", self.dice.choice(sites)),
                ("head", self.dice.randrange(store.attention.heads.n_heads)),
                ("stage", self.dice.choice(list(STAGE_BY_ID))),
                ("query", self.dice.randrange(store.attention.n_queries)),
                ("picture", self.dice.choice(("map", "mean", "lines"))),
            )
        )
        self.say("  ", field, value)
        store.look(**{field: value})

    def resize(self) -> None:
        self.window.resize(*self.dice.choice(SIZES))

    def place_dock(self) -> None:
        """A panel to another side, afloat, or back."""
        dock = self.dice.choice(list(self.window.docks.values()))
        if self.dice.random() < 0.5:
            dock.setFloating(not dock.isFloating())
        elif not dock.isHidden():
            areas = (Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea)
            self.window.addDockWidget(self.dice.choice(areas), dock)

    def engine(self) -> None:
        self.window.store.choose_engine(*self.dice.choice((("numpy", "cpu"), ("torch", "cpu"))))

    # --- places

    def in_sight(self) -> list[QWidget]:
        """Every widget of the program that a mouse can reach."""
        tops = [one for one in QApplication.topLevelWidgets() if one.isVisible()]
        every = [child for top in tops for child in (top, *top.findChildren(QWidget))]
        return [one for one in every if one.isVisible() and not one.visibleRegion().isEmpty()]

    def place(self) -> tuple[QWidget, QPoint]:
        """A widget in sight, and a point of it."""
        widget = self.dice.choice([one for one in self.in_sight() if one.isEnabled()])
        seen = widget.visibleRegion().boundingRect()
        at = QPoint(
            self.dice.randint(seen.left(), seen.right()), self.dice.randint(seen.top(), seen.bottom())
        )
        self.say("  ", type(widget).__name__, widget.objectName(), at.toTuple())
        return widget, at

    def answer(self) -> None:
        """Choose from an open menu, and close dialogs."""
        for _ in range(4):
            popup = QApplication.activePopupWidget()
            if popup is None:
                break
            entries = [one for one in popup.actions() if one.isEnabled()] if isinstance(popup, QMenu) else []
            parts = [one.menuAction() for one in popup.findChildren(QMenu)]
            entries = [one for one in entries if one not in parts and not one.isSeparator()]
            names = [one.objectName().removeprefix("action_") for one in entries]
            allowed = [one for one, name in zip(entries, names, strict=True) if name not in LEFT_OUT]
            popup.close()
            if allowed and self.answers.random() < 0.7:
                chosen = self.answers.choice(allowed)
                self.say("   menu", chosen.objectName(), chosen.text())
                chosen.trigger()
        for top in QApplication.topLevelWidgets():
            if isinstance(top, QDialog) and top.isVisible() and self.answers.random() < 0.3:
                top.reject()

    # --- rests

    def rest(self) -> None:
        """Wait until nothing is computed, and check what is shown."""
        until = time.monotonic() + REST_S
        still_since, turns = time.monotonic(), 0
        # Several turns too: one may take long, and end with a document that opens and does not run yet.
        while time.monotonic() - still_since < STILL_S or turns < STILL_TURNS:
            pause(0.02)
            turns += 1
            is_playing = self.window.store.player.is_playing
            if is_playing:
                self.window.commands["play"].trigger()
            if is_playing or self.is_busy():
                still_since, turns = time.monotonic(), 0
            if time.monotonic() > until:
                self.fault("the window computes for ever")
                return
        for check in (self.check_trace, self.check_cell, self.check_panels, self.check_saving):
            try:
                for text in check():
                    self.fault(text)
            except Exception:  # a fault like another
                self.fault(traceback.format_exc())

    def is_busy(self) -> bool:
        window = self.window
        schedulers = window.services.schedulers
        return not all(one.idle for one in schedulers)

    def check_trace(self) -> Iterator[str]:
        """The numbers on the screen are those of the document."""
        store = self.window.store
        trace = store.trace
        message = self.window.status.message()
        if trace is None or trace.experiment != store.experiment:
            if not message:
                yield "the numbers are not those of the document, without a word"
            return
        said = self.window.status.findChild(QLabel, "status_facts").text()
        is_ready = said.startswith(READY)  # else they are said to be older ones: the run was cancelled
        if is_ready and trace.engine != store.engine and store.device != "cuda":
            yield f"numbers of {trace.engine} with {store.engine} chosen ({said})"
        # An engine that cannot be had is asked again: NumPy takes over in a precision of its own.
        engine, device = (store.engine, store.device) if store.device == "cuda" else (trace.engine, "cpu")
        fresh = execute(store.experiment, engine, device, check=lambda: None, reserve=0)
        yield from differences(trace, fresh)

    def check_cell(self) -> Iterator[str]:
        """A number has one value in the map, the trace and the inspector."""
        store = self.window.store
        if store.trace is None or store.trace.experiment != store.experiment or store.followed is not None:
            return
        view, site = store.document.view, store.trace.site(store.document.site)
        stage = view.stage if view.stage in site.stages else "weights"
        head = shown_head(site.experiment, view, stage)
        window = site.window(stage, head)
        row, column = self.dice.randrange(window.shape[0]), self.dice.randrange(window.shape[1])
        values = {"opened": explain(site, Cell(stage, row, column, head, site.name)).value}
        is_map_of_values = view.quantity == "value" and view.picture == "map"
        if is_map_of_values and self.window.panels["stage"].is_seen:
            values["drawn"] = self.window.findChild(HeatMap, "stage_map").content.values[row, column]
        for how, value in values.items():
            if not np.array_equal(np.float64(value), np.float64(window[row, column]), equal_nan=True):
                place = f"{site.name} {stage}[{head}, {row}, {column}]"
                yield f"{place} is {window[row, column]}, {how} {value}"

    def check_panels(self) -> Iterator[str]:
        """No panel in sight rests as one behind a tab, or waits for an answer that nobody computes."""
        for panel in self.window.findChildren(Panel):
            seen = panel.visibleRegion().boundingRect()
            if not panel.is_seen and min(seen.width(), seen.height()) > LEAST_PX:
                yield f"{panel.objectName()} is in sight, and rests"
        for label in self.window.findChildren(QLabel):
            if label.text().startswith(WAITING) and not label.visibleRegion().isEmpty():
                yield f"{label.objectName()} waits: {label.text()!r}"

    def check_saving(self) -> Iterator[str]:
        """The document can be saved and read."""
        document = self.window.store.document
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "saved.safetensors"
            save(document, path)
            if load(path) != document:
                yield "the saved document is another one"


def differences(trace: Trace, fresh: Trace) -> Iterator[str]:
    """The stages in which two traces of one experiment differ."""
    for name in fresh.sites:
        shown, computed = trace.site(name), fresh.site(name)
        if shown.stages != computed.stages:
            yield f"{name}: stages {shown.stages} instead of {computed.stages}"
            continue
        for stage in computed.stages:
            if np.prod(computed.shape(stage)) > LARGEST:
                continue
            a, b = np.asarray(shown[stage], np.float64), np.asarray(computed[stage], np.float64)
            if not np.array_equal(a, b, equal_nan=True):
                yield f"{name} {stage} differs from a fresh run"


def pause(seconds: float) -> None:
    """Run the event loop for some time, and then the deferred deletions."""
    timed.spin(seconds)
    QCoreApplication.processEvents()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # type: ignore[arg-type]


def answer_dialogs() -> None:
    """Cancel every dialog and file dialog, and discard what a question would save."""
    stubs: Any = (
        (QDialog, "exec", QDialog.reject),
        (QMessageBox, "exec", lambda _box: QMessageBox.StandardButton.Discard),
        (QFileDialog, "getOpenFileName", lambda *_given, **_named: ("", "")),
        (QFileDialog, "getSaveFileName", lambda *_given, **_named: ("", "")),
        (QFileDialog, "getExistingDirectory", lambda *_given, **_named: ""),
    )
    for owner, name, stub in stubs:
        setattr(owner, name, stub)


def drive(seed: int, actions: int, document: Document) -> Driver:
    """Drive a window in this process, and return the driver with its faults."""
    answer_dialogs()
    driver = Driver(seed, document)
    hooks = sys.excepthook, threading.excepthook

    def noted(kind: Any, error: Any, where: Any) -> None:
        driver.fault("".join(traceback.format_exception(kind, error, where)))

    def warned(kind: QtMsgType, _context: object, text: str) -> None:
        if kind is not QtMsgType.QtDebugMsg and not any(one in text for one in QT_SAYS):
            driver.fault(f"Qt: {text}")

    sys.excepthook = noted
    threading.excepthook = lambda given: noted(given.exc_type, given.exc_value, given.exc_traceback)
    qInstallMessageHandler(warned)
    try:
        driver.drive(actions)
    finally:
        qInstallMessageHandler(None)
        sys.excepthook, threading.excepthook = hooks
        driver.timed.close()
    return driver


def main() -> int:
    """Read the arguments, drive, and print the faults."""
    seed, actions = int(sys.argv[1]), int(sys.argv[2])
    if len(sys.argv) > 3:
        document = load(Path(sys.argv[3]))
    else:
        document = load_preset(random.Random(seed).choice(PRESETS).id)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        os.environ.update(dict.fromkeys(USER_FOLDERS, home))
        driver = drive(seed, actions, document)
    print(f"{driver.count} actions, {len(driver.faults)} faults")
    return 1 if driver.faults else 0


if __name__ == "__main__":
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    faulthandler.enable()
    code = main()
    sys.stdout.flush()
    os._exit(code)
