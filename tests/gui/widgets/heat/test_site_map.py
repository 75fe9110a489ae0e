"""Maps side by side: cells of one size, nothing overlaps, and the best style that fits is taken."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRect

from attnviz.gui.widgets.heat.site_map import GAP, MapSizes, arrange

THREE = tuple(
    MapSizes(down, across, down_label=24, across_label=20, below=190, beside=110)
    for down, across in ((6, 6), (4, 4), (4, 6))
)


@pytest.mark.parametrize("width", [200, 776, 1600])
@pytest.mark.parametrize("height", [40, 90, 150, 400])
def test_nothing_overlaps_and_all_cells_are_equally_large(width: int, height: int) -> None:
    arranged = arrange(THREE, width, height, 14)
    for left, right in zip(arranged.places, arranged.places[1:], strict=False):
        assert left.area.right() + GAP == right.area.left() - 1
    for placed, sizes in zip(arranged.places, THREE, strict=True):
        assert placed.area.contains(placed.map)
        assert QRect(placed.map.topLeft(), placed.map.size()).contains(placed.plot.toAlignedRect())
        assert placed.plot.width() == pytest.approx(sizes.n_across * placed.geometry.cell_w)
        assert placed.plot.height() == pytest.approx(sizes.n_down * placed.geometry.cell_h)
    assert len({(one.geometry.cell_w, one.geometry.cell_h) for one in arranged.places}) == 1
    assert arranged.places[-1].area.right() + 1 == arranged.width
    if height >= 90:
        assert all(one.area.bottom() < height for one in arranged.places)


def test_captions_stand_beside_where_there_is_width_and_below_where_there_is_not() -> None:
    wide, narrow = arrange(THREE, 1600, 150, 14), arrange(THREE, 776, 150, 14)
    assert wide.is_beside and wide.has_labels and wide.width <= 1600
    assert not narrow.is_beside and narrow.has_labels and narrow.width <= 776
    assert wide.places[0].geometry.cell_h > narrow.places[0].geometry.cell_h
    assert wide.places[0].caption.x() > wide.places[0].map.right()
    assert narrow.places[0].caption.y() > narrow.places[0].plot.bottom()


def test_labels_go_where_there_is_no_room_for_them() -> None:
    assert not arrange(THREE, 1600, 60, 14).has_labels
    long = tuple(MapSizes(128, 128, 60, 60, 190, 110) for _layer in range(12))
    arranged = arrange(long, 776, 150, 2)
    assert not arranged.has_labels and arranged.width > 776
    assert all(one.plot.width() == pytest.approx(one.plot.height()) for one in arranged.places)


def test_labels_are_level_where_cells_are_wide_and_slanted_where_they_are_not() -> None:
    assert {one.geometry.across_angle for one in arrange(THREE, 1600, 150, 14).places} == {0}
    longer = tuple(MapSizes(7, 7, 36, 60, 190, 110) for _layer in range(2))
    assert {one.geometry.across_angle for one in arrange(longer, 1600, 200, 2).places} == {45}
