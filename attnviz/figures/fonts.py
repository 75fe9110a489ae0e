"""The fonts of figures: those of the window, so that Chinese shows where no Chinese font is installed.

matplotlib is imported inside the functions: importing `attnviz.figures` costs nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

from attnviz.core.text import columns, elide, wrapped
from attnviz.resources import FONT_CHINESE, FONT_MONO, FONT_SANS, font_files

SYMBOLS = "DejaVu Sans"
"""Ships with matplotlib; the last fallback before the fonts of the system."""

PLACEHOLDERS = "Last Resort"
"""Fonts whose names begin so draw a box for every character; matplotlib ships one."""

MIDDLE = 0.36
"""Half the height of capitals and digits, in ems."""

FINE = 16
"""Pixels per point at which texts are measured: at one, each letter's width is rounded to a whole point."""

MEASURED = 2**14
"""Widths that are remembered: a layout in a set width tries many sizes."""

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
    return _width(text, families(text, font), float(font.get_size_in_points()))


@lru_cache(maxsize=MEASURED)
def _width(text: str, names: tuple[str, ...], size: float) -> float:
    from matplotlib.font_manager import FontProperties

    font = FontProperties(family=list(names), size=size)
    return float(_ruler().get_text_width_height_descent(text, font, False)[0]) / FINE


def unknown(text: str, font: Any) -> list[str]:
    """The characters of `text` that neither the families of the font nor those of the system have."""
    return [one for one in _lacking(text, tuple(font.get_family())) if _system_family(one) is None]


def from_system(text: str, font: Any) -> tuple[str, ...]:
    """The families of the system that have the characters of `text` which those of the font lack."""
    found = (_system_family(one) for one in _lacking(text, tuple(font.get_family())))
    return tuple(dict.fromkeys(family for family in found if family is not None))


def families(text: str, font: Any) -> tuple[str, ...]:
    """The families that `text` is drawn with: those of the font, then those of the system that it needs."""
    return (*font.get_family(), *from_system(text, font))


def _lacking(text: str, names: tuple[str, ...]) -> list[str]:
    if text.isascii():
        return []
    known = _characters(names)
    return [character for character in text if ord(character) not in known]


@lru_cache(maxsize=4096)
def _system_family(character: str) -> str | None:
    """The first family of the system that has a character, None if none has it."""
    return next((name for name, codes in _system_fonts() if ord(character) in codes), None)


@lru_cache(maxsize=1)
def _system_fonts() -> tuple[tuple[str, frozenset[int]], ...]:
    """The families that the system has and their characters: upright ones of usual weight, sans serif first.

    It is read once, for the first character that the shipped fonts lack. A font of pixels alone has no
    outlines, and is skipped, as is `PLACEHOLDERS`.
    """
    from matplotlib.font_manager import findSystemFonts, fontManager, get_font

    known = {entry.fname for entry in fontManager.ttflist}
    for file in sorted(set(findSystemFonts()) - known):
        with suppress(Exception):  # matplotlib refuses a file of no use to it in many ways
            fontManager.addfont(file)
    shipped = {str(file) for file in font_files()}
    entries = [
        entry
        for entry in fontManager.ttflist
        if entry.style == "normal"
        and entry.weight in (400, "normal", "regular")
        and entry.fname not in shipped
        and not entry.name.startswith(PLACEHOLDERS)
    ]
    found: dict[str, frozenset[int]] = {}
    for entry in sorted(entries, key=lambda one: ("Sans" not in one.name, one.name)):
        if entry.name not in found:
            with suppress(OSError, RuntimeError):  # the file is gone, or is none
                found[entry.name] = frozenset(get_font(entry.fname).get_charmap())
    return tuple(found.items())


def middle(y: float, font: Any) -> float:
    """The baseline that centres capitals and digits at `y`, which counts downwards."""
    return y + MIDDLE * float(font.get_size_in_points())


def widest(texts: tuple[str, ...], font: Any) -> float:
    """The width of the widest of `texts` in points; 0 for an empty tuple."""
    longest = sorted(set(texts), key=len, reverse=True)[:400]
    return max((width(text, font) for text in longest), default=0.0)


def cut(text: str, font: Any, room: float) -> str:
    """`text`, or its longest beginning with an ellipsis that is no wider than `room` points."""
    if width(text, font) <= room:
        return text
    fitting = (elide(text, count) for count in range(len(text) - 1, 1, -1))
    return next((one for one in fitting if width(one, font) <= room), elide(text, 1))


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
def _characters(names: tuple[str, ...]) -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    files = (findfont(FontProperties(family=[family])) for family in names)
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
