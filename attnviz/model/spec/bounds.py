"""Bounds of the whole numbers and of the texts that documents hold."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from attnviz.i18n import N_
from attnviz.model.spec.field import Field

Positive = Annotated[int, Meta(ge=1, le=1_000_000)]
Count = Annotated[int, Meta(ge=0, le=1_000_000)]
Seed = Annotated[
    int, Meta(ge=0, le=2**32 - 1), Field(N_("Seed"), N_("Selects the random numbers"), is_seed=True)
]
Index = Annotated[int, Meta(ge=0, le=2**31)]

LONGEST_NAME = 1_000
"""Characters of a name: of a document, an attention, a class."""
LONGEST_TOKEN = 2_000
"""Characters of one token, which may be a word that nothing splits."""
LONGEST_TEXT = 10_000
"""Characters of a caption, of a paragraph of a lesson, and of a path: a window lays each out in one piece."""
