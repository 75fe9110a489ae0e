"""Colour maps on the screen: numbers 0..1 to pixels, by one table lookup.

An image holds one byte per cell. The first `LEVELS` byte values are positions on the colour map; the rest are
marks for cells without a colour: masked, +inf, −inf, NaN. So a mark never equals a value.
"""

from __future__ import annotations

from functools import lru_cache

# Imported here and not by the first colour that is painted: an import inside a paint event ends in a crash.
import cmap  # noqa: F401
import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor, QImage

from attnviz.core.color_maps import Kind, color_table, takes_black_ink
from attnviz.core.overview import reduced
from attnviz.gui.look.theme import Theme

Indices = NDArray[np.uint8]

LEVELS = 251
"""Number of bytes that are colours; odd, so that zero is the exact centre of a diverging map."""

BLOCKED, PLUS_INF, MINUS_INF, NAN = 252, 253, 254, 255
"""Bytes of cells without a colour."""


@lru_cache(maxsize=8)
def inks(kind: Kind, theme: Theme) -> tuple[str, ...]:
    """For every colour byte, the ink of text on it."""
    return tuple("#000000" if black else "#ffffff" for black in takes_black_ink(cell_colors(kind, theme)))


def to_indices(normalised: NDArray[np.floating]) -> Indices:
    """Positions 0..1 as bytes 0..LEVELS−1; NaN as the byte `NAN`."""
    scaled = normalised * np.float32(LEVELS - 1)
    scaled += np.float32(0.5)
    if scaled.size and np.isnan(scaled.min()):
        scaled[np.isnan(scaled)] = NAN
    return scaled.astype(np.uint8)


def pool(indices: Indices, factors: tuple[int, int], kind: Kind) -> Indices:
    """Reduce each block of `factors` (rows, columns) to its most salient cell.

    That is a mark, else the value furthest from zero; masked only if all of the block is.
    Shape (r, c) becomes (ceil(r / factors[0]), ceil(c / factors[1])): one bright cell stays bright.
    """
    if max(factors) <= 1 or indices.size == 0:
        return indices
    # Masked cells are shown only in blocks without other cells.
    lowest = 0 if kind == "sequential" else (LEVELS - 1) // 2
    blocked = indices == BLOCKED
    any_blocked = bool(blocked.any())
    held = np.where(blocked, np.uint8(lowest), indices) if any_blocked else indices
    largest = reduced(np.maximum, held, factors)
    if kind == "diverging":
        largest = furthest(largest, reduced(np.minimum, held, factors))
    if any_blocked:
        largest = np.where(reduced(np.logical_and, blocked, factors), np.uint8(BLOCKED), largest)
    return largest


def furthest(largest: Indices, smallest: Indices) -> Indices:
    """Of the largest and the smallest byte of each block, a mark or the one further from the centre."""
    center = (LEVELS - 1) // 2
    below = (largest < LEVELS) & (center - smallest.astype(np.int16) > largest.astype(np.int16) - center)
    return np.where(below, smallest, largest)


def indexed_image(indices: Indices, kind: Kind, theme: Theme) -> QImage:
    """Bytes (rows, columns) as a QImage of that size that owns its pixels; masked cells are transparent.

    It has the format that Qt scales fastest: painting bytes directly takes five times as long.
    """
    rows, columns = indices.shape
    if not indices.size:
        return QImage()
    pixels = _pixels(kind, theme).take(indices)
    argb = QImage.Format.Format_ARGB32_Premultiplied
    return QImage(pixels.data, columns, rows, 4 * columns, argb).copy()


def to_image(normalised: NDArray[np.floating], kind: Kind, theme: Theme) -> QImage:
    """A float array 0..1 of shape (rows, columns) as a QImage, one pixel a cell; NaN has its own colour."""
    return indexed_image(to_indices(normalised), kind, theme)


@lru_cache(maxsize=8)
def cell_colors(kind: Kind, theme: Theme) -> NDArray[np.uint8]:
    """The colour map at the `LEVELS` positions of a byte: (LEVELS, 3) RGB bytes."""
    picked = np.round(np.linspace(0, 255, LEVELS)).astype(np.intp)
    return color_table(kind, theme.is_dark)[picked]


@lru_cache(maxsize=8)
def _pixels(kind: Kind, theme: Theme) -> NDArray[np.uint32]:
    """For every byte its pixel, 0xAARRGGBB: opaque or transparent, so that premultiplied is the same."""
    opaque = [0xFF000000 | int(r) << 16 | int(g) << 8 | int(b) for r, g, b in cell_colors(kind, theme)]
    table = np.array(opaque + [0] * (256 - LEVELS), np.uint32)
    table[PLUS_INF] = table[MINUS_INF] = QColor(theme.warning).rgba()
    table[NAN] = QColor(theme.error).rgba()
    return table
