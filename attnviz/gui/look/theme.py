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

THEME_PROPERTY = "attnviz_theme"
"""The application's property with the name of its theme."""
MOTION_PROPERTY = "attnviz_motion"
"""The application's property that is False if the user has switched transitions off."""


@dataclass(frozen=True, kw_only=True)
class Theme(Shades):
    """The shades that figures have too, and those of controls. White text stands on `filled` buttons."""

    accent: str
    filled: str
    on_filled: str
    field: str
    hover: str


LIGHT = Theme(
    **asdict(shades.LIGHT),
    accent="#2a67c9",
    filled="#2a67c9",
    on_filled="#ffffff",
    field="#f4f4f1",
    hover="#f0efeb",
)

DARK = Theme(
    **asdict(shades.DARK),
    accent="#74a7fb",
    filled="#2a67c9",
    on_filled="#ffffff",
    field="#17181b",
    hover="#2a2d33",
)

THEMES = (LIGHT, DARK)

TEXTS = ("ink", "muted", "accent", "query", "key", "value", "warning", "error")
"""Colours of text."""

GROUNDS = ("ground", "panel", "field", "hover")
"""Colours that text of any colour of `TEXTS` may stand on."""

OTHER_TEXTS = (("on_filled", "filled"), ("ink", "line"))
"""Further (text, ground): that of a filled button, and that of a pressed one."""
