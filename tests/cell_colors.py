"""The colour that a number should have on a heat map, worked out from the colour map alone."""

from __future__ import annotations

import numpy as np

from attnviz.core.color_maps import Kind, color_table
from attnviz.core.shades import Shades


def color_at(position: float, kind: Kind, shades: Shades) -> tuple[int, int, int]:
    """(red, green, blue) at `position` 0..1, of which a map tells 251 apart; halves of float32 go up."""
    step = int(np.float32(position) * np.float32(250) + np.float32(0.5))
    red, green, blue = color_table(kind, shades.is_dark)[round(step / 250 * 255)].tolist()
    return red, green, blue
