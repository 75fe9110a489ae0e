"""One sentence where Qt finds no usable display, in place of an abort.

The constructor of `QApplication` ends the process (SIGABRT) where no platform plugin starts. Its last words
are a fatal message: until the handler of that message returns, the process can still end by itself.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler, qWarning

from attnviz.core.text import visible
from attnviz.i18n import _

REFUSED = 2
"""The exit code, that of every refusal of the shell."""

CURSOR_LIBRARY = "libxcb-cursor.so.0"
"""Library that Qt's plugin for X11 needs and a bare Debian lacks."""

_UNREACHABLE = re.compile(r"could not connect to display (.*)", re.DOTALL)
_UNKNOWN = re.compile(r'Could not find the Qt platform plugin "(.*)" in ')
_NOT_LOADED = re.compile(r'Could not load the Qt platform plugin "(.*)" in ')
_AVAILABLE = re.compile(r"Available platform plugins are: (.*?)\.?\s*$", re.DOTALL)


@contextmanager
def sentence_for_abort() -> Iterator[None]:
    """While this lasts, a fatal message of Qt becomes one sentence on standard error and exit code 2.

    Warnings are held back; they are passed on where nothing fatal follows.
    """
    warnings: list[str] = []

    def receive(kind: QtMsgType, context: QMessageLogContext, message: str | None) -> None:
        if kind == QtMsgType.QtFatalMsg:
            _end(reason([*warnings, message or ""]))
        warnings.append(message or "")

    previous = qInstallMessageHandler(receive)
    try:
        yield
    finally:
        qInstallMessageHandler(previous)
    for warning in warnings:
        qWarning(warning)


def reason(messages: Sequence[str]) -> str:
    """Why the window cannot open, from Qt's messages in their order."""
    said = "\n".join(messages)
    unreachable = [hit[1].strip() for hit in map(_UNREACHABLE.search, messages) if hit]
    unknown, not_loaded, available = (p.search(said) for p in (_UNKNOWN, _NOT_LOADED, _AVAILABLE))
    if any(unreachable):
        return _("Qt cannot connect to the display {display}").format(display=unreachable[-1])
    if not unreachable and "xcb-cursor0" in said and not _loads(CURSOR_LIBRARY):
        says = _("Qt needs the library {file}; on Debian and Ubuntu, install the package libxcb-cursor0")
        return says.format(file=CURSOR_LIBRARY)
    if unknown:
        says = _("QT_QPA_PLATFORM must be one of {names}; got {name}")
        names = available[1] if available else "xcb, wayland, offscreen"
        return says.format(names=names, name=unknown[1])
    if not_loaded:
        return _("Qt cannot use its platform plugin {name} here").format(name=not_loaded[1])
    return messages[-1].partition("\n")[0]


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _end(what: str) -> None:
    """End the process before Qt aborts it."""
    sentence = visible(_("the window cannot be opened: {reason}").format(reason=what))
    print(f"attnviz: {sentence}", file=sys.stderr, flush=True)
    os._exit(REFUSED)
