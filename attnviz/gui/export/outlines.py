"""Outlines for the text of an SVG from Qt, under the same text in transparent letters.

Programs other than browsers ignore embedded fonts, so the letters would come from another face at the old
positions. The transparent text can still be searched, selected and read aloud.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape

from PySide6.QtGui import QFont, QPainterPath

from attnviz.core.text import exposed
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.resources import FONT_MONO

_TEXT = re.compile(r"<text\b([^>]*)>(.*?)</text>", re.DOTALL)
_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters of no XML file (XML 1.0, production 2), which Qt copies from a line that is edited."""
_ATTRIBUTE = re.compile(r'([\w:-]+)="([^"]*)"')


def with_outlines(svg: bytes, spacing: Mapping[str, float]) -> bytes:
    """`svg` with outlines for its text; `spacing` maps letter-spaced texts to pixels per letter."""

    def outlined(found: re.Match[str]) -> str:
        attributes = dict(_ATTRIBUTE.findall(found[1]))
        words = unescape(found[2])
        path = _outline(attributes, words, spacing.get(words, 0.0))
        color = f'fill="{attributes["fill"]}" fill-opacity="{attributes["fill-opacity"]}"'
        drawn = f'<path {color} stroke="none" fill-rule="nonzero" d="{path}"/>' if path else ""
        return f'{drawn}<text{found[1]} opacity="0">{_NO_XML.sub(_glyph, found[2])}</text>'

    return _TEXT.sub(outlined, svg.decode("utf-8")).encode("utf-8")


def _glyph(found: re.Match[str]) -> str:
    return exposed(found[0])


def _outline(attributes: Mapping[str, str], words: str, spacing: float) -> str:
    """The letters of `words` as path data, at their position."""
    size = float(attributes["font-size"])
    font = _font(attributes, max(1, round(size)))
    if spacing:
        font.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, spacing)
    path = QPainterPath()
    path.addText(0, 0, font, words)
    x, y, scale = float(attributes["x"]), float(attributes["y"]), size / font.pixelSize()
    return _path_data(path, x, y, scale)


def _font(attributes: Mapping[str, str], px: int) -> QFont:
    weight = QFont.Weight(int(attributes["font-weight"]))
    font = (number_font if attributes["font-family"] == FONT_MONO else ui_font)(px, weight)
    font.setItalic(attributes["font-style"] == "italic")
    return font


def _path_data(path: QPainterPath, x: float, y: float, scale: float) -> str:
    """SVG path data of `path`, scaled about its origin and moved to (x, y)."""
    kinds = QPainterPath.ElementType
    letters = {kinds.MoveToElement: "M", kinds.LineToElement: "L", kinds.CurveToElement: "C"}
    parts = []
    for index in range(path.elementCount()):
        element = path.elementAt(index)
        letter = letters.get(element.type, "")  # the other points of a curve have none
        parts.append(f"{letter}{x + scale * element.x:.2f} {y + scale * element.y:.2f}")
    return " ".join(parts)
