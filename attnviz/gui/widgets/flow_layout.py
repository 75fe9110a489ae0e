"""Boxes of one height in reading order, wrapped at a width."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect


def flow(widths: Sequence[int], height: int, available: int, gap: int) -> list[QRect]:
    """A rectangle for each of `widths`, left to right, in lines of at most `available` pixels."""
    rects: list[QRect] = []
    x = y = 0
    for width in widths:
        if x and x + width > available:
            x, y = 0, y + height + gap
        rects.append(QRect(x, y, width, height))
        x += width + gap
    return rects
