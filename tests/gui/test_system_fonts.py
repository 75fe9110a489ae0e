"""On the screen, a character that the shipped fonts lack comes from a font of the system."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from made_font import FAMILY, SCRIPTS, made_font
from PySide6.QtGui import QFont, QFontDatabase, QTextLayout

from attnviz.gui.look.fonts import number_font, ui_font


@pytest.fixture(scope="module")
def system(qapp: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    """One more font, which has every script of `SCRIPTS`; Qt keeps what it has drawn of it."""
    file = made_font(tmp_path_factory.mktemp("fonts") / "system.ttf", "".join(SCRIPTS.values()))
    assert QFontDatabase.addApplicationFont(str(file)) >= 0


@pytest.mark.parametrize("font", [ui_font, number_font])
@pytest.mark.parametrize("script", ["Korean", "Thai"])
def test_a_script_is_drawn_with_a_font_of_the_system(
    script: str, font: Callable[[int], QFont], system: None
) -> None:
    layout = QTextLayout(SCRIPTS[script], font(20))
    layout.beginLayout()
    layout.createLine()
    layout.endLayout()
    (run,) = layout.glyphRuns()
    assert run.rawFont().familyName() == FAMILY
    assert all(run.glyphIndexes())
