"""What a person is told of a job that failed: one sentence, whatever was raised."""

from __future__ import annotations

from attnviz.compute.scheduler import Stopped
from attnviz.engines.engine import EngineError
from attnviz.errors import Message, message_of

EXPECTED = (ValueError, EngineError, OSError, MemoryError, Stopped)
"""What jobs raise with a sentence for the person. Everything else is a fault of the program and is logged."""


def is_expected(error: BaseException) -> bool:
    """Whether the error needs no log. Without a sentence, only missing memory and a cancelled job do not."""
    says = isinstance(error, MemoryError | Stopped) or bool(str(error).strip())
    return says and isinstance(error, EXPECTED)


def failure_message(error: BaseException) -> Message:
    """Why there is no result, in one sentence."""
    if isinstance(error, Stopped):
        return Message("Cancelled.")
    if is_expected(error):
        return message_of(error)
    kind, words = type(error).__name__, " ".join(str(error).split())
    return Message("Something went wrong: {error}", error=f"{kind}: {words}" if words else kind)
