"""Block and layers in the mechanism: each control stores what it says, and says why it cannot."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TypeVar, get_args

import numpy as np
import pytest
from experiments import MEMORY, block, small
from first_layer import change
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QAbstractButton, QPushButton, QWidget
from pytestqt.qtbot import QtBot
from services import served

import attnviz
from attnviz.gui.panels.mechanism.mechanism import MechanismPanel
from attnviz.gui.store import Store
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.slider_field import SliderField
from attnviz.gui.widgets.toggle import Toggle
from attnviz.model.edit.layers import set_n_layers
from attnviz.model.sites.sites import at, site_names
from attnviz.model.spec.block import Block, Norm, NormPlacement
from attnviz.model.spec.document import Document
from attnviz.model.spec.experts import Experts
from attnviz.model.spec.gate import Gate
from attnviz.model.spec.parts import PositionTemperature, QKNorm, Seeded, SeededSinks
from attnviz.model.spec.rows import DrawnRow
from attnviz.model.spec.vocabulary import EmbeddingProjection

W = TypeVar("W", bound=QWidget)
FULL = small(block=block("sandwich", after_1=Norm("rms"), after_2=Norm("layer", bias=DrawnRow(6))))


@pytest.fixture
def panel(qtbot: QtBot) -> Iterator[MechanismPanel]:
    made = served(MechanismPanel(Store(Document(FULL))))
    qtbot.addWidget(made)
    made.open_all()
    made.start()
    made.resize(276, 3000)
    made.show()
    qtbot.waitExposed(made)
    qtbot.wait(20)  # the layout is done when events are
    yield made


def find(panel: MechanismPanel, kind: type[W], name: str) -> W:
    found = panel.findChild(kind, name)
    assert isinstance(found, kind), name
    return found


def switch(qtbot: QtBot, panel: MechanismPanel, name: str) -> None:
    toggle = find(panel, Toggle, name)
    qtbot.mouseClick(toggle, Qt.MouseButton.LeftButton, pos=QPoint(14, toggle.height() // 2))


def choose(qtbot: QtBot, panel: MechanismPanel, segmented: str, option: str) -> None:
    segment = find(panel, Segmented, segmented).findChild(QAbstractButton, f"segment_{option}")
    assert isinstance(segment, QAbstractButton)
    qtbot.mouseClick(segment, Qt.MouseButton.LeftButton, pos=segment.rect().center())


def the_block(panel: MechanismPanel) -> Block:
    found = panel.store.attention.block
    assert found is not None
    return found


# --- the block --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "toggle", ["block_toggle", "ffn_toggle", "residual_toggle", "norm_1_gain_toggle", "norm_1_bias_toggle"]
)
def test_off_and_on_again_is_as_before(qtbot: QtBot, panel: MechanismPanel, toggle: str) -> None:
    switch(qtbot, panel, toggle)
    assert panel.store.experiment != FULL
    switch(qtbot, panel, toggle)
    assert panel.store.experiment == FULL


def test_a_gate_on_the_heads_output(qtbot: QtBot, panel: MechanismPanel) -> None:
    def gate() -> Gate | None:
        return panel.store.attention.gate

    switch(qtbot, panel, "gate_toggle")
    assert gate() == Gate()
    choose(qtbot, panel, "gate_per_segmented", "head")
    find(panel, DragNumber, "gate_seed_field").changed.emit(4)
    switch(qtbot, panel, "gate_bias_toggle")
    made = gate()
    assert made is not None and (made.per, made.weights) == ("head", Seeded(4)) and made.bias is not None
    switch(qtbot, panel, "gate_toggle")
    assert gate() is None and not _is_shown(panel, "gate_projection_combo")
    switch(qtbot, panel, "gate_toggle")
    assert gate() == made


def test_weighted_inputs_of_experts_have_no_output_biases(qtbot: QtBot, panel: MechanismPanel) -> None:
    def experts() -> Experts:
        block = panel.store.attention.block
        assert block is not None and block.feed_forward is not None and block.feed_forward.experts is not None
        return block.feed_forward.experts

    switch(qtbot, panel, "experts_toggle")
    choose(qtbot, panel, "experts_weighted_segmented", "input")
    assert experts().weighted == "input"
    switch(qtbot, panel, "experts_biased_toggle")
    assert (experts().weighted, experts().biased) == ("output", True)
    choose(qtbot, panel, "experts_weighted_segmented", "input")
    assert (experts().weighted, experts().biased) == ("input", False)


def test_each_layer_has_its_own_block_back(qtbot: QtBot, panel: MechanismPanel) -> None:
    panel.store.edit(set_n_layers, 2)
    both = panel.store.experiment
    panel.store.look(site="layers.1.self")
    switch(qtbot, panel, "block_toggle")
    panel.store.look(site="layers.0.self")
    panel.store.look(site="layers.1.self")
    switch(qtbot, panel, "block_toggle")
    assert panel.store.experiment == both


@pytest.mark.parametrize("placement", get_args(NormPlacement))
def test_each_placement_shows_the_norms_that_it_has(
    qtbot: QtBot, panel: MechanismPanel, placement: str
) -> None:
    choose(qtbot, panel, "placement_segmented", placement)
    assert the_block(panel).placement == placement
    shown = [n for n in ("norm_1", "after_1", "norm_2", "after_2") if _is_shown(panel, f"{n}_kind")]
    after = placement == "sandwich"
    assert shown == (["norm_1", "after_1", "norm_2", "after_2"] if after else ["norm_1", "norm_2"])


def _is_shown(panel: MechanismPanel, name: str) -> bool:
    return find(panel, QWidget, name).isVisible()


def test_what_excludes_another_is_disabled_with_the_reason(qtbot: QtBot, panel: MechanismPanel) -> None:
    words = "block.residual must be true with the placement &#x27;parallel&#x27;"
    choose(qtbot, panel, "placement_segmented", "parallel")
    residual = find(panel, Toggle, "residual_toggle")
    assert not residual.isEnabled() and words in residual.toolTip()
    choose(qtbot, panel, "placement_segmented", "pre")
    switch(qtbot, panel, "residual_toggle")
    parallel = find(panel, Segmented, "placement_segmented").findChild(QAbstractButton, "segment_parallel")
    assert isinstance(parallel, QAbstractButton)
    assert not parallel.isEnabled() and words in parallel.toolTip()


def test_a_norm_is_chosen_and_its_epsilon_set(qtbot: QtBot, panel: MechanismPanel) -> None:
    choose(qtbot, panel, "norm_2_kind", "layer")
    find(panel, DragNumber, "norm_2_eps_field").changed.emit(0.5)
    assert the_block(panel).norm_2 == Norm("layer", 0.5, DrawnRow(7))
    choose(qtbot, panel, "norm_2_kind", "none")
    assert the_block(panel).norm_2 is None and not _is_shown(panel, "norm_2_eps_field")
    bias = find(panel, Toggle, "after_1_bias_toggle")
    assert not bias.isEnabled() and "must be null in a norm of kind" in bias.toolTip()


def test_the_feed_forward_layer_is_set(qtbot: QtBot, panel: MechanismPanel) -> None:
    find(panel, SliderField, "d_hidden_field").changed.emit(9.0)
    combo = find(panel, Combo, "gated_unit_combo")
    combo.changed.emit("clamped_swish")
    ffn = the_block(panel).feed_forward
    assert ffn is not None and (ffn.d_hidden, ffn.activation) == (9, "clamped_swish")
    gated = find(panel, Toggle, "gated_toggle")
    assert not gated.isEnabled()
    assert "must be true with the activation" in gated.toolTip()
    combo.changed.emit("gelu")
    switch(qtbot, panel, "gated_toggle")
    ffn = the_block(panel).feed_forward
    assert ffn is not None and not ffn.gated
    assert not _is_shown(panel, "ffn_gate_projection_combo") and _is_shown(panel, "activation_combo")
    find(panel, DragNumber, "ffn_down_seed_field").changed.emit(33)
    switch(qtbot, panel, "ffn_down_bias_toggle")
    ffn = the_block(panel).feed_forward
    assert ffn is not None and str(ffn.down) == "Seeded(seed=33)" and ffn.down_bias is None


def test_biases_of_projections_and_gains_of_queries(qtbot: QtBot, panel: MechanismPanel) -> None:
    switch(qtbot, panel, "key_bias_toggle")
    assert isinstance(panel.store.experiment.layers[0].projections.key_bias, DrawnRow)
    change(panel.store, qk_norm=QKNorm("rms"))
    switch(qtbot, panel, "qk_gains_toggle")
    norm = panel.store.experiment.layers[0].qk_norm
    assert norm is not None and norm.query_gain is not None and norm.key_gain is not None


# --- the stack --------------------------------------------------------------------------------------


def test_layers_are_copied_and_removed_where_one_looks(qtbot: QtBot, panel: MechanismPanel) -> None:
    copy, remove = (find(panel, QPushButton, f"{name}_layer_button") for name in ("copy", "remove"))
    assert not remove.isEnabled() and "must keep at least one layer" in remove.toolTip()
    qtbot.mouseClick(copy, Qt.MouseButton.LeftButton)
    assert panel.store.document.site == "layers.1.self" and len(panel.store.experiment.layers) == 2
    assert find(panel, DragNumber, "n_layers_field").value() == 2
    qtbot.mouseClick(remove, Qt.MouseButton.LeftButton)
    assert panel.store.experiment == FULL and panel.store.document.site == "layers.0.self"


def test_token_vectors_are_projected_to_the_width_of_the_layers(qtbot: QtBot, panel: MechanismPanel) -> None:
    assert not _is_shown(panel, "embedding_projection_d_model_field")
    switch(qtbot, panel, "embedding_projection_toggle")
    width = panel.store.experiment.d_embedding
    assert panel.store.experiment.embedding_projection == EmbeddingProjection(width)
    change(panel.store, readout="none")
    find(panel, SliderField, "embedding_projection_d_model_field").changed.emit(width + 3)
    assert panel.store.experiment.d_model == width + 3 and panel.store.experiment.d_embedding == width
    switch(qtbot, panel, "embedding_projection_toggle")
    assert panel.store.experiment.d_model == width


def test_an_encoder_and_a_second_attention(qtbot: QtBot, panel: MechanismPanel) -> None:
    assert not _is_shown(panel, "cross_toggle")
    change(panel.store, memory=MEMORY)
    switch(qtbot, panel, "cross_toggle")
    find(panel, DragNumber, "n_encoder_layers_field").changed.emit(2)
    names = ("encoder.0.self", "encoder.1.self", "decoder.0.self", "decoder.0.cross")
    assert site_names(panel.store.experiment) == names
    choose(qtbot, panel, "encoder_norm_kind", "rms")
    assert panel.store.experiment.encoder_norm == Norm("rms")
    choose(qtbot, panel, "encoder_embedding_norm_kind", "layer")
    assert panel.store.experiment.encoder_embedding_norm == Norm("layer")
    panel.store.look(site="decoder.0.self")
    ffn = find(panel, Toggle, "ffn_toggle")
    assert not ffn.isEnabled()
    assert "null in a layer with cross-attention, which has the feed-forward layer" in ffn.toolTip()


def test_all_layers_are_edited_alike_while_the_switch_is_on(qtbot: QtBot, panel: MechanismPanel) -> None:
    panel.store.edit(set_n_layers, 3)
    before = panel.store.experiment
    switch(qtbot, panel, "alike_toggle")
    switch(qtbot, panel, "cap_toggle")
    capped = panel.store.experiment
    assert [at(capped, name).cap for name in site_names(capped)] == [30.0] * 3
    panel.store.undo()
    assert panel.store.experiment == before
    switch(qtbot, panel, "alike_toggle")
    switch(qtbot, panel, "cap_toggle")
    assert [at(panel.store.experiment, n).cap for n in site_names(before)] == [30.0, None, None]


def test_alike_what_another_layer_refuses_is_disabled_with_its_reason(
    qtbot: QtBot, panel: MechanismPanel
) -> None:
    panel.store.edit(set_n_layers, 2)
    first, last = panel.store.experiment.layers
    assert change(panel.store, layers=(first, replace(last, sinks=SeededSinks(1))))
    sigmoid = find(panel, Segmented, "normaliser_choice").findChild(QAbstractButton, "segment_sigmoid")
    assert isinstance(sigmoid, QAbstractButton) and sigmoid.isEnabled()
    panel.store.set_edits_alike(True)
    assert not sigmoid.isEnabled() and "with attention sinks" in sigmoid.toolTip()
    panel.store.set_edits_alike(False)
    assert sigmoid.isEnabled()


def test_a_stack_norm_may_be_switched_off_and_on(qtbot: QtBot, panel: MechanismPanel) -> None:
    change(panel.store, final_norm=Norm("rms", 0.25, DrawnRow(8)))
    before = panel.store.experiment
    choose(qtbot, panel, "final_norm_kind", "none")
    assert panel.store.experiment == replace(before, final_norm=None)
    choose(qtbot, panel, "final_norm_kind", "rms")
    assert panel.store.experiment == before


# --- any order --------------------------------------------------------------------------------------


def test_whatever_is_switched_in_any_order_is_legal(qtbot: QtBot, panel: MechanismPanel) -> None:
    """No enabled control of these sections raises or is refused, at any attention of a growing stack."""
    refused: list[str] = []
    panel.store.rejected.connect(lambda error: refused.append(str(error)))
    change(panel.store, memory=MEMORY)
    sections = [s for s in panel.sections if s.id in ("block", "layers", "projections", "memory")]
    chance = random.Random(7)
    for _step in range(150):
        panel.store.look(site=chance.choice(site_names(panel.store.experiment)))
        buttons = [b for s in sections for b in s.content.findChildren(QAbstractButton) if _can_be_pressed(b)]
        combos = [c for s in sections for c in s.findChildren(Combo) if c.isVisible()]
        is_high = len(site_names(panel.store.experiment)) > 5
        control = chance.choice(
            [b for b in buttons if not (is_high and b.objectName() == "copy_layer_button")]
        )
        if chance.random() < 0.25:
            combo = chance.choice(combos)
            usable = [i for i in range(combo.count()) if _is_enabled(combo, i)]
            combo.changed.emit(combo.itemData(chance.choice(usable)))
        else:
            control.click()
    assert refused == []
    outcome = attnviz.run(panel.store.experiment)
    assert all(np.isfinite(outcome.site(name)["attention_output"]).all() for name in outcome.sites)


def _can_be_pressed(button: QAbstractButton) -> bool:
    return button.isVisible() and button.isEnabled() and button.objectName() != "alike_toggle"


def _is_enabled(combo: Combo, index: int) -> bool:
    model = combo.model()
    assert isinstance(model, QStandardItemModel)
    return model.item(index).isEnabled()


def test_a_temperature_by_position(qtbot: QtBot, panel: MechanismPanel) -> None:
    switch(qtbot, panel, "position_temperature_toggle")
    find(panel, DragNumber, "position_temperature_interval_field").changed.emit(2)
    made = panel.store.attention.position_temperature
    assert made == PositionTemperature(2)
    switch(qtbot, panel, "position_temperature_toggle")
    assert panel.store.attention.position_temperature is None
    switch(qtbot, panel, "position_temperature_toggle")
    assert panel.store.attention.position_temperature == made
