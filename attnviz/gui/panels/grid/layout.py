"""Layout of the grid of heads: a pure function of sizes, and hit-testing on its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF

GAP = 4.0
MOST_SIDE = 200.0
LEAST_SIDE = 6.0
LABELS = 44.0
"""Pixels beside the tiles for the numbers of heads or layers."""
TITLE = 18.0
"""Height of the line over the tiles with their numbers, and of that with the name of a group."""
GROUP_GAP = 24.0


@dataclass(frozen=True)
class Block:
    """One group: its number of layers, and of heads."""

    n_layers: int
    n_heads: int


@dataclass(frozen=True)
class GridLayout:
    """Side of a tile, and the top left corner of each group's first tile; columns are layers, rows heads."""

    side: float
    corners: tuple[QPointF, ...]
    blocks: tuple[Block, ...]

    def rect(self, group: int, layer: int, head: int) -> QRectF:
        """The tile of a head."""
        corner, step = self.corners[group], self.side + GAP
        return QRectF(corner.x() + layer * step, corner.y() + head * step, self.side, self.side)

    def at(self, point: QPointF) -> tuple[int, int, int] | None:
        """(group, layer, head) of the tile under a point; the gaps belong to none."""
        step = self.side + GAP
        for group, (corner, block) in enumerate(zip(self.corners, self.blocks, strict=True)):
            layer, head = (point.x() - corner.x()) / step, (point.y() - corner.y()) / step
            is_inside = 0 <= layer < block.n_layers and 0 <= head < block.n_heads
            if is_inside and self.rect(group, int(layer), int(head)).contains(point):
                return group, int(layer), int(head)
        return None


def arrange(width: float, height: float, blocks: Sequence[Block], *, has_titles: bool) -> GridLayout:
    """Lay out the groups side by side, with the largest tiles that fit.

    Layers go across in every model, so that a place means the same in all: most models have more layers than
    heads, and the panel is wide.
    """
    columns = [block.n_layers for block in blocks]
    rows = max((block.n_heads for block in blocks), default=1)
    top = TITLE + (TITLE if has_titles else 0.0)
    around = LABELS * len(blocks) + GROUP_GAP * max(0, len(blocks) - 1)
    n_columns = max(1, sum(columns))
    across = (width - around) / n_columns - GAP
    down = (height - top - GAP) / rows - GAP
    side = float(int(max(LEAST_SIDE, min(across, down, MOST_SIDE))))
    taken = around + n_columns * (side + GAP)
    corners, x = [], float(max(0, int((width - taken) / 2)))
    for count in columns:
        corners.append(QPointF(x + LABELS, top))
        x += LABELS + count * (side + GAP) + GROUP_GAP
    return GridLayout(side, tuple(corners), tuple(blocks))
