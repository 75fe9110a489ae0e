"""The shipped icons: every one paints, in the colours of the theme."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QColor, QIcon

from attnviz.gui.look.icons import ICONS, app_icon, icon
from attnviz.gui.look.theme import DARK, LIGHT, Theme
from attnviz.resources import path


def opaque_pixels(drawing: QIcon, state: QIcon.State) -> list[QColor]:
    """The fully covered pixels of the icon at 48 pixels."""
    image = drawing.pixmap(48, 48, QIcon.Mode.Normal, state).toImage()
    pixels = [image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())]
    return [pixel for pixel in pixels if pixel.alpha() == 255]


def distance(one: QColor, other: str) -> int:
    """The largest difference in a channel; where two shapes overlap, blending may round by one."""
    wanted = QColor(other)
    return max(abs(a - b) for a, b in zip(one.getRgb(), wanted.getRgb(), strict=True))  # type: ignore[arg-type]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("name", ICONS)
def test_each_icon_is_painted_in_ink_and_in_the_accent_when_on(qapp: object, name: str, theme: Theme) -> None:
    for state, color in ((QIcon.State.Off, theme.ink), (QIcon.State.On, theme.accent)):
        pixels = opaque_pixels(icon(name, theme), state)
        assert 20 < len(pixels) < 48 * 48 / 2
        assert max(distance(pixel, color) for pixel in pixels) <= 2


def test_a_disabled_icon_is_faint(qapp: object) -> None:
    image = icon("save", LIGHT).pixmap(48, 48, QIcon.Mode.Disabled).toImage()
    strongest = max(image.pixelColor(x, y).alpha() for x in range(48) for y in range(48))
    assert 100 < strongest < 160


def test_every_file_is_listed_and_every_drawing_differs() -> None:
    files = {file.stem: file.read_bytes() for file in path("icons").glob("*.svg")}
    assert set(files) == {*ICONS, "attnviz"}
    assert len(set(files.values())) == len(files)


def test_icons_are_made_once_and_unknown_ones_refused(qapp: object) -> None:
    assert icon("undo", LIGHT) is icon("undo", LIGHT)
    with pytest.raises(ValueError, match="'run' is not one of undo, redo"):
        icon("run", LIGHT)


def test_the_program_icon_shows_query_key_and_value_in_their_colours(qapp: object) -> None:
    image = app_icon().pixmap(64, 64).toImage()
    seen = [image.pixelColor(x, y).name() for x, y in ((18, 18), (32, 45), (45, 45))]
    assert seen == [LIGHT.query, LIGHT.key_mark, LIGHT.value_mark]
    assert image.pixelColor(0, 0).alpha() == 0
