"""Colours: positions on the map to pixels, and what a small picture keeps of a large matrix."""

import numpy as np
import pytest
from cell_colors import color_at
from pace import assert_fast
from PySide6.QtGui import QColor, QImage

from attnviz.core.color_maps import Kind, color_table, takes_black_ink
from attnviz.gui.look.colors import (
    BLOCKED,
    LEVELS,
    MINUS_INF,
    NAN,
    PLUS_INF,
    cell_colors,
    indexed_image,
    inks,
    pool,
    to_image,
    to_indices,
)
from attnviz.gui.look.theme import DARK, LIGHT, THEMES, Theme

# The ends of viridis and its middle, as published with matplotlib.
VIRIDIS = {0.0: (68, 1, 84), 0.5: (33, 145, 140), 1.0: (253, 231, 37)}


@pytest.mark.parametrize("position", VIRIDIS)
def test_weights_are_viridis(position: float) -> None:
    assert np.abs(np.subtract(color_at(position, "sequential", LIGHT), VIRIDIS[position])).max() <= 1
    assert color_at(position, "sequential", DARK) == color_at(position, "sequential", LIGHT)


@pytest.mark.parametrize("theme", THEMES)
def test_negative_is_blue_and_positive_is_warm(theme: Theme) -> None:
    low, high = color_at(0.1, "diverging", theme), color_at(0.9, "diverging", theme)
    assert low[2] > low[0]
    assert high[0] > high[2]
    centre = color_at(0.5, "diverging", theme)
    assert max(centre) - min(centre) < 25
    assert (max(centre) < 60) if theme.is_dark else (min(centre) > 200)


def test_table_is_shared_and_read_only() -> None:
    table = color_table("diverging", is_dark=True)
    assert table.shape == (256, 3)
    assert table.dtype == np.uint8
    assert color_table("diverging", is_dark=True) is table
    with pytest.raises(ValueError):
        table[0, 0] = 1


def test_an_image_has_one_pixel_a_cell() -> None:
    positions = np.array([[0.0, 0.25, 1.0], [0.5, np.nan, 0.75]], dtype=np.float32)
    image = to_image(positions, "sequential", LIGHT)
    assert image.format() == QImage.Format.Format_ARGB32_Premultiplied
    assert (image.width(), image.height()) == (3, 2)
    for (row, column), position in np.ndenumerate(positions):
        shown = image.pixelColor(column, row)
        if np.isnan(position):
            assert shown == QColor(LIGHT.error)
        else:
            assert shown.getRgb()[:3] == color_at(float(position), "sequential", LIGHT)


def test_nan_is_not_a_colour_and_zero_is_the_exact_middle() -> None:
    assert to_indices(np.array([[0.0, 0.5, 1.0, np.nan]])).tolist() == [
        [0, (LEVELS - 1) // 2, LEVELS - 1, NAN]
    ]


@pytest.mark.parametrize(("shape", "factor"), [((1024, 1024), 2), ((1000, 700), 3), ((5, 9), 4)])
@pytest.mark.parametrize("kind", ["sequential", "diverging"])
def test_one_bright_cell_survives_pooling(shape: tuple[int, int], factor: int, kind: Kind) -> None:
    zero = 0 if kind == "sequential" else (LEVELS - 1) // 2
    bytes_in = np.full(shape, zero, np.uint8)
    at = (shape[0] - 1, shape[1] // 2)
    bytes_in[at] = LEVELS - 1
    small = pool(bytes_in, (factor, factor), kind)
    assert small.shape == (-(-shape[0] // factor), -(-shape[1] // factor))
    assert np.argwhere(small != zero).tolist() == [[at[0] // factor, at[1] // factor]]


def test_pooling_keeps_the_most_telling_cell() -> None:
    middle = (LEVELS - 1) // 2
    block = np.array([[middle - 50, middle + 20], [middle, BLOCKED]], np.uint8)
    assert pool(block, (2, 2), "diverging").tolist() == [[middle - 50]]
    block[0, 1] = middle + 60
    assert pool(block, (2, 2), "diverging").tolist() == [[middle + 60]]
    assert pool(np.full((2, 2), BLOCKED, np.uint8), (2, 2), "diverging").tolist() == [[BLOCKED]]
    for mark in (PLUS_INF, MINUS_INF, NAN):
        block[1, 0] = mark
        assert pool(block, (2, 2), "diverging").tolist() == [[mark]]
        assert pool(block, (2, 2), "sequential").tolist() == [[mark]]
    assert pool(np.array([[0, BLOCKED]], np.uint8), (2, 2), "sequential").tolist() == [[0]]


def test_axes_are_pooled_apart() -> None:
    block = np.arange(12, dtype=np.uint8).reshape(2, 6)
    assert pool(block, (1, 3), "sequential").tolist() == [[2, 5], [8, 11]]


def test_masked_cells_are_transparent() -> None:
    image = indexed_image(np.array([[BLOCKED, 3]], np.uint8), "sequential", LIGHT)
    assert image.pixelColor(0, 0).alpha() == 0
    assert image.pixelColor(1, 0).alpha() == 255


def test_ink_has_contrast() -> None:
    rgb = np.array([(255, 255, 255), (68, 1, 84), (253, 231, 37)], np.uint8)
    assert takes_black_ink(rgb).tolist() == [True, False, True]
    for theme in THEMES:
        for kind in ("sequential", "diverging"):
            for ink, (r, g, b) in zip(inks(kind, theme), cell_colors(kind, theme).tolist(), strict=True):
                assert _contrast(ink, (r, g, b)) >= 4.5


def _contrast(ink: str, rgb: tuple[int, int, int]) -> float:
    """Contrast ratio of WCAG 2.2."""

    def luminance(color: tuple[int, ...]) -> float:
        parts = [c / 255 for c in color]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    lighter, darker = sorted((luminance(rgb), luminance(QColor(ink).getRgb()[:3])), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_an_image_of_512_by_512_takes_two_milliseconds_at_most() -> None:
    positions = np.random.default_rng(0).random((512, 512), dtype=np.float32)
    to_image(positions, "diverging", LIGHT)
    assert_fast(lambda: to_image(positions, "diverging", LIGHT), most=6)
