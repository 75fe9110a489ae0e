"""Lines between words by what is painted and what the mouse and the keys reach."""

from __future__ import annotations

import numpy as np
import pytest
from desk import count_color, picture
from experiments import small
from pointer import move
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QColor, QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.core.shades import HEAD_HUES
from attnviz.gui.look.theme import DARK, LIGHT, Theme
from attnviz.gui.widgets.lines import LEAST_ROW, WordLinesView, columns, least_height
from attnviz.model.links import word_lines
from attnviz.model.spec.parts import Causal, Heads
from attnviz.model.spec.view import Lines, View

SITE = attnviz.run(small(heads=Heads(4, 2, 4), masks=(Causal(),))).only
N = SITE.experiment.n_queries


def make(qtbot: QtBot, view: View, theme: Theme = LIGHT) -> WordLinesView:
    widget = WordLinesView()
    qtbot.addWidget(widget)
    widget.resize(620, 300)
    widget.apply_theme(theme)
    widget.set_lines(word_lines(SITE, view, "weights"), "weights")
    widget.set_chosen(min(view.query, N - 1), -1)
    widget.show()
    qtbot.waitExposed(widget)
    return widget


def word(widget: WordLinesView, *, query: int = -1, key: int = -1) -> QPoint:
    places = widget.columns
    at = QPointF(places.left - 8, places.y(query)) if query >= 0 else QPointF(places.right + 8, places.y(key))
    return at.toPoint()


def end_of_lines(widget: WordLinesView, key: int) -> QRectF:
    """A strip just before a right word, where its lines end."""
    places = widget.columns
    return QRectF(places.right - 24, places.y(key) - 4, 14, 8)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_the_strongest_line_ends_at_its_key_in_the_hue_of_its_head(qtbot: QtBot, theme: Theme) -> None:
    for head in range(4):
        widget = make(qtbot, View(query=N - 1, head=head), theme)
        weights = SITE["weights"][head, N - 1]
        painted = [_inked(widget, key, theme) for key in range(N)]
        assert int(np.argmax(painted)) == int(np.argmax(weights))
        order = np.argsort(weights)
        assert painted[order[-1]] > painted[order[0]]
        widget.setStyleSheet(f"background: {theme.panel}")
        strongest = end_of_lines(widget, int(np.argmax(weights)))
        assert count_color(picture(widget), HEAD_HUES[head], strongest, 8) > 3


def _channels(one: QColor, other: QColor) -> zip[tuple[int, int]]:
    return zip(one.getRgb()[:3], other.getRgb()[:3], strict=True)


def _inked(widget: WordLinesView, key: int, theme: Theme) -> float:
    """Change of the ground before a key by the lines."""
    widget.setStyleSheet(f"background: {theme.panel}")
    image, area = picture(widget), end_of_lines(widget, key).toAlignedRect()
    ground = QColor(theme.panel)
    total = 0
    for x in range(area.left(), area.right()):
        for y in range(area.top(), area.bottom()):
            total += sum(abs(a - b) for a, b in _channels(image.pixelColor(x, y), ground))
    return total


def test_a_word_under_the_pointer_shows_its_own_lines(qtbot: QtBot) -> None:
    widget = make(qtbot, View(query=3, lines=Lines("all", "all")))
    assert widget.lit_links()[0].queries.max() == N - 1
    move(widget, word(widget, query=2), held=False)
    assert {int(q) for links in widget.lit_links() for q in links.queries} == {2}
    move(widget, word(widget, key=1), held=False)
    assert {int(k) for links in widget.lit_links() for k in links.keys} == {1}
    move(widget, QPoint(widget.width() // 2, 100), held=False)
    assert len({int(q) for links in widget.lit_links() for q in links.queries}) == N
    one = make(qtbot, View(query=3))
    move(one, word(one, query=1), held=False)
    assert {int(q) for links in one.lit_links() for q in links.queries} == {1}


def test_clicks_and_keys_select_queries_and_lock_cells(qtbot: QtBot) -> None:
    widget = make(qtbot, View(query=1))
    queries: list[int] = []
    cells: list[tuple[int, int]] = []
    widget.query_clicked.connect(queries.append)
    widget.key_clicked.connect(lambda query, key: cells.append((query, key)))
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton, pos=word(widget, query=2))
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton, pos=word(widget, key=0))
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton, pos=QPoint(widget.width() // 2, 100))
    QTest.keyClick(widget, Qt.Key.Key_Down)
    assert queries == [2, 2] and cells == [(1, 0)]


def test_the_tooltip_has_every_digit_of_every_head(qtbot: QtBot) -> None:
    widget = make(qtbot, View(query=2, lines=Lines("one", "all")))
    at = word(widget, key=1)
    move(widget, at, held=False)
    QApplication.sendEvent(widget, QHelpEvent(QEvent.Type.ToolTip, at, widget.mapToGlobal(at)))
    for head in range(4):
        assert f"head {head + 1}: {SITE['weights'][head, 2, 1]}" in QToolTip.text()
    QToolTip.hideText()
    qtbot.waitUntil(lambda: not QToolTip.isVisible())


def test_words_of_the_future_have_no_number_and_others_are_shaded(qtbot: QtBot) -> None:
    widget = make(qtbot, View(query=2))
    places, image = widget.columns, picture(widget)
    for key in range(N):
        numbers = QRectF(places.number - 40, places.y(key) - 8, 40, 16)
        is_written = len({image.pixelColor(x, int(places.y(key))).rgb() for x in _across(numbers)}) > 1
        assert is_written == (key <= 2)


def _across(area: QRectF) -> range:
    return range(int(area.left()), int(area.right()))


@pytest.mark.parametrize("width", [240, 620, 1600])
@pytest.mark.parametrize("n", [1, 13, 2048])
def test_everything_lies_inside(width: int, n: int) -> None:
    places = columns(QSizeF(width, max(300, least_height(n))), n, widest=90)
    assert 0 < places.left < places.right < places.number <= width
    assert places.row >= LEAST_ROW and places.y(n - 1) < max(300, least_height(n))
    assert places.word_at(QPointF(places.left - 3, places.y(n - 1)), n, n) == (n - 1, -1)
    assert places.word_at(QPointF(places.right + 3, places.y(0)), n, n) == (-1, 0)
    assert places.word_at(QPointF((places.left + places.right) / 2, places.y(0)), n, n) == (-1, -1)


def test_where_nothing_is_in_sight_nothing_is_painted(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture of no pixels has no painter, which Qt says."""
    widget = make(qtbot, View())
    monkeypatch.setattr(widget, "_in_sight", QRect)
    assert widget._picture(1.0).size() == QSize(1, 1)
