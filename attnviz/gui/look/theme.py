"""The window's look: a dozen named colours per theme, two font families, one spacing grid.

Nothing outside this file and `core/shades.py` names a colour.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from attnviz.core import shades
from attnviz.core.shades import Shades
from attnviz.core.shades import head_color as head_color

GRID = 8
"""Spacing unit in device-independent pixels; margins and gaps are multiples or halves of it."""

RADIUS = 6
"""Corner radius of cards, buttons and fields, in device-independent pixels."""

TEXT_PX = 12
"""Body text size in pixels; numbers and section titles use the same size."""

MOTION_MS = 160
"""Length of a transition in milliseconds (0 when the system asks for reduced motion)."""


@dataclass(frozen=True, kw_only=True)
class Theme(Shades):
    """The shades that figures have too, and those of controls."""

    accent: str
    on_accent: str
    field: str
    hover: str


LIGHT = Theme(
    **asdict(shades.LIGHT), accent=shades.LIGHT.query, on_accent="#ffffff", field="#f4f4f1", hover="#eceae4"
)

DARK = Theme(
    **asdict(shades.DARK), accent=shades.DARK.query, on_accent="#14161a", field="#17181b", hover="#2a2d33"
)

THEMES = (LIGHT, DARK)
