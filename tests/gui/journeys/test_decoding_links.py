"""Every number of a decoding step opens to the arithmetic that made it, those of written tokens too."""

from __future__ import annotations

import numpy as np
import pytest
from desk import Desk, MakeDesk
from experiments import small
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from attnviz.gui.panels.decoding.caches.strip import WeightStrip
from attnviz.gui.panels.decoding.next.rows import NextRows
from attnviz.gui.panels.inspector.inspector import InspectorPanel
from attnviz.gui.widgets.pictures.row_matrix import RowMatrix
from attnviz.model.spec.document import Document
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.view import Cell

STEP = 30
"""A step of a token that the model wrote."""


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    """The shipped model at a step behind its prompt, with room for everything that a step shows."""
    from attnviz.checkpoints.presets import load_preset

    made = make_desk(load_preset("stories-en"))
    made.window.resize(1900, 1100)
    made.go("generate")
    made.qtbot.waitUntil(lambda: made.store.player.decoded is not None, timeout=8000)
    made.store.look(step=STEP, site="layers.1.self", head=0)
    made.qtbot.waitUntil(lambda: made.find(RowMatrix, "k_cache").isVisible(), timeout=8000)
    assert made.store.experiment.n_queries < STEP
    return made


def said(desk: Desk) -> str:
    panel = desk.window.panels["inspector"]
    assert isinstance(panel, InspectorPanel)
    desk.bring("inspector")
    desk.settle()
    QTest.qWait(20)
    return panel.page.toPlainText().replace("\u2060", "").replace("\u00a0", " ").replace("−", "-")


def result(desk: Desk) -> float:
    """The number that the first line of the inspector ends in, before its remarks."""
    line = said(desk).splitlines()[0].split("   ")[0]
    return float(line.rsplit("= ", 1)[1])


def point(desk: Desk, widget: QWidget, at: QPoint) -> None:
    desk.bring("caches")
    desk.settle()
    QTest.mouseMove(widget, at + QPoint(1, 0))
    QTest.mouseMove(widget, at)


def cell_of(matrix: RowMatrix, row: int, column: int) -> QPoint:
    return matrix.cell_rect(row, column).center().toPoint()


@pytest.mark.parametrize(("name", "stage"), [("k_cache", "k_rotated"), ("v_again", "v")])
def test_a_row_of_a_written_token_opens(desk: Desk, name: str, stage: str) -> None:
    matrix, steps = desk.find(RowMatrix, name), desk.store.player.decoded.decoding.steps  # type: ignore[union-attr]
    point(desk, matrix, cell_of(matrix, STEP - 1, 3))
    assert desk.store.pointer.decoded == Cell(stage, STEP - 1, 3, 0)
    made = float(steps[STEP - 1].site("layers.1.self")[stage][0, 3])
    assert abs(result(desk) - made) < 1e-5


def test_what_is_clicked_stays_until_escape(desk: Desk) -> None:
    matrix = desk.find(RowMatrix, "k_cache")
    QTest.mouseClick(matrix, Qt.MouseButton.LeftButton, pos=cell_of(matrix, STEP, 2))
    assert desk.store.pointer.held == Cell("k_rotated", STEP, 2, 0)
    QTest.mouseClick(matrix, Qt.MouseButton.LeftButton, pos=cell_of(matrix, 1, 2))
    assert desk.store.pointer.held == Cell("k_rotated", 1, 2, 0)
    desk.press_key(Qt.Key.Key_Escape)
    assert desk.store.pointer.held is None and desk.store.document.view.locked is None


def test_a_token_of_the_document_is_lit_everywhere_and_opens_in_the_decoding(make_desk: MakeDesk) -> None:
    """Without a causal mask the document has other numbers in its own pass than the player has."""
    desk = make_desk(Document(small(readout="similarity", writing=Writing())), inline=False)
    desk.window.resize(1900, 1100)
    desk.go("generate")
    desk.qtbot.waitUntil(lambda: desk.store.player.decoded is not None, timeout=8000)
    desk.store.look(step=2)
    weights = desk.find(WeightStrip, "decode_weights")
    desk.qtbot.waitUntil(lambda: not weights.visibleRegion().isEmpty())
    point(desk, weights, weights.column_rect(0).center().toPoint())
    assert desk.store.pointer.cell == desk.store.pointer.decoded == Cell("weights", 2, 0, 0)
    shown = desk.store.player.decoded.decoding.steps[2].weights[0, 0]  # type: ignore[union-attr]
    assert abs(desk.store.site.window("weights", 0)[2, 0] - shown) > 1e-3
    assert abs(result(desk) - shown) < 1e-5


def test_bars_open_to_the_probability_and_the_weight(desk: Desk) -> None:
    step = desk.store.player.decoded.decoding.steps[STEP]  # type: ignore[union-attr]
    bars = desk.find(NextRows, "decode_next")
    point(desk, bars, bars.bar_rect(0).center().toPoint())
    best = int(np.argmax(step.probabilities))
    assert desk.store.pointer.decoded == Cell("probabilities", STEP, best, 0, "layers.3.self")
    assert abs(result(desk) - step.probabilities[best]) < 1e-5
    weights = desk.find(WeightStrip, "decode_weights")
    point(desk, weights, weights.column_rect(1).center().toPoint())
    assert desk.store.pointer.decoded == Cell("weights", STEP, 1, 0)
    expected = step.site("layers.1.self").weights[0, 1]
    assert abs(float(said(desk).split("= ")[2].split()[0]) - expected) < 1e-4 or f"{expected:.6f}" in said(
        desk
    )


def test_the_output_row_opens_on_both_sides(desk: Desk) -> None:
    for name in ("decode_output", "decode_output_again"):
        matrix = desk.find(RowMatrix, name)
        point(desk, matrix, cell_of(matrix, 0, 5))
        assert desk.store.pointer.decoded == Cell("attention_output", STEP, 5, 0)
        desk.store.set_hover(None)
