"""The fonts of a page: of each shipped font the glyphs that the page shows, as `@font-face` rules.

Chinese then shows in a browser without a Chinese font, and every browser shows the same picture. The fonts
are under the SIL Open Font License, which their tables of names keep.
"""

from __future__ import annotations

import io
from base64 import b64encode
from functools import lru_cache
from pathlib import Path

from attnviz.resources import FONT_CHINESE, FONT_MONO, FONT_SANS, font_files

ASCII = frozenset(map(chr, range(0x20, 0x7F)))
NUMBERS = "−×∞Σ…—·←≈"
"""Characters that a page writes besides those of its texts."""

_FACES = ((FONT_SANS, 400), (FONT_SANS, 600), (FONT_MONO, 400), (FONT_CHINESE, 400))
"""Family and weight of each shipped file."""
_NAMES = [0, 1, 2, 3, 4, 5, 6, 13, 14]
"""Entries of the table of names that stay: copyright, names, licence and its address."""
_FEATURES = ["kern", "tnum", "ccmp", "zero"]

LICENCE = (
    "/* Fonts: parts of Inter, JetBrains Mono and Noto Sans CJK under other names, under the SIL Open Font "
    "License 1.1, https://openfontlicense.org; their tables of names hold copyright and licence. */"
)


def font_rules(texts: str) -> str:
    """The rules of a style sheet with the glyphs of `texts`, of ASCII and of numbers."""
    return _rules(frozenset(texts) | ASCII | frozenset(NUMBERS))


@lru_cache(maxsize=8)
def _rules(characters: frozenset[str]) -> str:
    rules, missing = [LICENCE], set(characters)
    for (family, weight), file in zip(_FACES, font_files(), strict=True):
        # The Chinese font is the last: it holds what the others lack.
        wanted = missing if family == FONT_CHINESE else characters
        data, had = _part(file, frozenset(map(ord, wanted)))
        if not had:
            continue  # browsers refuse a font without characters
        if family == FONT_SANS:
            missing -= had
        text = b64encode(data).decode("ascii")
        rules.append(
            f'@font-face {{ font-family: "{family}"; font-weight: {weight}; '
            f'src: url(data:font/woff;base64,{text}) format("woff"); }}'
        )
    return "\n".join(rules)


def _part(file: Path, wanted: frozenset[int]) -> tuple[bytes, set[str]]:
    """The file of a font with the wanted characters alone, and those that it has."""
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    options = Options(hinting=False, notdef_outline=True, layout_features=_FEATURES)
    options.name_IDs = _NAMES
    data = io.BytesIO()
    with TTFont(file, lazy=True, recalcTimestamp=False) as font:
        had = wanted & set(font.getBestCmap())
        subsetter = Subsetter(options)
        subsetter.populate(unicodes=had)
        subsetter.subset(font)
        font.flavor = "woff"
        font.save(data)
    return data.getvalue(), set(map(chr, had))
