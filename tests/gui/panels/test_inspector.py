"""The inspector as a person uses it: hover, lock, follow a number down, come back, copy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from first_layer import change, stacked, with_fields
from msgspec.structs import replace
from panels import recolor
from pointer import move, press, release
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from attnviz.compute.decoding import decode_and_compare
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.program import never_cancelled
from attnviz.engines.run import run
from attnviz.gui.look.theme import DARK, LIGHT
from attnviz.gui.look.words import speak
from attnviz.gui.panels.inspector.inspector import InspectorPanel
from attnviz.gui.store import Store
from attnviz.gui.widgets.heat.content import NO_HIGHLIGHT
from attnviz.gui.widgets.heat.stages import highlight
from attnviz.i18n import set_language
from attnviz.model.edit import edits
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block
from attnviz.model.spec.document import Document
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.parts import Causal, Heads, Padding, Projections, Seeded, SeededVectors
from attnviz.model.spec.sampling import Sampling, StopConditions, Temperature
from attnviz.model.spec.view import Cell, View
from attnviz.model.trace import Trace

TOKENS = ("a", "fluffy", "<img src=x>", "小沈阳")
WEIGHT = Cell("weights", 3, 1, head=3)


def document(n: int = 4) -> Document:
    tokens = TOKENS + tuple(f"t{i}" for i in range(4, n))
    return Document(
        stacked(
            tokens,
            SeededVectors(n, 5, 1),
            heads=Heads(4, 2, 3),
            projections=Projections(Seeded(1), Seeded(2), Seeded(3), Seeded(4)),
            masks=(Causal(),),
            dtype="float64",
        )
    )


def traced(store: Store) -> None:
    store.set_trace(run(NumpyEngine("float64"), store.experiment))


@pytest.fixture
def made(qtbot: QtBot) -> Callable[..., tuple[Store, InspectorPanel]]:
    def make(n: int = 4) -> tuple[Store, InspectorPanel]:
        store = Store(document(n))
        panel = InspectorPanel(store)
        qtbot.addWidget(panel)
        panel.resize(560, 300)
        recolor(panel, LIGHT)
        panel.start()
        traced(store)
        panel.show()
        QApplication.processEvents()
        return store, panel

    return make


def text(panel: InspectorPanel) -> str:
    QApplication.processEvents()
    return panel.page.toPlainText().replace("\u2060", "").replace("\u00a0", " ")


def word(panel: InspectorPanel, name: str) -> str:
    QApplication.processEvents()
    label = panel.findChild(QLabel, name)
    assert label is not None
    return label.text() if label.isVisible() else ""


def hover_link(panel: InspectorPanel, cell: Cell) -> QPoint:
    at = panel.page.place_of(cell)
    move(panel.page.viewport(), at + QPoint(1, 1), held=False)
    move(panel.page.viewport(), at, held=False)
    return at


def click_link(panel: InspectorPanel, cell: Cell) -> None:
    at = hover_link(panel, cell)
    press(panel.page.viewport(), at)
    release(panel.page.viewport(), at)
    QApplication.processEvents()


def test_a_long_title_takes_the_room_of_the_hint_and_keeps_its_end(stack_of_two) -> None:  # type: ignore[no-untyped-def]
    store, panel = stack_of_two
    store.look(locked=Cell("weights", 2, 1))
    hint, title = panel.findChild(QLabel, "inspector_hint"), panel.findChild(QLabel, "inspector_title")
    panel.resize(700, 400)
    assert hint.isVisible()
    panel.resize(240, 400)
    QApplication.processEvents()
    assert not hint.isVisible() and title.text() == "layer 2 of 2 · weights · head 1 of 1"
    assert title.width() >= title.fontMetrics().horizontalAdvance("weights · head 1 of 1")
    assert title.elide == Qt.TextElideMode.ElideLeft


def test_it_says_what_to_do_while_there_is_nothing_to_show(made) -> None:  # type: ignore[no-untyped-def]
    _store, panel = made()
    empty = panel.findChild(QWidget, "inspector_empty")
    assert empty.isVisible() and not panel.page.isVisible()
    assert word(panel, "inspector_says") == "Hover a cell to see its arithmetic; click to lock it."


def test_hover_previews_and_the_lock_stays(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    store.set_hover(WEIGHT)
    assert text(panel).startswith("weights[小沈阳, fluffy] = exp(")
    assert word(panel, "inspector_title") == "weights · head 4 of 4"
    assert word(panel, "inspector_hint") == "click to lock"
    store.look(locked=WEIGHT)
    assert word(panel, "inspector_hint") == "Esc unlocks"
    assert panel.findChild(QWidget, "inspector_lock").isVisible()
    store.set_hover(Cell("scores", 2, 1))
    assert text(panel).startswith("scores[“<img src=x>”, fluffy] = q · k = ")
    assert not panel.findChild(QWidget, "inspector_lock").isVisible()
    store.set_hover(None)
    assert text(panel).startswith("weights[小沈阳, fluffy]")
    store.look(locked=None)
    QApplication.processEvents()
    assert not panel.page.isVisible()


def test_the_first_line_ends_in_the_number_of_the_trace(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    store.look(locked=WEIGHT)
    row = store.trace.window("masked", 3)[3]
    expected = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
    assert f" = {expected[1]:.6f}   m = {row.max():.4f}" in text(panel).replace("−", "-")


def test_numbers_follow_an_edit(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    store.look(locked=Cell("tokens_embedded", 0, 0))
    store.edit(edits.set_vector_cell, 0, 0, 0.125)
    traced(store)
    assert text(panel) == "e[a, 0] = 0.125   given; edit it in Vectors"


def test_a_link_under_the_mouse_lights_its_cell_and_keeps_the_page(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    store.look(locked=Cell("scores", 3, 1, head=3))
    before = text(panel)
    key = Cell("k", 1, 2, head=1)
    hover_link(panel, key)
    assert store.pointer.cell == key, "query head 4 reads key/value head 2"
    assert text(panel) == before
    ground = panel.page.extraSelections()
    assert [s.cursor.selectedText() for s in ground] == [digits_of(store, key)]
    QApplication.sendEvent(panel.page, QEvent(QEvent.Type.Leave))
    assert store.pointer.cell is None and text(panel) == before and panel.page.extraSelections() == []


def digits_of(store: Store, cell: Cell) -> str:
    value = float(store.trace.window(cell.stage, cell.head)[cell.row, cell.column])
    return f"{value:.4g}".replace("-", "−")


def test_one_walks_down_to_the_input_and_up_again(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    store.look(locked=Cell("scores", 3, 1, head=1))
    QApplication.processEvents()
    key, vector = Cell("k", 1, 2, head=0), Cell("tokens_embedded", 1, 4)
    click_link(panel, key)
    view = store.document.view
    assert (view.locked, view.stage, view.head, store.pointer.cell) == (key, "k", 0, None)
    assert text(panel).startswith("k[fluffy, 2] = Σ e · W_K = (")
    click_link(panel, vector)
    assert store.document.view.locked == vector
    assert text(panel).startswith("e[fluffy, 4] = ")
    crumbs = [panel.findChild(QToolButton, f"inspector_crumb_{i}") for i in range(3)]
    assert [c.text() for c in crumbs if c.isVisible()] == ["scores ›", "k ›"]
    QTest.mouseClick(panel.findChild(QToolButton, "inspector_back"), Qt.MouseButton.LeftButton)
    assert store.document.view.locked == key
    QTest.mouseClick(crumbs[0], Qt.MouseButton.LeftButton)
    QApplication.processEvents()
    assert store.document.view.locked == Cell("scores", 3, 1, head=1)
    assert not panel.findChild(QToolButton, "inspector_back").isVisible()


def test_following_a_shared_key_keeps_the_query_head_that_reads_it(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    store.look(locked=Cell("scores", 3, 1, head=3), head=3)
    QApplication.processEvents()
    click_link(panel, Cell("k", 1, 0, head=1))
    assert store.document.view.head == 3
    store.look(locked=Cell("scores", 3, 1, head=2), head=0)
    QApplication.processEvents()
    click_link(panel, Cell("k", 1, 0, head=1))
    assert store.document.view.head == 2, "the first that reads it"


def test_the_keyboard_goes_from_link_to_link_and_enters(made, qtbot: QtBot) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    store.look(locked=Cell("scores", 3, 1, head=0))
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    QApplication.processEvents()
    panel.page.setFocus()
    QTest.keyClick(panel.page, Qt.Key.Key_Tab)
    assert store.pointer.cell == Cell("q", 3, 0, head=0)
    QTest.keyClick(panel.page, Qt.Key.Key_Tab)
    assert store.pointer.cell == Cell("k", 1, 0, head=0)
    QTest.keyClick(panel.page, Qt.Key.Key_Return)
    QApplication.processEvents()
    assert store.document.view.locked == Cell("k", 1, 0, head=0)
    QTest.keyClick(panel.page, Qt.Key.Key_Backspace)
    assert store.document.view.locked == Cell("scores", 3, 1, head=0)


def test_a_long_sum_opens(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made(n=20)
    store.look(locked=Cell("mixed", 19, 1, head=0))
    assert "… (14 more) …" in text(panel)
    last = Cell("weights", 19, 18, head=0)
    with pytest.raises(LookupError):
        panel.page.place_of(last)
    gap = text(panel).index("more)")
    cursor = panel.page.textCursor()
    cursor.setPosition(panel.page.toPlainText().index("more)"))
    assert gap > 0
    at = panel.page.cursorRect(cursor).center()
    assert panel.page.tooltip_at(at) == "Show all terms"
    move(panel.page.viewport(), at, held=False)
    press(panel.page.viewport(), at)
    release(panel.page.viewport(), at)
    assert "more" not in text(panel)
    panel.page.place_of(last)
    store.edit(edits.set_vector_cell, 0, 0, 0.5)
    traced(store)
    assert "more" not in text(panel), "it stays open while the numbers move"


def test_tool_tips_have_every_digit(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    store.look(locked=Cell("k", 1, 2, head=1))
    QApplication.processEvents()
    at = panel.page.place_of(Cell("tokens_embedded", 1, 0))
    value = float(store.trace["tokens_embedded"][1, 0])
    assert panel.page.tooltip_at(at) == f"e[fluffy, 0] = {value!r}"
    assert panel.page.tooltip_at(QPoint(550, 250)) == ""


def test_copying_gives_plain_text(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    store.look(locked=Cell("scores", 2, 1, head=0))
    QApplication.processEvents()
    QTest.keyClick(panel.page, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.clipboard().text() == text(panel)
    panel.page.selectAll()
    QTest.keyClick(panel.page, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    data = QApplication.clipboard().mimeData()
    assert data.text() == text(panel) and not data.hasHtml()
    assert "“<img src=x>”" in data.text()


def test_markup_in_a_token_is_text(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    store.look(locked=Cell("weights", 2, 0))
    assert "weights[“<img src=x>”, a]" in text(panel)
    assert "\ufffc" not in text(panel), "an image would stand here"


def test_queries_and_keys_have_their_colours_in_both_themes(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    store.look(locked=Cell("scores", 3, 1, head=0))
    for theme in (LIGHT, DARK):
        recolor(panel, theme)
        QApplication.processEvents()
        for cell, color in ((Cell("q", 3, 0), theme.query), (Cell("k", 1, 0), theme.key)):
            cursor = panel.page.cursorForPosition(panel.page.place_of(cell))
            assert cursor.charFormat().foreground().color() == QColor(color)


def test_a_locked_cell_that_an_edit_takes_away_is_said(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    store.look(locked=Cell("masked", 3, 1))
    assert text(panel).startswith("masked")
    change(store, masks=())
    traced(store)
    assert word(panel, "inspector_says").startswith("This cell no longer exists.")


def test_a_vector_under_the_mouse_is_not_called_gone_in_a_layer_without_it(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    store.set_hover(Cell("memory", 0, 0))
    assert word(panel, "inspector_says").startswith("Hover a cell")


def test_nothing_is_worked_out_while_the_tab_is_hidden(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    store.look(locked=WEIGHT)
    before = text(panel)
    panel.set_seen(False)
    store.look(locked=Cell("scores", 0, 0))
    assert text(panel) == before
    panel.set_seen(True)
    assert text(panel).startswith("scores[a, a]")


def test_words_change_with_the_language(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    store.look(locked=WEIGHT)
    english = text(panel), word(panel, "inspector_title")
    set_language("zh_CN")
    speak()
    assert word(panel, "inspector_title") != english[1] and text(panel) != english[0]


def test_a_pointed_cell_of_an_older_trace_is_harmless(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    store.look(locked=WEIGHT)
    QApplication.processEvents()
    change(
        store, **{"masks": (), "heads": replace(store.experiment.layers[0].heads, n_heads=2, n_kv_heads=2)}
    )
    store.look(stage="scores")
    QApplication.processEvents()
    assert text(panel).startswith("weights"), "the trace that is there still has it"


def test_nan_stands_out(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    change(store, masks=(Causal(), Padding((0,))), fully_masked_row="nan")
    traced(store)
    store.look(locked=Cell("mixed", 0, 1))
    assert text(panel).endswith(" = NaN   NaN, because a term is NaN")
    cursor = panel.page.cursorForPosition(panel.page.place_of(Cell("weights", 0, 2)))
    assert cursor.charFormat().foreground().color() == QColor(LIGHT.error)


# --- from one attention to another -----------------------------------------------------------------


@pytest.fixture
def stack_of_two(qtbot: QtBot) -> tuple[Store, InspectorPanel]:
    """Two layers of four tokens; the second is selected, and a cell of its input locked."""
    layer = Layer(heads=Heads(1, 1, 2), projections=Projections(Seeded(1), Seeded(2)), block=Block())
    experiment = with_fields(document().experiment, behind=(layer,), block=Block())
    store = Store(Document(experiment, View(site="layers.1.self", stage="layer_input", locked=INPUT)))
    panel = InspectorPanel(store)
    qtbot.addWidget(panel)
    panel.resize(700, 300)
    recolor(panel, LIGHT)
    panel.start()
    traced(store)
    panel.show()
    QApplication.processEvents()
    return store, panel


INPUT = Cell("layer_input", 3, 2)
MADE = Cell("residual_1", 3, 2, site="layers.0.self")


def test_a_layers_input_leads_into_the_layer_before_and_back(stack_of_two) -> None:  # type: ignore[no-untyped-def]
    store, panel = stack_of_two
    assert text(panel).startswith("layer input[小沈阳, 2] = layers.0.self · residual 1[小沈阳, 2] = ")
    assert word(panel, "inspector_title") == "layer 2 of 2 · layer input"
    value = float(store.trace.site("layers.0.self")["residual_1"][3, 2])
    assert text(panel).replace("−", "-").endswith(f"{value:.6f}")
    click_link(panel, MADE)
    view = store.document.view
    assert (view.site, view.stage, view.query) == ("layers.0.self", "residual_1", 3)
    assert view.locked == Cell("residual_1", 3, 2), "the cell of the site that is looked at"
    assert text(panel).startswith("residual 1[小沈阳, 2] = e + attention output = ")
    assert word(panel, "inspector_title") == "layer 1 of 2 · residual 1"
    crumb = panel.findChild(QToolButton, "inspector_crumb_0")
    assert crumb.text() == "layers.1.self · layer input ›"
    click_link(panel, Cell("attention_output", 3, 2))
    QTest.mouseClick(panel.findChild(QToolButton, "inspector_back"), Qt.MouseButton.LeftButton)
    assert store.document.view.locked == Cell("residual_1", 3, 2)
    QTest.mouseClick(crumb, Qt.MouseButton.LeftButton)
    view = store.document.view
    assert (view.site, view.stage, view.locked) == ("layers.1.self", "layer_input", INPUT)
    assert text(panel).startswith("layer input[小沈阳, 2] = ")
    assert not panel.findChild(QToolButton, "inspector_back").isVisible()


def test_a_cell_of_another_attention_lights_nothing_here(stack_of_two) -> None:  # type: ignore[no-untyped-def]
    store, panel = stack_of_two
    before = text(panel)
    at = panel.page.place_of(MADE)
    hover_link(panel, MADE)
    assert store.pointer.cell is None and text(panel) == before
    assert len(panel.page.extraSelections()) == 1, "the link itself is marked"
    assert panel.page.tooltip_at(at).startswith("layers.0.self · residual 1[小沈阳, 2] = ")
    site = store.site
    assert highlight(site, store.document.view, "layer_input", MADE) == NO_HIGHLIGHT
    assert highlight(site, store.document.view, "layer_input", INPUT) != NO_HIGHLIGHT


def test_the_same_cell_of_another_layer_is_shown_when_that_is_looked_at(stack_of_two) -> None:  # type: ignore[no-untyped-def]
    store, panel = stack_of_two
    store.look(locked=Cell("scores", 2, 1))
    assert word(panel, "inspector_title").startswith("layer 2 of 2 ")
    store.look(site="layers.0.self")
    assert word(panel, "inspector_title") == "layer 1 of 2 · scores · head 1 of 4"
    assert not panel.findChild(QToolButton, "inspector_back").isVisible()


def written(store: Store) -> Trace:
    """The store's document goes on by three tokens; gives the pass over all of them."""
    stop = StopConditions(length=4)
    change(store, writing=Writing(Sampling((Temperature(0.0),), stop=stop)), readout="similarity")
    traced(store)
    store.set_decoded(decode_and_compare(store.experiment, "numpy", "cpu", never_cancelled, 0))
    assert store.player.decoded is not None and store.player.decoded.trace is not None
    return store.player.decoded.trace


def test_a_written_token_opens_to_the_pass_over_all_tokens(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    trace = written(store)
    assert trace.experiment.n_queries == 7
    store.point_in_decoding(Cell("k", 5, 1, head=1))
    assert store.pointer.cell is None  # what shows the document alone need not know of it
    expected = f"{trace.only['k'][1, 5, 1]:.6f}".replace("-", "−")
    assert f" = {expected}" in text(panel)
    assert word(panel, "inspector_title") == "k · KV head 2 of 2 · without a cache"
    store.point_in_decoding(None)
    QApplication.processEvents()
    assert not panel.page.isVisible()


def test_a_cell_of_the_decoding_is_held_and_followed_down_in_it(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    written(store)
    store.hold_in_decoding(Cell("weights", 6, 5, head=3))
    assert word(panel, "inspector_hint") == "Esc unlocks"
    click_link(panel, Cell("masked", 6, 5, head=3))
    assert store.pointer.held == Cell("masked", 6, 5, head=3, site="layers.0.self")
    store.hold_in_decoding(Cell("scores", 6, 2, head=3))
    assert text(panel).startswith("scores[")
    click_link(panel, Cell("k", 2, 0, head=1))
    assert store.pointer.held == Cell("k", 2, 0, head=1, site="layers.0.self")
    assert store.document.view.locked is None
    assert word(panel, "inspector_title").endswith("without a cache")


def test_a_lock_of_the_document_or_another_document_lets_the_decodings_cell_go(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    written(store)
    store.hold_in_decoding(Cell("k", 5, 1, head=1))
    store.look(locked=None)
    QApplication.processEvents()
    assert store.pointer.held is None and not panel.page.isVisible()
    store.hold_in_decoding(Cell("k", 5, 1, head=1))
    store.open(document(4))
    assert store.pointer.held is None


def test_names_are_those_of_the_trace_that_is_shown(made) -> None:  # type: ignore[no-untyped-def]
    """Layers are gone from the document before the next trace arrives."""
    store, panel = made()
    (first,) = store.experiment.layers
    change(store, layers=(first, Layer(heads=Heads(4, 2, 3), projections=first.projections)))
    traced(store)
    store.look(site="layers.1.self", locked=Cell("q", 1, 1))
    assert word(panel, "inspector_title").startswith("layer 2 of 2")
    change(store, layers=(first,))
    QApplication.processEvents()
    traced(store)
    QApplication.processEvents()


def test_a_long_title_does_not_widen_the_panel(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    written(store)
    store.hold_in_decoding(Cell("q", 6, 1))
    QApplication.processEvents()
    before = panel.minimumSizeHint().width()
    for stage in ("weights", "k", "attention_output"):
        store.hold_in_decoding(Cell(stage, 6, 1))
        QApplication.processEvents()
        assert panel.page.isVisible()
        assert panel.minimumSizeHint().width() == before


def test_the_notes_of_a_line_are_joined_as_the_language_joins_them(made) -> None:  # type: ignore[no-untyped-def]
    store, panel = made()
    store.edit(with_fields, mask_placement="after_softmax")
    traced(store)
    store.look(locked=Cell("weights", 1, 2))
    assert "set to 0 after the softmax; causal: key 2 comes after query 1; m = " in text(panel)
    assert ", the row's maximum" in text(panel)
    set_language("zh_CN")
    speak()
    assert "softmax 之后置为 0；因果：键 2 在查询 1 之后；m = " in text(panel)
    assert "，即该行的最大值" in text(panel)
