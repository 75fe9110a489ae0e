"""The fixture of `conftest.py` that fails a test which leaves something behind: it sees each kind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import attnviz.version

PROBES = """
import threading
import time

from PySide6.QtCore import QThread, QTimer
from PySide6.QtWidgets import QWidget

kept = []


def test_clean(qtbot):
    widget = QWidget()
    widget.cycle = widget
    QTimer(widget).start(10)
    qtbot.addWidget(widget)
    widget.show()


def test_garbage_is_no_leftover(qtbot):
    widget = QWidget()
    widget.cycle = widget


def test_widget(qtbot):
    kept.append(QWidget(objectName="forgotten"))


def test_timer(qtbot):
    kept.append(QTimer())
    kept[-1].start(1000)


def test_qthread(qtbot):
    kept.append(QThread())
    kept[-1].start()


def test_thread():
    threading.Thread(target=time.sleep, args=(5,), name="sleeper", daemon=True).start()


def test_short_thread():
    threading.Thread(target=time.sleep, args=(0.05,)).start()


def test_end(qtbot):
    kept[-1].quit()
    assert kept[-1].wait()
"""


def test_each_kind_of_leftover_fails_its_test(tmp_path: Path) -> None:
    own = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")
    (tmp_path / "conftest.py").write_text(own.replace("GRACE_S = 10.0", "GRACE_S = 0.2"), encoding="utf-8")
    (tmp_path / "test_probes.py").write_text(PROBES, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nqt_api = pyside6\n", encoding="utf-8")
    source = str(Path(attnviz.version.__file__).resolve().parent.parent)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:randomly",
            "-p",
            "no:xdist",
            str(tmp_path),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((source, str(Path(__file__).parent)))},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    told = done.stdout
    assert "8 passed, 4 errors" in told, told + done.stderr
    assert "top-level widget QWidget 'forgotten'" in told
    assert "running QTimer started at" in told and "test_probes.py:30 in test_timer" in told
    assert "running QThread started at" in told
    assert "thread 'sleeper'" in told
