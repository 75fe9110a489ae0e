"""Kill the program at random moments, and count what its next start does not restore.

`python tests/kill_many.py 200` prints one line for each kill and the figures at the end; `test_kills.py` runs
a few. Each start restores what the one before has left, checks its history, and goes on editing.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

MOST_LOST_S = 1.0
"""The last edits before a kill that may be lost."""

START_S = 120.0
"""Longest time of one start: a loaded machine is slow, not wrong."""

PROGRAM = '''
import os, random, sys, time
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QPushButton
from attnviz.gui import app
from attnviz.model.edit.edits import reseed_vectors
from attnviz.model.edit.paths import putting

dice = random.Random(int(sys.argv[1]))
must_restore = sys.argv[2] == "restore"

def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

class Window(app.Window):
    """Restores what it is offered, then edits: the temperature counts the edits."""

    number = 0

    def begin(self):
        super().begin()
        self.timer = QTimer(self)
        self.timer.timeout.connect(self.restore if must_restore else self.begin_edits)
        self.timer.start(20)

    def restore(self):
        for button in self.findChildren(QPushButton, "answer_restore"):
            before = self.store.document
            button.click()
            self.timer.timeout.disconnect(self.restore)
            self.timer.timeout.connect(lambda: self.store.document is not before and self.check())
            return

    def check(self):
        steps = [round((at.attention.temperature - 1) * 1e4) for at in self.history.entries]
        self.number = steps[self.history.index]
        say("restored", self.number, len(steps), int(steps == sorted(steps)))
        self.store.undo()
        self.store.redo()
        self.begin_edits()

    @property
    def history(self):
        return self.store.chapters.present.history

    def begin_edits(self):
        self.timer.stop()
        self.timer.timeout.disconnect()
        self.timer.setSingleShot(True)
        self.timer.timeout.connect(self.act)
        say("began")
        self.act()

    def act(self):
        if not self.isVisible():  # a signal has closed the window
            return
        kind = dice.random()
        if kind < 0.2:
            self.store.look(head=dice.randrange(4))
        elif kind < 0.3 and self.history.can_undo:
            self.store.undo()
            self.store.redo()
        else:
            self.number += 1
            self.store.edit_here(putting("temperature"), 1 + self.number / 1e4)
            say("edit", self.number, time.monotonic())
        self.timer.start(dice.choice((0, 1, 5, 20, 100, 300)))

app.Window = Window
sys.exit(app.main())
'''


@dataclass(frozen=True)
class Kill:
    """One kill: the edits made until it and those restored, and the age of the oldest lost one in seconds."""

    made: int
    restored: int
    lost_s: float
    steps: int
    in_order: bool


def kill_many(times: int, home: Path, seed: int = 0) -> Iterator[Kill]:
    """Start, edit, kill; `times` times, all in one home. One more start restores the last one."""
    dice = random.Random(seed)
    edits: dict[int, float] = {}
    killed = 0.0
    for run in range(times + 1):
        with program(home, seed + run, "restore" if edits else "fresh") as process:
            lines = process.stdout
            assert lines is not None
            if edits:
                number, steps, in_order = map(int, words(lines, "restored"))
                lost = [when for made, when in edits.items() if made > number]
                yield Kill(max(edits), number, killed - min(lost, default=killed), steps, bool(in_order))
                edits = {made: when for made, when in edits.items() if made <= number}
            if run == times:
                return
            words(lines, "began")
            time.sleep(dice.uniform(0.0 if edits else MOST_LOST_S, 2.5))
            process.kill()
            killed = time.monotonic()
            for line in lines:
                kind, number, when = line.split()
                assert kind == "edit", line
                edits[int(number)] = float(when)


@contextmanager
def program(home: Path, seed: int, start: str) -> Iterator[subprocess.Popen[str]]:
    """The program in a process and a home of its own; killed at the end."""
    folders = {name: str(home / name) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(seed), start],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", **folders},
    )
    watch = threading.Timer(START_S, process.kill)
    watch.start()
    try:
        yield process
    finally:
        watch.cancel()
        watch.join()
        process.kill()
        process.communicate()


def words(lines: IO[str], kind: str) -> list[str]:
    """The words of the next line, which is of this kind."""
    line = lines.readline().split()
    assert line[:1] == [kind], line
    return line[1:]


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    kills = []
    with tempfile.TemporaryDirectory() as home:
        for kill in kill_many(times, Path(home)):
            kills.append(kill)
            print(len(kills), kill, flush=True)
    lost = sorted(kill.lost_s for kill in kills)
    print(
        f"{len(kills)} kills: median loss {lost[len(lost) // 2]:.3f} s, 95th percentile "
        f"{lost[len(lost) * 95 // 100]:.3f} s, greatest {lost[-1]:.3f} s; "
        f"{sum(kill.made == kill.restored for kill in kills)} lost nothing; "
        f"histories in order: {all(kill.in_order for kill in kills)}"
    )
    assert lost[-1] <= MOST_LOST_S


if __name__ == "__main__":
    main()
