"""Layout of the grid of heads: a pure function of sizes, and hit-testing on its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF

GAPS = ((8.0, 40.0), (4.0, 10.0), (2.0, 0.0))
"""(pixels between tiles, least side of such tiles): large ones have room for thick frames."""
MOST_SIDE = 200.0
LEAST_SIDE = 6.0
NUMBERED = 28.0
"""Side from which a number beside a tile, or in it, has a meaning."""
LABELS = 44.0
"""Pixels beside the tiles for the numbers of the layers."""
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
    """Side of a tile, and the top left corner of each group's first tile; rows are layers, columns heads.

    `gap` are the pixels below a tile; to its right follow `beside` more, for a number.
    """

    side: float
    corners: tuple[QPointF, ...]
    blocks: tuple[Block, ...]
    gap: float
    beside: float = 0.0

    @property
    def steps(self) -> tuple[float, float]:
        """Pixels from a tile to the next one: to the right, and down."""
        return self.side + self.gap + self.beside, self.side + self.gap

    def rect(self, group: int, layer: int, head: int) -> QRectF:
        """The tile of a head."""
        corner, (across, down) = self.corners[group], self.steps
        return QRectF(corner.x() + head * across, corner.y() + layer * down, self.side, self.side)

    def at(self, point: QPointF) -> tuple[int, int, int] | None:
        """(group, layer, head) of the tile under a point; the gaps belong to none."""
        across, down = self.steps
        for group, (corner, block) in enumerate(zip(self.corners, self.blocks, strict=True)):
            head, layer = (point.x() - corner.x()) / across, (point.y() - corner.y()) / down
            is_inside = 0 <= layer < block.n_layers and 0 <= head < block.n_heads
            if is_inside and self.rect(group, int(layer), int(head)).contains(point):
                return group, int(layer), int(head)
        return None


def arrange(
    width: float, height: float, blocks: Sequence[Block], *, has_titles: bool, beside: float = 0.0
) -> GridLayout:
    """Lay out the groups side by side, with the largest tiles that fit.

    Layers go down in every model and head by head across, as tables of papers have them. `beside` is the
    wanted width of a number beside each tile, which small tiles do without.
    """
    columns = [block.n_heads for block in blocks]
    n_rows, n_columns = max((block.n_layers for block in blocks), default=1), max(1, sum(columns))
    top = TITLE + (TITLE if has_titles else 0.0)
    around = LABELS * len(blocks) + GROUP_GAP * max(0, len(blocks) - 1)

    def fitting(gap: float, beside: float) -> float:
        across = (width - around) / n_columns - gap - beside
        down = (height - top - gap) / n_rows - gap
        return float(int(max(LEAST_SIDE, min(across, down, MOST_SIDE))))

    if beside and fitting(GAPS[0][0], beside) < NUMBERED:
        beside = 0.0
    gap = next(gap for gap, least in GAPS if fitting(gap, beside) >= least)
    side = fitting(gap, beside)
    step = side + gap + beside
    taken = around + n_columns * step
    corners, x = [], float(max(0, int((width - taken) / 2)))
    for count in columns:
        corners.append(QPointF(x + LABELS, top))
        x += LABELS + count * step + GROUP_GAP
    return GridLayout(side, tuple(corners), tuple(blocks), gap, beside)
