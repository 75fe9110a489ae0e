"""Colours that the window and the figures share: one table, light and dark.

Dimensions keep their colour everywhere: `query`, `key` and `value` have the same hue in every picture.
Nothing outside this file and the window's own `gui/look/theme.py` names a colour.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Shades:
    """One set of colours, as `#rrggbb` strings.

    `panel` is the background of drawings, `ground` surrounds it and lies under masked cells.
    """

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
    warning: str
    error: str


LIGHT = Shades(
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
    warning="#9a6700",
    error="#b3261e",
)

DARK = Shades(
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
    warning="#e3b341",
    error="#f2857c",
)

HEAD_HUES = ("#4c78a8", "#d9852b", "#3f9e6e", "#b45a9c", "#8a6d3b", "#5f8dd3", "#c2574b", "#7a8b2f")
"""One hue per head, in order; they repeat after the eighth head."""


def head_color(head: int) -> str:
    """The `#rrggbb` hue of head number `head` (counted from 0)."""
    return HEAD_HUES[head % len(HEAD_HUES)]
