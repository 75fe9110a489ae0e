"""Scale of the whole interface: fonts, pictures and pop-ups follow one factor at once.

Qt reads the factor of a process (`QT_SCALE_FACTOR`) at its start. It changes a running program by
`QHighDpiScaling::setGlobalFactor`, which PySide does not wrap. If the library of Qt lacks that symbol, a new
factor holds from the next start.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import PySide6
from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler, qWarning
from PySide6.QtWidgets import QWidget

from attnviz.gui.settings import SCALES, Settings

_VARIABLE = "QT_SCALE_FACTOR"
_SYMBOLS = ("_ZN15QHighDpiScaling15setGlobalFactorEd", "?setGlobalFactor@QHighDpiScaling@@SAXN@Z")
"""The name of the function as compilers write it: GCC and Clang, and Microsoft's."""
_LIBRARIES = ("Qt/lib/libQt6Gui.so.6", "Qt/lib/QtGui.framework/Versions/A/QtGui", "Qt6Gui.dll")
WIDE_PX, WIDE_SCALE = 2560, 125
"""Width of a screen on which the interface begins at this scale."""
_PREMATURE = "QHighDpiScaling::setFactor"
"""Qt warns of windows that exist, also of those that are recreated."""


def prepare(settings: Settings) -> None:
    """Scale the application that is created next."""
    os.environ[_VARIABLE] = str(_base() * settings["scale"] / 100)


def adapt(settings: Settings, screen_width: int) -> None:
    """Begin larger on a wide screen, unless a person has chosen a scale; before the first window is made.

    `screen_width` is in pixels at 100 %.
    """
    change = _changer()
    if change is None or screen_width < WIDE_PX or settings.is_chosen("scale"):
        return
    settings.presume("scale", WIDE_SCALE)
    change(_base() * WIDE_SCALE / 100)


def rescale(windows: Sequence[QWidget], before: int, percent: int) -> bool:
    """Scale the program from `before` to `percent`; its windows keep their pixels of the screen.

    The windows are recreated. Returns False if only the next start can change the scale.
    """
    change = _changer()
    if change is None:
        return False
    shown = [(window, window.pos(), window.size()) for window in windows if window.isVisible()]
    for window, _at, _size in shown:
        window.hide()
        handle = window.windowHandle()
        if handle is not None:
            handle.destroy()
    with _without_warning():
        change(_base() * percent / 100)
    ratio = before / percent
    for window, at, size in shown:
        if not window.isMaximized() and not window.isFullScreen():
            window.resize(round(size.width() * ratio), round(size.height() * ratio))
            window.move(round(at.x() * ratio), round(at.y() * ratio))
        window.show()
    return True


def largest_scale(window: QWidget, percent: int) -> int:
    """The largest of `SCALES` at which the smallest size of a window fits its screen, at `percent` now."""
    room, least = window.screen().availableSize(), window.minimumSize()
    most = percent * min(room.width() / least.width(), room.height() / least.height())
    return max((scale for scale in SCALES if scale <= most), default=SCALES[0])


def next_scale(percent: int, step: int) -> int:
    """The scale one step larger (1) or smaller (−1), at most the last one."""
    place = SCALES.index(percent) + step
    return SCALES[min(max(place, 0), len(SCALES) - 1)]


@cache
def _base() -> float:
    """The factor that the user's own environment has."""
    try:
        return float(os.environ.get(_VARIABLE, "1")) or 1.0
    except ValueError:
        return 1.0


@cache
def _changer() -> Callable[[float], object] | None:
    folder = Path(PySide6.__file__).parent
    for file in (folder / name for name in _LIBRARIES):
        if not file.exists():
            continue
        library = ctypes.CDLL(str(file))
        for symbol in _SYMBOLS:
            changer = getattr(library, symbol, None)
            if changer is not None:
                changer.argtypes, changer.restype = [ctypes.c_double], None
                return changer  # type: ignore[no-any-return]
    return None


@contextmanager
def _without_warning() -> Iterator[None]:
    def receive(kind: QtMsgType, context: QMessageLogContext, message: str | None) -> None:
        if message and not message.startswith(_PREMATURE):
            others.append(message)

    others: list[str] = []
    previous = qInstallMessageHandler(receive)
    try:
        yield
    finally:
        qInstallMessageHandler(previous)
    for message in others:
        qWarning(message)
