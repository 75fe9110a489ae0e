"""Thumbnails: a small picture that keeps what matters, and a button."""

import numpy as np
import pytest
from cell_colors import color_at
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QImage
from pytestqt.qtbot import QtBot

from attnviz.gui.look.theme import LIGHT, THEMES, Theme
from attnviz.gui.widgets.heat.thumbnail import Thumbnail


@pytest.fixture
def thumbnail(qtbot: QtBot) -> Thumbnail:
    widget = Thumbnail(48)
    qtbot.addWidget(widget)
    widget.set_caption("weights", "softmax of <masked>")
    widget.resize(widget.sizeHint())
    widget.show()
    qtbot.waitExposed(widget)
    return widget


def picture(widget: Thumbnail) -> QImage:
    return widget.grab().toImage()


def at_cell(widget: Thumbnail, row: int, column: int, shape: tuple[int, int]) -> tuple[int, ...]:
    area = widget.picture_rect()
    at = QPointF(
        area.left() + (column + 0.5) * area.width() / shape[1],
        area.top() + (row + 0.5) * area.height() / shape[0],
    )
    return picture(widget).pixelColor(int(at.x()), int(at.y())).getRgb()[:3]


@pytest.mark.parametrize("theme", THEMES)
def test_cells_have_the_colours_of_the_heat_map(thumbnail: Thumbnail, theme: Theme) -> None:
    thumbnail.apply_theme(theme)
    thumbnail.set_values(np.array([[-2.0, 0.0], [1.0, 2.0]]), signed=True)
    for cell, position in {(0, 0): 0.0, (0, 1): 0.5, (1, 0): 0.75, (1, 1): 1.0}.items():
        assert at_cell(thumbnail, *cell, (2, 2)) == color_at(position, "diverging", theme)


def test_rows_can_be_columns(thumbnail: Thumbnail) -> None:
    thumbnail.set_values(np.array([[0.0, 1.0], [0.5, 0.25]]), signed=False, transposed=True)
    assert at_cell(thumbnail, 1, 0, (2, 2)) == color_at(1.0, "sequential", LIGHT)


def test_masked_cells_are_hatched(thumbnail: Thumbnail) -> None:
    blocked = np.array([[False, True], [False, False]])
    thumbnail.set_values(np.ones((2, 2)), signed=False, blocked=blocked)
    area = thumbnail.picture_rect().toRect()
    image = picture(thumbnail).copy(
        area.center().x() + 1, area.top(), area.width() // 2 - 1, area.height() // 2 - 1
    )
    shown = {image.pixelColor(x, y).getRgb()[:3] for x in range(image.width()) for y in range(image.height())}
    assert QColor(LIGHT.ground).getRgb()[:3] in shown
    assert len(shown) > 1
    assert color_at(1.0, "sequential", LIGHT) not in shown


@pytest.mark.parametrize("signed", [False, True])
def test_one_bright_cell_in_a_million_is_seen(thumbnail: Thumbnail, signed: bool) -> None:
    values = np.zeros((1024, 1024), dtype=np.float32)
    values[511, 777] = -3.0 if signed else 3.0
    thumbnail.set_values(values, signed=signed)
    image = picture(thumbnail)
    area = thumbnail.picture_rect().toRect()
    kind = "diverging" if signed else "sequential"
    rest = color_at(0.5 if signed else 0.0, kind, LIGHT)
    seen = [
        (x, y)
        for x in range(area.left() + 1, area.right())
        for y in range(area.top() + 1, area.bottom())
        if image.pixelColor(x, y).getRgb()[:3] != rest
    ]
    assert seen
    assert abs(seen[0][0] - (area.left() + 777 * 48 / 1024)) < 2
    assert abs(seen[0][1] - (area.top() + 511 * 48 / 1024)) < 2


def test_flat_and_empty_matrices(thumbnail: Thumbnail) -> None:
    thumbnail.set_values(np.ones((1, 100)), signed=False)
    assert (thumbnail.picture_rect().width(), thumbnail.picture_rect().height()) == (48, 24)
    thumbnail.set_values(np.ones((100, 1)), signed=False)
    assert (thumbnail.picture_rect().width(), thumbnail.picture_rect().height()) == (24, 48)
    thumbnail.set_values(np.zeros((0, 3)), signed=False)
    assert not picture(thumbnail).isNull()


def test_few_rows_of_many_columns_stay_apart(thumbnail: Thumbnail) -> None:
    values = np.zeros((4, 1024))
    values[2] = 1.0
    thumbnail.set_values(values, signed=False)
    assert at_cell(thumbnail, 2, 500, (4, 1024)) == color_at(1.0, "sequential", LIGHT)
    assert at_cell(thumbnail, 1, 500, (4, 1024)) == color_at(0.0, "sequential", LIGHT)


def test_mouse_space_and_enter_click(qtbot: QtBot, thumbnail: Thumbnail) -> None:
    clicks: list[int] = []
    thumbnail.clicked.connect(lambda: clicks.append(1))
    qtbot.mouseClick(thumbnail, Qt.MouseButton.LeftButton)
    qtbot.keyClick(thumbnail, Qt.Key.Key_Space)
    qtbot.keyClick(thumbnail, Qt.Key.Key_Return)
    assert len(clicks) == 3
    assert not thumbnail.isChecked()


def test_the_selected_one_is_outlined_in_the_accent(thumbnail: Thumbnail) -> None:
    thumbnail.set_values(np.ones((2, 2)), signed=False)
    thumbnail.clearFocus()  # its ring takes the place of the frame
    area = thumbnail.picture_rect()
    edge = (int(area.left()) - 2, int(area.center().y()))
    accent = QColor(LIGHT.accent).getRgb()[:3]
    assert picture(thumbnail).pixelColor(*edge).getRgb()[:3] != accent
    thumbnail.set_selected(True)
    assert picture(thumbnail).pixelColor(*edge).getRgb()[:3] == accent


def test_a_click_only_asks(qtbot: QtBot, thumbnail: Thumbnail) -> None:
    thumbnail.set_selected(True)
    qtbot.mouseClick(thumbnail, Qt.MouseButton.LeftButton)
    assert thumbnail.isChecked()
    assert thumbnail.isChecked()


def test_names_are_plain_text(thumbnail: Thumbnail) -> None:
    assert thumbnail.accessibleName() == "weights"
    assert "softmax of &lt;masked&gt;</p>" in thumbnail.toolTip()
    thumbnail.set_caption("a\nb")
    assert thumbnail.caption == "a\u240ab"
    assert thumbnail.toolTip() == ""
