"""Colours that the window and the figures share: one table, light and dark.

Dimensions keep their colour everywhere: `query`, `key` and `value` have the same hue in every picture.
Nothing outside this file and the window's own `gui/look/theme.py` names a colour.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Shades:
    """One set of colours, as `#rrggbb` strings.

    `panel` is the background of drawings, `ground` surrounds it and lies under masked cells, whose lines have
    `hatch`. Text in the colour of keys or values is darker than their marks (arrows, bars, dots) where the
    ground is light: every colour of text has a contrast of at least 4.5:1. `is_grey` is True where numbers
    are greys, which a printer without colours keeps apart.
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
    key_mark: str
    value_mark: str
    hatch: str
    warning: str
    error: str
    is_grey: bool = False


LIGHT = Shades(
    name="light",
    is_dark=False,
    ground="#f4f4f1",
    panel="#ffffff",
    line="#dcdcd6",
    ink="#1c1d20",
    muted="#5a5d64",
    query="#2562c4",
    key="#a3560c",
    value="#14734b",
    key_mark="#c96a14",
    value_mark="#1b9464",
    hatch="#b2b2aa",
    warning="#8a5c00",
    error="#b3261e",
)

DARK = Shades(
    name="dark",
    is_dark=True,
    ground="#17181b",
    panel="#202226",
    line="#35383e",
    ink="#e9eaec",
    muted="#a6a9b0",
    query="#74a7fb",
    key="#f0a660",
    value="#63cda0",
    key_mark="#f0a660",
    value_mark="#63cda0",
    hatch="#6a6e77",
    warning="#e3b341",
    error="#f2857c",
)

HEAD_HUES = ("#4c78a8", "#d9852b", "#3f9e6e", "#b45a9c", "#8a6d3b", "#5f8dd3", "#c2574b", "#7a8b2f")
"""One hue per head, in order; they repeat after the eighth head."""


def head_color(head: int) -> str:
    """The `#rrggbb` hue of head number `head` (counted from 0)."""
    return HEAD_HUES[head % len(HEAD_HUES)]
