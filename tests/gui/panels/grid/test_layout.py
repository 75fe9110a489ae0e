"""Layout of the grid: everything fits, nothing overlaps, and every point finds its tile."""

from __future__ import annotations

from itertools import product

import pytest
from PySide6.QtCore import QPointF

from attnviz.gui.panels.grid.layout import Block, arrange

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
    assert found.at(QPointF(first.right() + found.gap / 2, first.center().y())) is None or len(rects) == 1


@pytest.mark.parametrize("size", [(1104, 448), (448, 1104)], ids=str)
@pytest.mark.parametrize("block", [Block(4, 4), Block(5, 8), Block(12, 12), Block(30, 9)], ids=str)
def test_layers_are_rows_in_every_model_and_panel(block: Block, size: tuple[int, int]) -> None:
    found = arrange(*size, [block], has_titles=False)
    first, layer, head = found.rect(0, 0, 0), found.rect(0, 1, 0), found.rect(0, 0, 1)
    assert layer.left() == first.left() and layer.top() > first.bottom()
    assert head.top() == first.top() and head.left() > first.right()


def test_a_number_beside_each_tile_has_its_room_where_tiles_are_large() -> None:
    small, large = (arrange(744, 300, [Block(n, n)], has_titles=False, beside=34.0) for n in (24, 4))
    assert small.beside == 0.0 and large.beside == 34.0
    assert large.rect(0, 0, 1).left() - large.rect(0, 0, 0).right() >= 34 + large.gap
    assert large.rect(0, 0, 3).right() + 34 <= 744


def test_twelve_by_twelve_heads_have_room_in_a_panel() -> None:
    assert arrange(744, 320, [Block(12, 12)], has_titles=False).side >= 20
