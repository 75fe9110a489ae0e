"""A character that the shipped fonts lack comes from a font of the system, in every format, and is named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib.figure import Figure
from msgspec.structs import replace

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.figures import figure_bytes, fonts
from attnviz.figures.check import Check
from attnviz.figures.figure import figure_of
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject

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


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A system with one more font, which has every script of `SCRIPTS`."""
    from matplotlib import font_manager

    file = made_font(tmp_path / "system.ttf", "".join(SCRIPTS.values()))
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [str(file)])
    kept = list(font_manager.fontManager.ttflist)
    forget()
    yield file
    font_manager.fontManager.ttflist[:] = kept
    forget()


def forget() -> None:
    """Read the system's fonts again."""
    for cached in (fonts._system_fonts, fonts._system_family, fonts._width):
        cached.cache_clear()


def figure_with(token: str) -> tuple[Figure, list[Check]]:
    """A figure with a token, and what is reported of it."""
    document = load_preset("toy-attention")
    tokens = (token, *document.experiment.tokens[1:])
    trace = attnviz.run(replace(document.experiment, tokens=tokens))
    said: list[Check] = []
    return figure_of("stage", Subject(trace, document.view), Style(), report=said.append), said


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_comes_from_the_system(script: str, system: Path) -> None:
    figure, said = figure_with(SCRIPTS[script])
    assert [check.text for check in said] == [f"letters of {FAMILY}"]
    labels = [text for text in figure.axes[0].texts if text.get_text() == SCRIPTS[script]]
    assert len(labels) == 2
    assert PS_NAME.encode() in figure_bytes(figure, "pdf")
    assert f"#{PS_NAME}-" in figure_bytes(figure, "svg").decode()
    assert fonts.width(SCRIPTS[script], fonts.text_font(10.0)) == pytest.approx(20.0, rel=0.02)


def test_without_such_a_font_the_character_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_system_fonts", lambda: ())
    fonts._system_family.cache_clear()
    figure, said = figure_with("한")
    assert [(check.text, check.is_met) for check in said] == [("not in the fonts: U+D55C", False)]
    assert "not in the fonts: U+D55C" in {text.get_text() for text in figure.axes[0].texts}
    fonts._system_family.cache_clear()
