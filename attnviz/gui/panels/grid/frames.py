"""Choices for the frames of the grid: none, a score of the heads, or their effect on a logit."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.core.head_scores import HEAD_SCORES
from attnviz.i18n import N_

NO_SCORE, EFFECT = "none", "effect"

_SHORT = {
    "previous": N_("previous"),
    "same": N_("same"),
    "near": N_("near"),
    "first": N_("first"),
    "reference": N_("pronoun"),
}
"""Scores whose titles are too long for a line of all of them."""


@dataclass(frozen=True)
class FramesRow:
    """One choice; `title` and `hint` are messages. `needs_references`: it is of labels of the document."""

    id: str
    title: str
    hint: str
    needs_references: bool = False


FRAMES: tuple[FramesRow, ...] = (
    FramesRow(NO_SCORE, N_("none"), N_("No frames")),
    *(
        FramesRow(row.id, _SHORT.get(row.id, row.title), row.hint, row.needs_references)
        for row in HEAD_SCORES
    ),
    FramesRow(
        EFFECT, N_("effect"), N_("Change of a logit when the head is ablated: orange heads support it")
    ),
)
