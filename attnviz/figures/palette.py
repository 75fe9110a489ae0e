"""The colours of figures: those of the window, on paper white or on the dark panel."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attnviz.core.levels import DIVERGING_MAP, DIVERGING_MAP_DARK, SEQUENTIAL_MAP
from attnviz.core.shades import DARK, LIGHT, Shades

Kind = Literal["sequential", "diverging"]

PALETTES = (LIGHT, DARK)


def palette(theme: str) -> Shades:
    """The palette named `theme`. Raises `ValueError` naming those there are."""
    for row in PALETTES:
        if row.name == theme:
            return row
    raise ValueError(f"theme is {theme!r}; legal is one of {', '.join(row.name for row in PALETTES)}")


@lru_cache(maxsize=8)
def color_table(kind: Kind, is_dark: bool) -> NDArray[np.uint8]:
    """The colour map as (256, 3) RGB bytes from position 0 to position 1; read-only."""
    from cmap import Colormap

    name, start, stop = SEQUENTIAL_MAP, 0.0, 1.0
    if kind == "diverging":
        name, start, stop = DIVERGING_MAP_DARK if is_dark else DIVERGING_MAP
    rgba = np.asarray(Colormap(name)(np.linspace(start, stop, 256)), dtype=np.float64)
    table: NDArray[np.uint8] = np.round(rgba[:, :3] * 255).astype(np.uint8)
    table.flags.writeable = False
    return table


def colors(positions: NDArray[np.floating], kind: Kind, shades: Shades) -> NDArray[np.uint8]:
    """Positions 0..1 of any shape as RGB bytes, one axis more; NaN has the colour of errors."""
    missing = np.isnan(positions)
    indices = np.round(np.where(missing, 0, positions) * 255).astype(np.uint8)
    rgb = color_table(kind, shades.is_dark)[indices]
    rgb[missing] = rgb_bytes(shades.error)
    return rgb


def rgb_bytes(color: str) -> tuple[int, int, int]:
    """`#rrggbb` as three bytes."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def inks(rgb: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether black (True) or white stands out more on RGB bytes (..., 3), by WCAG 2.2 luminance."""
    channels = rgb / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return np.asarray(linear @ np.array([0.2126, 0.7152, 0.0722]) > 0.179)
