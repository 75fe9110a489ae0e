"""Whether the workspace of the generation opens with the first glance, or with its panels."""

from __future__ import annotations

from attnviz.gui.settings import Settings
from attnviz.model.spec.document import Document

CHOICE = "glance"
OPEN, FOLDED = "open", "folded"


def remember(settings: Settings, *, is_folded: bool) -> None:
    """Remember that a person folded the first glance, or unfolded it."""
    settings.set_choice(CHOICE, FOLDED if is_folded else OPEN)


def opens(settings: Settings, document: Document) -> bool:
    """True before a document shows a generated token, unless a person has folded the first glance."""
    is_generated = document.view.step >= document.experiment.n_queries
    return settings.choice(CHOICE, OPEN) == OPEN and not is_generated
