"""The number whose gradient is wanted, as text: a cell of a stage, or the loss of the next token."""

from __future__ import annotations

import re
from dataclasses import dataclass

from attnviz.errors import FieldError, must_be

LOSS = "loss"
"""The mean cross-entropy of the next token, over all positions but the last."""

_CELL = re.compile(r"(?:(?P<site>[a-z]+\.\d+\.[a-z]+)\.)?(?P<stage>[a-z_0-9]+)\s*\[(?P<index>[^\]]*)\]")


@dataclass(frozen=True)
class TargetCell:
    """A cell of a stage in public order; `site` is empty for the last one that has the stage."""

    site: str
    stage: str
    index: tuple[int, ...]

    def __str__(self) -> str:
        """`layers.0.self.weights[0, 2, 1]`, as `parsed` reads it."""
        name = f"{self.site}.{self.stage}" if self.site else self.stage
        return f"{name}[{', '.join(map(str, self.index))}]"


def parsed(text: str, field: str = "target") -> TargetCell | None:
    """`layers.0.self.weights[0, 2, 1]`, `logits[3, 17]`; None for "loss".

    Raises `FieldError`, which names `field`, for others.
    """
    if text.strip() == LOSS:
        return None
    found = _CELL.fullmatch(text.strip())
    parts = [] if found is None else [part.strip() for part in found["index"].split(",")]
    if found is None or not all(re.fullmatch(r"-?\d+", part) for part in parts):
        wanted = must_be("'loss', or a cell such as layers.0.self.weights[0, 2, 1]")
        raise FieldError(field, text, wanted)
    return TargetCell(found["site"] or "", found["stage"], tuple(map(int, parts)))
