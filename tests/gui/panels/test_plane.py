"""The plane: its texts are computed here again; a dragged tip ends where it was released."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from first_layer import stacked
from msgspec.structs import replace
from pointer import move, press, release
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.gui.panels.plane import PlanePanel
from attnviz.gui.store import Store
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.model.edit.edits import set_vector_cell
from attnviz.model.edit.layers import set_n_layers
from attnviz.model.io.presets import load_preset, preset_ids
from attnviz.model.operands.matrices import vectors_array
from attnviz.model.projections import PROJECTIONS
from attnviz.model.sites.sites import site_names
from attnviz.model.spec.block import Block, Norm
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import (
    ExplicitVectors,
    Heads,
    Memory,
    Projections,
    Rope,
    Seeded,
    SeededVectors,
    Sinusoidal,
)
from attnviz.model.spec.view import Cell, View


class Bench:
    """A plane over a store that runs every edit at once."""

    def __init__(self, qtbot: QtBot, view: View | None = None, **changes: Any) -> None:
        fields: dict[str, Any] = {
            "tokens": ("<s>", "b", "c"),
            "vectors": ExplicitVectors(
                [[1.0, 2.0, -1.0, 0.5], [0.5, -1.0, 2.0, 1.0], [-2.0, 1.0, 0.0, -0.5]]
            ),
            "heads": Heads(1, 1, 4),
            "projections": Projections(),
            "dtype": "float64",
        }
        self.store = Store(Document(stacked(**{**fields, **changes}), view or View()))
        self.panel = PlanePanel(self.store)
        self.panel.header().setParent(self.panel)
        qtbot.addWidget(self.panel)
        self.panel.resize(420, 460)
        self.panel.start()
        self.store.changed.connect(self._run)
        self.run()
        self.panel.show()
        qtbot.waitExposed(self.panel)
        self.panel.plot.fit()
        refused: list[str] = []
        self.refused = refused
        # Not over `self`: a signal keeps its lambda.
        self.store.rejected.connect(lambda error: refused.append(str(error)))

    def _run(self, old: Document, new: Document) -> None:
        if old.experiment != new.experiment:
            self.run()

    def run(self) -> None:
        self.store.set_trace(attnviz.run(self.store.experiment))

    def tip(self, name: str, index: int) -> QPoint:
        return self.panel.plot.tip_position(name, index).toPoint()

    def drag_to(self, name: str, index: int, x: float, y: float) -> None:
        """Take a tip and put it at (x, y) of the plane."""
        plot = self.panel.plot
        scene = plot.getPlotItem().vb.mapViewToScene(QPointF(x, y))
        start, end = self.tip(name, index), plot.mapFromScene(scene)
        press(plot.viewport(), start)
        for step in (1, 2, 3):
            move(plot.viewport(), start + (end - start) * step / 3)
        release(plot.viewport(), end)

    def facts(self) -> str:
        label = self.panel.findChild(QLabel, "plane_facts")
        assert isinstance(label, QLabel) and label.textFormat() == Qt.TextFormat.PlainText
        return label.text()

    def row(self, index: int) -> np.ndarray:
        return vectors_array(self.store.experiment.vectors)[index]

    def near(self) -> float:
        """The width of a pixel in the plane's units: as exact as a mouse can be."""
        return 1.5 * float(self.panel.plot.getPlotItem().vb.viewPixelSize()[0])


def test_lengths_angle_cosine_and_product_are_those_of_the_pair(qtbot: QtBot) -> None:
    bench = Bench(qtbot, View(query=0))
    bench.store.set_hover(Cell("scores", 0, 1))
    q, k = np.array([1.0, 2.0, -1.0, 0.5]), np.array([0.5, -1.0, 2.0, 1.0])
    dot, lengths = float(q @ k), (np.sqrt((q**2).sum()), np.sqrt((k**2).sum()))
    cosine = dot / lengths[0] / lengths[1]
    shown = (f"{dot:.4f}", f"|q| {lengths[0]:.3f}", f"|k| {lengths[1]:.3f}", f"cos {cosine:.3f}")
    for words in shown:
        assert words.replace("-", "−") in bench.facts()
    assert f"{math.degrees(math.acos(cosine)):.1f}°" in bench.facts()
    assert "<s>" in bench.facts()
    assert lengths[0] * lengths[1] * cosine == pytest.approx(dot)


def test_an_x_is_dragged_and_ends_under_the_mouse(qtbot: QtBot) -> None:
    bench = Bench(qtbot, projections=Projections(Seeded(1), Seeded(2), Seeded(3), Seeded(4)))
    segment = bench.panel.header().findChild(QAbstractButton, "segment_x")
    QTest.mouseClick(segment, Qt.MouseButton.LeftButton)
    old = vectors_array(bench.store.experiment.vectors).copy()
    bench.drag_to("x", 1, -1.0, 1.5)
    assert bench.row(1)[:2] == pytest.approx([-1.0, 1.5], abs=bench.near())
    changed = np.argwhere(vectors_array(bench.store.experiment.vectors) != old).tolist()
    assert changed == [[1, 0], [1, 1]]
    bench.store.undo()
    np.testing.assert_array_equal(vectors_array(bench.store.experiment.vectors), old)
    assert not bench.store.can_undo


def test_with_identities_the_tip_of_q_or_k_moves_x(qtbot: QtBot) -> None:
    bench = Bench(qtbot, View(query=2))
    bench.drag_to("k", 1, -1.0, -1.5)
    assert bench.row(1)[:2] == pytest.approx([-1.0, -1.5], abs=bench.near())
    bench.drag_to("q", 2, 1.0, 1.8)
    assert bench.row(2)[:2] == pytest.approx([1.0, 1.8], abs=bench.near())


def test_the_sines_of_the_position_are_taken_off_before_x_is_stored(qtbot: QtBot) -> None:
    bench = Bench(qtbot, View(query=2), position=Sinusoidal(10000.0, start=0))
    bench.drag_to("q", 2, 0.5, -1.5)
    # Position 2 adds sin 2 and cos 2 to the first two features.
    assert bench.row(2)[0] + math.sin(2) == pytest.approx(0.5, abs=bench.near())
    assert bench.row(2)[1] + math.cos(2) == pytest.approx(-1.5, abs=bench.near())
    q = attnviz.run(bench.store.experiment)["q"][0, 2]
    assert q[:2] == pytest.approx([0.5, -1.5], abs=bench.near())


def test_other_dimensions_and_heads_move_other_features(qtbot: QtBot) -> None:
    bench = Bench(qtbot, View(query=0, head=1, plane=(1, 0)), heads=Heads(2, 2, 2))
    before = bench.row(0).copy()
    bench.drag_to("q", 0, 1.0, 0.25)
    assert bench.row(0)[[3, 2]] == pytest.approx([1.0, 0.25], abs=bench.near())
    np.testing.assert_array_equal(bench.row(0)[:2], before[:2])


def test_a_key_of_the_memory_moves_the_memory(qtbot: QtBot) -> None:
    memory = Memory(("x", "y"), SeededVectors(2, 4, 5))
    bench = Bench(qtbot, View(query=0), memory=memory)
    bench.drag_to("k", 1, 0.7, 0.6)
    stored = bench.store.experiment.memory
    assert stored is not None
    assert vectors_array(stored.vectors)[1, :2] == pytest.approx([0.7, 0.6], abs=bench.near())
    assert stored.tokens == ("x", "y")


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"position": Rope()}, "RoPE"),
        ({"projections": Projections(Seeded(1), Seeded(2))}, "identity"),
    ],
)
def test_arrows_that_follow_from_others_cannot_be_dragged_and_say_why(
    qtbot: QtBot, changes: dict[str, Any], word: str
) -> None:
    bench = Bench(qtbot, View(query=1), **changes)
    before = bench.store.document.experiment
    bench.drag_to("q", 1, 0.1, 0.1)
    assert bench.store.document.experiment == before
    move(bench.panel.plot.viewport(), bench.tip("q", 1), held=False)
    assert word in bench.panel.plot.toolTip()


def test_hover_and_click_name_the_arrow_to_all(qtbot: QtBot) -> None:
    bench = Bench(qtbot, View(query=0))
    at = bench.tip("q", 2)
    move(bench.panel.plot.viewport(), at, held=False)
    assert bench.store.pointer.cell is not None and bench.store.pointer.cell.row == 2
    press(bench.panel.plot.viewport(), at)
    release(bench.panel.plot.viewport(), at)
    move(bench.panel.plot.viewport(), QPoint(2, 2), held=False)
    assert bench.store.pointer.cell is None
    assert not bench.store.can_undo


def test_the_chosen_tip_is_moved_by_keys(qtbot: QtBot) -> None:
    bench = Bench(qtbot, View(query=1))
    at = bench.tip("k", 1)
    press(bench.panel.plot.viewport(), at)
    release(bench.panel.plot.viewport(), at)
    QTest.keyClick(bench.panel.plot, Qt.Key.Key_Right)
    QTest.keyClick(bench.panel.plot, Qt.Key.Key_Up)
    assert bench.row(1)[:2] == pytest.approx([0.55, -0.95])


def test_the_axes_are_chosen_and_looked_at_only(qtbot: QtBot) -> None:
    bench = Bench(qtbot, View(query=0))
    field = bench.panel.findChild(DragNumber, "plane_y")
    assert isinstance(field, DragNumber)
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_Up)
    assert bench.store.document.view.plane == (0, 2)
    assert not bench.store.can_undo


def test_zero_and_nan_vectors_are_lived_with(qtbot: QtBot) -> None:
    bench = Bench(qtbot, View(query=0), vectors=ExplicitVectors(np.zeros((3, 4)).tolist()))
    assert "0.0000" in bench.facts() and "θ" not in bench.facts()
    assert not bench.panel.grab().toImage().isNull()


def test_a_cell_that_is_locked_in_another_layer_moves_no_pair(qtbot: QtBot) -> None:
    bench = Bench(qtbot)
    bench.store.edit(set_n_layers, 2)
    shown = bench.facts()
    bench.store.look(locked=Cell("weights", 2, 1, site="layers.1.self"))
    assert bench.facts() == shown
    bench.store.look(locked=Cell("weights", 2, 1))
    assert bench.facts() != shown


def outside(bench: Bench) -> list[tuple[str, int]]:
    """The tips that are not to be seen."""
    shown = bench.panel.plot.viewport().rect()
    names = [(name, index) for name in ("q", "k") for index in range(bench.store.experiment.n_queries)]
    return [one for one in names if not shown.contains(bench.tip(*one))]


def spread(bench: Bench) -> float:
    """The farthest tip from the middle, as a part of the way to the nearer edge."""
    shown = bench.panel.plot.viewport().rect()
    tips = [bench.tip(name, index) - shown.center() for name in ("q", "k") for index in range(3)]
    farthest = max(max(abs(tip.x()), abs(tip.y())) for tip in tips)
    return farthest / (min(shown.width(), shown.height()) / 2)


@pytest.mark.parametrize("size", [(1100, 300), (260, 700), (900, 900), (200, 180)])
def test_all_arrows_are_to_be_seen_at_every_size(qtbot: QtBot, size: tuple[int, int]) -> None:
    bench = Bench(qtbot)
    bench.panel.resize(*size)
    QApplication.processEvents()
    assert outside(bench) == [] and spread(bench) == pytest.approx(0.8, abs=0.05)
    bench.panel.resize(420, 460)
    QApplication.processEvents()
    assert outside(bench) == [] and spread(bench) == pytest.approx(0.8, abs=0.05)


def test_arrows_that_grow_out_of_the_plane_come_back_into_it(qtbot: QtBot) -> None:
    bench = Bench(qtbot)
    bench.store.edit(set_vector_cell, 1, 0, 40.0)
    assert outside(bench) == []
    bench.store.undo()
    assert outside(bench) == [] and spread(bench) == pytest.approx(0.8, abs=0.05)


def test_what_was_zoomed_by_hand_stays_until_a_double_click(qtbot: QtBot) -> None:
    bench = Bench(qtbot)
    plot = bench.panel.plot
    at = QPointF(plot.viewport().rect().center())
    for _turn in range(6):
        wheel = QWheelEvent(
            at,
            QPointF(plot.viewport().mapToGlobal(at.toPoint())),
            QPoint(),
            QPoint(0, 120),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(plot.viewport(), wheel)
    bench.panel.resize(500, 500)
    QApplication.processEvents()
    assert outside(bench)
    QTest.mouseDClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(5, 5))
    bench.panel.resize(700, 300)
    QApplication.processEvents()
    assert outside(bench) == []


def test_a_byte_and_a_space_are_seen_in_the_names_of_tips(qtbot: QtBot) -> None:
    bench = Bench(qtbot, tokens=("<0xF0>", " b", "c"))
    names = {text.toPlainText() for text in bench.panel.plot._texts if text.isVisible()}
    assert {"q ⟨F0⟩", "k ␣b", "k c"} <= names


def test_a_plane_without_numbers_yet_has_a_legal_size(qtbot: QtBot) -> None:
    panel = PlanePanel(Store(Document(Experiment(("a",), SeededVectors(1, 4)))))
    qtbot.addWidget(panel)
    panel.resize(300, 200)
    panel.show()
    label = panel.findChild(QLabel, "plane_facts")
    assert isinstance(label, QLabel) and label.text() == "" and label.minimumHeight() == 0


def show_x(bench: Bench) -> None:
    segment = bench.panel.header().findChild(QAbstractButton, "segment_x")
    QTest.mouseClick(segment, Qt.MouseButton.LeftButton)


def test_x_and_the_facts_of_every_layer_are_its_own(qtbot: QtBot) -> None:
    bench = Bench(qtbot, projections=Projections(Seeded(1), Seeded(2), Seeded(3), Seeded(4)))
    bench.store.edit(set_n_layers, 3)
    show_x(bench)
    for name in site_names(bench.store.experiment):
        bench.store.look(site=name, query=1)
        bench.store.set_hover(None)
        site = attnviz.run(bench.store.experiment).site(name)
        entered = site["tokens_embedded" if name == "layers.0.self" else "layer_input"]
        np.testing.assert_allclose(bench.panel.plot._families["x"].tips, entered[:, :2])
        dot = float(site["q"][0, 1] @ site["k"][0, 1])
        assert f"{dot:.4f}".replace("-", "−") in bench.facts()


@pytest.mark.parametrize(
    ("site", "block", "word"),
    [("layers.1.self", None, "earlier layers"), ("layers.0.self", Block("pre", norm_1=Norm()), "norm")],
)
def test_an_arrow_behind_a_layer_or_a_norm_is_not_offered_to_the_mouse(
    qtbot: QtBot, site: str, block: Block | None, word: str
) -> None:
    bench = Bench(qtbot, block=block)
    bench.store.edit(set_n_layers, 2)
    bench.store.look(site=site, query=1)
    before = bench.store.experiment
    bench.panel.plot.fit()
    for name in ("q", "k"):
        bench.drag_to(name, 1, 0.4, 0.3)
        assert bench.store.experiment == before
        move(bench.panel.plot.viewport(), QPoint(1, 1), held=False)
        move(bench.panel.plot.viewport(), bench.tip(name, 1), held=False)
        assert word in bench.panel.plot.toolTip()


def test_another_document_is_shown_whole_whatever_was_zoomed_in_the_last(qtbot: QtBot) -> None:
    bench = Bench(qtbot)
    bench.panel.plot.setRange(xRange=(-0.1, 0.1), yRange=(-0.1, 0.1))
    bench.panel.plot._on_zoomed(None)
    vectors = ExplicitVectors([[0.01, 0.02, 0.0, 0.0], [0.03, 0.01, 0.0, 0.0], [0.02, 0.02, 0.0, 0.0]])
    other = stacked(("a", "b", "c"), vectors, heads=Heads(1, 1, 4), projections=Projections())
    bench.store.open(Document(other, title="another"))
    assert outside(bench) == [] and spread(bench) == pytest.approx(0.8, abs=0.05)


def label_rects(bench: Bench) -> list[QRectF]:
    """The labels that are shown, in pixels of the plot."""
    plot = bench.panel.plot
    scene = [text.textItem.mapRectToScene(text.textItem.boundingRect()) for text in shown_texts(bench)]
    return [QRectF(plot.mapFromScene(rect).boundingRect()) for rect in scene]


def shown_texts(bench: Bench) -> list[Any]:
    return [text for text in bench.panel.plot._texts if text.isVisible()]


@pytest.mark.parametrize("size", [(420, 460), (260, 180), (700, 300)])
def test_no_label_is_cut_or_lies_on_another(qtbot: QtBot, size: tuple[int, int]) -> None:
    near = [[1.0, 0.0], [1.01, 0.02], [0.99, 0.03], [0.0, 2.0], [0.0, -2.0], [2.0, 0.0], [-2.0, 0.01]]
    tokens = ("a", "fluffy", "blue", "creature", "k two", "right", "left")
    bench = Bench(qtbot, tokens=tokens, vectors=ExplicitVectors(near), heads=Heads(1, 1, 2))
    bench.panel.resize(*size)
    QApplication.processEvents()
    rects, room = label_rects(bench), QRectF(bench.panel.plot.viewport().rect()).adjusted(-1, -1, 1, 1)
    assert len(rects) >= 3
    for index, rect in enumerate(rects):
        assert room.contains(rect)
        for other in rects[:index]:
            assert rect.adjusted(1, 1, -1, -1).intersected(other).isEmpty()
    words = {text.toPlainText() for text in shown_texts(bench)}
    assert "q a" in words  # the one in focus is always named


def test_a_document_of_the_same_title_and_shape_is_shown_whole(qtbot: QtBot) -> None:
    bench = Bench(qtbot)
    bench.panel.plot._on_zoomed(None)
    other = ExplicitVectors([[100.0, 2.0, -1.0, 0.5], [0.5, -80.0, 2.0, 1.0], [-2.0, 1.0, 0.0, -0.5]])
    bench.store.open(replace(bench.store.document, experiment=replace(bench.store.experiment, vectors=other)))
    bench.run()
    assert outside(bench) == []


# --- projections -----------------------------------------------------------------------------------

SEEDED = Projections(Seeded(1), Seeded(2), Seeded(3), Seeded(4))


def project(bench: Bench, id_: str) -> None:
    combo = bench.panel.header().findChild(Combo, "plane_projection")
    assert isinstance(combo, Combo)
    combo.set_value(id_)
    combo.changed.emit(id_)


def share_line(bench: Bench) -> str:
    label = bench.panel.findChild(QLabel, "plane_share")
    assert isinstance(label, QLabel)
    return label.text()


def flat(bench: Bench, name: str) -> np.ndarray:
    return bench.panel.plot._families[name].tips


def test_the_exact_plane_keeps_the_product_of_the_pair_in_focus(qtbot: QtBot) -> None:
    bench = Bench(qtbot, View(query=0), projections=SEEDED)
    project(bench, "pair")
    for row, column in ((2, 1), (1, 0)):
        bench.store.look(locked=Cell("scores", row, column))
        trace = attnviz.run(bench.store.experiment)
        q, k = trace["q"][0, row], trace["k"][0, column]
        drawn = flat(bench, "q")[row], flat(bench, "k")[column]
        assert drawn[0] @ drawn[1] == pytest.approx(q @ k)
        assert np.linalg.norm(drawn[0]) == pytest.approx(np.linalg.norm(q))
        tokens = bench.store.experiment.tokens
        assert share_line(bench).startswith(f"q {tokens[row]} · k {tokens[column]} is exact; ")
    assert not bench.store.can_undo and outside(bench) == []


def test_the_principal_plane_says_the_share_that_numpy_finds(qtbot: QtBot) -> None:
    bench = Bench(qtbot, View(query=0), projections=SEEDED)
    trace = attnviz.run(bench.store.experiment)
    vectors = np.concatenate([trace["q"][0], trace["k"][0]])
    kept = float((vectors[:, [0, 1]] ** 2).sum() / (vectors**2).sum())
    assert share_line(bench) == f"keep {100 * kept:.3g} % of the squared length"
    project(bench, "principal")
    values = np.linalg.svd(vectors, compute_uv=False) ** 2
    share = 100 * values[:2].sum() / values.sum()
    assert share_line(bench) == f"The principal plane keeps {share:.3g} % of the squared length."
    field = bench.panel.findChild(DragNumber, "plane_x")
    assert isinstance(field, DragNumber) and not field.isVisible()


def test_tips_are_dragged_in_two_features_alone(qtbot: QtBot) -> None:
    bench = Bench(qtbot, View(query=1))
    project(bench, "principal")
    before = bench.store.experiment
    bench.drag_to("k", 1, 0.3, 0.2)
    assert bench.store.experiment == before
    move(bench.panel.plot.viewport(), QPoint(1, 1), held=False)
    move(bench.panel.plot.viewport(), bench.tip("k", 1), held=False)
    assert "two features" in bench.panel.plot.toolTip()


@pytest.mark.parametrize("projection", [row.id for row in PROJECTIONS])
def test_no_label_of_a_preset_is_cut_or_lies_on_another(qtbot: QtBot, projection: str) -> None:
    bench = Bench(qtbot)
    bench.panel.resize(216, 240)
    for preset in preset_ids():
        bench.store.open(load_preset(preset))
        bench.run()
        project(bench, projection)
        for what in ("x", "qk"):
            QTest.mouseClick(
                bench.panel.header().findChild(QAbstractButton, f"segment_{what}"), Qt.MouseButton.LeftButton
            )
            QApplication.processEvents()
            rects = label_rects(bench)
            room = QRectF(bench.panel.plot.viewport().rect()).adjusted(-1, -1, 1, 1)
            assert rects, preset
            for index, rect in enumerate(rects):
                assert room.contains(rect), (preset, what)
                for other in rects[:index]:
                    assert rect.adjusted(1, 1, -1, -1).intersected(other).isEmpty(), (preset, what)
