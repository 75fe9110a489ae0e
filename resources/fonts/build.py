"""Build the shipped fonts from their open-licensed sources: subsets with TrueType outlines.

    python resources/fonts/build.py --cjk NotoSansCJK-Regular.ttc \\
        --inter Inter-Regular.otf Inter-SemiBold.otf --mono JetBrainsMono-Regular.ttf \\
        --fill NotoSans-Regular.ttf NotoSansMath-Regular.ttf \\
        NotoSansSymbols2-Regular.ttf NotoSansSymbols-Regular.ttf

Needs fontTools. Origins, versions and licences are in README.md beside this file. Why TrueType outlines: a
PDF embeds them as Type 42, so its text stays text; outlines of the other kind (CFF) would have to be drawn as
shapes. Cubic curves become quadratic ones within a thousandth of the em, far below a pixel.

Every font has its own name: an installed font of the source's name would otherwise be taken for it (a figure
then embeds CFF outlines), and a changed font is not the font of that name. The Chinese one is assembled glyph
by glyph from the first source that has the character.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.cu2quPen import Cu2QuPen
from fontTools.pens.recordingPen import DecomposingRecordingPen
from fontTools.pens.transformPen import TransformPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTCollection, TTFont, newTable

EM = 1000
TOLERANCE = {"chinese": 1.0, "latin": 0.5}
"""Largest distance between a cubic curve and its quadratic approximation, in units of 1/1000 em."""

EPOCH = 3_818_707_200
"""Creation and change date in every font (2025-01-01), so that the same sources produce the same bytes."""

LATIN = (
    (0x0020, 0x007E),
    (0x00A0, 0x017F),
    (0x02C6, 0x02DC),
    (0x0300, 0x0304),
    (0x0370, 0x03FF),
    (0x1D40, 0x1D40),
    (0x1D62, 0x1D6A),
    (0x2000, 0x206F),
    (0x2070, 0x209C),
    (0x20AC, 0x20AC),
    (0x2100, 0x214F),
    (0x2190, 0x21FF),
    (0x2200, 0x22FF),
    (0x2300, 0x23FF),
    (0x2400, 0x2426),
    (0x2500, 0x25FF),
    (0x2600, 0x2606),
    (0x2713, 0x2718),
    (0x27C2, 0x27C2),
    (0x27E6, 0x27EB),
    (0x2C7C, 0x2C7C),
    (0xFB01, 0xFB02),
    (0xFFFD, 0xFFFD),
)
"""Ranges that the interface and number fonts keep, as far as their sources have them."""

SYMBOLS = (
    "−×÷±√≤≥≠≈≡∝∑∏∫∂∇∞∈∉∀∃∅∘⋅·⊙⊕⊗∣∥‖⟨⟩⌈⌉⌊⌋ℝ′″…•–—‘’“”←↑→↓↔↦⇐⇒⇔↶↷↺↻⟳▲△▴▶▸▼▽▾◀◂●○■□◆◇★☆✓✗✕█▁▂▃▄▅▆▇░▒▓"
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ₀₁₂₃₄₅₆₇₈₉₊₋₌ₐᵢⱼₖᵀ½¼¾°©⌘⌥⇧⌃⏎⌫⏸⏵⏮⏭�"
)
"""Characters of the last fallback beyond GB 2312, Latin and Greek."""


def chinese_characters() -> set[int]:
    """GB 2312 whole (6,763 hanzi and its symbols), the 5,401 common hanzi of Big5, Latin, Greek, symbols."""
    found = set()
    for encoding, rows in (("gb2312", range(0xA1, 0xF8)), ("big5", range(0xA4, 0xC7))):
        for row in rows:
            for cell in range(0x40, 0xFF):
                try:
                    found.update(map(ord, bytes((row, cell)).decode(encoding)))
                except UnicodeDecodeError:
                    continue
    western = ((0x20, 0x7E), (0xA0, 0xFF), (0x391, 0x3A1), (0x3A3, 0x3C9), (0x2400, 0x2426))
    full_width = ((0x3000, 0x301F), (0xFF01, 0xFF5E), (0xFFE0, 0xFFE6))
    for first, last in western + full_width:
        found.update(range(first, last + 1))
    return found | {ord(character) for character in SYMBOLS}


def open_chinese(path: Path) -> TTFont:
    """The simplified-Chinese member of a Noto Sans CJK collection, or the font itself."""
    if path.suffix != ".ttc":
        return TTFont(path)
    members = TTCollection(path).fonts
    return next(font for font in members if font["name"].getDebugName(1) == "Noto Sans CJK SC")


def draw(source: TTFont, name: str, tolerance: float) -> tuple[object, int]:
    """The glyph as quadratic outlines at 1,000 units per em, without components, and its advance."""
    scale = EM / source["head"].unitsPerEm
    glyphs = source.getGlyphSet()
    recording = DecomposingRecordingPen(glyphs)
    glyphs[name].draw(recording)
    pen = TTGlyphPen(None)
    # CFF outlines run the other way round than TrueType ones.
    quadratic = Cu2QuPen(pen, tolerance, reverse_direction="CFF " in source)
    recording.replay(TransformPen(quadratic, (scale, 0, 0, scale, 0, 0)))
    return pen.glyph(dropImpliedOnCurves=True), round(glyphs[name].width * scale)


def build_chinese(cjk: Path, fill: list[Path], target: Path) -> None:
    """Write the Chinese fallback font: `cjk` first, then `fill` for missing characters."""
    sources = [open_chinese(cjk), *(TTFont(path) for path in fill)]
    cmaps = [source.getBestCmap() for source in sources]
    glyphs, widths = {}, {}
    glyphs[".notdef"], widths[".notdef"] = draw(sources[0], ".notdef", TOLERANCE["chinese"])
    names = {}
    for character in sorted(chinese_characters()):
        at = next((index for index, cmap in enumerate(cmaps) if character in cmap), None)
        if at is None:
            print(f"no source has U+{character:04X}")
            continue
        name = f"u{character:04X}"
        glyphs[name], widths[name] = draw(sources[at], cmaps[at][character], TOLERANCE["chinese"])
        names[character] = name
    builder = FontBuilder(EM, isTTF=True)
    builder.setupGlyphOrder(list(glyphs))
    builder.setupCharacterMap(names)
    builder.setupGlyf(glyphs)
    left = {name: getattr(glyph, "xMin", 0) for name, glyph in builder.font["glyf"].glyphs.items()}
    builder.setupHorizontalMetrics({name: (width, left[name]) for name, width in widths.items()})
    builder.setupHorizontalHeader(ascent=880, descent=-120)
    version = sources[0]["head"].fontRevision
    builder.setupNameTable(
        {
            "copyright": "© 2014-2021 Adobe; © 2015-2018 Google LLC",
            "familyName": "Attnviz Sans SC",
            "styleName": "Regular",
            "uniqueFontIdentifier": f"AttnvizSansSC-Regular {version:.3f}",
            "fullName": "Attnviz Sans SC",
            "version": f"Version {version:.3f}; subset with TrueType outlines",
            "psName": "AttnvizSansSC-Regular",
            "licenseDescription": "Licensed under the SIL Open Font License, Version 1.1.",
            "licenseInfoURL": "https://openfontlicense.org",
        }
    )
    os2 = sources[0]["OS/2"]
    builder.setupOS2(
        sTypoAscender=880,
        sTypoDescender=-120,
        sTypoLineGap=0,
        usWinAscent=1000,
        usWinDescent=200,
        usWeightClass=400,
        sxHeight=os2.sxHeight,
        sCapHeight=os2.sCapHeight,
        ulCodePageRange1=(1 << 0) | (1 << 18),
        fsType=0,
    )
    builder.font["OS/2"].recalcUnicodeRanges(builder.font)
    builder.setupPost(keepGlyphNames=False)
    save(builder.font, target)


def to_truetype(font: TTFont, tolerance: float) -> None:
    """Replace the CFF outlines of `font` by quadratic ones, in place."""
    glyphs = {}
    for name in font.getGlyphOrder():
        pen = TTGlyphPen(None)
        font.getGlyphSet()[name].draw(Cu2QuPen(pen, tolerance, reverse_direction=True))
        glyphs[name] = pen.glyph(dropImpliedOnCurves=True)
    del font["CFF "]
    if "VORG" in font:
        del font["VORG"]
    font["loca"] = newTable("loca")
    font["glyf"] = glyf = newTable("glyf")
    glyf.glyphOrder = font.getGlyphOrder()
    glyf.glyphs = glyphs
    maxp = font["maxp"]
    maxp.tableVersion = 0x00010000
    for field in ("maxZones", "maxTwilightPoints", "maxStorage", "maxFunctionDefs", "maxInstructionDefs"):
        setattr(maxp, field, 1 if field == "maxZones" else 0)
    maxp.maxStackElements = maxp.maxSizeOfInstructions = 0
    glyf.compile(font)
    maxp.recalc(font)
    font.sfntVersion = "\x00\x01\x00\x00"


def rename(font: TTFont, family: str, style: str) -> None:
    """Rename `font` to the family name `family`; copyright and licence stay."""
    names = font["name"]
    legacy = family if style == "Regular" else f"{family} {style}"
    file_name = f"{family.replace(' ', '')}-{style}"
    texts = {
        1: legacy,
        2: "Regular",
        3: f"{file_name} {font['head'].fontRevision:.3f}",
        4: legacy,
        6: file_name,
    }
    if style != "Regular":
        texts |= {16: family, 17: style}
    for number in (1, 2, 3, 4, 6, 7, 16, 17):
        names.removeNames(nameID=number)
    for number, text in texts.items():
        names.setName(text, number, 3, 1, 0x409)


def build_latin(source: Path, features: list[str], family: str, style: str, folder: Path) -> None:
    """Write the subset of `source` that the interface needs, keeping the layout `features` named."""
    font = TTFont(source)
    options = Options(layout_features=features, hinting=False, notdef_outline=True)
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]
    options.drop_tables += ["DSIG", "STAT", "meta"]
    subsetter = Subsetter(options)
    wanted = {character for first, last in LATIN for character in range(first, last + 1)}
    subsetter.populate(unicodes=wanted & set(font.getBestCmap()))
    subsetter.subset(font)
    if "CFF " in font:
        to_truetype(font, TOLERANCE["latin"] * font["head"].unitsPerEm / EM)
    rename(font, family, style)
    save(font, folder / f"{family.replace(' ', '')}-{style}.ttf")


def save(font: TTFont, target: Path) -> None:
    """Write `font` with fixed dates and without glyph names."""
    font.recalcTimestamp = False
    font["head"].created = font["head"].modified = EPOCH
    font["post"].formatType = 3.0
    font.save(target)
    print(f"{target.name}: {target.stat().st_size:,} bytes, {len(font.getBestCmap()):,} characters")


def main() -> None:
    """Read the source paths from the command line and write the four fonts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--cjk", type=Path, required=True, help="Noto Sans CJK Regular (.ttc) or its SC member"
    )
    parser.add_argument(
        "--fill", type=Path, nargs="*", default=[], help="fonts for what the Chinese one lacks"
    )
    parser.add_argument("--inter", type=Path, nargs=2, required=True, help="Inter Regular and SemiBold")
    parser.add_argument("--mono", type=Path, required=True, help="JetBrains Mono Regular")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    given = parser.parse_args()
    for source, style in zip(given.inter, ("Regular", "SemiBold"), strict=True):
        build_latin(source, ["kern", "tnum", "ccmp", "mark", "mkmk"], "Attnviz Sans", style, given.out)
    # No ligatures: `->` in a token is two characters and must look like two.
    build_latin(given.mono, ["zero", "ccmp", "mark", "mkmk"], "Attnviz Mono", "Regular", given.out)
    build_chinese(given.cjk, given.fill, given.out / "AttnvizSansSC-Regular.ttf")


if __name__ == "__main__":
    main()
