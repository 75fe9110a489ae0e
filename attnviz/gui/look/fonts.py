"""The window's fonts: the shipped families first, then the system's, then the shipped Chinese one.

The same four files serve the figures, so a figure has the digits and the characters of the screen.
"""

from __future__ import annotations

import logging
from functools import lru_cache

from PySide6.QtGui import QFont, QFontDatabase

from attnviz.gui.look.theme import TEXT_PX
from attnviz.resources import FONT_CHINESE, FONT_MONO, FONT_SANS, font_files

_log = logging.getLogger(__name__)
_loaded: list[str] = []


def load_fonts() -> tuple[str, ...]:
    """Register the shipped fonts with Qt, once; returns their families. Needs a QGuiApplication.

    A font that Qt rejects is logged and skipped: the window then uses a system font.
    """
    if not _loaded:
        for file in font_files():
            number = QFontDatabase.addApplicationFont(str(file))
            if number < 0:
                _log.warning("Qt cannot read the font %s", file)
                continue
            _loaded.extend(QFontDatabase.applicationFontFamilies(number))
    return tuple(dict.fromkeys(_loaded))


def ui_font(px: int, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """The font of labels and controls, `px` device-independent pixels high. Its digits have equal widths.

    It has two weights, normal and demi-bold; Qt would draw any heavier one twice, and an i loses its dot.
    """
    return QFont(_ui_font(px, weight))


@lru_cache(maxsize=32)
def _ui_font(px: int, weight: QFont.Weight) -> QFont:
    load_fonts()
    system = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont).family()
    font = _font([FONT_SANS, system, FONT_CHINESE], px, weight)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def number_font(px: int, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """The font of numbers in cells, fields and formulas: all characters have equal widths."""
    return QFont(_number_font(px, weight))


@lru_cache(maxsize=32)
def _number_font(px: int, weight: QFont.Weight) -> QFont:
    load_fonts()
    system = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family()
    font = _font([FONT_MONO, system, FONT_CHINESE], px, weight)
    font.setStyleHint(QFont.StyleHint.Monospace)
    return font


def section_title_font() -> QFont:
    """The font of the titles of cards and docks: small, heavy and letter-spaced."""
    font = QFont()
    font.setPixelSize(TEXT_PX - 1)
    font.setWeight(QFont.Weight.DemiBold)
    font.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, 0.8)
    return font


def _font(families: list[str], px: int, weight: QFont.Weight) -> QFont:
    font = QFont()
    font.setFamilies([family for family in dict.fromkeys(families) if family])
    font.setPixelSize(px)
    font.setWeight(weight)
    return font
