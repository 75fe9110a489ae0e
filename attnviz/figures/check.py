"""A check of a figure: a sentence that the export shows below the preview."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.errors import Message


@dataclass(frozen=True)
class Check:
    """What holds of a figure; one that is not met names its remedy."""

    text: Message
    is_met: bool = True
