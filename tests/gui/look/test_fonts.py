"""The shipped fonts: what they contain, and that Qt paints with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QFont, QFontInfo, QFontMetricsF, QImage, QPainter, QTextLayout

from attnviz import gui
from attnviz.gui.look.fonts import load_fonts, number_font, ui_font
from attnviz.resources import FONT_CHINESE, FONT_MONO, FONT_SANS, font_files, path


@pytest.fixture
def only_chinese(qapp: object) -> QFont:
    """The last fallback with every other font of the machine shut out."""
    load_fonts()
    font = QFont(FONT_CHINESE)
    font.setStyleStrategy(QFont.StyleStrategy.NoFontMerging)
    font.setPixelSize(32)
    return font


def painted(font: QFont, text: str) -> bytes:
    image = QImage(64, 48, QImage.Format.Format_Grayscale8)
    image.fill(QColor("white"))
    painter = QPainter(image)
    painter.setFont(font)
    painter.drawText(QPointF(8, 36), text)
    painter.end()
    return bytes(image.constBits())


def test_fonts_are_small_truetype_and_licensed() -> None:
    sizes = {file.name: file.stat().st_size for file in font_files()}
    assert sizes["AttnvizSansSC-Regular.ttf"] < 4_000_000
    assert sum(sizes.values()) < 5_000_000
    for file in font_files():
        with TTFont(file) as font:
            assert "glyf" in font and "CFF " not in font, file.name
            assert font["OS/2"].fsType == 0, "a figure must be free to embed it"
            assert "SIL Open Font License" in font["name"].getDebugName(13)
        licence = path("fonts", f"LICENSE-{file.stem.split('-')[0]}.txt").read_text(encoding="utf-8")
        assert "SIL OPEN FONT LICENSE Version 1.1" in licence and licence.startswith("Copyright")


def test_the_window_asks_for_no_weight_that_is_not_shipped() -> None:
    """Qt draws a missing weight twice, so that the dot of an i meets its stem."""
    heavier = re.compile(r"setBold|Weight\.(Bold|ExtraBold|Black)|font-weight: (bold|[7-9]00)")
    sources = {file: file.read_text(encoding="utf-8") for file in Path(gui.__file__).parent.rglob("*.py")}
    assert len(sources) > 300
    assert [str(file) for file, text in sources.items() if heavier.search(text)] == []


def test_chinese_font_has_all_of_gb2312_and_the_symbols_of_the_interface() -> None:
    with TTFont(path("fonts", "AttnvizSansSC-Regular.ttf")) as font:
        has = set(font.getBestCmap())
    rows = range(0xB0, 0xF8)
    cells = range(0xA1, 0xFF)
    hanzi = "".join(bytes((row, cell)).decode("gb2312", "ignore") for row in rows for cell in cells)
    assert len(hanzi) == 6763
    pictures = "".join(map(chr, range(0x2400, 0x2427)))
    wanted = hanzi + pictures + "−×÷√≤≥≈∑·→←↑↓∞θ⟨⟩ᵀ₀₁₂₃₄₅₆₇₈₉，。：；！？（）「」《》０９ＡＺ℃"
    assert [character for character in wanted if ord(character) not in has] == []


@pytest.mark.parametrize("character", "小沈阳江西演唱会邀请了，Aθ√ᵀ₀⟨␀␡")
def test_each_character_is_painted_by_the_last_fallback_alone(only_chinese: QFont, character: str) -> None:
    missing = painted(only_chinese, "\U0010fffd")
    ink = painted(only_chinese, character)
    assert min(ink) < 64, "no ink"
    assert ink != missing, "the box of a missing character"


@pytest.mark.parametrize("font", [ui_font, number_font])
def test_chinese_falls_back_to_a_font_that_has_it(qapp: object, font: Callable[[int], QFont]) -> None:
    layout = QTextLayout("q小", font(32))
    layout.beginLayout()
    layout.createLine()
    layout.endLayout()
    for run in layout.glyphRuns():
        assert all(index != 0 for index in run.glyphIndexes()), "the box of a missing character"
    assert len(layout.glyphRuns()) == 2


def test_families_and_sizes(qapp: object) -> None:
    assert {FONT_SANS, FONT_MONO, FONT_CHINESE} <= set(load_fonts())
    ui, numbers = ui_font(12, QFont.Weight.DemiBold), number_font(13)
    assert ui.families()[0] == FONT_SANS and ui.families()[-1] == FONT_CHINESE
    assert numbers.families()[0] == FONT_MONO and numbers.families()[-1] == FONT_CHINESE
    assert QFontInfo(ui).family() == FONT_SANS and QFontInfo(ui).weight() == QFont.Weight.DemiBold
    assert (QFontInfo(numbers).family(), QFontInfo(numbers).pixelSize()) == (FONT_MONO, 13)


@pytest.mark.parametrize("font", [ui_font, number_font])
def test_every_digit_is_equally_wide(qapp: object, font: Callable[[int], QFont]) -> None:
    metrics = QFontMetricsF(font(13))
    assert len({metrics.horizontalAdvance(digit) for digit in "0123456789"}) == 1
    if font is number_font:
        assert (
            metrics.horizontalAdvance("−") == metrics.horizontalAdvance("0") == metrics.horizontalAdvance(".")
        )


def test_no_ligatures_in_numbers_and_tokens(qapp: object) -> None:
    metrics = QFontMetricsF(number_font(13))
    assert metrics.horizontalAdvance("->") == 2 * metrics.horizontalAdvance("-")
    with TTFont(path("fonts", "AttnvizMono-Regular.ttf")) as font:
        features = {record.FeatureTag for record in font["GSUB"].table.FeatureList.FeatureRecord}
    assert "calt" not in features and "liga" not in features
