"""A table over tokens that scrolls: its titles stay, and the selected place comes into view."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter
from pytestqt.qtbot import QtBot

from attnviz.gui.widgets.token_table import LABELS, TITLES, At, ScrolledTable, TokenTable

N_TOKENS, N_ROWS = 40, 30


class Striped(TokenTable):
    def _paint_cell(self, painter: QPainter, metrics: QFontMetricsF, at: At) -> None:
        painter.fillRect(self.cell(at), QColor("#808080" if sum(at) % 2 else "#c0c0c0"))


@pytest.fixture
def table() -> TokenTable:
    made = Striped()
    made.set_table(tuple(map(str, range(1, N_ROWS + 1))), tuple(f"token{i}" for i in range(N_TOKENS)))
    return made


@pytest.fixture
def area(qtbot: QtBot, table: TokenTable) -> ScrolledTable:
    made = ScrolledTable(table)
    qtbot.addWidget(made)
    made.resize(400, 200)
    made.show()
    qtbot.waitExposed(made)
    return made


def seen(area: ScrolledTable, table: TokenTable, at: At) -> QRectF:
    """The part of a cell that is in view beside the titles."""
    view = QRectF(-table.x(), -table.y(), area.viewport().width(), area.viewport().height())
    return table.cell(at).intersected(view.adjusted(LABELS, TITLES, 0, 0))


def strip(area: ScrolledTable, part: QRect) -> QImage:
    return area.viewport().grab(part).toImage()


def test_the_titles_stay_where_the_table_scrolls(area: ScrolledTable, table: TokenTable) -> None:
    rows, tokens = QRect(0, TITLES, LABELS, 150), QRect(LABELS, 0, 300, TITLES)
    numbers, words = strip(area, rows), strip(area, tokens)
    assert numbers != strip(area, rows.translated(LABELS, 0))  # else the comparison would say nothing
    area.horizontalScrollBar().setValue(560)
    assert strip(area, rows) == numbers and strip(area, tokens) != words
    area.horizontalScrollBar().setValue(0)
    area.verticalScrollBar().setValue(240)
    assert strip(area, tokens) == words and strip(area, rows) != numbers


def test_titles_in_view_are_no_cells(area: ScrolledTable, table: TokenTable) -> None:
    area.horizontalScrollBar().setValue(560)
    area.verticalScrollBar().setValue(240)
    corner = QPointF(560, 240)
    assert table.place_at(corner + QPointF(LABELS - 1, 100)) is None
    assert table.place_at(corner + QPointF(100, TITLES - 1)) is None
    assert table.place_at(corner + QPointF(LABELS + 60, TITLES + 30)) is not None


def test_the_selected_token_comes_into_view(area: ScrolledTable, table: TokenTable) -> None:
    area.set_chosen((0, N_TOKENS - 1))
    assert seen(area, table, (N_ROWS - 1, N_TOKENS - 1)) == table.cell((N_ROWS - 1, N_TOKENS - 1))
    area.set_chosen((4, 10))  # another row: the whole cell
    assert seen(area, table, (4, 10)) == table.cell((4, 10))


def test_it_stays_in_view_in_a_narrower_window(area: ScrolledTable, table: TokenTable, qtbot: QtBot) -> None:
    area.set_chosen((N_ROWS - 1, 12))
    area.resize(200, 200)
    at = N_ROWS - 1, 12
    qtbot.waitUntil(lambda: seen(area, table, at) == table.cell(at))


def test_keys_go_on_beyond_the_edge(area: ScrolledTable, table: TokenTable, qtbot: QtBot) -> None:
    table.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(table.hasFocus)
    for _step in range(15):
        qtbot.keyClick(table, Qt.Key.Key_Right)
    assert table.current == (0, 15)
    assert seen(area, table, (0, 15)) == table.cell((0, 15))


def test_a_click_beside_the_scrolled_titles_chooses(
    area: ScrolledTable, table: TokenTable, qtbot: QtBot
) -> None:
    area.set_chosen((N_ROWS - 1, 30))
    chosen: list[At] = []
    table.chosen.connect(chosen.append)
    point = table.cell((N_ROWS - 1, 30)).center().toPoint()
    qtbot.mousePress(table, Qt.MouseButton.LeftButton, pos=point)
    assert chosen == [(N_ROWS - 1, 30)]
    qtbot.mousePress(table, Qt.MouseButton.LeftButton, pos=QPoint(-table.x() + 5, point.y()))
    assert len(chosen) == 1
