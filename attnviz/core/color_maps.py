"""The colour maps that the window and the figures share, as RGB bytes, and the ink that is legible on
them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["sequential", "diverging", "grey"]

SEQUENTIAL_MAP = "viridis"
"""Colour map of weights and probabilities; its name in `cmap`."""

DIVERGING_MAP = ("crameri:vik", 0.14, 0.86)
"""Colour map of signed data on a light ground, and the range of it in use: its ends are nearly black."""

DIVERGING_MAP_DARK = ("crameri:berlin", 0.10, 0.90)
"""The same on a dark ground: zero is dark, blue is negative, red-brown is positive."""

GREYS, GREYS_DARK = (248, 16), (48, 250)
"""The grey of the lowest and of the highest number, on a light and on a dark ground."""

DARK_ZERO = (32, 34, 38)
"""Zero of signed data on a dark ground, RGB bytes: the colour of the card, not the map's own near-black."""


@lru_cache(maxsize=6)
def color_table(kind: Kind, is_dark: bool) -> NDArray[np.uint8]:
    """Return the colour map as (256, 3) RGB bytes from position 0 to position 1; read-only, shared."""
    if kind == "grey":
        return _greys(*(GREYS_DARK if is_dark else GREYS))
    from cmap import Colormap  # the import is slow, and no computation needs it

    name, start, stop = SEQUENTIAL_MAP, 0.0, 1.0
    if kind == "diverging":
        name, start, stop = DIVERGING_MAP_DARK if is_dark else DIVERGING_MAP
    rgba = np.asarray(Colormap(name)(np.linspace(start, stop, 256)), dtype=np.float64)
    rgb = rgba[:, :3] * 255
    if kind == "diverging" and is_dark:
        near_zero = (1 - np.abs(np.linspace(-1, 1, 256))) ** 2
        rgb += near_zero[:, None] * (np.array(DARK_ZERO) - rgb[127:129].mean(axis=0))
    table: NDArray[np.uint8] = np.round(rgb).astype(np.uint8)
    table.flags.writeable = False
    return table


def _greys(lowest: int, highest: int) -> NDArray[np.uint8]:
    """Equal steps of sRGB, which are nearly equal steps of lightness."""
    table: NDArray[np.uint8] = np.round(np.linspace(lowest, highest, 256)).astype(np.uint8)
    table = np.repeat(table[:, None], 3, axis=1)
    table.flags.writeable = False
    return table


def takes_black_ink(rgb: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return True where black has more contrast than white on RGB bytes (..., 3): relative luminance of WCAG
    2.2.

    Black has contrast (L + .05) / .05, white 1.05 / (L + .05); they are equal at L = .179.
    """
    channels = rgb / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return np.asarray(linear @ np.array([0.2126, 0.7152, 0.0722]) > 0.179)
