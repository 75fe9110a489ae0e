"""The interpreter, as a window needs it."""

from __future__ import annotations

import gc
import sys

SWITCH_SECONDS = 0.001
"""Longest time that a thread keeps the interpreter from others; the default of 5 ms is noticeable
in a drag.
"""

GARBAGE_OBJECTS = 20_000
"""New objects between two collections of garbage. The default of 700 collects several times an edit; arrays
are released by their counts, without it.
"""


def tune_interpreter() -> None:
    """Let threads take turns often, and garbage be collected rarely: a window answers every few ms.

    Best before the window is imported, which makes many objects that last.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(GARBAGE_OBJECTS, *gc.get_threshold()[1:])
