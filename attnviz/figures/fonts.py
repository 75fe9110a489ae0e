"""The fonts of figures: those of the window, so that Chinese shows where no Chinese font is installed.

matplotlib is imported inside the functions: importing `attnviz.figures` costs nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from attnviz.core.text import columns, wrapped
from attnviz.resources import FONT_CHINESE, FONT_MONO, FONT_SANS, font_files

SYMBOLS = "DejaVu Sans"
"""Ships with matplotlib; the last fallback for scripts and symbols that the shipped fonts lack."""

MIDDLE = 0.36
"""Half the height of capitals and digits, in ems."""

FINE = 16
"""Pixels per point at which texts are measured: at one, each letter's width is rounded to a whole point."""

SETTINGS: Any = {
    "pdf.fonttype": 42,  # TrueType: text in a PDF can be searched and edited
    "svg.fonttype": "path",  # see `write_svg` in attnviz/figures/files.py
    "svg.hashsalt": "attnviz",  # the same figure, the same bytes
    "text.usetex": False,
    "text.parse_math": False,
    "path.simplify": False,
}


@contextmanager
def drawing() -> Iterator[None]:
    """Apply this project's matplotlib settings inside the context, regardless of the user's."""
    import matplotlib

    _load()
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        # A character that no font has is drawn as a box, and named below the figure.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield


@lru_cache(maxsize=64)
def text_font(size: float, bold: bool = False) -> Any:
    """Font properties of labels, `size` points high."""
    from matplotlib.font_manager import FontProperties

    # The semi-bold by its own name: requested as a weight, it would be missing in the fallbacks.
    first = f"{FONT_SANS} SemiBold" if bold else FONT_SANS
    return FontProperties(family=[first, FONT_CHINESE, SYMBOLS], size=size)


@lru_cache(maxsize=64)
def number_font(size: float) -> Any:
    """Font properties of numbers: all digits have the same width."""
    from matplotlib.font_manager import FontProperties

    return FontProperties(family=[FONT_MONO, FONT_CHINESE, SYMBOLS], size=size)


def width(text: str, font: Any) -> float:
    """Width of `text` in points."""
    return float(_ruler().get_text_width_height_descent(text, font, False)[0]) / FINE


def unknown(text: str, font: Any) -> list[str]:
    """The characters of `text` that no family of the font has."""
    if text.isascii():
        return []
    known = _characters(tuple(font.get_family()))
    return [character for character in text if ord(character) not in known]


def middle(y: float, font: Any) -> float:
    """The baseline that centres capitals and digits at `y`, which counts downwards."""
    return y + MIDDLE * float(font.get_size_in_points())


def widest(texts: tuple[str, ...], font: Any) -> float:
    """The width of the widest of `texts` in points; 0 for an empty tuple."""
    longest = sorted(set(texts), key=len, reverse=True)[:400]
    return max((width(text, font) for text in longest), default=0.0)


def broken(text: str, font: Any, room: float) -> list[str]:
    """`text` in lines no wider than `room` points, broken where `wrapped` breaks; none for an empty text."""
    if not text:
        return []
    most = columns(text)
    for count in range(most, 1, -1):
        lines = wrapped(text, count)
        if widest(tuple(lines), font) <= room:
            return lines
    return wrapped(text, 2)


@lru_cache(maxsize=8)
def _characters(families: tuple[str, ...]) -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    files = (findfont(FontProperties(family=[family])) for family in families)
    return frozenset(code for file in files for code in get_font(file).get_charmap())


@lru_cache(maxsize=1)
def _load() -> None:
    from matplotlib.font_manager import fontManager

    for file in font_files():
        fontManager.addfont(str(file))


@lru_cache(maxsize=1)
def _ruler() -> Any:
    from matplotlib.backends.backend_agg import RendererAgg

    return RendererAgg(8, 8, 72 * FINE)
