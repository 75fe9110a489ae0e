"""Puts the shipped fonts into an SVG, cut down to the characters it uses.

A browser then shows its text, Chinese included, as the window does, wherever the file is opened; the text
stays text.
"""

from __future__ import annotations

import base64
import io
import re
from html import unescape
from pathlib import Path

from attnviz.resources import FONT_CHINESE, FONT_MONO, FONT_SANS, font_files

_TEXT = re.compile(r"<text\b[^>]*>(.*?)</text>", re.DOTALL)
_TAG = re.compile(r"<[^>]+>")
_FAMILIES = ((FONT_SANS, 400), (FONT_SANS, 600), (FONT_MONO, 400), (FONT_CHINESE, 400))
"""Family and weight of each of `font_files()`."""


def with_fonts(svg: bytes) -> bytes:
    """`svg` with an `@font-face` for every shipped font that has a character of its text."""
    text = svg.decode("utf-8")
    characters = {c for part in _TEXT.findall(text) for c in unescape(_TAG.sub("", part))}
    rules = []
    for file, (family, weight) in zip(font_files(), _FAMILIES, strict=True):
        font = _subset(file, characters)
        if font:
            data = base64.b64encode(font).decode("ascii")
            rules.append(
                f"@font-face{{font-family:'{family}';font-weight:{weight};"
                f"src:url(data:font/ttf;base64,{data})}}"
            )
    style = f"<style>{''.join(rules)}</style>"
    start = text.index(">", text.index("<svg")) + 1
    return (text[:start] + "\n" + style + text[start:]).encode("utf-8")


def _subset(file: Path, characters: set[str]) -> bytes:
    """The font with these characters only; empty where it has none of them."""
    from fontTools.subset import Options, Subsetter  # type: ignore[import-untyped]
    from fontTools.ttLib import TTFont  # type: ignore[import-untyped]

    with TTFont(file, lazy=True, recalcTimestamp=False) as font:
        known = characters & {chr(code) for code in font.getBestCmap()}
        if not known:
            return b""
        subsetter = Subsetter(Options(layout_features=[], hinting=False, notdef_outline=True))
        subsetter.populate(text="".join(known))
        subsetter.subset(font)
        stream = io.BytesIO()
        font.save(stream)
    return stream.getvalue()
