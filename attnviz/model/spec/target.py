"""The number whose gradient is wanted, as text: a cell of a stage, or the loss of the next token."""

from __future__ import annotations

import re
from dataclasses import dataclass

from attnviz.errors import FieldError, must_be, whole_number

LOSS = "loss"
"""The cross-entropy of the next token: the mean over all positions but the last, or `loss[3]` at one."""

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


@dataclass(frozen=True)
class TargetLoss:
    """The loss of the next token at one position; None is the mean over all that have a next token."""

    position: int | None = None

    def __str__(self) -> str:
        """`loss`, or `loss[3]`, as `parsed` reads it."""
        return LOSS if self.position is None else f"{LOSS}[{self.position}]"

    def positions(self, n_tokens: int) -> tuple[int, ...]:
        """The positions that count in a text. Raises `FieldError` for one without a next token."""
        if self.position is None:
            return tuple(range(n_tokens - 1))
        if not -n_tokens <= self.position < n_tokens - 1 or self.position == -1:
            raise FieldError("target.position", self.position, whole_number(0, n_tokens - 2))
        return (self.position % n_tokens,)


def parsed(text: str, field: str = "target") -> TargetCell | TargetLoss:
    """`layers.0.self.weights[0, 2, 1]`, `logits[3, 17]`, `loss`, or `loss[3]`.

    Raises `FieldError`, which names `field`, for others.
    """
    if text.strip() == LOSS:
        return TargetLoss()
    match = _CELL.fullmatch(text.strip())
    parts = [] if match is None else [part.strip() for part in match["index"].split(",")]
    if match is None or not all(re.fullmatch(r"-?\d+", part) for part in parts):
        wanted = must_be("'loss', or a cell such as layers.0.self.weights[0, 2, 1]")
        raise FieldError(field, text, wanted)
    index = tuple(map(int, parts))
    if match["stage"] == LOSS and not match["site"] and len(index) == 1:
        return TargetLoss(index[0])
    return TargetCell(match["site"] or "", match["stage"], index)
