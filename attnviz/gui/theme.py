"""The window's look: a dozen named colours per theme, two font families, one spacing grid.

Nothing outside this file names a colour. Dimensions carry their colour through every panel:
`query`, `key` and `value` are the same hue wherever a query, a key or a value is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

GRID = 8
"""Spacing unit in device-independent pixels; margins and gaps are multiples or halves of it."""

RADIUS = 6
"""Corner radius of cards, buttons and fields, in device-independent pixels."""

TEXT_PX = 12
"""Body text size in pixels; numbers and section titles use the same size."""

MOTION_MS = 160
"""Length of a transition in milliseconds (0 when the system asks for reduced motion)."""


@dataclass(frozen=True)
class Theme:
    """One set of colours, as `#rrggbb` strings."""

    name: str
    is_dark: bool
    ground: str
    panel: str
    line: str
    ink: str
    muted: str
    query: str
    key: str
    value: str
    accent: str
    on_accent: str
    field: str
    hover: str
    warning: str
    error: str


LIGHT = Theme(
    name="light",
    is_dark=False,
    ground="#f4f4f1",
    panel="#ffffff",
    line="#dcdcd6",
    ink="#1d1f24",
    muted="#6c6f78",
    query="#2f6fd0",
    key="#c9711a",
    value="#1f8f63",
    accent="#2f6fd0",
    on_accent="#ffffff",
    field="#f4f4f1",
    hover="#eceae4",
    warning="#9a6700",
    error="#b3261e",
)

DARK = Theme(
    name="dark",
    is_dark=True,
    ground="#17181b",
    panel="#1f2125",
    line="#34373d",
    ink="#e8e8e4",
    muted="#9a9da6",
    query="#6ea2f2",
    key="#eba05a",
    value="#5cc79b",
    accent="#6ea2f2",
    on_accent="#14161a",
    field="#17181b",
    hover="#2a2d33",
    warning="#e3b341",
    error="#f2857c",
)

THEMES = (LIGHT, DARK)

HEAD_HUES = (
    "#4c78a8",
    "#d9852b",
    "#3f9e6e",
    "#b45a9c",
    "#8a6d3b",
    "#5f8dd3",
    "#c2574b",
    "#7a8b2f",
)
"""One hue per head, used in order and again from the start past the eighth head."""


def head_color(head: int) -> str:
    """The `#rrggbb` hue of head number `head` (counted from 0)."""
    return HEAD_HUES[head % len(HEAD_HUES)]
