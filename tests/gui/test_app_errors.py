"""Unexpected errors: one notice per kind, on the GUI thread; the traceback is in the log only."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import pytest
from PySide6.QtCore import qCritical, qInfo, qInstallMessageHandler, qWarning
from pytestqt.qtbot import QtBot

from attnviz.gui import app_errors
from attnviz.gui.app_errors import Errors
from attnviz.gui.bridge import Bridge

WAIT_S = 20.0
WAIT_MS = 20_000


class Notices:
    """The shown messages, and their threads."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, str]] = []
        self.threads: set[threading.Thread] = set()

    def __call__(self, short: str, details: str) -> None:
        self.shown.append((short, details))
        self.threads.add(threading.current_thread())


@pytest.fixture
def notices() -> Notices:
    return Notices()


@pytest.fixture
def errors(qapp: object, notices: Notices) -> Iterator[Errors]:
    errors = app_errors.install(notices)
    yield errors
    errors.uninstall()


def fail(number: int) -> None:
    raise ValueError(f"row {number} of <b>this</b>")


def raised(number: int) -> ValueError:
    try:
        fail(number)
    except ValueError as error:
        return error
    raise AssertionError


def log_of(errors: Errors) -> str:
    assert errors.log_file is not None
    return errors.log_file.read_text(encoding="utf-8")


def test_an_error_is_shown_without_its_traceback_and_logged_with_it(errors: Errors, notices: Notices) -> None:
    error = raised(3)
    sys.excepthook(type(error), error, error.__traceback__)
    [(short, details)] = notices.shown
    assert short == "Something went wrong: ValueError: row 3 of <b>this</b>"
    assert str(errors.log_file) in details
    assert "Traceback" not in short + details
    log = log_of(errors)
    assert "Traceback" in log
    assert "in fail" in log


def test_the_log_is_in_the_users_log_folder(errors: Errors) -> None:
    assert errors.log_file == Path(platformdirs.user_log_dir("attnviz", appauthor=False)) / "attnviz.log"


def test_a_repeated_error_is_counted_not_shown_again(errors: Errors, notices: Notices) -> None:
    for number in range(120):
        errors.report(raised(number))
    assert len(notices.shown) == 1
    assert errors.times(raised(0)) == 120
    log = log_of(errors)
    assert log.count("Traceback") == 1
    assert [line.split("seen ")[1] for line in log.splitlines() if "seen " in line] == [
        "2 times",
        "10 times",
        "100 times",
    ]


def test_different_errors_are_shown_each(errors: Errors, notices: Notices) -> None:
    errors.report(raised(1))
    errors.report(ValueError("never raised"))
    errors.report(ValueError("never raised either"))
    errors.report(ValueError("never raised"))
    assert [short.split("ValueError: ")[1] for short, _details in notices.shown] == [
        "row 1 of <b>this</b>",
        "never raised",
        "never raised either",
    ]


def test_an_error_in_a_posted_callable_is_shown(errors: Errors, notices: Notices, qtbot: QtBot) -> None:
    bridge = Bridge()
    bridge.post(lambda: fail(7))
    qtbot.waitUntil(lambda: len(notices.shown) == 1, timeout=WAIT_MS)
    assert "row 7" in notices.shown[0][0]
    bridge.close()


def test_an_error_that_ends_a_thread_is_shown_on_the_gui_thread(
    errors: Errors, notices: Notices, qtbot: QtBot
) -> None:
    thread = threading.Thread(target=fail, args=(5,))
    thread.start()
    thread.join(WAIT_S)
    assert notices.shown == [], "shown from the thread that failed"
    qtbot.waitUntil(lambda: len(notices.shown) == 1, timeout=WAIT_MS)
    assert notices.threads == {threading.current_thread()}
    assert "row 5" in notices.shown[0][0]


def test_a_long_message_is_cut_to_one_line(errors: Errors, notices: Notices) -> None:
    errors.report(ValueError("x" * 500 + "\nsecond line"))
    short = notices.shown[0][0]
    assert "second line" not in short
    assert short.endswith("x…")
    assert len(short) < 250


def test_a_notice_that_fails_is_only_logged(qapp: object) -> None:
    def broken(_short: str, _details: str) -> None:
        raise RuntimeError("no window")

    errors = app_errors.install(broken)
    try:
        errors.report(raised(1))
        assert "RuntimeError: no window" in log_of(errors)
    finally:
        errors.uninstall()


def test_a_keyboard_interrupt_goes_to_the_hook_before(
    qapp: object, notices: Notices, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, _error, _where: seen.append(kind))
    errors = app_errors.install(notices)
    try:
        sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
        assert seen == [KeyboardInterrupt]
        assert notices.shown == []
    finally:
        errors.uninstall()


@pytest.mark.qt_log_ignore("a warning of Qt")
def test_qt_warnings_are_logged_not_shown_and_still_reach_the_handler_before(
    qapp: object, notices: Notices
) -> None:
    before: list[str] = []

    def earlier_handler(_kind: object, _context: object, message: str) -> None:
        before.append(message)

    outer = qInstallMessageHandler(earlier_handler)
    errors = app_errors.install(notices)
    try:
        for _time in range(3):
            qWarning("a warning of Qt")
        log = log_of(errors)
        assert "WARNING attnviz.qt" in log
        assert log.count("a warning of Qt") == 2, "first and second time; the third is only counted"
        assert notices.shown == []
        assert before == ["a warning of Qt"] * 3
    finally:
        errors.uninstall()
        found = qInstallMessageHandler(outer)
    assert found is earlier_handler


@pytest.mark.qt_log_ignore("a critical one")
def test_qt_levels_become_log_levels(errors: Errors, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="attnviz"):
        qCritical("a critical one")
        qInfo("for information")
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("ERROR", "a critical one (1)"),
        ("INFO", "for information (1)"),
    ]


def test_without_a_writable_folder_the_report_goes_to_standard_error(
    qapp: object,
    notices: Notices,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    occupied = tmp_path / "a file where the folder should be"
    occupied.write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(occupied))
    errors = app_errors.install(notices)
    try:
        errors.report(raised(1))
    finally:
        errors.uninstall()
    assert errors.log_file is None
    assert "standard error" in notices.shown[0][1]
    assert "Traceback" in capsys.readouterr().err


def test_the_log_rotates(errors: Errors) -> None:
    assert errors.log_file is not None
    for number in range(12):
        errors.report(ValueError(f"{number}\n" + "x" * 100_000))
    kept = sorted(errors.log_file.parent.glob("attnviz.log*"))
    assert len(kept) > 1
    assert all(file.stat().st_size <= app_errors.LOG_BYTES for file in kept)


def test_uninstalling_puts_the_earlier_hooks_back(qapp: object, notices: Notices) -> None:
    before = (sys.excepthook, threading.excepthook)
    errors = app_errors.install(notices)
    assert sys.excepthook is not before[0]
    errors.uninstall()
    errors.uninstall()
    assert (sys.excepthook, threading.excepthook) == before
    assert logging.getLogger("attnviz").handlers == []
