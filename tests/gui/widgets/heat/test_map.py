"""The heat map by what is painted and what the mouse and the keys reach."""

import csv
import io
import math
from dataclasses import replace

import numpy as np
import pytest
from cell_colors import color_at
from desk import count_color
from PySide6.QtCore import QBuffer, QByteArray, QEvent, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QHelpEvent, QImage, QKeyEvent, QPainter, QWheelEvent
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from attnviz.core.levels import RANGES, Range
from attnviz.gui.look.theme import DARK, LIGHT, THEMES, Theme
from attnviz.gui.widgets.heat.content import HeatContent, Highlight
from attnviz.gui.widgets.heat.map import HeatMap
from attnviz.gui.widgets.heat.margins import received_heading, received_strip, spread_heading, spread_strip
from attnviz.gui.widgets.heat.minimap import Minimap
from attnviz.gui.widgets.heat.words import table_text

WORDS = ("a", "fluffy", "blue", "creature")
WEIGHTS = np.array(
    [
        [1.0, 0.0, 0.0, 0.0],
        [0.341, 0.659, 0.0, 0.0],
        [0.005, 0.217, 0.777, 0.0],
        [0.004, 0.973, 0.001, 0.022],
    ]
)
FUTURE = np.triu(np.ones((4, 4), bool), 1)


def weights(**changed: object) -> HeatContent:
    """The design image's matrix."""
    kept = {
        "values": WEIGHTS,
        "row_labels": WORDS,
        "column_labels": WORDS,
        "row_color": LIGHT.query,
        "column_color": LIGHT.key,
        "blocked": FUTURE,
        "row_sums": WEIGHTS.sum(axis=1),
        "title": "weights",
    }
    return HeatContent(**(kept | changed))  # type: ignore[arg-type]


def plain(values: np.ndarray, **changed: object) -> HeatContent:
    """A matrix with numbers for labels."""
    rows, columns = values.shape
    return weights(
        values=values,
        row_labels=tuple(map(str, range(rows))),
        column_labels=tuple(map(str, range(columns))),
        **{"blocked": None, "row_sums": None, **changed},
    )


@pytest.fixture
def heat_map(qtbot: QtBot) -> HeatMap:
    widget = HeatMap()
    qtbot.addWidget(widget)
    widget.resize(560, 360)
    widget.show()
    qtbot.waitExposed(widget)
    return widget


def picture(widget: HeatMap) -> QImage:
    return widget.grab().toImage()


def pixel(image: QImage, at: QPointF) -> tuple[int, ...]:
    return image.pixelColor(math.floor(at.x()), math.floor(at.y())).getRgb()[:3]


def cell_image(widget: HeatMap, row: int, column: int) -> QImage:
    """The pixels of one cell, less its edge."""
    at = widget.cell_center(row, column)
    geometry = widget.layout_shown
    width, height = int(geometry.cell_w) - 4, int(geometry.cell_h) - 4
    return picture(widget).copy(int(at.x() - width / 2), int(at.y() - height / 2), width, height)


def colors_in(image: QImage) -> set[tuple[int, ...]]:
    return {image.pixelColor(x, y).getRgb()[:3] for x in range(image.width()) for y in range(image.height())}


def corner(widget: HeatMap, row: int, column: int) -> QPointF:
    """A point in a cell that its number does not reach."""
    geometry = widget.layout_shown
    return widget.cell_center(row, column) - QPointF(geometry.cell_w / 2 - 3, geometry.cell_h / 2 - 3)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("transposed", [False, True])
def test_cells_have_the_colour_of_their_value(heat_map: HeatMap, theme: Theme, transposed: bool) -> None:
    heat_map.apply_theme(theme)
    heat_map.set_content(weights(transposed=transposed))
    image = picture(heat_map)
    for (row, column), value in np.ndenumerate(WEIGHTS):
        if not FUTURE[row, column]:
            expected = color_at(float(np.float32(value)), "sequential", theme)
            assert pixel(image, corner(heat_map, row, column)) == expected


@pytest.mark.parametrize("theme", THEMES)
def test_signed_cells_are_coloured_about_zero(heat_map: HeatMap, theme: Theme) -> None:
    heat_map.apply_theme(theme)
    heat_map.set_content(plain(np.array([[-4.0, 2.0, 0.0], [1.0, 4.0, -1.0]]), signed=True))
    image = picture(heat_map)
    for cell, position in {(0, 0): 0.0, (0, 1): 0.75, (0, 2): 0.5, (1, 1): 1.0, (1, 2): 0.375}.items():
        assert pixel(image, corner(heat_map, *cell)) == color_at(position, "diverging", theme)


@pytest.mark.parametrize("theme", THEMES)
def test_masked_cells_are_hatched_and_hold_no_number(heat_map: HeatMap, theme: Theme) -> None:
    heat_map.apply_theme(theme)
    heat_map.set_content(weights())
    shown = colors_in(cell_image(heat_map, 0, 2))
    ground, line = QColor(theme.ground).getRgb()[:3], QColor(theme.hatch).getRgb()[:3]
    assert {ground, line} <= shown
    for low, high, channels in zip(ground, line, zip(*shown, strict=True), strict=True):
        assert min(channels) >= min(low, high)
        assert max(channels) <= max(low, high)


def test_numbers_appear_when_cells_are_large_enough(heat_map: HeatMap) -> None:
    heat_map.set_content(weights())
    background = color_at(0.659, "sequential", LIGHT)
    assert colors_in(cell_image(heat_map, 1, 1)) > {background, (0, 0, 0)}
    heat_map.resize(300, 150)
    assert heat_map.layout_shown.cell_w < 36
    assert colors_in(cell_image(heat_map, 1, 1)) == {background}


def test_not_a_number_and_infinities_have_marks(heat_map: HeatMap) -> None:
    values = np.array([[1.0, math.nan, 2.0], [math.inf, 3.0, -math.inf]])
    heat_map.set_content(plain(values))
    assert QColor(LIGHT.error).getRgb()[:3] in colors_in(cell_image(heat_map, 0, 1))
    for cell in ((1, 0), (1, 2)):
        assert QColor(LIGHT.warning).getRgb()[:3] in colors_in(cell_image(heat_map, *cell))
    assert cell_image(heat_map, 1, 0) != cell_image(heat_map, 1, 2)
    assert pixel(picture(heat_map), corner(heat_map, 1, 1)) == color_at(1.0, "sequential", LIGHT)
    assert heat_map.color_bar.scale.tick_texts() == ("0.000", "3.000")
    assert heat_map.color_bar.accessibleDescription() == "From 0.000 to 3.000, This head, 1 NaN, 2 infinite"
    heat_map.set_content(plain(values, blocked=~np.isfinite(values)))
    # A mask hides the −∞ that it is made of, but not the NaN that it leads to.
    assert heat_map.color_bar.accessibleDescription() == "From 0.000 to 3.000, This head, 1 NaN"


@pytest.mark.parametrize("transposed", [False, True])
def test_one_bright_cell_in_a_million_is_seen(heat_map: HeatMap, transposed: bool) -> None:
    values = np.zeros((1024, 1024), dtype=np.float32)
    values[701, 333] = 7.5
    heat_map.set_content(plain(values, transposed=transposed))
    assert heat_map.layout_shown.cell_w < 1
    at = heat_map.cell_center(701, 333)
    bright, dark = (color_at(p, "sequential", LIGHT) for p in (1.0, 0.0))
    image = picture(heat_map)
    near = {pixel(image, at + QPointF(dx, dy)) for dx in (-1, 0, 1) for dy in (-1, 0, 1)}
    assert bright in near
    inside = heat_map.layout_shown.plot.adjusted(3, 3, -3, -3).toAlignedRect()
    bright_cells = [
        (x, y)
        for x in range(inside.left(), inside.right())
        for y in range(inside.top(), inside.bottom())
        if image.pixelColor(x, y).getRgb()[:3] != dark
    ]
    assert 1 <= len(bright_cells) <= 4
    assert heat_map.color_bar.scale.tick_texts() == ("0.000", "7.500")


@pytest.mark.parametrize("transposed", [False, True])
def test_the_pointer_tells_row_and_column_of_the_data(
    qtbot: QtBot, heat_map: HeatMap, transposed: bool
) -> None:
    heat_map.set_content(plain(np.arange(24.0).reshape(4, 6), transposed=transposed))
    hovered: list[tuple[int, int]] = []
    clicked: list[tuple[int, int]] = []
    heat_map.cell_hovered.connect(lambda row, column: hovered.append((row, column)))
    heat_map.cell_clicked.connect(lambda row, column: clicked.append((row, column)))
    geometry = heat_map.layout_shown
    assert (geometry.n_down, geometry.n_across) == ((6, 4) if transposed else (4, 6))
    for cell in ((3, 5), (0, 1), (2, 0)):
        at = heat_map.cell_center(*cell).toPoint()
        qtbot.mouseMove(heat_map, at)
        qtbot.mouseClick(heat_map, Qt.MouseButton.LeftButton, pos=at)
    assert hovered == clicked == [(3, 5), (0, 1), (2, 0)]
    qtbot.mouseMove(heat_map, QPoint(1, 1))
    assert hovered[-1] == (-1, -1)
    assert heat_map.current_cell is None


def test_a_transposed_map_is_the_transpose_of_the_picture(heat_map: HeatMap) -> None:
    heat_map.set_content(weights())
    right_of, below_of = heat_map.cell_center(0, 1), heat_map.cell_center(1, 0)
    assert right_of.x() > below_of.x()
    heat_map.set_content(weights(transposed=True))
    turned_right, turned_below = heat_map.cell_center(0, 1), heat_map.cell_center(1, 0)
    assert turned_right.x() < turned_below.x()
    assert turned_right.y() > turned_below.y()


def test_keys_walk_choose_and_speak(qtbot: QtBot, heat_map: HeatMap) -> None:
    heat_map.set_content(weights())
    assert heat_map.accessibleName() == "weights"
    assert heat_map.accessibleDescription() == "4 rows, 4 columns"
    clicked: list[tuple[int, int]] = []
    heat_map.cell_clicked.connect(lambda row, column: clicked.append((row, column)))
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Right):
        qtbot.keyClick(heat_map, key)
    assert heat_map.current_cell == (3, 1)
    assert heat_map.accessibleDescription() == "row creature, column fluffy, 0.973"
    qtbot.keyClick(heat_map, Qt.Key.Key_Return)
    qtbot.keyClick(heat_map, Qt.Key.Key_Up)
    qtbot.keyClick(heat_map, Qt.Key.Key_Enter)
    assert clicked == [(3, 1), (2, 1)]
    space = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Space, Qt.KeyboardModifier.NoModifier)
    heat_map.keyPressEvent(space)
    assert clicked == [(3, 1), (2, 1)]
    assert not space.isAccepted()  # the window plays and pauses with it
    for _ in range(3):
        qtbot.keyClick(heat_map, Qt.Key.Key_Right)
    assert heat_map.accessibleDescription() == "row blue, column creature, masked"


def test_a_stroke_leaves_no_gaps(qtbot: QtBot, heat_map: HeatMap) -> None:
    heat_map.set_content(plain(np.zeros((8, 8))))
    heat_map.set_paint_mode(True)
    strokes: list[tuple[int, int, bool]] = []
    heat_map.cell_stroked.connect(lambda row, column, start: strokes.append((row, column, start)))
    qtbot.mousePress(heat_map, Qt.MouseButton.LeftButton, pos=heat_map.cell_center(1, 1).toPoint())
    qtbot.mouseMove(heat_map, heat_map.cell_center(1, 5).toPoint())
    qtbot.mouseMove(heat_map, heat_map.cell_center(3, 7).toPoint())
    qtbot.mouseRelease(heat_map, Qt.MouseButton.LeftButton, pos=heat_map.cell_center(3, 7).toPoint())
    qtbot.mouseMove(heat_map, heat_map.cell_center(6, 6).toPoint())
    cells = [(1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (2, 6), (3, 7)]
    assert strokes == [(*cell, i == 0) for i, cell in enumerate(cells)]


def test_a_highlight_is_drawn_over_the_kept_picture(heat_map: HeatMap) -> None:
    heat_map.set_content(weights())
    before = picture(heat_map)
    kept = heat_map._base
    heat_map.set_highlight(
        Highlight((3, 1), frozenset({3}), frozenset({1}), frozenset({(0, 0)}), locked=True)
    )
    lit = picture(heat_map)
    assert heat_map._base is kept
    assert lit != before
    edge = heat_map.layout_shown.cell_rect(3, 1)
    assert pixel(lit, QPointF(edge.center().x(), edge.top())) == QColor(LIGHT.ink).getRgb()[:3]
    row = heat_map.layout_shown.block_rect(3, 0, 1, 4)
    stripe = {pixel(lit, QPointF(x, row.bottom())) for x in range(int(row.left()) + 8, int(edge.left()) - 8)}
    assert QColor(LIGHT.query).getRgb()[:3] in stripe
    heat_map.set_highlight(Highlight())
    assert picture(heat_map) == before


def test_a_highlight_outside_the_matrix_is_left_out(heat_map: HeatMap) -> None:
    heat_map.set_content(weights())
    before = picture(heat_map)
    heat_map.set_highlight(Highlight((9, 9), frozenset({7}), frozenset({-1}), frozenset({(4, 0)})))
    assert picture(heat_map) == before


def test_the_wheel_zooms_and_a_double_click_shows_all(qtbot: QtBot, heat_map: HeatMap) -> None:
    heat_map.set_content(plain(np.random.default_rng(0).random((200, 200))))
    at = heat_map.cell_center(120, 100)
    whole = heat_map.layout_shown
    for _ in range(12):
        assert _wheel(heat_map, at, 120)
    zoomed = heat_map.layout_shown
    assert zoomed.cell_w > 8 * whole.cell_w
    down, across = zoomed.nearest_cell(at)
    assert abs(down - 120) <= 1
    assert abs(across - 100) <= 1
    value = float(heat_map.content.values[down, across])
    ends = heat_map.content.values.max()
    expected = color_at(float(np.float32(value / ends)), "sequential", LIGHT)
    shown = pixel(picture(heat_map), corner(heat_map, down, across))
    assert np.abs(np.subtract(shown, expected)).max() <= 3
    assert _wheel(heat_map, at, -120, Qt.KeyboardModifier.ShiftModifier)
    moved = heat_map.layout_shown
    assert (moved.cell_w, moved.offset.y()) == (zoomed.cell_w, zoomed.offset.y())
    assert moved.offset.x() > zoomed.offset.x()
    qtbot.mouseDClick(heat_map, Qt.MouseButton.LeftButton, pos=at.toPoint())
    assert heat_map.layout_shown == whole


def test_two_fingers_move_a_zoomed_map_and_ctrl_zooms_it(heat_map: HeatMap) -> None:
    heat_map.set_content(plain(np.zeros((50, 50))))
    at = heat_map.layout_shown.plot.center()
    heat_map.zoom_by(6, at)
    before = heat_map.layout_shown
    assert _wheel(heat_map, at, -40, phase=Qt.ScrollPhase.ScrollUpdate)
    after = heat_map.layout_shown
    assert after.cell_w == before.cell_w and after.offset.y() == before.offset.y() + 20
    assert _wheel(heat_map, at, -120, Qt.KeyboardModifier.ControlModifier, Qt.ScrollPhase.ScrollUpdate)
    assert heat_map.layout_shown.cell_w < before.cell_w


def test_a_turn_that_the_whole_map_has_no_use_for_is_left_to_what_scrolls(heat_map: HeatMap) -> None:
    heat_map.set_content(plain(np.zeros((50, 50))))
    at = heat_map.layout_shown.plot.center()
    before = heat_map.layout_shown
    assert not _wheel(heat_map, at, -120)
    assert not _wheel(heat_map, at, 120, Qt.KeyboardModifier.ShiftModifier)
    assert heat_map.layout_shown == before


def _wheel(
    widget: HeatMap,
    at: QPointF,
    delta: int,
    modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
    phase: Qt.ScrollPhase = Qt.ScrollPhase.NoScrollPhase,
) -> bool:
    """Turn the wheel, or two fingers with a `phase`; True if the map used it."""
    where = QPointF(widget.mapToGlobal(at.toPoint()))
    none = Qt.MouseButton.NoButton
    event = QWheelEvent(at, where, QPoint(), QPoint(0, delta), none, modifiers, phase, False)
    QApplication.sendEvent(widget, event)
    return event.isAccepted()


def test_a_drag_moves_a_zoomed_matrix_and_is_no_click(qtbot: QtBot, heat_map: HeatMap) -> None:
    heat_map.set_content(plain(np.zeros((50, 50))))
    heat_map.zoom_by(6, heat_map.layout_shown.plot.center())
    clicked: list[tuple[int, int]] = []
    heat_map.cell_clicked.connect(lambda row, column: clicked.append((row, column)))
    before = heat_map.layout_shown.offset
    at = heat_map.layout_shown.plot.center().toPoint()
    qtbot.mousePress(heat_map, Qt.MouseButton.LeftButton, pos=at)
    qtbot.mouseMove(heat_map, at - QPoint(40, 25))
    qtbot.mouseRelease(heat_map, Qt.MouseButton.LeftButton, pos=at - QPoint(40, 25))
    assert heat_map.layout_shown.offset == before + QPointF(40, 25)
    assert clicked == []


def test_tool_tip_is_plain_text_with_every_digit(qtbot: QtBot, heat_map: HeatMap) -> None:
    labels = ("<img src=x>", "<b>b</b>", "\n", "\u202e")
    heat_map.set_content(weights(row_labels=labels, column_labels=labels, values=WEIGHTS / 3, blocked=None))
    assert heat_map.cell_text(0, 1) == "<img src=x> \u00d7 <b>b</b>: 0.0"
    assert heat_map.cell_text(2, 3) == "\u240a \u00d7 \u27e8U+202E\u27e9: 0.0"
    assert heat_map.cell_text(3, 1).endswith(f": {0.973 / 3!r}")
    at = heat_map.cell_center(0, 1).toPoint()
    QApplication.sendEvent(heat_map, QHelpEvent(QEvent.Type.ToolTip, at, heat_map.mapToGlobal(at)))
    assert (
        QToolTip.text() == "<p style='white-space:pre'>&lt;img src=x&gt; \u00d7 &lt;b&gt;b&lt;/b&gt;: 0.0</p>"
    )
    QToolTip.hideText()
    qtbot.waitUntil(lambda: not QToolTip.isVisible())


def test_copied_table_reads_back_exactly(heat_map: HeatMap) -> None:
    values = (WEIGHTS / 3).astype(np.float32)
    heat_map.set_content(weights(values=values))
    lines = [line.split("\t") for line in table_text(heat_map.content).splitlines()]
    assert lines[0] == ["", *WORDS]
    assert [line[0] for line in lines[1:]] == list(WORDS)
    assert np.array_equal(np.array([line[1:] for line in lines[1:]], dtype=np.float32), values)
    heat_map.set_content(weights(values=values, transposed=True))
    turned = [line.split("\t")[1:] for line in table_text(heat_map.content).splitlines()[1:]]
    assert np.array_equal(np.array(turned, dtype=np.float32), values.T)


def test_no_token_is_a_formula_in_the_copied_table(heat_map: HeatMap) -> None:
    labels = ("=1+1", "a=1", "+1", "@A1")
    heat_map.set_content(weights(row_labels=labels, column_labels=labels))
    lines = [line.split("\t") for line in table_text(heat_map.content).splitlines()]
    assert lines[0] == ["", "'=1+1", "a=1", "'+1", "'@A1"]
    assert [line[0] for line in lines[1:]] == lines[0][1:]


def test_a_quotation_mark_stays_in_its_field_of_the_copied_table(heat_map: HeatMap) -> None:
    labels = ('"', 'say "hi', "b", "c")
    heat_map.set_content(weights(row_labels=labels, column_labels=labels))
    rows = list(csv.reader(io.StringIO(table_text(heat_map.content)), delimiter="\t"))
    assert rows[0] == ["", *labels] and [row[0] for row in rows[1:]] == list(labels)


def test_color_bar_has_the_real_ends(heat_map: HeatMap) -> None:
    heat_map.set_content(weights())
    assert heat_map.color_bar.scale.tick_texts() == ("0.000", "1.000")
    heat_map.set_content(weights(levels=(0.0, 4.0)))
    assert heat_map.color_bar.scale.tick_texts() == ("0.000", "4.000")
    heat_map.set_content(plain(np.array([[-2.5, 1.0]]), signed=True))
    assert heat_map.color_bar.scale.tick_texts() == ("\u22122.500", "2.500")
    heat_map.set_content(plain(np.array([[1.0, 0.01]]), range_id="log"))
    assert heat_map.color_bar.scale.tick_texts() == ("0.010", "1.000")
    heat_map.set_content(weights(range_id="row"))
    assert heat_map.color_bar.scale.tick_texts() == ("0", "row max")
    place = heat_map.color_bar.geometry()
    heat_map.set_highlight(Highlight((2, 0)))
    assert heat_map.color_bar.scale.tick_texts() == ("0.000", "0.777")
    assert heat_map.color_bar.geometry() == place, "the map keeps its place while rows are hovered"


@pytest.mark.parametrize("row", RANGES, ids=lambda row: row.id)
def test_the_color_bar_names_its_range(heat_map: HeatMap, row: Range) -> None:
    heat_map.set_content(weights(range_id="head" if row.id != "head" else "log"))
    other = heat_map.color_bar.grab().toImage()
    heat_map.set_content(weights(range_id=row.id))
    assert row.label in heat_map.color_bar.accessibleDescription()
    assert heat_map.color_bar.grab().toImage() != other


def test_a_longer_number_gets_a_wider_color_bar(heat_map: HeatMap) -> None:
    heat_map.set_content(weights())
    narrow = heat_map.color_bar.width()
    heat_map.set_content(plain(np.array([[-12345.6, 1.0]]), signed=True))
    assert heat_map.color_bar.width() > narrow
    assert heat_map.color_bar.geometry().right() <= heat_map.width()


def test_svg_holds_rectangles_and_text_not_a_picture(heat_map: HeatMap) -> None:
    heat_map.set_content(weights(row_labels=("<s>", "沈", "b", "c")))
    data = QByteArray()
    buffer = QBuffer(data)
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setSize(heat_map.size())
    generator.setResolution(heat_map.logicalDpiX())
    painter = QPainter(generator)
    heat_map.render(painter, QPoint())
    painter.end()
    svg = bytes(data.data()).decode()
    assert "0.973" in svg
    assert "&lt;s&gt;" in svg
    assert "沈" in svg
    assert "<image" not in svg


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1), (1, 300), (300, 1)])
@pytest.mark.parametrize("transposed", [False, True])
def test_any_shape_is_painted(
    qtbot: QtBot, heat_map: HeatMap, shape: tuple[int, int], transposed: bool
) -> None:
    heat_map.set_content(plain(np.ones(shape), transposed=transposed, row_sums=np.ones(shape[0])))
    heat_map.zoom_by(2, QPointF(100, 100))
    for size in ((1, 1), (60, 40), (560, 360)):
        heat_map.resize(*size)
        assert not picture(heat_map).isNull()
    qtbot.keyClick(heat_map, Qt.Key.Key_Right)
    assert (heat_map.current_cell is None) == (0 in shape)
    qtbot.mouseMove(heat_map, QPoint(280, 180))  # beside a narrow matrix nothing is pointed at


def test_a_smaller_matrix_forgets_cursor_and_highlight(qtbot: QtBot, heat_map: HeatMap) -> None:
    heat_map.set_content(plain(np.zeros((8, 8)), range_id="row"))
    qtbot.mouseMove(heat_map, heat_map.cell_center(7, 7).toPoint())
    heat_map.set_highlight(Highlight((7, 7)))
    heat_map.set_content(plain(np.zeros((2, 2)), range_id="row"))
    assert heat_map.current_cell is None
    assert heat_map.highlight == Highlight()
    assert not picture(heat_map).isNull()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"values": np.zeros((4, 4), dtype=object)}, "object"),
        ({"values": np.zeros(4)}, r"\(4,\)"),
        ({"row_labels": ("a",)}, "1 and 4 for 4 x 4"),
        ({"blocked": np.zeros((2, 2), bool)}, r"blocked: shape \(2, 2\)"),
        ({"row_sums": np.zeros(3)}, r"row_sums: shape \(3,\)"),
    ],
)
def test_impossible_content_is_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        weights(**changed)


def test_themes_differ(heat_map: HeatMap) -> None:
    heat_map.set_content(weights())
    light = picture(heat_map)
    heat_map.apply_theme(DARK)
    assert picture(heat_map) != light


def test_outlines_of_a_zoomed_map_end_with_it(heat_map: HeatMap) -> None:
    heat_map.set_content(plain(np.zeros((12, 12))))
    heat_map.zoom_by(3.0, heat_map.cell_center(6, 6))
    before = picture(heat_map)
    heat_map.set_highlight(Highlight(cell=(6, 6), rows=frozenset({6}), columns=frozenset({6})))
    after, plot = picture(heat_map), heat_map.layout_shown.plot
    middle = plot.center()
    for x, y in (
        *((plot.left() - 3, middle.y() + dy) for dy in range(-60, 60)),
        *((plot.right() + 3, middle.y() + dy) for dy in range(-60, 60)),
        *((middle.x() + dx, plot.bottom() + 3) for dx in range(-60, 60)),
    ):
        assert pixel(after, QPointF(x, y)) == pixel(before, QPointF(x, y))
    assert after != before


def test_a_zoomed_map_has_a_minimap_that_moves_it(qtbot: QtBot, heat_map: HeatMap) -> None:
    values = np.zeros((60, 60))
    values[30:, :30] = 1.0
    heat_map.set_content(plain(values))
    minimap = heat_map.findChild(Minimap)
    assert isinstance(minimap, Minimap) and not minimap.isVisible()
    heat_map.zoom_by(5, heat_map.layout_shown.plot.topLeft())
    assert minimap.isVisible()
    assert heat_map.layout_shown.plot.contains(QRectF(minimap.geometry()))
    image = minimap.grab().toImage()
    quarter = QPointF(minimap.width() / 4, minimap.height() * 3 / 4)
    assert pixel(image, quarter) == color_at(1.0, "sequential", LIGHT)
    assert pixel(image, QPointF(quarter.y(), quarter.y())) == color_at(0.0, "sequential", LIGHT)
    qtbot.mouseClick(minimap, Qt.MouseButton.LeftButton, pos=quarter.toPoint())
    geometry = heat_map.layout_shown
    down, across = geometry.nearest_cell(geometry.plot.center())
    assert abs(down - 45) <= 2 and abs(across - 15) <= 2
    heat_map.reset_zoom()
    assert not minimap.isVisible()


@pytest.mark.parametrize("transposed", [False, True])
def test_a_zoomed_map_moves_to_a_cell_outside_its_part(heat_map: HeatMap, transposed: bool) -> None:
    heat_map.set_content(plain(np.zeros((60, 60)), transposed=transposed))
    heat_map.bring_into_sight(40, 50)
    assert heat_map.layout_shown.offset.isNull()  # all of it is in sight
    heat_map.zoom_by(5, heat_map.layout_shown.plot.topLeft())
    heat_map.bring_into_sight(40, -1)
    plot, middle = heat_map.layout_shown.plot, heat_map.cell_center(40, 0)
    if transposed:
        assert (middle.x(), heat_map.layout_shown.offset.y()) == (pytest.approx(plot.center().x()), 0)
    else:
        assert (middle.y(), heat_map.layout_shown.offset.x()) == (pytest.approx(plot.center().y()), 0)
    heat_map.bring_into_sight(40, 30)
    assert heat_map.cell_center(40, 30) == plot.center()
    heat_map.bring_into_sight(41, 31)
    assert heat_map.cell_center(40, 30) == plot.center()  # that one is in sight, too
    heat_map.bring_into_sight(60, -1)
    assert heat_map.cell_center(40, 30) == plot.center()  # no such row


def test_each_row_of_a_distribution_has_a_bar_of_its_entropy(heat_map: HeatMap) -> None:
    values = np.array([[1, 0, 0, 0], [0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0]])
    sums = values.sum(axis=1)
    for transposed in (False, True):
        heat_map.set_content(weights(values=values, blocked=None, row_sums=sums, transposed=transposed))
        plot, image = heat_map.layout_shown.plot, picture(heat_map)
        lengths = []
        for row in range(4):
            at = heat_map.cell_center(row, row)
            step = QPointF(0, 1) if transposed else QPointF(1, 0)
            start = QPointF(at.x(), plot.bottom() + 8) if transposed else QPointF(plot.right() + 8, at.y())
            along = [pixel(image, start + i * step) for i in range(32)]
            lengths.append(along.count(QColor(LIGHT.muted).getRgb()[:3]))
        assert lengths == [1, 32, 16, 16]


@pytest.mark.parametrize("sums", [(1.0, 1.0, 1.0, 1.0), (1.0, 0.44, 1.0, 1.0)])
def test_a_sum_is_written_where_it_is_not_one(heat_map: HeatMap, sums: tuple[float, ...]) -> None:
    values = np.diag(np.array(sums))
    heat_map.set_content(weights(values=values, blocked=None, row_sums=values.sum(axis=1)))
    plot, image = heat_map.layout_shown.plot, picture(heat_map)
    bar = heat_map.color_bar.geometry()
    for row, total in enumerate(sums):
        middle = heat_map.cell_center(row, 0).y()
        beside = QRectF(plot.right() + 50, middle - 7, bar.left() - plot.right() - 52, 14).toAlignedRect()
        written = len(colors_in(image.copy(beside))) > 1
        assert written == (total != 1.0)


def test_the_headings_of_bars_say_what_they_measure(heat_map: HeatMap) -> None:
    values = np.array([[0.5, 0.25, 0.125, 0.125]] * 4)
    content = weights(
        values=values, blocked=None, row_sums=values.sum(axis=1), column_means=values.mean(axis=0)
    )
    for shown, said in (
        (content, "Entropy of each row"),
        (replace(content, chosen=(1,)), "The share of each row"),
    ):
        heat_map.resize(700, 640)  # where the means of columns have room
        heat_map.set_content(shown)
        geometry = heat_map.layout_shown
        spread = spread_strip(geometry, shown).heading_rect(spread_heading(shown)).center()
        received = received_strip(geometry, shown).heading_rect(received_heading()).center()
        for point, starts in ((spread, said), (received, "The mean weight")):
            at = point.toPoint()
            QApplication.sendEvent(heat_map, QHelpEvent(QEvent.Type.ToolTip, at, heat_map.mapToGlobal(at)))
            assert starts in QToolTip.text()
    QToolTip.hideText()


def test_the_bar_of_a_row_tells_sum_entropy_and_effective_number(qtbot: QtBot, heat_map: HeatMap) -> None:
    values = np.array([[0.5, 0.25, 0.125, 0.125]] * 4)
    heat_map.set_content(weights(values=values, blocked=None, row_sums=values.sum(axis=1)))
    plot = heat_map.layout_shown.plot
    at = QPoint(int(plot.right()) + 20, int(heat_map.cell_center(1, 0).y()))
    QApplication.sendEvent(heat_map, QHelpEvent(QEvent.Type.ToolTip, at, heat_map.mapToGlobal(at)))
    lines = ("fluffy", "Sum: 1.0000", "Entropy: 1.750 bits", "Effective number of tokens: 3.36")
    assert QToolTip.text() == "<p style='white-space:pre'>" + "\n".join(lines) + "</p>"
    QToolTip.hideText()
    qtbot.waitUntil(lambda: not QToolTip.isVisible())


def test_axes_are_named_in_the_corner(heat_map: HeatMap) -> None:
    colors = (LIGHT.query, LIGHT.key)
    counted = []
    for names in (("", ""), ("query", "key")):
        heat_map.set_content(weights(row_axis=names[0], column_axis=names[1]))
        plot = heat_map.layout_shown.plot
        area = QRectF(0, 0, plot.left(), plot.top() - 2).toAlignedRect()
        counted.append([count_color(picture(heat_map), color, area, 40) > 10 for color in colors])
    assert counted == [[False, False], [True, True]]


@pytest.mark.parametrize("theme", THEMES)
def test_a_lying_color_bar_goes_from_the_lowest_colour_at_the_left(
    qtbot: QtBot, heat_map: HeatMap, theme: Theme
) -> None:
    heat_map.apply_theme(theme)
    heat_map.resize(380, 400)
    heat_map.set_content(weights())
    bar = heat_map.color_bar
    assert bar.width() > bar.height()
    image = bar.grab().toImage()
    line = [pixel(image, QPointF(x, bar.height() / 2)) for x in range(bar.width())]
    ends = [np.abs(np.array(line) - color_at(end, "sequential", theme)).max(axis=1) for end in (0.0, 1.0)]
    assert max(far.min() for far in ends) <= 12 and ends[0].argmin() < ends[1].argmin() - 60


def test_a_number_of_a_cut_cell_ends_with_the_map(heat_map: HeatMap) -> None:
    heat_map.set_content(plain(np.full((13, 13), 0.123)))
    for column in range(1, 12):
        heat_map.zoom_by(3.0, heat_map.cell_center(6, column))
        plot, image = heat_map.layout_shown.plot, picture(heat_map)
        for beside in (
            QRectF(plot.left() - 6, plot.top(), 5, plot.height()),
            plot.translated(plot.width(), 0),
        ):
            beside.setWidth(5)
            assert len(colors_in(image.copy(beside.adjusted(1, 1, 0, -1).toAlignedRect()))) == 1
        heat_map.reset_zoom()


def test_chinese_labels_stand_upright_beside_rotated_ones(heat_map: HeatMap) -> None:
    """A horizontal stroke is as wide as a character; lying on its side, it would be that high."""
    n = 24
    words = ("unbreakable", "\u4e00", "\u4e00\u4e00", *["long words"] * (n - 3))
    heat_map.set_content(
        weights(values=np.eye(n), row_labels=words, column_labels=words, blocked=None, row_sums=None)
    )
    geometry, image = heat_map.layout_shown, picture(heat_map).convertToFormat(QImage.Format.Format_RGB32)
    assert geometry.across_angle == 90 and geometry.across_step == 1
    pixels = np.array(image.constBits()).reshape(image.height(), -1, 4)[..., 2::-1].astype(int)
    is_ink = np.abs(pixels - QColor(LIGHT.key).getRgb()[:3]).sum(axis=-1) < 150
    for column, n_strokes in ((1, 1), (2, 2)):
        cell = geometry.cell_rect(0, column)
        above = is_ink[: math.floor(cell.top()) - 2, round(cell.left()) : round(cell.right())]
        has_ink = above.any(axis=1)
        assert np.count_nonzero(np.diff(has_ink.astype(int)) == 1) == n_strokes
        assert np.count_nonzero(has_ink) <= 2 * n_strokes
        assert np.count_nonzero(above.any(axis=0)) >= 8


def test_the_exact_value_of_a_cell_goes_with_its_numbers(heat_map: HeatMap, qtbot: QtBot) -> None:
    heat_map.set_content(weights())
    at = heat_map.layout_shown.cell_rect(2, 1).center().toPoint()
    QApplication.sendEvent(heat_map, QHelpEvent(QEvent.Type.ToolTip, at, heat_map.mapToGlobal(at)))
    assert QToolTip.isVisible() and "fluffy: 0.217" in QToolTip.text()
    heat_map.set_content(weights(title="another name"))
    qtbot.wait(400)  # Qt hides a tooltip after 300 ms
    assert QToolTip.isVisible()
    heat_map.set_content(weights(values=WEIGHTS / 2))
    qtbot.waitUntil(lambda: not QToolTip.isVisible())
