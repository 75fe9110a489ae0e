"""A stack in the window: layers are made, walked through with keys, and named wherever one looks."""

from __future__ import annotations

from desk import Desk, MakeDesk
from experiments import block, small
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton

from attnviz.gui.panels.block import BlockPanel
from attnviz.model.edit.layers import set_n_layers
from attnviz.model.sites.sites import at
from attnviz.model.spec.document import Document

STACK = set_n_layers(small(block=block("pre")), 3)


def block_tab(desk: Desk) -> BlockPanel:
    desk.bring("block")
    desk.settle()
    panel = desk.window.panels["block"]
    assert isinstance(panel, BlockPanel)
    return panel


def test_keys_walk_through_the_layers_and_every_title_follows(make_desk: MakeDesk) -> None:
    desk = make_desk(Document(STACK, title="stack"))
    assert desk.window.windowTitle() == "stack — layer 1 of 3 — attnviz"
    desk.press_key(Qt.Key.Key_PageUp)
    assert desk.store.document.site == "layers.0.self"
    for layer in (1, 2, 2):
        desk.press_key(Qt.Key.Key_PageDown)
        assert desk.store.document.site == f"layers.{layer}.self"
    desk.settle()
    assert desk.window.windowTitle() == "stack — layer 3 of 3 — attnviz"
    assert desk.find(QLabel, "stage_title").text().startswith("layer 3 of 3 · ")
    desk.press_key(Qt.Key.Key_PageUp)
    assert desk.store.document.site == "layers.1.self"


def test_a_layer_is_copied_looked_at_and_taken_back(make_desk: MakeDesk) -> None:
    desk = make_desk(Document(small(block=block("pre")), title="one"))
    assert desk.window.windowTitle() == "one — attnviz"
    desk.find(QPushButton, "copy_layer_button").click()
    desk.settle()
    assert desk.window.windowTitle() == "one • — layer 2 of 2 — attnviz"
    assert block_tab(desk).diagram.stages[0] == "layer_input"
    desk.press_key(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    desk.settle()
    assert desk.window.windowTitle() == "one — attnviz"
    assert block_tab(desk).diagram.stages[0] == "tokens_embedded"


def test_a_box_of_the_diagram_lights_the_strip_and_opens_its_stage(make_desk: MakeDesk) -> None:
    desk = make_desk(Document(STACK))
    panel = block_tab(desk)
    panel.diagram.box("norm_2").pointed.emit(True)
    assert desk.store.pointer.stage == "norm_2"
    panel.diagram.box("norm_2").click()
    desk.settle()
    assert "norm 2" in desk.find(QLabel, "stage_title").text()
    panel.diagram.box("norm_2").pointed.emit(False)
    assert desk.store.pointer.stage == ""


def test_all_layers_turn_hot_at_once_and_cool_at_once(make_desk: MakeDesk) -> None:
    desk = make_desk(Document(STACK))
    desk.store.set_edits_alike(True)
    desk.store.edit_attention(replace, temperature=2.0)
    desk.settle()
    experiment = desk.store.experiment
    assert [at(experiment, f"layers.{i}.self").temperature for i in range(3)] == [2.0] * 3
    desk.store.undo()
    assert desk.store.experiment == STACK and not desk.store.can_undo
