"""A character that the shipped fonts lack comes from a font of the system, in every format, and is named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from made_font import FAMILY, PS_NAME, SCRIPTS, made_font
from matplotlib.figure import Figure
from msgspec.structs import replace

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.figures import figure_bytes, fonts
from attnviz.figures.figure import reported
from attnviz.figures.report import Remark
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A system with one more font, which has every script of `SCRIPTS`."""
    from matplotlib import font_manager

    file = made_font(tmp_path / "system.ttf", "".join(SCRIPTS.values()))
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [str(file)])
    forget()
    yield file
    known = font_manager.fontManager.ttflist
    known[:] = [entry for entry in known if entry.fname != str(file)]
    forget()


def forget() -> None:
    """Read the system's fonts again."""
    for cached in (fonts._system_fonts, fonts._system_family, fonts._width):
        cached.cache_clear()


def figure_with(token: str) -> tuple[Figure, list[Remark]]:
    """A figure with a token, and what is reported of it."""
    document = load_preset("toy-attention")
    tokens = (token, *document.experiment.tokens[1:])
    trace = attnviz.run(replace(document.experiment, tokens=tokens))
    figure, report = reported("stage", Subject(trace, document.view), Style())
    return figure, list(report.checks)


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


def test_a_font_of_boxes_for_every_character_has_none_of_them(system: Path) -> None:
    from matplotlib import font_manager

    assert any(entry.name.startswith("Last Resort") for entry in font_manager.fontManager.ttflist)
    _figure, said = figure_with("a\U00020000")
    assert [(check.text, check.is_met) for check in said] == [("not in the fonts: U+20000", False)]
