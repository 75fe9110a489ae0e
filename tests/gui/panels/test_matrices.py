"""The weight matrices: each kind shown as the numbers it stands for, edited into an explicit one."""

from __future__ import annotations

import numpy as np
import pytest
from desk import picture
from first_layer import change
from msgspec.structs import replace
from panels import PanelBench
from pointer import drag
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QLabel
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.gui.panels.matrices import MatricesPanel
from attnviz.model.edit.sharing import matrices_in
from attnviz.model.io.presets import load_preset
from attnviz.model.operands.matrices import projection_array, token_ids
from attnviz.model.sites.sites import at, site_names
from attnviz.model.spec import arrays
from attnviz.model.spec import vocabulary as spec_vocabulary
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import (
    ROLES,
    AdditiveMask,
    Explicit,
    Identity,
    Projections,
    QKNorm,
    Seeded,
    Tied,
)
from attnviz.model.spec.positions import TransformerXl
from attnviz.model.spec.rows import DrawnRow
from attnviz.model.spec.view import Cell
from attnviz.model.spec.vocabulary import Vocabulary

KINDS = Projections(Seeded(3), Tied("query"), Identity(), Seeded(4))


@pytest.fixture
def bench(qtbot: QtBot) -> PanelBench[MatricesPanel]:
    made = PanelBench(qtbot, MatricesPanel, "toy-attention", 420, 220)
    assert change(made.store, projections=KINDS)
    return made


def choose(bench: PanelBench[MatricesPanel], path: str) -> None:
    box = bench.find(QComboBox, "matrix_choice")
    box.setCurrentIndex(box.findData(path if "." in path else f"projections.{path}"))


def test_each_kind_is_shown_by_its_numbers(bench: PanelBench[MatricesPanel]) -> None:
    expected = {
        "query": "3 × 3 · seeded",
        "key": "3 × 3 · tied → W_Q",
        "value": "3 × 3 · identity",
        "output": "3 × 3 · seeded",
    }
    for role, words in expected.items():
        choose(bench, role)
        values = projection_array(bench.store.attention, role)  # type: ignore[arg-type]
        np.testing.assert_array_equal(bench.panel.grid.values(), values)
        assert bench.find(QLabel, "matrix_facts").text() == words
    choose(bench, "value")
    np.testing.assert_array_equal(bench.panel.grid.values(), np.eye(3))


def test_editing_a_tied_matrix_leaves_the_other_alone(bench: PanelBench[MatricesPanel]) -> None:
    choose(bench, "key")
    grid = bench.panel.grid
    query = projection_array(bench.store.attention, "query")
    drag(grid.viewport(), grid.cell_rect(0, 1).center(), QPoint(0, -30))
    projections = bench.store.experiment.layers[0].projections
    assert projections.query == Seeded(3) and isinstance(projections.key, Explicit)
    assert projections.key.values.array[0, 1] == pytest.approx(query[0, 1] + 0.3)
    bench.store.undo()
    assert bench.store.experiment.layers[0].projections == KINDS


def test_a_block_is_pasted_and_what_does_not_fit_is_said(bench: PanelBench[MatricesPanel]) -> None:
    QGuiApplication.clipboard().setText("1 2 3\n4 5 6")
    grid = bench.panel.grid
    grid.setFocus()
    grid.set_current_cell(1, 1)
    QTest.keyClick(grid, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    values = projection_array(bench.store.attention, "query")
    assert values[1:, 1:].tolist() == [[1, 2], [4, 5]]
    assert bench.refused == [
        "The pasted block must fit into 2 × 2 cells; got 2 × 3, and the rest was left out.",
    ]


def test_the_column_that_makes_a_hovered_number_is_outlined(bench: PanelBench[MatricesPanel]) -> None:
    choose(bench, "query")
    grid = bench.panel.grid
    before = picture(grid.viewport())
    bench.store.set_hover(Cell("q", 1, 2, 0))
    lit = picture(grid.viewport())
    for column in range(3):
        same = lit.copy(grid.cell_rect(0, column).adjusted(3, 0, -3, 0))
        assert (same == before.copy(grid.cell_rect(0, column).adjusted(3, 0, -3, 0))) == (column != 2)
    bench.store.set_hover(None)
    assert picture(grid.viewport()) == before


def test_every_weight_is_offered_edited_and_heard_by_the_run(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, MatricesPanel, "toy-attention", 420, 220)
    ffn = FeedForward(4, "silu", gated=True, up_bias=DrawnRow(1))
    assert change(
        bench.store,
        block=Block(
            "sandwich", True, Norm(gain=DrawnRow(2)), ffn, Norm("rms"), Norm("rms", gain=DrawnRow(3))
        ),
        position=TransformerXl(),
        qk_norm=QKNorm("rms", key_gain=DrawnRow(5)),
        final_norm=Norm(bias=DrawnRow(6)),
        projections=Projections(value_bias=DrawnRow(7)),
    )
    box = bench.find(QComboBox, "matrix_choice")
    offered = [box.itemData(i) for i in range(box.count())]
    assert offered == [
        *(f"projections.{role}" for role in ROLES),
        "projections.value_bias",
        "qk_norm.key_gain",
        *(f"position.{name}" for name in ("weights", "u", "v")),
        "block.norm_1.gain",
        "block.after_1.gain",
        *(f"block.feed_forward.{role}" for role in ("gate", "up", "down")),
        "block.feed_forward.up_bias",
        "final_norm.bias",
    ]
    for path in offered:
        choose(bench, path)
        before = run(NumpyEngine("float64"), bench.store.experiment).only["output"]
        grid = bench.panel.grid
        value = grid.values()[0, 1]
        drag(grid.viewport(), grid.cell_rect(0, 1).center(), QPoint(0, -30))
        assert grid.values()[0, 1] == pytest.approx(value + 0.3), path
        after = run(NumpyEngine("float64"), bench.store.experiment).only["output"]
        assert not np.allclose(after, before, atol=1e-9), path
    assert not bench.refused


def test_a_weight_is_edited_in_the_layer_that_is_looked_at_alone(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, MatricesPanel, "decoder-only", 420, 220)
    before = bench.store.experiment
    bench.store.set_edits_alike(True)
    grid = bench.panel.grid
    drag(grid.viewport(), grid.cell_rect(0, 1).center(), QPoint(0, -30))
    here = bench.store.document.site
    assert not bench.refused and at(bench.store.experiment, here) != at(before, here)
    others = [name for name in site_names(before) if name != here]
    assert others and all(at(bench.store.experiment, name) == at(before, name) for name in others)


def test_the_current_cell_says_where_it_comes_from_and_its_gradient_opens(
    bench: PanelBench[MatricesPanel],
) -> None:
    """With a target the sum of x · ∂/∂q stands below; a click on one of its gradients locks that cell."""
    panel = bench.panel
    assert panel.page.isHidden()
    choose(bench, "query")
    panel.grid.set_current_cell(1, 2)
    assert "seed 3" in panel.page.toPlainText() and "∂" not in panel.page.toPlainText()
    target = "attention_output[0, 0]"
    bench.store.look(target=target, quantity="gradient")
    bench.store.set_gradient(attnviz.backward(bench.store.experiment, target))
    text = panel.page.toPlainText()
    text = text.replace("\u2060", "")
    assert "∂/∂ W_Q[1, 2] = Σ e · ∂/∂q = (0.4002)(0.04501)" in text and text.endswith("= 0.0180130")
    followed = Cell("q", 0, 2)
    panel.page.pointed.emit(followed)
    assert bench.store.pointer.cell == followed
    panel.page.followed.emit(followed)
    assert bench.store.document.view.locked == followed and bench.store.document.view.stage == "q"


def test_the_additive_mask_is_a_matrix_that_takes_minus_infinity(bench: PanelBench[MatricesPanel]) -> None:
    n = bench.store.experiment.n_queries
    assert change(bench.store, additive_mask=AdditiveMask.of(np.zeros((n, n))))
    choose(bench, "additive_mask.values")
    assert bench.find(QLabel, "matrix_facts").text() == f"{n} × {n} · explicit"
    QGuiApplication.clipboard().setText("-inf 2")
    grid = bench.panel.grid
    grid.setFocus()
    grid.set_current_cell(1, 0)
    QTest.keyClick(grid, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    assert not bench.refused
    assert bench.store.trace is not None and bench.store.trace.only["added"][0, 1, 0] == -np.inf
    assert grid.values()[1, :2].tolist() == [-np.inf, 2.0]
    choose(bench, "query")
    grid.set_current_cell(1, 0)
    QTest.keyClick(grid, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    assert len(bench.refused) == 1


@pytest.mark.parametrize("is_tied", [True, False])
def test_an_edit_of_a_vocabulary_copies_and_checks_nothing_but_its_number(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, is_tied: bool
) -> None:
    """With 49,152 rows of 576 numbers one edit held the window for seconds: in the window's thread W_U is
    not copied, the table is not filled again, and the texts of the tokens are not checked again.
    """
    experiment = load_preset("toy-attention").experiment
    tokens = (*experiment.tokens, *(f"token {index}" for index in range(500)))
    numbers = np.random.default_rng(0).integers(-8, 8, (len(tokens), 3)).astype(np.float32)
    own = None if is_tied else Matrix(numbers.T)
    vocabulary = Vocabulary(tokens, Matrix(numbers), unembedding=own, begin=tokens[0])
    known = Document(replace(experiment, vocabulary=vocabulary, readout="vocabulary"))
    bench = PanelBench(qtbot, MatricesPanel, known, 420, 220)
    choose(bench, "vocabulary.unembedding")
    grid, ids, before = bench.panel.grid, token_ids(vocabulary), bench.panel.grid.values()
    done: list[str] = []

    def counted(owner: object, name: str) -> None:
        real = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given: done.append(name) or real(*given))

    counted(arrays._Copy, "numbers")
    counted(grid, "set_values")
    counted(spec_vocabulary._check_texts, "_find")
    bench.store.changed.disconnect(bench._run)  # what is left is the window's part
    for height in (30, 20, 50):
        drag(grid.viewport(), grid.cell_rect(1, 1).center(), QPoint(0, -height))
    assert not done and not bench.refused
    edited = bench.store.experiment.vocabulary
    assert edited is not None and edited.unembedding is not None and token_ids(edited) is ids
    wanted = before.copy()
    wanted[1, 1] += 1.0
    np.testing.assert_allclose(grid.values(), wanted, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(edited.unembedding.array, grid.values())
    assert done == ["numbers"]
    bench.store.undo()
    bench.store.undo()
    bench.store.undo()
    np.testing.assert_array_equal(grid.values(), before)


def test_no_look_for_matrices_walks_through_the_merges_of_a_vocabulary() -> None:
    class Merges(tuple):  # type: ignore[type-arg]
        __slots__ = ()

        def __iter__(self):  # type: ignore[no-untyped-def]
            raise AssertionError("the merges were walked through")

    matrix = Matrix(np.eye(2))
    assert list(matrices_in((Explicit(matrix), Explicit(matrix)), set())) == [matrix]
    assert list(matrices_in(Merges((("a", "b"), ("ab", "c"))), set())) == []
