"""What a person is told of a job that failed: one sentence, whatever was raised."""

from __future__ import annotations

from attnviz.compute.scheduler import Stopped
from attnviz.engines.engine import EngineError
from attnviz.i18n import _

EXPECTED = (ValueError, EngineError, OSError, MemoryError, Stopped)
"""What jobs raise with a sentence for the person. Everything else is a fault of the program and is logged."""


def is_expected(error: BaseException) -> bool:
    """Whether the error needs no log. Without a sentence, only missing memory and a cancelled job do not."""
    says = isinstance(error, MemoryError | Stopped) or bool(str(error).strip())
    return says and isinstance(error, EXPECTED)


def failure_sentence(error: BaseException) -> str:
    """Why there is no result, in one sentence."""
    if isinstance(error, Stopped):
        return _("Cancelled.")
    if isinstance(error, MemoryError):
        return str(error).strip() or _("not enough memory")
    if is_expected(error):
        return str(error)
    kind, words = type(error).__name__, " ".join(str(error).split())
    return _("Something went wrong: {error}").format(error=f"{kind}: {words}" if words else kind)
