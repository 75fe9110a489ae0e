"""A number set by hand in the inspector: what follows, its mark, its list, its removal, and refusals."""

from __future__ import annotations

import numpy as np
from desk import Desk, MakeDesk
from first_layer import change
from PySide6.QtWidgets import QToolButton

import attnviz
from attnviz.gui.context.menu import ROWS
from attnviz.gui.context.target import Target
from attnviz.gui.panels.inspector.by_hand import ByHand
from attnviz.gui.panels.mechanism.by_hand import ByHandSection
from attnviz.gui.panels.stage.stage import StageViewPanel
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.link_line import LinkLine
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.segmented import Segmented
from attnviz.model.edit.by_hand import all_edits
from attnviz.model.spec.edit import Edit
from attnviz.model.spec.positions import NoPosition
from attnviz.model.spec.view import Cell

SITE = "layers.1.self"


def locked(desk: Desk, cell: Cell) -> None:
    desk.store.look_at(cell)
    desk.settle()


def number(desk: Desk) -> DragNumber:
    return desk.find(DragNumber, "by_hand_number")


def test_a_cell_is_set_its_row_scaled_and_each_removed(make_desk: MakeDesk) -> None:
    desk = make_desk("decoder-only")
    before = desk.store.experiment
    plain = attnviz.run(before).site(SITE)
    locked(desk, Cell("weights", 2, 1, 0, SITE))
    assert number(desk).value() == plain["weights"][0, 2, 1]
    number(desk).changed.emit(0.1)
    desk.settle()
    (edit,) = desk.store.attention.edits
    assert edit == Edit("weights", 2, 0.1, "set", 0, 1)
    weights = desk.store.shown_site["weights"]
    assert weights[0, 2, 1] == np.float64(0.1) and weights[0, 2, 0] == plain["weights"][0, 2, 0]
    shown = desk.window.panels["stage"]
    assert isinstance(shown, StageViewPanel)
    assert shown.map.content.edited == {(2, 1)}

    desk.find(Segmented, "by_hand_extent").changed.emit("row")  # nothing yet
    desk.find(Segmented, "by_hand_extent").set_value("row")
    desk.find(Segmented, "by_hand_operation").set_value("scale")
    number(desk).changed.emit(0.5)
    desk.settle()
    assert desk.store.attention.edits[1:] == (Edit("weights", 2, 0.5, "scale", 0, None),)
    assert desk.store.shown_site["weights"][0, 2, 1] == np.float64(0.05)
    assert len(shown.map.content.edited) == before.n_queries

    section = next(s for s in desk.window.panels["mechanism"].sections if isinstance(s, ByHandSection))
    section.complete()
    assert [line.accessibleName() for line in section.findChildren(LinkLine) if not line.isHidden()] == [
        f"{SITE}.weights[0, 2, 1] = 0.1",
        f"{SITE}.weights[0, 2, :] *= 0.5",
    ]
    section.findChildren(QToolButton)[0].click()
    assert [edit.operation for _site, edit in all_edits(desk.store.experiment)] == ["scale"]
    desk.find(QToolButton, "by_hand_remove").click()
    assert desk.store.experiment == before
    desk.store.undo()
    assert len(all_edits(desk.store.experiment)) == 1


def test_a_cell_that_is_gone_is_not_edited(make_desk: MakeDesk) -> None:
    """The numbers of another document arrive a moment before the line is hidden."""
    desk = make_desk("alibi-window")
    locked(desk, Cell("biased", 2, 1, 0))
    operation = desk.find(Segmented, "by_hand_operation")
    extent = desk.find(Segmented, "by_hand_extent")
    change(desk.store, position=NoPosition())
    desk.store.set_trace(attnviz.run(desk.store.experiment))
    before = desk.store.experiment
    operation.changed.emit("scale")
    extent.changed.emit("row")
    number(desk).changed.emit(0.5)
    assert desk.store.experiment == before and "biased" not in desk.store.shown_site.stages


def test_what_is_a_reading_says_where_it_is_edited(make_desk: MakeDesk) -> None:
    desk = make_desk("decoder-only")
    refusal = desk.find(ElidedLabel, "by_hand_refusal")
    for cell, says in (
        (Cell("layer_input", 1, 0, 0, SITE), "This is residual 2 of layers.0.self: edit it there."),
        (Cell("tokens_embedded", 1, 0, 0, "layers.0.self"), "edit them among the token vectors"),
    ):
        locked(desk, cell)
        assert says in refusal.text() and number(desk).isHidden()


def test_the_menu_of_a_cell_leads_to_its_number(make_desk: MakeDesk) -> None:
    desk = make_desk("decoder-only")
    row = next(row for row in ROWS if row.id == "by_hand")
    target = Target(cell=Cell("weights", 3, 1, 0), site=SITE)
    assert row.applies(desk.window.surface, target)
    row.run(desk.window.surface, target)
    desk.settle()
    assert desk.store.document.view.locked == Cell("weights", 3, 1, 0)
    assert not desk.find(ByHand, "by_hand").isHidden()
