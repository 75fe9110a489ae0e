"""The message about a failed job: one sentence for any exception."""

from __future__ import annotations

import os
import sys

from attnviz.compute.scheduler import Stopped
from attnviz.core.text import visible
from attnviz.engines.engine import EngineError
from attnviz.errors import Message, about, message_of

EXPECTED = (ValueError, EngineError, OSError, MemoryError, Stopped)
"""Exceptions of jobs with a sentence for the user. All others are faults of the program and are logged."""

CANCELLED = Message("Cancelled.")


def is_expected(error: BaseException) -> bool:
    """True if the error needs no log. Without a sentence, only missing memory and a cancelled job
    need none.
    """
    says = isinstance(error, MemoryError | Stopped) or bool(str(error).strip())
    return says and isinstance(error, EXPECTED)


def log_unexpected(error: BaseException) -> None:
    """Report a fault of the program where it is logged, and go on: the user is still to be asked."""
    if not is_expected(error):
        sys.excepthook(type(error), error, error.__traceback__)


def failure_message(error: BaseException) -> Message:
    """Why the result is missing, in one sentence."""
    if isinstance(error, Stopped):
        return CANCELLED
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return about(visible(os.fsdecode(error.filename)), message_of(error))
    if is_expected(error):
        return message_of(error)
    kind, words = type(error).__name__, " ".join(str(error).split())
    return Message("Something went wrong: {error}", error=f"{kind}: {words}" if words else kind)
