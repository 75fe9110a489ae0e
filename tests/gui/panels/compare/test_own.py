"""A of one's own: pinned, compared with what follows, swapped, aligned, blinked, released."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest
from desk import Desk, MakeDesk, color_in, picture
from first_layer import change
from msgspec.structs import replace
from PySide6.QtCore import QPointF, QTimer
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QFileDialog, QLabel, QPushButton

from attnviz.errors import Message
from attnviz.gui.export.dialog import ExportDialog
from attnviz.gui.look.colors import cell_colors
from attnviz.gui.panels.compare.compare import ComparePanel
from attnviz.gui.panels.compare.maps import SIDES
from attnviz.gui.panels.compare.shown import OWN
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.model.edit import edits
from attnviz.model.edit.layers import set_n_layers
from attnviz.model.io.presets import load_preset
from attnviz.model.sites.titles import label_among_several
from attnviz.model.spec.parts import Causal
from attnviz.model.spec.view import Cell
from attnviz.model.why_not import WHY_NOTS


def panel_of(desk: Desk) -> ComparePanel:
    """The panel in front, large enough for its details."""
    panel = desk.window.panels["compare"]
    assert isinstance(panel, ComparePanel)
    dock = desk.window.docks["compare"]
    dock.show()
    dock.setFloating(True)
    dock.resize(1400, 720)
    desk.qtbot.waitUntil(panel.isVisible)
    panel.set_seen(True)
    return panel


def pinned(desk: Desk) -> ComparePanel:
    panel = panel_of(desk)
    assert desk.find(QPushButton, "compare_pin").isHidden()  # the empty state has the only one
    desk.click(panel.findChildren(QAbstractButton, "empty_state_action")[0])
    desk.qtbot.waitUntil(lambda: panel.picture is not None)
    return panel


def values(panel: ComparePanel, side: str) -> np.ndarray:
    return panel.maps[side].map.content.values


def readout(desk: Desk) -> str:
    return desk.find(QLabel, "compare_readout").text()


def test_before_a_pin_the_panel_says_what_to_do(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = panel_of(desk)
    assert panel.is_own and panel.picture is None
    empty = panel.findChild(QLabel, "empty_state_text")
    assert (
        isinstance(empty, QLabel) and empty.isVisible() and empty.text().startswith("Pin the present state")
    )
    assert not any(one.isVisible() for one in panel.maps.values())
    cards = panel.cards.cards
    assert [card.accessibleName() for card in cards] == [row.title for row in WHY_NOTS]
    desk.qtbot.waitUntil(lambda: all(card.picture is not None for card in cards))
    late = next(card for card in cards if card.row.id == "late-mask")
    for box, wanted in zip(late.boxes(), (late.picture.before, late.picture.after), strict=True):
        colors = cell_colors("sequential", desk.theme)
        at = QPointF(box.left() + box.width() / 8, box.bottom() - box.height() / 8)
        assert wanted.shape == (4, 4)
        got = np.array(color_in(picture(late), at).getRgb()[:3])
        assert np.abs(got - colors[wanted[3, 0]]).max() <= 3
    assert not np.array_equal(late.picture.before, late.picture.after)
    desk.click(late)
    desk.qtbot.waitUntil(lambda: panel.picture is not None)
    assert not panel.is_own and panel.controls.row.value() == "late-mask"
    assert panel.cards.isHidden()
    panel.controls.row.set_value(OWN)
    panel.controls.row.changed.emit(OWN)
    desk.click(panel.findChild(QPushButton, "empty_state_action"))
    assert all(one.isVisible() for one in panel.maps.values())
    assert readout(desk) == "one → one: 0.440 | 0.440 | 0.000 · No number differs."  # the preset locks a cell
    desk.store.look(locked=None)
    assert readout(desk) == "No number differs."
    assert "same state" in desk.find(QLabel, "compare_note").text()


def test_the_greatest_change_is_named_and_is_that_of_the_traces(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = pinned(desk)
    desk.store.look(locked=None)
    before = desk.store.site["weights"][0].astype(float)
    change(desk.store, masks=(Causal(),))
    desk.settle()
    after = desk.store.site["weights"][0].astype(float)
    np.testing.assert_array_equal(values(panel, "left"), before)
    np.testing.assert_array_equal(values(panel, "difference"), after - before)
    row, column = np.unravel_index(np.argmax(np.abs(after - before)), before.shape)
    tokens = desk.store.experiment.tokens
    sign = "+" if after[row, column] > before[row, column] else "\N{MINUS SIGN}"
    assert readout(desk) == (
        f"greatest change: {tokens[row]} → {tokens[column]}: {before[row, column]:.3f} → "
        f"{after[row, column]:.3f}, {sign}{abs(after - before)[row, column]:.3f}"
    )
    assert panel.details.differs.lines == (("Mask", "none", "causal"),)
    assert desk.find(QLabel, "compare_note").text() == "Everything else is equal."


def test_two_equal_states_are_said_once_to_be_equal(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = pinned(desk)

    def shown() -> list[str]:
        return [label.text() for label in panel.findChildren(QLabel) if label.isVisible()]

    assert panel.picture is not None and panel.picture.changes == ()
    assert [text for text in shown() if "No number differs." in text] == [readout(desk)]
    assert "GREATEST CHANGE" not in shown() and not panel.details.changes.isVisible()
    change(desk.store, masks=(Causal(),))
    desk.settle()
    assert "GREATEST CHANGE" in shown() and panel.details.changes.isVisible()


def test_a_click_on_a_change_locks_its_cell_in_the_document_and_another_frees_it(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = pinned(desk)
    change(desk.store, temperature=4.0)
    desk.settle()
    top = desk.find(QAbstractButton, "compare_change_0")  # type: ignore[type-abstract]
    desk.click(top)
    assert panel.picture is not None
    first = panel.picture.changes[0]
    locked = desk.store.document.view.locked
    assert locked is not None and (locked.stage, locked.row, locked.column) == (
        "weights",
        first.row,
        first.column,
    )
    for side in SIDES:
        lit = panel.maps[side].map.highlight
        assert lit.cell == (first.row, first.column) and lit.locked
    assert top.isChecked()
    desk.click(top)
    assert desk.store.document.view.locked is None and not top.isChecked()


def test_hover_is_linked_with_the_other_panels_both_ways(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = pinned(desk)
    one = panel.maps["left"].map
    desk.hover(one, one.cell_center(2, 1))
    cell = desk.store.pointer.cell
    assert cell is not None and (cell.stage, cell.row, cell.column) == ("weights", 2, 1)
    assert all(panel.maps[side].map.highlight.cell == (2, 1) for side in SIDES)
    desk.store.set_hover(Cell("weights", 3, 0))
    assert all(panel.maps[side].map.highlight.cell == (3, 0) for side in SIDES)
    assert readout(desk).startswith("four → one: ")


def test_alignment_layer_and_stage_wait_behind_one_button(make_desk: MakeDesk) -> None:
    desk = make_desk("decoder-only")
    panel, controls = pinned(desk), desk.window.panels["compare"].controls
    rest, button = (controls.align, controls.follows, controls.site, controls.stage), controls.show_more
    assert button.isVisible() and not any(one.isVisible() for one in rest)
    desk.click(button)
    assert all(one.isVisible() for one in rest)
    panel.choose("late-mask")
    assert not button.isVisible() and not any(one.isVisible() for one in rest)
    panel.choose(OWN)
    desk.qtbot.waitUntil(lambda: all(one.isVisible() for one in rest))
    desk.click(button)
    assert not any(one.isVisible() for one in rest)


def test_a_long_text_has_cards_without_pictures(make_desk: MakeDesk) -> None:
    from attnviz.gui.panels.compare.cards import MOST_TOKENS

    desk = make_desk("toy-attention")
    panel = panel_of(desk)
    desk.qtbot.waitUntil(lambda: all(card.picture is not None for card in panel.cards.cards))
    desk.store.edit(edits.set_tokens, tuple(f"t{at}" for at in range(MOST_TOKENS + 1)))
    desk.settle()
    desk.qtbot.waitUntil(lambda: not any(card.picture is not None for card in panel.cards.cards))


def test_an_unrelated_document_is_not_compared_and_a_is_kept_for_its_own(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = pinned(desk)
    first = desk.window.panels["compare"].pinning.pinned
    assert first is not None
    desk.store.open(load_preset("grouped-query"))
    desk.settle()
    says = desk.find(QLabel, "empty_state_text") if panel.picture is None else None
    assert says is not None and says.text().startswith(
        "A belongs to “Four tokens, three numbers each”, which has another"
    )
    assert readout(desk) == "" and desk.window.panels["compare"].pinning.comparable is None
    assert panel.cards.isVisible(), "the prepared comparisons are of the present document"
    desk.store.undo()
    desk.settle()
    desk.qtbot.waitUntil(lambda: panel.picture is not None)
    assert desk.window.panels["compare"].pinning.pinned is first, "back in its document, A is compared again"
    desk.store.open(replace(load_preset("toy-attention"), title="over the same tokens"))
    desk.settle()
    desk.qtbot.waitUntil(lambda: panel.picture is not None)
    desk.store.open(load_preset("grouped-query"))
    desk.settle()
    desk.click(next(b for b in panel.findChildren(QPushButton, "empty_state_action") if b.isVisible()))
    desk.settle()
    assert desk.window.panels["compare"].pinning.pinned.document.title == load_preset("grouped-query").title
    desk.qtbot.waitUntil(lambda: panel.picture is not None)


def test_a_longer_text_of_the_document_is_compared(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = pinned(desk)
    before = values(panel, "left").copy()
    desk.store.edit(edits.set_n_tokens, 8)
    desk.store.look(stage="weights")
    desk.settle()
    desk.qtbot.waitUntil(lambda: panel.picture is not None and values(panel, "right").shape == (8, 8))
    left = panel.picture.sheets[0] if panel.picture is not None else None
    assert left is not None and left.absent is not None and left.absent[4:].all() and left.absent[:, 4:].all()
    np.testing.assert_array_equal(left.values[:4, :4], before)
    assert panel.maps["left"].map.content.row_labels[4:] == ("",) * 4
    assert "absent |" in panel.maps["left"].map.cell_text(6, 1)


def test_swap_exchanges_both_and_undo_exchanges_them_back(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = pinned(desk)
    first = desk.store.experiment
    change(desk.store, temperature=4.0)
    desk.settle()
    second, shown = desk.store.experiment, values(panel, "difference").copy()
    desk.click(desk.find(QPushButton, "compare_swap"))
    desk.settle()
    pinning = desk.window.panels["compare"].pinning
    assert (
        desk.store.experiment == first and pinning.pinned is not None and pinning.pinned.experiment == second
    )
    np.testing.assert_array_equal(values(panel, "difference"), -shown)
    desk.store.undo()
    desk.settle()
    assert desk.store.experiment == second and pinning.pinned.experiment == first
    np.testing.assert_array_equal(values(panel, "difference"), shown)
    desk.store.redo()
    desk.settle()
    assert desk.store.experiment == first and pinning.pinned.experiment == second


def test_swap_over_documents_goes_back_by_undo(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    pinned(desk)
    desk.store.open(load_preset("grouped-query"))
    desk.settle()
    desk.window.handlers.on_swap()
    desk.settle()
    pinning = desk.window.panels["compare"].pinning
    assert desk.store.document.title == load_preset("toy-attention").title
    assert pinning.pinned is not None and pinning.pinned.document.title == load_preset("grouped-query").title
    desk.store.undo()
    desk.settle()
    assert desk.store.document.title == load_preset("grouped-query").title
    assert pinning.pinned.document.title == load_preset("toy-attention").title


def test_a_swapped_state_is_gone_with_its_document(
    make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk("toy-attention")
    pinned(desk)
    change(desk.store, temperature=4.0)
    desk.settle()
    desk.window.handlers.on_swap()
    desk.settle()
    pinning = desk.window.panels["compare"].pinning
    desk.store.open(load_preset("grouped-query"))
    assert pinning._other is not None  # undo leads back to the swap
    monkeypatch.setattr("attnviz.model.edit.chapters.MOST_CHAPTERS", 1)
    gone = weakref.ref(pinning._other.experiment)
    desk.store.open(load_preset("dog-bites-man"))
    desk.settle()
    gc.collect()
    assert pinning._other is None and gone() is None
    assert pinning.pinned is not None and pinning.pinned.document.title == load_preset("toy-attention").title


def test_a_keeps_its_head_unless_it_follows(make_desk: MakeDesk) -> None:
    desk = make_desk("grouped-query")
    desk.store.look(stage="weights", locked=None)
    panel = pinned(desk)
    desk.store.look(head=5)
    weights = desk.store.site["weights"]
    np.testing.assert_array_equal(values(panel, "left"), weights[0])
    np.testing.assert_array_equal(values(panel, "right"), weights[5])
    assert ("Head", "head 1", "head 6") in panel.details.differs.lines
    desk.click(desk.find(QPushButton, "compare_show"))
    desk.switch("compare_follows")
    np.testing.assert_array_equal(values(panel, "left"), weights[5])
    assert readout(desk) == "No number differs."


def test_a_place_is_named_by_what_differs_in_it(make_desk: MakeDesk) -> None:
    desk = make_desk("decoder-only")
    desk.store.look(site="layers.0.self", head=0, stage="weights", locked=None)
    panel = pinned(desk)
    lines = panel.details.differs
    desk.store.look(head=1)
    desk.qtbot.waitUntil(lambda: lines.lines == (("Head", "head 1", "head 2"),))
    desk.store.look(site="layers.1.self", head=0)
    both = (label_among_several(desk.store.experiment, f"layers.{layer}.self") for layer in (0, 1))
    expected = ("Layer", *both)
    desk.qtbot.waitUntil(lambda: lines.lines == (expected,))


def test_a_claim_that_is_added_is_compared_at_once(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = pinned(desk)
    change(desk.store, temperature=50.0)
    desk.settle()
    desk.store.claim(("max(weights) > 0.5",))
    line = ("max(weights) > 0.5", "holds", "does not hold")
    desk.qtbot.waitUntil(lambda: line in panel.details.differs.lines, timeout=1000)


def test_tokens_are_aligned_by_text_where_chosen(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = pinned(desk)
    desk.store.edit(edits.set_tokens, ("one", "more", "two", "three", "four"))
    desk.settle()
    align = desk.find(Combo, "compare_align")
    assert panel.maps["difference"].map.content.row_labels[1] == "two|more"
    align.set_value("text")
    align.changed.emit("text")
    assert panel.maps["difference"].map.content.row_labels == ("one", "more", "two", "three", "four")
    hatched = panel.maps["left"].map.content.blocked
    assert hatched is not None and hatched[1].all() and not hatched[2, 2]


def test_blink_shows_a_in_the_map_of_b_and_rests_without_motion(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = pinned(desk)
    change(desk.store, temperature=4.0)
    desk.settle()
    before = picture(panel.maps["right"].map)
    blink = desk.find(QPushButton, "compare_blink")
    desk.click(blink)
    assert panel.maps["right"].badge == "A" and picture(panel.maps["right"].map) != before
    panel.pictures.blink()
    assert panel.maps["right"].badge == "B"
    desk.click(blink)
    assert panel.maps["right"].badge == "B" and not panel.pictures.is_blinking
    desk.click(blink)
    settings = desk.window.settings
    try:
        settings["motion"] = False
        desk.window.handlers.apply_preferences()
        assert not blink.isEnabled() and "switched off" in blink.toolTip()
        assert panel.maps["right"].badge == "B" and not panel.pictures.is_blinking
    finally:
        settings["motion"] = True
        desk.window.handlers.apply_preferences()
    assert blink.isEnabled() and not blink.isChecked()


def test_unpin_gives_the_memory_of_the_trace_back(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = pinned(desk)
    desk.store.open(load_preset("grouped-query"))  # then no panel remembers the trace of A
    desk.settle()
    kept = desk.window.panels["compare"].pinning.trace
    assert kept is not None
    gone = weakref.ref(kept)
    del kept
    desk.click(desk.find(QPushButton, "compare_unpin"))
    gc.collect()
    assert gone() is None and panel.picture is None


def test_a_large_trace_is_not_kept(make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnviz.gui.panels.compare.requests.MOST_KEPT", 16)
    desk = make_desk("toy-attention")
    panel = pinned(desk)
    change(desk.store, temperature=4.0)
    desk.settle()
    assert desk.window.panels["compare"].pinning.trace is None
    change(desk.store, temperature=5.0)
    desk.settle()
    assert panel.picture is not None and len(panel.picture.changes) > 0


def test_a_prepared_comparison_stands_in_the_same_menu_and_leads_back(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = pinned(desk)
    panel.choose("late-mask")
    assert desk.find(QLabel, "compare_sentence").isVisible()
    assert not desk.find(QPushButton, "compare_swap").isVisible()
    panel.choose(OWN)
    assert desk.find(QPushButton, "compare_swap").isVisible()
    assert panel.maps["left"].badge == "A" and not desk.find(QLabel, "compare_sentence").isVisible()


def test_a_stage_that_a_lacks_is_said_and_other_stages_go_on(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = pinned(desk)
    change(desk.store, masks=(Causal(),))
    desk.settle()
    desk.store.look(stage="masked")
    assert panel.picture is None
    texts = [label.text() for label in panel.findChildren(QLabel)]
    assert "A has no stage “masked”." in texts
    action = panel.findChild(QPushButton, "empty_state_action")
    assert action.isVisible() and action.text() == "Compare “scaled”"
    desk.click(action)
    assert desk.store.document.view.stage == "scaled"
    assert panel.picture is not None and panel.pinning.pinned is not None and not action.isVisible()


def test_a_reason_is_shown_while_the_numbers_of_a_new_layer_are_on_their_way(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel, trace = pinned(desk), desk.store.trace
    desk.store.edit(set_n_layers, 3)
    desk.settle()
    desk.store.look(site="layers.2.self")
    desk.store.trace = trace
    panel.own.problem = Message("a reason")
    panel._draw()
    assert "a reason" in [label.text() for label in panel.findChildren(QLabel)]


def test_titles_and_captions_are_plain_text(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    desk.store.edit(edits.set_tokens, ("<b>one</b>", "two", "three", "four"))
    desk.settle()
    panel = pinned(desk)
    desk.store.edit(edits.set_tokens, ("<i>other</i>", "two", "three", "four"))
    desk.settle()
    assert panel.details.differs.lines[0] == ("Token 1", "<b>one</b>", "<i>other</i>")
    for label in panel.findChildren(ElidedLabel):
        assert label.toolTip() == "" or label.toolTip().startswith("<qt>")
        assert "<b>" not in label.toolTip()


@pytest.mark.parametrize("suffix", [".svg", ".csv"])
def test_the_three_maps_are_exported_as_the_panel_shows_them(
    make_desk: MakeDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    desk = make_desk("toy-attention")
    panel = pinned(desk)
    change(desk.store, temperature=4.0)
    desk.settle()
    panel._on_align("text")
    desk.settle()
    path = tmp_path / f"pair{suffix}"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *given: (str(path), ""))

    def save() -> None:
        dialog = desk.window.findChild(ExportDialog)
        assert (dialog.export.id, dialog.choice.text("alignment")) == ("comparison", "text")
        formats = dialog.findChild(QComboBox, "export_format_box")
        formats.setCurrentIndex(formats.findData(suffix[1:]))
        dialog.findChild(QPushButton, "export_save_button").click()

    QTimer.singleShot(0, save)
    desk.click(desk.find(QPushButton, "compare_export"))
    desk.qtbot.waitUntil(path.exists)
    text = path.read_text(encoding="utf-8-sig")
    if suffix == ".svg":
        assert "greatest change" in text and "A · Temperature 1" in text and "B · Temperature 4" in text
    else:
        assert text.startswith("query,")
    beside = ", pair.csv-metadata.json" if suffix == ".csv" else ""
    assert desk.said() == f"Saved pair{suffix}{beside}"


def test_all_three_maps_have_cells_of_one_size_at_every_width(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    panel = pinned(desk)
    desk.store.edit(edits.set_tokens, ("a much longer token", "two", "three", "four"))
    desk.settle()
    for width in (1264, 1001, 900):
        desk.window.docks["compare"].resize(width, 720)
        QApplication.processEvents()
        assert abs(panel.width() - width) < 60
        shown = [panel.maps[side].map.layout_shown for side in SIDES]
        assert len({(one.cell_w, one.cell_h, one.plot.top()) for one in shown}) == 1, width
    labels = panel.maps["left"].map.content.row_labels
    assert labels[0] == "one|a much longer token" and panel.maps["right"].map.content.row_labels == ("",) * 4
