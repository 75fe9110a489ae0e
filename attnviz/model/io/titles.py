"""Titles and captions of documents as they are shown: on one line, those of presets translated."""

from __future__ import annotations

from attnviz.core.text import visible
from attnviz.i18n import _
from attnviz.model.io.model_presets import MODEL_PRESETS
from attnviz.model.io.presets import PRESETS

_SHIPPED = frozenset(text for row in (*MODEL_PRESETS, *PRESETS) for text in (row.title, row.description))


def as_shown(text: str) -> str:
    """The title or caption of a document, `translated`, with a glyph for every invisible character."""
    return visible(translated(text))


def translated(text: str) -> str:
    """The title or caption of a document in the active language if it is a preset's, on one line.

    Nobody's own words are translated, whatever messages the program has: a file “model” keeps its name.
    """
    return " ".join((_(text) if text in _SHIPPED else text).split())
