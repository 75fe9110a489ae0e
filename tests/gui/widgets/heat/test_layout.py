"""Geometry of a heat map, hit-testing and joining of outlines, without a widget."""

from dataclasses import replace

import pytest
from desk import count_color
from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.widgets.heat.hatch import hatch_lines
from attnviz.gui.widgets.heat.labels import Labels, draw_across
from attnviz.gui.widgets.heat.layout import MAX_CELL, Geometry, Measures, arrange
from attnviz.gui.widgets.heat.margins import Strip
from attnviz.gui.widgets.heat.paint import NUMBERS_FROM_WIDTH
from attnviz.gui.widgets.heat.scene import blocks

WORDS = Measures(down_label=60, across_label=50, beside=48, below=32, bar=58)
SIZES = [QSizeF(w, h) for w, h in ((1440, 900), (560, 320), (300, 200), (220, 140))]


def fitted(n_down: int, n_across: int, size: QSizeF = SIZES[1], zoom: float = 1.0) -> Geometry:
    return arrange(size, n_down, n_across, WORDS, zoom, QPointF())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("n_down", "n_across"), [(1, 1), (4, 4), (4, 6), (12, 12), (64, 64), (2048, 2048), (3, 500)]
)
@pytest.mark.parametrize("zoom", [1.0, 7.0])
def test_everything_lies_inside(size: QSizeF, n_down: int, n_across: int, zoom: float) -> None:
    geometry = fitted(n_down, n_across, size, zoom)
    whole = QRectF(QPointF(), size)
    assert whole.contains(geometry.plot)
    assert whole.contains(geometry.bar)
    assert not geometry.bar.intersects(geometry.plot)
    assert geometry.plot.height() >= 20
    assert geometry.plot.width() >= 20
    assert geometry.has_strip(below=False) == (size.width() > 300)
    assert geometry.has_strip(below=False) or not geometry.has_strip(below=True)
    if zoom == 1 and max(n_down, n_across) < 20 * min(n_down, n_across):
        assert geometry.cell_h <= geometry.cell_w <= 1.25 * geometry.cell_h + 1
    if zoom == 1:
        assert geometry.plot.width() == pytest.approx(n_across * geometry.cell_w)
        assert geometry.plot.height() == pytest.approx(n_down * geometry.cell_h)


@pytest.mark.parametrize("n", [1, 4, 12, 64, 700])
def test_every_cell_is_found_at_its_centre(n: int) -> None:
    geometry = fitted(n, n)
    for i in range(0, n, max(1, n // 7)):
        cell = (i, n - 1 - i)
        assert geometry.cell_at(geometry.cell_rect(*cell).center()) == cell
    assert geometry.cell_at(geometry.plot.topLeft() - QPointF(1, 0)) is None
    assert geometry.nearest_cell(QPointF(-500, 5000)) == (n - 1, 0)


@pytest.mark.parametrize("n", [4, 8, 13])
def test_the_map_fills_a_card_of_the_smallest_window(n: int) -> None:
    geometry = fitted(n, n, QSizeF(728, 543))
    assert geometry.plot.width() >= 400 and geometry.plot.height() >= 384
    assert geometry.across_step == geometry.down_step == 1
    assert geometry.cell_w >= NUMBERS_FROM_WIDTH and geometry.cell_h <= MAX_CELL


def test_zoom_is_bounded_by_the_largest_cell() -> None:
    geometry = fitted(64, 64, zoom=4096.0)
    assert geometry.cell_h == 160
    top, bottom, left, right = geometry.visible()
    assert bottom - top < 6
    assert right - left < 8


def test_flat_matrices_are_no_hair() -> None:
    flat = fitted(4, 1000)
    assert flat.plot.height() >= 75
    assert flat.plot.width() == pytest.approx(1000 * flat.cell_w)
    assert fitted(1000, 4).plot.width() >= 75


def test_the_rows_of_a_flat_matrix_are_as_high_as_their_labels_where_they_fit() -> None:
    measures = Measures(70, 20, 0, 0, 40)
    flat = arrange(QSizeF(690, 430), 13, 128, measures, 1.0, QPointF())
    assert flat.down_step == 1 and flat.cell_h >= 12
    square = arrange(QSizeF(690, 430), 100, 100, measures, 1.0, QPointF())
    assert square.cell_w == square.cell_h


def test_labels_are_turned_and_then_thinned_out() -> None:
    assert fitted(4, 4).across_angle == 0
    assert fitted(9, 9).across_angle == 45
    for n in (35, 48, 128, 512):
        dense = fitted(n, n, QSizeF(446, 439))
        assert dense.across_angle, "words are turned"
        assert dense.across_step == dense.down_step, "the columns are named as the rows are"
        assert dense.across_step * dense.cell_w >= 12
    numbers = arrange(SIZES[1], 512, 512, replace(WORDS, across_label=20), 1.0, QPointF())
    assert numbers.across_angle == 0 and numbers.across_step * numbers.cell_w >= 20


@pytest.mark.parametrize("n", [9, 22, 45, 46])
def test_the_heading_of_the_entropies_is_free_of_slanted_labels(qapp: QApplication, n: int) -> None:
    geometry = fitted(n, n, QSizeF(560, 560))
    assert geometry.across_angle == 45
    image = QImage(560, 560, QImage.Format.Format_RGB32)
    image.fill("white")
    painter = QPainter(image)
    Strip(geometry, below=False, length=32).draw_heading(painter, "entropy", "#ff0000")
    heading = count_color(image, "#ff0000", tolerance=120)
    draw_across(painter, geometry, Labels(("g" * 14,) * n, ui_font(12), ui_font(12)), "#0000ff")
    painter.end()
    assert count_color(image, "#ff0000", tolerance=120) == heading > 0


def test_cells_are_joined_to_blocks() -> None:
    assert blocks((5, c) for c in range(6)) == [(5, 0, 1, 6)]
    assert blocks((r, 2) for r in range(4)) == [(0, 2, 4, 1)]
    assert sorted(blocks([(0, 0), (1, 1)])) == [(0, 0, 1, 1), (1, 1, 1, 1)]
    assert blocks([]) == []


@pytest.mark.parametrize("rect", [QRectF(10, 20, 30, 50), QRectF(0, 0, 50, 13), QRectF(3, 4, 5, 5)])
def test_hatching_stays_inside(rect: QRectF) -> None:
    lines = hatch_lines(rect, 6)
    assert len(lines) == -(-(rect.width() + rect.height()) // 6) - 1
    for line in lines:
        for point in (line.p1(), line.p2()):
            assert rect.left() <= point.x() <= rect.right()
            assert rect.top() <= point.y() <= rect.bottom()
        assert line.dx() == pytest.approx(-line.dy())


def test_the_color_bar_beside_a_zoomed_map_is_as_high_as_the_map() -> None:
    for zoom in (1.0, 1.2, 3.0):
        zoomed = arrange(QSizeF(690, 430), 21, 21, Measures(70, 20, 50, 0, 40), zoom, QPointF(80, 60))
        assert (zoomed.bar.top(), zoomed.bar.bottom()) == (zoomed.plot.top(), zoomed.plot.bottom())


def test_the_color_bar_lies_below_where_that_makes_the_map_larger() -> None:
    narrow, wide = fitted(13, 13, QSizeF(446, 439)), fitted(13, 13, QSizeF(728, 439))
    assert wide.bar.height() > wide.bar.width() and wide.bar.left() > wide.plot.right()
    assert narrow.bar.width() > narrow.bar.height() and narrow.bar.top() >= narrow.plot.bottom() + WORDS.below
    upright = arrange(QSizeF(446, 439), 13, 13, replace(WORDS, can_lie=False), 1.0, QPointF())
    assert narrow.plot.width() > 1.15 * upright.plot.width()
    for zoom in (1.0, 2.0, 8.0):
        assert fitted(13, 13, QSizeF(446, 439), zoom).bar.width() > 100, "it keeps its place while zooming"


@pytest.mark.parametrize("width", [240.0, 330.0])
def test_the_last_slanted_label_ends_inside(width: float) -> None:
    """Labels of 60 px at 45° take 60/√2 to the right of their column, or are elided."""
    geometry = arrange(QSizeF(width, 400), 8, 8, Measures(40, 60, 0, 0, 8, can_lie=False), 1, QPointF())
    assert geometry.across_angle == 45
    x = geometry.cell_rect(0, 7).center().x()
    assert x + min(60.0, geometry.across_room_at(x)) * 0.5**0.5 < width
    assert geometry.across_room_at(geometry.cell_rect(0, 0).center().x()) == int(geometry.across_room)
