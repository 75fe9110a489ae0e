"""A font of the system that has what the shipped ones lack."""

from __future__ import annotations

from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen

SCRIPTS = {"Korean": "한", "Thai": "ก", "Devanagari": "क", "emoji": "🦙"}
FAMILY, PS_NAME = "Test System Sans", "TestSystemSans-Regular"


def made_font(path: Path, characters: str) -> Path:
    """A font in which each of the characters is a square."""
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for corner in ((0, 700), (700, 700), (700, 0)):
        pen.lineTo(corner)
    pen.closePath()
    square = pen.glyph()
    names = [".notdef", *(f"u{ord(one):X}" for one in characters)]
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap({ord(one): f"u{ord(one):X}" for one in characters})
    builder.setupGlyf(dict.fromkeys(names, square))
    builder.setupHorizontalMetrics(dict.fromkeys(names, (2000, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": FAMILY, "styleName": "Regular", "psName": PS_NAME})
    builder.setupOS2(sTypoAscender=800, usWeightClass=400)
    builder.setupPost()
    builder.save(path)
    return path
