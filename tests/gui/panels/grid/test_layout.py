"""Layout of the grid: everything fits, nothing overlaps, and every point finds its tile."""

from __future__ import annotations

from itertools import product

import pytest
from PySide6.QtCore import QPointF

from attnviz.gui.panels.grid.layout import GAP, Block, arrange

SHAPES = [
    [Block(1, 1)],
    [Block(4, 4)],
    [Block(12, 12)],
    [Block(30, 9)],
    [Block(6, 8), Block(6, 8), Block(6, 8)],
]


@pytest.mark.parametrize("size", [(1104, 448), (1264, 720), (600, 300), (448, 900)], ids=str)
@pytest.mark.parametrize("blocks", SHAPES, ids=str)
def test_tiles_fit_apart_from_each_other_and_are_found(blocks: list[Block], size: tuple[int, int]) -> None:
    found = arrange(*size, blocks, has_titles=len(blocks) > 1)
    rects = []
    for group, block in enumerate(blocks):
        for layer, head in product(range(block.n_layers), range(block.n_heads)):
            rect = found.rect(group, layer, head)
            assert found.at(rect.center()) == (group, layer, head)
            assert rect.left() >= 0 and rect.top() >= 0
            assert rect.right() <= size[0] and rect.bottom() <= size[1]
            assert rect.width() == rect.height()
            rects.append(rect)
    assert not any(one.intersects(other) for one, other in zip(rects, rects[1:], strict=False))
    assert found.at(QPointF(-5, -5)) is None
    first = found.rect(0, 0, 0)
    assert found.at(QPointF(first.right() + GAP / 2, first.center().y())) is None or len(rects) == 1


@pytest.mark.parametrize("size", [(1104, 448), (448, 1104)], ids=str)
@pytest.mark.parametrize("block", [Block(4, 4), Block(5, 8), Block(12, 12), Block(30, 9)], ids=str)
def test_layers_go_across_in_every_model_and_panel(block: Block, size: tuple[int, int]) -> None:
    found = arrange(*size, [block], has_titles=False)
    first, layer, head = found.rect(0, 0, 0), found.rect(0, 1, 0), found.rect(0, 0, 1)
    assert layer.top() == first.top() and layer.left() > first.right()
    assert head.left() == first.left() and head.top() > first.bottom()


def test_thirty_layers_have_room_in_a_wide_panel() -> None:
    assert arrange(1104, 448, [Block(30, 9)], has_titles=False).side >= 30
