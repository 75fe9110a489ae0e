"""The report of a figure: how it fits its width, the fonts that it needs, and a caption for its text."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.errors import Message


@dataclass(frozen=True)
class Remark:
    """A sentence on what holds of a figure; one that is not met names its remedy."""

    text: Message
    is_met: bool = True


@dataclass(frozen=True)
class Report:
    """The checks of a figure, the part that has no room, and a caption for the text around it."""

    checks: tuple[Remark, ...] = ()
    without: Message | None = None
    caption: str = ""
