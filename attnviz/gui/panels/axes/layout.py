"""Places of the blocks of heads while the head axis leaves the feature axis: a pure function of time.

Time 0 is (token, head · feature) in one piece, 1 the view (token, head, feature), 2 the permutation (head,
token, feature). Before 0 lies −1: the result of W_O in the place of the one piece.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF

LARGEST = 26.0
"""Pixels of a cell at most."""
GAP = 10.0
VIEW, PERMUTED = 1, 2


@dataclass(frozen=True)
class Sizes:
    """The numbers of heads, of tokens and of features of one head."""

    heads: int
    tokens: int
    features: int


def blocks(sizes: Sizes, room: QRectF, time: float) -> list[QRectF]:
    """The rectangle of each head's (token, feature) block in `room`."""
    time = min(max(time, 0.0), float(PERMUTED))
    before = int(min(time, 1.0))
    first, second = (_still(sizes, room, step) for step in (before, before + 1))
    return [_between(a, b, time - before) for a, b in zip(first, second, strict=True)]


def _still(sizes: Sizes, room: QRectF, step: int) -> list[QRectF]:
    """The blocks at rest: side by side without gaps, with gaps, or one below the other."""
    gap = min(GAP, room.width() / (4 * sizes.heads), room.height() / (4 * sizes.heads))
    gaps = 0.0 if step == 0 else gap * (sizes.heads - 1)
    if step < PERMUTED:
        width = min(LARGEST, (room.width() - gaps) / (sizes.heads * sizes.features)) * sizes.features
        height = min(LARGEST, room.height() / sizes.tokens) * sizes.tokens
        across = width + (0.0 if step == 0 else gap)
        return [QRectF(room.left() + h * across, room.top(), width, height) for h in range(sizes.heads)]
    width = min(LARGEST, room.width() / sizes.features) * sizes.features
    height = min(LARGEST, (room.height() - gaps) / (sizes.heads * sizes.tokens)) * sizes.tokens
    return [QRectF(room.left(), room.top() + h * (height + gap), width, height) for h in range(sizes.heads)]


def _between(a: QRectF, b: QRectF, share: float) -> QRectF:
    def mixed(x: float, y: float) -> float:
        return x + (y - x) * share

    return QRectF(
        mixed(a.left(), b.left()),
        mixed(a.top(), b.top()),
        mixed(a.width(), b.width()),
        mixed(a.height(), b.height()),
    )


def place_at(sizes: Sizes, room: QRectF, time: float, point: QPointF) -> tuple[int, int, int] | None:
    """(head, token, feature) under a point; None beside the blocks."""
    for head, block in enumerate(blocks(sizes, room, time)):
        if block.contains(point):
            row = int((point.y() - block.top()) / block.height() * sizes.tokens)
            column = int((point.x() - block.left()) / block.width() * sizes.features)
            return head, min(row, sizes.tokens - 1), min(column, sizes.features - 1)
    return None


def cell_rect(sizes: Sizes, room: QRectF, time: float, place: tuple[int, int, int]) -> QRectF:
    """The rectangle of (head, token, feature)."""
    head, row, column = place
    block = blocks(sizes, room, time)[head]
    width, height = block.width() / sizes.features, block.height() / sizes.tokens
    return QRectF(block.left() + column * width, block.top() + row * height, width, height)
