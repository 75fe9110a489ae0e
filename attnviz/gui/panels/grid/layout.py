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
    """Side of a tile, and the top left corner of each group's first tile.

    With `layers_across`, columns are layers and rows are heads; else the other way round.
    """

    side: float
    corners: tuple[QPointF, ...]
    blocks: tuple[Block, ...]
    layers_across: bool

    def rect(self, group: int, layer: int, head: int) -> QRectF:
        """The tile of a head."""
        across, down = (layer, head) if self.layers_across else (head, layer)
        corner, step = self.corners[group], self.side + GAP
        return QRectF(corner.x() + across * step, corner.y() + down * step, self.side, self.side)

    def at(self, point: QPointF) -> tuple[int, int, int] | None:
        """(group, layer, head) of the tile under a point; the gaps belong to none."""
        step = self.side + GAP
        for group, (corner, block) in enumerate(zip(self.corners, self.blocks, strict=True)):
            across, down = (point.x() - corner.x()) / step, (point.y() - corner.y()) / step
            layer, head = (across, down) if self.layers_across else (down, across)
            is_inside = 0 <= layer < block.n_layers and 0 <= head < block.n_heads
            if is_inside and self.rect(group, int(layer), int(head)).contains(point):
                return group, int(layer), int(head)
        return None


def arrange(width: float, height: float, blocks: Sequence[Block], *, has_titles: bool) -> GridLayout:
    """Lay out the groups side by side, with the largest tiles that fit; layers go across on a tie."""
    tries = [_arranged(width, height, tuple(blocks), has_titles, across) for across in (True, False)]
    return max(tries, key=lambda one: (one.side, one.layers_across))


def _arranged(
    width: float, height: float, blocks: tuple[Block, ...], has_titles: bool, layers_across: bool
) -> GridLayout:
    columns = [block.n_layers if layers_across else block.n_heads for block in blocks]
    rows = max((block.n_heads if layers_across else block.n_layers for block in blocks), default=1)
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
    return GridLayout(side, tuple(corners), blocks, layers_across)
