"""The chooser of the attention beside the heads."""

from __future__ import annotations

from experiments import MEMORY, block, small
from msgspec.structs import replace
from panels import PanelBench
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QStyle, QStyleOptionComboBox, QToolButton
from pytestqt.qtbot import QtBot

from attnviz.gui.panels.heads.heads import HeadsPanel
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.toggle import Toggle
from attnviz.model.edit.layers import set_cross, set_n_encoder_layers, set_n_layers
from attnviz.model.spec.document import Document

STACK = set_n_layers(small(block=block("pre")), 3)


def make(qtbot: QtBot, what: str | Document = "fluffy-blue-creature") -> PanelBench[HeadsPanel]:
    return PanelBench(qtbot, HeadsPanel, what, 776, 84)


def test_one_attention_has_no_chooser(qtbot: QtBot) -> None:
    bench = make(qtbot)
    assert not bench.panel.side.sites.isVisible()


def test_a_site_is_chosen_from_the_list_or_stepped_to(qtbot: QtBot) -> None:
    bench = make(qtbot, Document(STACK))
    combo = bench.find(Combo, "site_combo")
    labels = [combo.itemText(i) for i in range(combo.count())]
    assert labels == [f"layer {i} of 3" for i in (1, 2, 3)]
    before, after = bench.find(QToolButton, "site_before"), bench.find(QToolButton, "site_after")
    assert not before.isEnabled()
    combo.changed.emit("layers.1.self")
    assert bench.store.document.site == "layers.1.self" and not bench.store.can_undo
    QTest.mouseClick(after, Qt.MouseButton.LeftButton)
    assert bench.store.document.site == combo.value() == "layers.2.self" and not after.isEnabled()
    QTest.mouseClick(before, Qt.MouseButton.LeftButton)
    assert bench.store.document.site == "layers.1.self"
    bench.store.edit(set_n_layers, 1)
    assert not bench.panel.side.sites.isVisible() and bench.store.document.site == "layers.0.self"


def test_encoder_and_decoder_are_told_apart(qtbot: QtBot) -> None:
    both = set_n_encoder_layers(set_cross(small(memory=MEMORY), True), 2)
    bench = make(qtbot, Document(both))
    combo = bench.find(Combo, "site_combo")
    assert [combo.itemText(i) for i in range(combo.count())] == [
        "encoder 1 of 2",
        "encoder 2 of 2",
        "decoder 1 of 1 · self",
        "decoder 1 of 1 · cross",
    ]
    edit = QStyle.SubControl.SC_ComboBoxEditField
    option = QStyleOptionComboBox()
    combo.initStyleOption(option)
    room = combo.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, edit, combo).width()
    assert room > combo.fontMetrics().horizontalAdvance("decoder 1 of 1 · cross")


def test_all_layers_are_edited_alike_from_beside_the_heads(qtbot: QtBot) -> None:
    bench = make(qtbot, Document(STACK))
    toggle = bench.find(Toggle, "site_alike_toggle")
    toggle.changed.emit(True)
    assert bench.store.pointer.edits_alike and toggle.value()
    bench.store.edit_attention(lambda e: replace(e, cap=4.0))
    assert [layer.cap for layer in bench.store.experiment.layers] == [4.0] * 3
    bench.store.set_edits_alike(False)
    assert not toggle.value()
    bench.store.open(Document(set_cross(small(memory=MEMORY), True)))
    assert not toggle.isEnabled() and "No other layer has such an attention" in toggle.toolTip()
