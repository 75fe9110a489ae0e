"""Ground of every test: no screen, no user's settings, one thread per BLAS call, nothing left behind.

Qt is imported only inside the fixtures of tests that use it, so the numeric tests run without it.
"""

from __future__ import annotations

import gc
import itertools
import os
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Before numpy, torch or Qt are imported: they read these once. A test run on a real display sets
# QT_QPA_PLATFORM itself, e.g. to xcb under Xvfb.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("QT_API", "pyside6")
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

_HOME = tempfile.TemporaryDirectory(prefix="attnviz-tests-", ignore_cleanup_errors=True)
_NUMBERS = itertools.count()
_USER_FOLDERS = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
for variable in _USER_FOLDERS:
    folder = Path(_HOME.name) / variable.lower()
    folder.mkdir()
    os.environ[variable] = str(folder)
# Each test has a cache of its own, and a process with an empty one searches all fonts: half a second.
os.environ.setdefault("MPLCONFIGDIR", str(Path(_HOME.name) / "matplotlib"))

import pytest  # noqa: E402  (the environment comes first)
from draw import drawn, pytest_addoption, pytest_cmdline_main  # noqa: E402, F401  (hooks and a fixture)
from hypothesis import settings  # noqa: E402
from hypothesis.internal.conjecture.providers import HypothesisProvider  # noqa: E402
from hypothesis.internal.constants_ast import Constants  # noqa: E402

from attnviz import i18n  # noqa: E402
from attnviz.gui.interpreter import tune_interpreter  # noqa: E402

# A loaded machine is slow, not wrong: no deadline. Fixed examples, and none remembered from other runs: a
# failure comes back on the next run.
settings.register_profile("attnviz", deadline=None, derandomize=True, database=None, max_examples=40)
settings.load_profile("attnviz")
# Hypothesis also tries the constants of whichever of our modules are imported by then, so a test had other
# examples alone than among others. No setting prevents it.
assert hasattr(HypothesisProvider, "_local_constants"), "hypothesis has renamed its constants"
HypothesisProvider._local_constants = Constants()  # type: ignore[assignment, misc]

GRACE_S = 10.0
"""Seconds that a thread may take to end, or a deferred deletion to happen, once its test is over.

A loaded machine is slow, not wrong.
"""


@pytest.fixture(scope="session")
def qapp(qapp: Any) -> Iterator[Any]:
    """The application, in the shipped fonts: what a test measures does not depend on the machine's fonts."""
    from attnviz.gui.look.fonts import ui_font
    from attnviz.gui.look.theme import TEXT_PX

    qapp.setFont(ui_font(TEXT_PX))
    yield qapp
    # Qt would destroy what was copied after the interpreter has ended, which ends in a crash.
    qapp.clipboard().clear()


def pytest_sessionstart() -> None:
    """Collect no garbage while tests are imported: what is imported stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Imported modules stay: the collector need not walk over them after every test with a window."""
    gc.collect()
    gc.freeze()
    gc.unfreeze = _stay_frozen
    # As often as in the program: a window is tested as it runs.
    tune_interpreter()
    gc.enable()


def _stay_frozen() -> None:
    """In place of `gc.unfreeze`: each later window would take two seconds more, and nobody would see why."""
    raise AssertionError("a test thaws the frozen objects; run what does so in a process of its own")


@pytest.fixture(autouse=True)
def _own_user_folders(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test has its own configuration, data and cache folders, which are not there yet."""
    home = Path(_HOME.name) / str(next(_NUMBERS))
    for name in _USER_FOLDERS:
        monkeypatch.setenv(name, str(home / name.lower()))
    return home


@pytest.fixture(autouse=True)
def _one_torch_thread() -> Iterator[None]:
    """Torch is on one thread after each test: two threads on two busy cores take ten times as long."""
    yield
    torch = sys.modules.get("torch")
    if hasattr(torch, "set_num_threads") and torch.get_num_threads() != 1:
        torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _english() -> Iterator[None]:
    """Each test starts in English and leaves English behind."""
    i18n.set_language("en")
    yield
    i18n.set_language("en")


@pytest.fixture(autouse=True)
def _no_leftovers(request: pytest.FixtureRequest, _own_user_folders: Path) -> Iterator[None]:
    """Fail a test that leaves threads behind and, where it uses Qt, widgets, QThreads or running timers."""
    threads_before = set(threading.enumerate())
    uses_qt = bool({"qtbot", "qapp"} & set(request.fixturenames)) or "gui" in Path(request.path).parts
    if not uses_qt:
        yield
        left = _applications_left() + _threads_left(threads_before)
    else:
        # Requested here, so that it is set up before, and torn down after, what this fixture inspects.
        request.getfixturevalue("qapp")
        with pytest.MonkeyPatch.context() as patch:
            started = _record_starts(patch)
            _own_qsettings(_own_user_folders)
            widgets_before = set(_top_level_widgets())
            yield
            left = _qt_left(started, widgets_before) + _threads_left(threads_before)
    if left:
        pytest.fail("left behind by this test:\n" + "\n".join(f"- {what}" for what in left), pytrace=False)


def _applications_left() -> list[str]:
    """An application without widgets. A process has one application: every later test of a window fails."""
    core = sys.modules.get("PySide6.QtCore")
    application = core and core.QCoreApplication.instance()
    if application is None or application.inherits("QApplication"):
        return []
    return [f"a {type(application).__name__}; take the fixture `qapp`, or run it in a process of its own"]


def _threads_left(before: set[threading.Thread]) -> list[str]:
    deadline = time.monotonic() + GRACE_S
    left = [thread for thread in threading.enumerate() if thread not in before]
    for thread in left:
        thread.join(max(0.0, deadline - time.monotonic()))
    return [f"thread {thread.name!r}" for thread in left if thread.is_alive()]


def _record_starts(patch: pytest.MonkeyPatch) -> list[tuple[weakref.ref[Any], str]]:
    """Note each QTimer and QThread as it is started, with the place in our code that started it."""
    from PySide6.QtCore import QThread, QTimer

    started: list[tuple[weakref.ref[Any], str]] = []
    for kind in (QTimer, QThread):
        plain_start = kind.start

        def start(self: Any, *args: Any, _plain_start: Any = plain_start, **kwargs: Any) -> None:
            # Not `traceback.extract_stack`, which asks the disk for the file of every frame.
            caller = sys._getframe(1)
            place = f"{caller.f_code.co_filename}:{caller.f_lineno} in {caller.f_code.co_name}"
            started.append((weakref.ref(self), place))
            _plain_start(self, *args, **kwargs)

        patch.setattr(kind, "start", start)
    return started


def _own_qsettings(folder: Path) -> None:
    """QSettings reads XDG_CONFIG_HOME once per process; it is told about each test's folder by hand."""
    from PySide6.QtCore import QSettings

    for file_format in (QSettings.Format.NativeFormat, QSettings.Format.IniFormat):
        QSettings.setPath(file_format, QSettings.Scope.UserScope, str(folder / "qsettings"))


def _top_level_widgets() -> list[Any]:
    from PySide6.QtWidgets import QApplication

    return QApplication.topLevelWidgets()


def _qt_left(started: list[tuple[weakref.ref[Any], str]], widgets_before: set[Any]) -> list[str]:
    """The widgets, timers and QThreads that outlive their test, once deferred deletions had their turn."""
    from PySide6.QtCore import QCoreApplication, QEvent, QObject
    from shiboken6 import isValid

    def settle() -> None:
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # type: ignore[arg-type]
        QCoreApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # type: ignore[arg-type]

    def left() -> list[str]:
        names = [
            f"top-level widget {type(widget).__name__} {widget.objectName()!r}"
            for widget in _top_level_widgets()
            if widget not in widgets_before
        ]
        for reference, place in started:
            item: QObject | None = reference()
            if item is None or not isValid(item):
                continue
            if getattr(item, "isActive", bool)():
                names.append(f"running {type(item).__name__} started at {place}")
            if getattr(item, "isRunning", bool)():
                names.append(f"running {type(item).__name__} started at {place}")
        return names

    settle()
    if left():
        # Only now: a widget in a reference cycle with its own slots is garbage, not a leftover.
        deadline = time.monotonic() + GRACE_S
        while True:
            gc.collect()
            settle()
            if not left() or time.monotonic() > deadline:
                break
            time.sleep(0.02)
    return left()
