"""The sentence of an edit that is refused, by trying it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attnviz.model.errors.titles import in_words


def refusal(edit: Callable[[Any, Any], object], subject: Any, value: Any) -> str:
    """The words of the error that an edit raises; empty if it raises none."""
    try:
        edit(subject, value)
    except ValueError as error:
        return in_words(error)
    return ""
