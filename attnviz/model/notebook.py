"""Notebook output of documents, experiments and traces: the page of `attnviz.show`."""

from __future__ import annotations

import sys
from typing import Any


def html(given: Any) -> str | None:
    """A page in a frame for Jupyter; None, so that the text is shown, where it cannot be computed.

    The page is made by a room above this one, which only the public API knows.
    """
    try:
        shown: str = sys.modules["attnviz"].show(given)._repr_html_()
    except (ValueError, MemoryError):
        return None
    return shown
