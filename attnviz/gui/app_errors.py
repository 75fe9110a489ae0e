"""Unexpected errors: one notice in the window, the details in a log file.

Four ways lead here: `sys.excepthook` (slots, paint events, posted callables), `threading.excepthook` (a
thread that died), Qt's own messages (log only), and `Errors.report`, which the scheduler's `failed` callback
calls.
"""

from __future__ import annotations

import atexit
import logging
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType

import platformdirs
from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

from attnviz.gui.bridge import Bridge
from attnviz.i18n import _

Notice = Callable[[str, str], None]
"""Shows a line and its details (plain text, no traceback) without blocking; called on the GUI thread."""

LOG_BYTES = 512 * 1024
"""Size at which a log file is put aside; three older ones are kept."""

_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}

_log = logging.getLogger("attnviz")
_qt_log = logging.getLogger("attnviz.qt")


def install(notice: Notice) -> Errors:
    """Catch uncaught exceptions from now on. Call once, on the GUI thread, before the window is shown."""
    return Errors(notice)


class Errors:
    """The installed hooks. `log_file` is None where none could be opened: then standard error is used."""

    def __init__(self, notice: Notice) -> None:
        self._notice = notice
        self._bridge = Bridge()
        self._thread = threading.current_thread()
        self._lock = threading.Lock()
        self._seen: Counter[object] = Counter()
        self._previous = (sys.excepthook, threading.excepthook)
        self._hooks = (self._uncaught, self._uncaught_in_thread)
        self._handler, self.log_file = _open_log()
        _log.addHandler(self._handler)
        self._previous_level = _log.level
        _log.setLevel(logging.INFO)
        sys.excepthook, threading.excepthook = self._hooks
        self._previous_qt: Callable[..., None] | None = qInstallMessageHandler(self._qt_message)  # type: ignore[assignment]
        # Qt still speaks while the interpreter goes down, and must not find a Python handler then.
        atexit.register(self.uninstall)

    def report(self, error: BaseException) -> None:
        """Log `error`, and show it if it is the first of its kind. From any thread.

        Errors of one type raised along one path through the code are one kind, whatever their message: a drag
        meets the same fault sixty times a second with sixty different numbers. The first is logged in full;
        of the others the log gets one line at the 2nd, 10th, 100th, 1000th ... time.
        """
        kind = _kind(error)
        times = self._count(kind)
        if times > 1:
            if _is_milestone(times):
                _log.error("%s: seen %d times", _summary(error), times)
            return
        _log.error("%s", _summary(error), exc_info=error)
        self._show(_summary(error))

    def times(self, error: BaseException) -> int:
        """Number of reports of an error of this kind."""
        with self._lock:
            return self._seen[_kind(error)]

    def uninstall(self) -> None:
        """Put the earlier hooks back and close the log file. Safe to call again."""
        atexit.unregister(self.uninstall)
        self._bridge.close()
        if sys.excepthook == self._hooks[0]:
            sys.excepthook = self._previous[0]
        if threading.excepthook == self._hooks[1]:
            threading.excepthook = self._previous[1]
        if self._handler in _log.handlers:
            qInstallMessageHandler(self._previous_qt)
            _log.removeHandler(self._handler)
            _log.setLevel(self._previous_level)
            self._handler.close()

    def _count(self, kind: object) -> int:
        with self._lock:
            self._seen[kind] += 1
            return self._seen[kind]

    def _show(self, summary: str) -> None:
        if self.log_file is None:
            where = _("The log file could not be written; the report is on standard error.")
        else:
            where = _("The full report is in {path}").format(path=self.log_file)
        details = f"{summary}\n{where}"
        short = _("Something went wrong: {error}").format(error=summary)
        if threading.current_thread() is self._thread:
            self._tell(short, details)
        else:
            self._bridge.post(partial(self._tell, short, details))

    def _tell(self, short: str, details: str) -> None:
        try:
            self._notice(short, details)
        except Exception:
            # Reporting this one the usual way could go round in circles.
            _log.exception("The notice itself failed")

    def _uncaught(self, kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            self._previous[0](kind, error, where)
            return
        self.report(error.with_traceback(where))

    def _uncaught_in_thread(self, arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None and not isinstance(arguments.exc_value, SystemExit):
            self.report(arguments.exc_value)

    def _qt_message(self, kind: QtMsgType, context: QMessageLogContext, message: str | None) -> None:
        text = message or ""
        times = self._count((kind, text))
        if _is_milestone(times):
            _qt_log.log(_LEVELS.get(kind, logging.WARNING), "%s (%d)", text, times)
        if self._previous_qt is not None:
            self._previous_qt(kind, context, message)


def _kind(error: BaseException) -> object:
    """Identity of an error: type and path through the code; if never raised, the message."""
    path = tuple((frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__))
    return (type(error), path or str(error))


def _summary(error: BaseException) -> str:
    """`TypeName: first line of the message`, cut to a length that fits a notice."""
    lines = str(error).splitlines()
    text = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return text if len(text) <= 200 else text[:199] + "…"


def _is_milestone(times: int) -> bool:
    """1, 2, 10, 100, 1000 ...: often enough to see a flood, seldom enough not to be one."""
    return times <= 2 or (times % 10 == 0 and str(times).strip("0") == "1")


def _open_log() -> tuple[logging.Handler, Path | None]:
    """The rotating file in the user's log folder, or standard error where that folder cannot be written."""
    handler: logging.Handler
    try:
        path = Path(platformdirs.user_log_dir("attnviz", appauthor=False, ensure_exists=True)) / "attnviz.log"
        handler = RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=3, encoding="utf-8")
    except OSError:
        handler, log_path = logging.StreamHandler(), None
    else:
        log_path = path
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s [%(threadName)s] %(message)s"))
    return handler, log_path
