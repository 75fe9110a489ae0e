"""A target is chosen, and every picture shows its gradient in the place of the values."""

from __future__ import annotations

import numpy as np
import pytest
from desk import WAIT_MS, Desk, MakeDesk
from PySide6.QtWidgets import QLabel, QToolButton, QWidget

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.cli import main
from attnviz.core.progress import never_cancelled
from attnviz.gui.context.menu import ROWS
from attnviz.gui.context.target import Target, of_cell
from attnviz.gui.export.source import Choice
from attnviz.gui.export.table import EXPORT_BY_ID
from attnviz.gui.palette.providers import all_entries
from attnviz.gui.panels.inspector.inspector import InspectorPanel
from attnviz.gui.widgets.elided_label import WholeLabel
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.pictures.bars import Bars
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.toggle import Toggle
from attnviz.model.edit import edits
from attnviz.model.spec.view import Cell
from attnviz.operations.terms import VALUE_DIGITS, digits

DOCUMENT = load_preset("decoder-only")
SITE = DOCUMENT.site


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    made = make_desk(DOCUMENT)
    made.window.workspaces.switch("explore")
    made.store.look(stage="weights", head=0)
    return made


def shown(desk: Desk) -> np.ndarray:
    return desk.map.content.values


def test_the_button_shows_the_gradient_of_the_loss_and_takes_it_back(desk: Desk) -> None:
    wanted = attnviz.backward(DOCUMENT, "loss")
    bar = desk.find(QWidget, "gradient_quantity").parentWidget()
    assert bar is not None and bar.isHidden()
    desk.find(Toggle, "gradient_button").click()
    assert not bar.isHidden()
    np.testing.assert_allclose(shown(desk), wanted.site(SITE)["weights"][0], atol=1e-14)
    assert desk.map.content.signed and desk.map.content.row_sums is None
    assert desk.map.content.quantity == "∂ loss / ∂ weights"
    assert desk.find(WholeLabel, "gradient_says").text() == f"= {wanted.value:.4f}"
    desk.find(QToolButton, "gradient_close").click()
    assert bar.isHidden()
    np.testing.assert_array_equal(shown(desk), attnviz.run(DOCUMENT).site(SITE)["weights"][0])


def test_the_switch_shows_values_gradients_and_their_product_in_map_strip_and_heads(desk: Desk) -> None:
    desk.store.look(target="loss", quantity="gradient")
    found = attnviz.backward(DOCUMENT, "loss")
    switch = desk.find(Segmented, "gradient_quantity")
    traces = {"value": attnviz.run(DOCUMENT), "product": found.product, "gradient": found}
    for quantity, trace in traces.items():
        switch.changed.emit(quantity)
        site = trace.site(SITE)
        np.testing.assert_allclose(shown(desk), site["weights"][0], atol=1e-14)
        assert f">{site.called('scores')}\n" in desk.find(Thumbnail, "stage_scores").toolTip()


def test_an_edit_computes_the_gradient_anew(desk: Desk) -> None:
    desk.store.look(target="loss", quantity="gradient")
    desk.store.edit(edits.set_tokens, ("the", "cat", "sat", "on", "a", "mat"))
    desk.settle()
    wanted = attnviz.backward(desk.store.experiment, "loss").site(SITE)["weights"][0]
    np.testing.assert_allclose(shown(desk), wanted, atol=1e-14)


def test_another_engine_computes_the_gradient_too(desk: Desk) -> None:
    desk.store.look(target="loss", quantity="gradient")
    desk.window.store.choose_engine("torch", "cpu")
    desk.settle()
    assert desk.store.gradient is not None and desk.store.gradient.engine == "torch"


def test_the_menu_of_a_cell_and_the_palette_choose_a_target(desk: Desk) -> None:
    row = next(row for row in ROWS if row.id == "gradient")
    row.run(desk.window.surface, of_cell(Cell("scores", 3, 1, 1)))
    assert desk.store.document.view.target == f"{SITE}.scores[1, 3, 1]"
    wanted = attnviz.backward(DOCUMENT, f"{SITE}.scores[1, 3, 1]").site(SITE)["q"][1]
    desk.store.look(stage="q", head=1)
    np.testing.assert_allclose(shown(desk), wanted, atol=1e-14)
    entry = next(entry for entry in all_entries(desk.window.surface) if entry.key == "gradient:loss")
    entry.run()
    assert desk.store.document.view.target == "loss"


def test_a_token_or_a_cell_asks_which_token_changes_its_loss_most(desk: Desk) -> None:
    row = next(row for row in ROWS if row.id == "loss")
    of_row = of_cell(Cell("weights", 3, 1, 0))
    last = desk.store.experiment.n_queries - 1
    assert [
        row.applies(desk.window.surface, one) for one in (Target(token=3), of_row, Target(token=last))
    ] == [
        1,
        1,
        0,
    ]
    assert row.text(desk.window.surface, of_row) == "Which token changes the loss at “on” most?"
    row.run(desk.window.surface, Target(token=3))
    desk.settle()
    assert desk.store.document.view.target == "loss[3]"
    found = attnviz.backward(DOCUMENT, "loss[3]").site("layers.0.self")["tokens_embedded"]
    norms = np.sqrt((found**2).sum(axis=1))
    bars = desk.find(Bars, "gradient_norms")
    assert [*bars._labels] == ["the", "cat", "sat", "on", "the", "mat"]
    np.testing.assert_allclose(bars._values, norms, atol=1e-14)
    largest = int(norms[:3].argmax())
    said = f"“{DOCUMENT.experiment.tokens[largest]}” changes loss at “on” most: norm {norms[largest]:.4f}"
    assert said in desk.find(QLabel, "gradients_says").text()
    bars.clicked.emit(largest)
    locked = desk.store.document.view.locked
    assert locked == Cell("tokens_embedded", largest, int(np.abs(found[largest]).argmax()), 0)
    assert desk.store.document.site == "layers.0.self"


def test_a_stage_behind_the_target_says_why_it_is_zero(desk: Desk) -> None:
    desk.store.look(target=f"{SITE}.scores[0, 1, 0]", quantity="gradient", stage="weights")
    assert not shown(desk).any()
    flag = desk.find(QWidget, "stage_flag")
    assert flag.text() == "0: the target does not depend on this stage"  # type: ignore[attr-defined]


def test_a_target_that_the_document_lacks_says_so_and_shows_values(desk: Desk) -> None:
    desk.store.look(target=f"{SITE}.weights[0, 9, 0]", quantity="gradient")
    assert "from 0 to 5" in desk.find(WholeLabel, "gradient_says").text()
    assert desk.map.content.quantity == "weights"
    np.testing.assert_array_equal(shown(desk), attnviz.run(DOCUMENT).site(SITE)["weights"][0])


def test_the_table_of_the_window_and_of_the_shell_have_the_gradient(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.store.look(target="loss", quantity="gradient")
    source = desk.window.handlers._exporter.source({})
    made = EXPORT_BY_ID["table"].make(source, Choice("csv", ()), never_cancelled)
    assert main(["table", "decoder-only", "--target", "loss", "--stage", "weights", "--site", SITE]) == 0
    printed = capsys.readouterr().out
    assert made.data.decode("utf-8-sig").replace("\r\n", "\n") == printed
    first = float(printed.splitlines()[1].split(",")[1])
    assert first == attnviz.backward(DOCUMENT, "loss").site(SITE)["weights"][0, 0, 0]


def test_the_inspector_opens_a_gradient_and_a_click_leads_towards_the_target(desk: Desk) -> None:
    desk.store.look(target="loss", quantity="gradient", locked=Cell("masked", 3, 1))
    desk.window.workspaces.show_panel("inspector")
    panel = desk.window.panels["inspector"]
    assert isinstance(panel, InspectorPanel)
    desk.qtbot.waitUntil(lambda: "w_i (δ_ij − w_j)" in panel.page.toPlainText(), timeout=WAIT_MS)
    number = attnviz.backward(DOCUMENT, "loss").site(SITE)["masked"][0, 3, 1]
    assert digits(number, VALUE_DIGITS) in panel.page.toPlainText()
    panel.page.followed.emit(Cell("weights", 3, 1))
    assert desk.store.document.view.locked == Cell("weights", 3, 1)
    desk.qtbot.waitUntil(lambda: "∂/\u2060∂mixed" in panel.page.toPlainText(), timeout=WAIT_MS)


def test_the_loss_at_the_selected_position_is_a_target(desk: Desk) -> None:
    desk.store.look(query=3)
    (entry,) = [one for one in all_entries(desk.window.surface) if one.key == "gradient:loss[3]"]
    assert entry.text == "Gradient: loss of the next token at “on”"
    entry.run()
    desk.settle()
    wanted = attnviz.backward(DOCUMENT, "loss[3]")
    desk.qtbot.waitUntil(lambda: desk.map.content.quantity == "∂ loss at “on” / ∂ weights", timeout=WAIT_MS)
    np.testing.assert_allclose(shown(desk), wanted.site(SITE)["weights"][0], atol=1e-14)
    desk.store.look(query=len(DOCUMENT.experiment.tokens) - 1)
    assert not [one for one in all_entries(desk.window.surface) if one.key.startswith("gradient:loss[5")]


def test_the_loss_in_the_menu_names_the_token_of_the_decoder(make_desk: MakeDesk) -> None:
    desk = make_desk("encoder-decoder")
    desk.store.look(site="encoder.0.self")
    row = next(row for row in ROWS if row.id == "loss")
    of_decoder = of_cell(Cell("weights", 2, 0, 0, site="decoder.0.self"))
    assert row.applies(desk.window.surface, of_decoder)
    token = desk.store.experiment.tokens[2]
    assert f"“{token}”" in row.text(desk.window.surface, of_decoder)
