"""The colours of figures: those of the window, on paper white or on the dark panel, or greys."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from attnviz.core.color_maps import Kind, color_table
from attnviz.core.shades import DARK, LIGHT, Shades
from attnviz.errors import FieldError, among

PALETTES = (LIGHT, DARK)


def palette(theme: str, grey: bool = False) -> Shades:
    """The palette named `theme`, in greys on demand. Raises `ValueError` naming the existing themes."""
    for row in PALETTES:
        if row.name == theme:
            return _in_grey(row) if grey else row
    raise FieldError("theme", theme, among(row.name for row in PALETTES))


def _in_grey(row: Shades) -> Shades:
    """Text of every dimension in the colour of ink, and the map of greys."""
    names = ("query", "key", "value", "key_mark", "value_mark")
    return replace(row, is_grey=True, **dict.fromkeys(names, row.ink))  # type: ignore[arg-type]


def colors(positions: NDArray[np.floating], kind: Kind, shades: Shades) -> NDArray[np.uint8]:
    """Positions 0..1 of any shape as RGB bytes, one axis more; NaN has the colour of errors."""
    missing = np.isnan(positions)
    indices = np.round(np.where(missing, 0, positions) * 255).astype(np.uint8)
    rgb = color_table("grey" if shades.is_grey else kind, shades.is_dark)[indices]
    rgb[missing] = rgb_bytes(shades.error)
    return rgb


def rgb_bytes(color: str) -> tuple[int, int, int]:
    """`#rrggbb` as three bytes."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
