"""Whether the workspace of the generation opens with the first glance, or with its panels."""

from __future__ import annotations

from attnviz.gui.settings import Settings
from attnviz.model.spec.document import Document

CHOICE, LAST = "glance", "glance_last"
OPEN, FOLDED = "open", "folded"


def remember(settings: Settings, *, is_folded: bool) -> None:
    """Remember that a person folded the first glance, or unfolded it."""
    settings.set_choice(CHOICE, FOLDED if is_folded else OPEN)


def keep(settings: Settings, *, is_open: bool) -> None:
    """Remember how the workspace stands, for the next start."""
    settings.set_choice(LAST, OPEN if is_open else FOLDED)


def opens(settings: Settings, document: Document) -> bool:
    """True before a document shows a generated token, unless a person has folded the first glance."""
    return settings.choice(CHOICE, OPEN) == OPEN and not _is_generated(document)


def opens_again(settings: Settings, document: Document) -> bool:
    """The same for the document that was left last: one that shows a generated token is found as it was."""
    if _is_generated(document):
        return settings.choice(LAST, FOLDED) == OPEN
    return opens(settings, document)


def _is_generated(document: Document) -> bool:
    return document.view.step >= document.experiment.n_queries
