"""The positions panel: what is drawn is what the trace has, for the pair in focus."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest
from first_layer import change, stacked
from panels import recolor
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QAbstractButton, QLabel
from pytestqt.qtbot import QtBot

from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.explain.position_curves import CURVE_ROWS, candidates
from attnviz.gui.look.theme import DARK, LIGHT
from attnviz.gui.panels.positions import Entry, PositionsPanel, curve_pen
from attnviz.gui.store import Store
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import (
    Alibi,
    Heads,
    NoPosition,
    Projections,
    Rope,
    Seeded,
    SeededVectors,
    Sinusoidal,
)
from attnviz.model.spec.view import Cell


@pytest.fixture
def panel(qtbot: QtBot) -> Iterator[PositionsPanel]:
    experiment = stacked(
        tokens=("a", "b", "<b>", "d", "e", "f"),
        vectors=SeededVectors(6, 8, 3),
        heads=Heads(2, 1, 4),
        projections=Projections(Seeded(1), Seeded(2), Seeded(3), Seeded(4)),
        position=Rope(),
        dtype="float64",
    )
    store = Store(Document(experiment))

    def compute(old: Document | None, new: Document) -> None:
        store.set_trace(run(NumpyEngine("float64"), new.experiment))

    made = PositionsPanel(store)
    qtbot.addWidget(made)
    recolor(made, LIGHT)
    compute(None, store.document)
    made.start()
    store.changed.connect(compute)
    made.resize(456, 150)
    made.show()
    qtbot.waitExposed(made)
    yield made
    store.changed.disconnect(compute)


def curve(panel: PositionsPanel, id_: str) -> dict[int, float]:
    """The painted curve: distance -> score."""
    x, y = panel.plot._lines[id_].getData()
    return {round(a): float(b) for a, b in zip(x, y, strict=True)}


def entry(panel: PositionsPanel, id_: str) -> Entry:
    found = panel.findChild(QAbstractButton, f"curve_{id_}")
    assert isinstance(found, Entry)
    return found


def caption(panel: PositionsPanel) -> str:
    found = panel.findChild(QLabel, "positions_caption")
    assert isinstance(found, QLabel)
    return found.text()


def test_the_present_curve_and_its_dot_are_the_traces_score(panel: PositionsPanel) -> None:
    panel.store.set_hover(Cell("weights", 4, 2, 1))
    assert panel.store.trace is not None
    expected = float(panel.store.trace["scaled"][1, 4, 2])
    assert curve(panel, "rope")[-2] == pytest.approx(expected, rel=1e-12)
    dots = panel.plot._dot.getData()
    assert (float(dots[0][0]), float(dots[1][0])) == (-2.0, pytest.approx(expected))
    value = f"{expected:.4f}".replace("-", "−")
    assert caption(panel) == f"head 2: score of q “e” and k “<b>” against key − query; here −2: {value}"


def test_every_encoding_is_drawn_from_the_same_q_and_k(panel: PositionsPanel) -> None:
    panel.store.set_hover(Cell("weights", 4, 2, 1))
    possible = {id_ for id_, _t, _e in candidates(panel.store.attention)}
    assert set(panel.plot.drawn()) == set(CURVE_ROWS) == possible
    plain = set(curve(panel, "none").values())
    assert len(plain) == 1
    fall = curve(panel, "alibi")
    # Two heads: slopes 1/16 and 1/256.
    assert fall[0] == pytest.approx(plain.pop()) and fall[-8] - fall[0] == pytest.approx(-8 / 256)


def test_an_edit_moves_the_curve_and_the_emphasis(panel: PositionsPanel) -> None:
    assert entry(panel, "rope").is_present and not entry(panel, "alibi").is_present
    strong = {id_: panel.plot._lines[id_].opts["pen"].widthF() for id_ in ("rope", "alibi")}
    assert strong["rope"] > 2 * strong["alibi"]
    before = curve(panel, "rope")
    change(panel.store, position=Rope(base=5.0))
    assert curve(panel, "rope") != before
    change(panel.store, position=Alibi((1.0, 0.0)))
    assert entry(panel, "alibi").is_present and not entry(panel, "rope").is_present
    assert curve(panel, "alibi")[3] - curve(panel, "alibi")[0] == pytest.approx(-3.0)
    assert curve(panel, "rope") == pytest.approx(before)


@pytest.mark.parametrize(("size", "is_below"), [((400, 420), True), ((640, 420), False), ((400, 150), False)])
def test_the_legend_is_below_the_curves_where_the_panel_is_narrow_and_tall(
    qtbot: QtBot, panel: PositionsPanel, size: tuple[int, int], is_below: bool
) -> None:
    panel.resize(*size)
    qtbot.wait(1)
    assert (panel.plot.width() > 0.9 * panel.width()) == is_below
    assert (panel.legend.y() >= panel.plot.geometry().bottom()) == is_below
    boxes = [QRect(entry.mapTo(panel, QPoint()), entry.size()) for entry in panel.legend.entries.values()]
    assert all(panel.rect().contains(box) for box in boxes)
    assert not any(a.intersects(b) for a, b in combinations(boxes, 2))


def test_the_legend_hides_and_shows_but_never_the_present_one(qtbot: QtBot, panel: PositionsPanel) -> None:
    for id_ in ("t5", "rope"):
        qtbot.mouseClick(entry(panel, id_), Qt.MouseButton.LeftButton)
    assert "t5" not in panel.plot.drawn() and "rope" in panel.plot.drawn()
    change(panel.store, position=NoPosition())
    assert "rope" not in panel.plot.drawn()
    qtbot.keyClick(entry(panel, "t5"), Qt.Key.Key_Space)
    assert "t5" in panel.plot.drawn()


def test_a_head_of_one_feature_has_no_rope_to_draw(panel: PositionsPanel) -> None:
    narrow = stacked(("a", "b"), SeededVectors(2, 4), heads=Heads(2, 1, 1), dtype="float64")
    panel.store.open(Document(narrow))
    assert not [id_ for id_ in panel.plot.drawn() if id_.startswith("rope")]
    assert not entry(panel, "rope").isEnabled() and entry(panel, "alibi").isEnabled()


def test_added_rows_are_a_picture_that_leads_to_x(qtbot: QtBot, panel: PositionsPanel) -> None:
    assert not panel.wave.isVisible()
    change(panel.store, position=Sinusoidal())
    assert panel.wave.isVisible()
    qtbot.mouseClick(panel.wave, Qt.MouseButton.LeftButton)
    assert panel.store.document.view.stage == "x"
    gaps = [away for away, value in curve(panel, "sinusoidal").items() if not np.isfinite(value)]
    assert gaps == [away for away in curve(panel, "none") if away < 0]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_the_present_curve_is_painted_in_the_accent(panel: PositionsPanel, theme: object) -> None:
    recolor(panel, theme)  # type: ignore[arg-type]
    image = panel.plot.grab().toImage()
    accent = QColor(panel.theme.accent)
    pixels = [image.pixelColor(x, y) for x in range(0, image.width(), 2) for y in range(image.height())]
    close = [p for p in pixels if abs(p.hslHue() - accent.hslHue()) < 6 and p.hslSaturation() > 90]
    assert len(close) > 40


def test_every_line_differs_in_hue_or_dash(panel: PositionsPanel) -> None:
    pens = [curve_pen(id_, False, panel.theme) for id_ in CURVE_ROWS]
    assert len({(pen.color().name(), *pen.dashPattern()) for pen in pens}) == len(CURVE_ROWS)


def test_nothing_is_computed_where_nobody_looks(panel: PositionsPanel) -> None:
    before = curve(panel, "rope")
    panel.set_seen(False)
    change(panel.store, position=Rope(base=5.0))
    assert curve(panel, "rope") == before
    panel.set_seen(True)
    assert curve(panel, "rope") != before
