"""None, sinusoidal, RoPE and its dials, ALiBi and its slopes, driven with mouse and keys."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeVar

import numpy as np
import pytest
from first_layer import change, stacked
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QStandardItemModel
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot
from services import served

from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.gui.look.theme import LIGHT
from attnviz.gui.panels.mechanism.mechanism import MechanismPanel
from attnviz.gui.panels.mechanism.rope import SCALING_FIELDS
from attnviz.gui.store import Store
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.pictures.dial import Dial
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.slider_field import SliderField
from attnviz.gui.widgets.toggle import Toggle
from attnviz.model.edit.edits import set_n_tokens
from attnviz.model.edit.switching import set_position
from attnviz.model.fields import rows_of
from attnviz.model.positions import bucket_table, learned_table, pair_frequencies
from attnviz.model.scalings import SCALINGS
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import (
    Alibi,
    ExplicitVectors,
    Heads,
    NoPosition,
    Rope,
    ScaleValue,
    SeededVectors,
    Sinusoidal,
)
from attnviz.model.spec.positions import Deberta, Learned, T5Buckets, TransformerXl
from attnviz.model.spec.scalings import DynamicNtk, LinearScaling, LongRope, Yarn
from attnviz.model.spec.source import DrawnTable, WrittenTable
from attnviz.model.spec.view import Cell

W = TypeVar("W", bound=QWidget)


@pytest.fixture
def panel(qtbot: QtBot) -> Iterator[MechanismPanel]:
    """q at position 5 and k at position 2 whose rotated score is known; numbers come with every edit."""
    rows = np.zeros((6, 4))
    rows[5], rows[2] = (1.0, 0.5, -0.3, 0.8), (0.2, 1.0, 0.4, -0.6)
    experiment = stacked(
        tokens=tuple("abcdef"),
        vectors=ExplicitVectors(Matrix(rows)),
        heads=Heads(1, 1, 4),
        position=Rope(),
        dtype="float64",
    )
    store = Store(Document(experiment))

    def compute(old: Document | None, new: Document) -> None:
        store.set_trace(run(NumpyEngine("float64"), new.experiment))

    made = served(MechanismPanel(store))
    qtbot.addWidget(made)
    made.open_all()
    made.start()
    store.changed.connect(compute)
    compute(None, store.document)
    made.resize(276, 1500)
    made.show()
    qtbot.waitExposed(made)
    qtbot.wait(20)  # the layout is done when events are
    yield made
    store.changed.disconnect(compute)


def find(panel: MechanismPanel, kind: type[W], name: str) -> W:
    found = panel.findChild(kind, name)
    assert isinstance(found, kind), name
    return found


def choose(qtbot: QtBot, panel: MechanismPanel, segmented: str, option: str) -> None:
    segment = find(panel, Segmented, segmented).findChild(QAbstractButton, f"segment_{option}")
    assert isinstance(segment, QAbstractButton)
    qtbot.mouseClick(segment, Qt.MouseButton.LeftButton)


def type_number(qtbot: QtBot, number: DragNumber, text: str) -> None:
    qtbot.mouseClick(number, Qt.MouseButton.LeftButton)
    editor = number.findChild(QLineEdit, "number_editor")
    assert isinstance(editor, QLineEdit)
    editor.selectAll()
    qtbot.keyClicks(editor, text)
    qtbot.keyClick(editor, Qt.Key.Key_Return)


def scores(panel: MechanismPanel) -> tuple[str, str]:
    names = ("rope_score_unrotated", "rope_score_rotated")
    return find(panel, QLabel, names[0]).text(), find(panel, QLabel, names[1]).text()


def test_hovering_turns_the_arms_and_says_the_known_score(panel: MechanismPanel) -> None:
    panel.store.set_hover(Cell("weights", 5, 2))
    assert scores(panel) == ("0.1000", "\N{MINUS SIGN}1.1699")
    dial = find(panel, Dial, "rope_dial_0")
    assert dial._angles == (5.0, 2.0)
    image = dial.grab().toImage()
    for angle, color in ((5.0, LIGHT.query), (2.0, LIGHT.key)):
        half_way = (dial.center() + dial.arm_tip(angle)) / 2
        assert image.pixelColor(half_way.toPoint()).hue() == pytest.approx(QColor(color).hue(), abs=8)
    assert find(panel, QLabel, "rope_pair_label").text() == "q of “f” at 5, k of “c” at 2"


def test_start_offset_turns_both_arms_and_keeps_the_score(qtbot: QtBot, panel: MechanismPanel) -> None:
    panel.store.look(locked=Cell("scores", 5, 2))
    type_number(qtbot, find(panel, DragNumber, "position_start_field"), "100")
    assert panel.store.experiment.layers[0].position == Rope(start=100)
    assert scores(panel) == ("0.1000", "\N{MINUS SIGN}1.1699")
    assert find(panel, Dial, "rope_dial_1")._angles == pytest.approx((1.05, 1.02))


def test_pairing_changes_the_score_to_the_known_one(qtbot: QtBot, panel: MechanismPanel) -> None:
    panel.store.set_hover(Cell("q_rotated", 5, 0))
    panel.store.look(locked=Cell("weights", 0, 2))
    choose(qtbot, panel, "rope_pairing_segmented", "half_split")
    assert scores(panel) == ("0.1000", "\N{MINUS SIGN}0.0273")


def test_a_dial_is_turned_as_one_entry(qtbot: QtBot, panel: MechanismPanel) -> None:
    dial = find(panel, Dial, "rope_dial_1")
    places = [dial.arm_tip(math.pi / 2 * step / 15).toPoint() for step in range(16)]
    qtbot.mousePress(dial, Qt.MouseButton.LeftButton, pos=places[0])
    for place in places[1:]:
        qtbot.mouseMove(dial, place)
    qtbot.mouseRelease(dial, Qt.MouseButton.LeftButton, pos=places[-1])
    position = panel.store.experiment.layers[0].position
    assert isinstance(position, Rope)
    assert position.multipliers == (1.0, pytest.approx(math.exp(math.pi / 2 / 3), rel=0.03))
    assert dial.multiplier() == position.multipliers[1]
    panel.store.undo()
    assert panel.store.experiment.layers[0].position == Rope() and not panel.store.can_undo
    assert dial.multiplier() == 1.0


def test_turning_a_dial_changes_the_score_of_the_locked_pair(qtbot: QtBot, panel: MechanismPanel) -> None:
    panel.store.look(locked=Cell("weights", 5, 2))
    dial = find(panel, Dial, "rope_dial_0")
    dial.setFocus()
    for _step in range(3):
        qtbot.keyClick(dial, Qt.Key.Key_Up)
    turned = 3 * 1.02**3
    # q·R((n − m)θ)k, pair by pair, with n − m = −3.
    a = (1.0 * 0.2 + 0.5 * 1.0) * math.cos(turned) - (0.5 * 0.2 - 1.0 * 1.0) * math.sin(turned)
    b = (-0.3 * 0.4 + 0.8 * -0.6) * math.cos(0.03) - (0.8 * 0.4 - -0.3 * -0.6) * math.sin(0.03)
    assert float(scores(panel)[1].replace("\N{MINUS SIGN}", "-")) == pytest.approx(a + b, abs=1e-4)
    assert dial.caption() == f"θ₀ {1.02**3:.3g}"


def test_a_pair_that_stands_still_can_be_turned_again(qtbot: QtBot, panel: MechanismPanel) -> None:
    change(panel.store, position=Rope(multipliers=(1.0, 0.0)))
    dial = find(panel, Dial, "rope_dial_1")
    assert dial.caption() == "θ₁ 0.0"
    dial.setFocus()
    qtbot.keyClick(dial, Qt.Key.Key_Up)
    position = panel.store.experiment.layers[0].position
    assert isinstance(position, Rope) and position.multipliers[1] == dial.multiplier() > 0
    assert dial.caption() == f"θ₁ {0.01 * dial.multiplier():.1e}".replace("e-0", "e\N{MINUS SIGN}")


def test_reset_puts_all_pairs_back(qtbot: QtBot, panel: MechanismPanel) -> None:
    button = find(panel, QPushButton, "rope_reset_button")
    assert not button.isVisible()
    change(panel.store, position=Rope(multipliers=(2.0, 0.5)))
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert panel.store.experiment.layers[0].position == Rope()
    assert find(panel, Dial, "rope_dial_0").multiplier() == 1.0


def test_kinds_come_back_with_their_numbers(qtbot: QtBot, panel: MechanismPanel) -> None:
    type_number(qtbot, find(panel, SliderField, "position_base_field").number, "500")
    choose(qtbot, panel, "position_segmented", "none")
    assert panel.store.experiment.layers[0].position == NoPosition()
    assert not find(panel, SliderField, "position_base_field").isVisible()
    assert not find(panel, Dial, "rope_dial_0").isVisible()
    choose(qtbot, panel, "position_segmented", "sinusoidal")
    type_number(qtbot, find(panel, SliderField, "position_base_field").number, "100")
    choose(qtbot, panel, "position_segmented", "rope")
    assert panel.store.experiment.layers[0].position == Rope(base=500.0)
    choose(qtbot, panel, "position_segmented", "sinusoidal")
    assert panel.store.experiment.layers[0].position == Sinusoidal(base=100.0)


def test_rotated_features_and_values(qtbot: QtBot, panel: MechanismPanel) -> None:
    number = find(panel, DragNumber, "rope_rotated_field")
    number.setFocus()
    qtbot.keyClick(number, Qt.Key.Key_Down)
    assert panel.store.experiment.layers[0].position == Rope(n_rotated=2)
    assert panel.findChild(Dial, "rope_dial_1") is None
    qtbot.keyClick(number, Qt.Key.Key_Up)
    assert panel.store.experiment.layers[0].position == Rope()
    toggle = find(panel, Toggle, "rope_on_values_toggle")
    qtbot.mouseClick(toggle, Qt.MouseButton.LeftButton, pos=QPoint(14, toggle.height() // 2))
    assert panel.store.experiment.layers[0].position == Rope(on_values=True)


def test_base_slider_is_logarithmic_and_one_entry(qtbot: QtBot, panel: MechanismPanel) -> None:
    track = find(panel, SliderField, "position_base_field").track
    y = track.height() // 2
    qtbot.mousePress(track, Qt.MouseButton.LeftButton, pos=QPoint(track.width() // 2, y))
    qtbot.mouseMove(track, QPoint(track.width() // 3, y))
    qtbot.mouseMove(track, QPoint(0, y))
    qtbot.mouseRelease(track, Qt.MouseButton.LeftButton, pos=QPoint(0, y))
    assert panel.store.experiment.layers[0].position == Rope(base=10.0)
    panel.store.undo()
    assert not panel.store.can_undo


def test_many_pairs_are_shown_a_page_at_a_time(qtbot: QtBot, panel: MechanismPanel) -> None:
    wide = stacked(
        tokens=("a", "b"),
        vectors=SeededVectors(2, 64),
        heads=Heads(1, 1, 64),
        position=Rope(),
        dtype="float64",
    )
    panel.store.open(Document(wide))
    qtbot.waitUntil(lambda: find(panel, Dial, "rope_dial_17").isVisible())
    names = [dial.objectName() for dial in panel.findChildren(Dial)]
    assert names == [f"rope_dial_{pair}" for pair in range(18)]
    type_number(qtbot, find(panel, DragNumber, "rope_first_pair_field"), "14")
    dial = find(panel, Dial, "rope_dial_31")
    dial.setFocus()
    qtbot.keyClick(dial, Qt.Key.Key_Up)
    position = panel.store.experiment.layers[0].position
    assert isinstance(position, Rope) and position.multipliers == (1.0,) * 31 + (1.02,)
    assert panel.findChild(Dial, "rope_dial_0") is None


def test_rope_is_disabled_where_a_head_has_one_feature(panel: MechanismPanel) -> None:
    panel.store.open(Document(stacked(("a",), SeededVectors(1, 2), heads=Heads(1, 1, 1))))
    rope = find(panel, Segmented, "position_segmented").findChild(QAbstractButton, "segment_rope")
    assert isinstance(rope, QAbstractButton)
    reason = "heads.d_head must be at least 2 with rotary positions; got 1."
    assert not rope.isEnabled() and reason in rope.toolTip()
    with pytest.raises(ValueError, match=reason):
        set_position(panel.store.attention, Rope())


def test_a_refused_width_leaves_the_document_value(qtbot: QtBot, panel: MechanismPanel) -> None:
    said: list[str] = []
    panel.store.rejected.connect(lambda error: said.append(str(error)))
    before, number = panel.store.experiment, find(panel, DragNumber, "d_head_field")
    type_number(qtbot, number, "1")
    assert said == ["heads.d_head must be at least 2 with rotary positions; got 1."]
    assert panel.store.experiment == before and number.value() == 4 and not panel.store.can_undo


def test_slopes_are_edited_and_published_again(qtbot: QtBot, panel: MechanismPanel) -> None:
    panel.store.edit(lambda e: stacked(e.tokens, SeededVectors(6, 8), heads=Heads(8, 8, 4)))
    choose(qtbot, panel, "position_segmented", "alibi")
    assert panel.store.experiment.layers[0].position == Alibi()
    slope = find(panel, DragNumber, "alibi_slope_7")
    assert slope.text() == "0.0039"
    type_number(qtbot, slope, "0")
    assert panel.store.experiment.layers[0].position == Alibi(
        (0.5, 0.25, 0.125, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 0.0)
    )
    choose(qtbot, panel, "position_segmented", "none")
    choose(qtbot, panel, "position_segmented", "alibi")
    assert panel.store.experiment.layers[0].position.slopes[7] == 0.0  # type: ignore[union-attr,index]
    qtbot.mouseClick(find(panel, QPushButton, "alibi_reset_button"), Qt.MouseButton.LeftButton)
    assert panel.store.experiment.layers[0].position == Alibi()
    assert slope.value() == 1 / 256


# --- scaling ---------------------------------------------------------------------------------------


def pick(panel: MechanismPanel, name: str, option: str) -> None:
    """Choose from a drop-down list as its own signal does."""
    combo = find(panel, Combo, name)
    index = combo.findData(option)
    combo.setCurrentIndex(index)
    combo.activated.emit(index)


def rope_of(panel: MechanismPanel) -> Rope:
    position = panel.store.experiment.layers[0].position
    assert isinstance(position, Rope)
    return position


def is_shown(panel: MechanismPanel, name: str) -> bool:
    found = panel.findChild(QWidget, name)
    assert isinstance(found, QWidget), name
    return found.isVisible()


def test_a_scaling_slows_the_dials_and_changes_the_score(qtbot: QtBot, panel: MechanismPanel) -> None:
    panel.store.look(locked=Cell("scores", 5, 2))
    before = scores(panel)[1]
    pick(panel, "rope_scaling_choice", "linear")
    assert rope_of(panel).scaling == LinearScaling(2.0)
    assert find(panel, Dial, "rope_dial_0")._angles == (2.5, 1.0)
    assert scores(panel)[1] != before
    type_number(qtbot, find(panel, SliderField, "scaling_factor_field").number, "5")
    assert find(panel, Dial, "rope_dial_0")._angles == (1.0, 0.4)
    pick(panel, "rope_scaling_choice", "none")
    assert rope_of(panel) == Rope() and scores(panel)[1] == before
    pick(panel, "rope_scaling_choice", "linear")
    assert rope_of(panel).scaling == LinearScaling(5.0)


def test_each_scaling_shows_its_own_numbers(panel: MechanismPanel) -> None:
    switches = {"length": "scaling_own_length_toggle", "attention_factor": "scaling_own_attention_toggle"}
    own = {
        row.id: {
            switches.get(field.name, f"scaling_{field.name}_{'toggle' if field.kind is bool else 'field'}")
            for field in rows_of(row.record)
        }
        for row in SCALINGS
    }
    for kind, names in own.items():
        pick(panel, "rope_scaling_choice", kind)
        shown = {field.name for field in SCALING_FIELDS if is_shown(panel, field.name)}
        assert shown == names, kind


def test_dynamic_ntk_says_its_base_and_takes_a_length(qtbot: QtBot, panel: MechanismPanel) -> None:
    pick(panel, "rope_scaling_choice", "dynamic_ntk")
    note = find(panel, QLabel, "position_note")
    assert note.text() == "6 positions do not exceed the original length: the base is unchanged."
    type_number(qtbot, find(panel, DragNumber, "scaling_original_length_field"), "3")
    # (2 · 6 / 3 − 1)^(4 / 2) = 9
    assert note.text() == "6 positions: the base becomes 90000.0."
    assert find(panel, Dial, "rope_dial_1")._angles[0] == 0.0
    find(panel, Toggle, "scaling_own_length_toggle").click()
    assert rope_of(panel).scaling == DynamicNtk(2.0, 3, length=6)
    type_number(qtbot, find(panel, DragNumber, "scaling_length_field"), "12")
    assert note.text() == "12 positions: the base becomes 490000.0."
    find(panel, Toggle, "scaling_own_length_toggle").click()
    assert rope_of(panel).scaling == DynamicNtk(2.0, 3)


def test_yarns_attention_factor_grows_the_score(qtbot: QtBot, panel: MechanismPanel) -> None:
    panel.store.look(locked=Cell("scores", 0, 0))
    pick(panel, "rope_scaling_choice", "yarn")
    assert "× 1.139" in find(panel, QLabel, "position_note").text()
    find(panel, Toggle, "scaling_own_attention_toggle").click()
    scaling = rope_of(panel).scaling
    assert isinstance(scaling, Yarn)
    assert scaling.attention_factor == pytest.approx(0.1 * math.log(4) + 1)
    type_number(qtbot, find(panel, DragNumber, "scaling_attention_factor_field"), "2")
    panel.store.look(locked=Cell("scores", 5, 5))
    assert scores(panel) == ("1.9800", "7.9200")
    type_number(qtbot, find(panel, DragNumber, "scaling_beta_slow_field"), "0.5")
    type_number(qtbot, find(panel, DragNumber, "scaling_beta_fast_field"), "16")
    assert rope_of(panel).scaling == Yarn(4.0, 2048, 16.0, 0.5, 2.0)


def test_longrope_takes_its_divisors_and_says_which_apply(qtbot: QtBot, panel: MechanismPanel) -> None:
    pick(panel, "rope_scaling_choice", "longrope")
    note = find(panel, QLabel, "position_note")
    assert note.text().startswith("6 positions do not exceed the original length: the short divisors apply.")
    type_number(qtbot, find(panel, DragNumber, "scaling_original_length_field"), "3")
    assert note.text().startswith("6 positions exceed the original length: the long divisors apply.")
    type_number(qtbot, find(panel, SliderField, "scaling_long_factor_field").number, "16")
    scaling = rope_of(panel).scaling
    assert isinstance(scaling, LongRope)
    assert scaling.long_factor == pytest.approx((1.0, 16.0)) and scaling.short_factor == ()
    assert pair_frequencies(panel.store.attention) == pytest.approx([1.0, 0.01 / 16])
    type_number(qtbot, find(panel, SliderField, "scaling_short_factor_field").number, "2")
    find(panel, Toggle, "scaling_own_length_toggle").click()
    type_number(qtbot, find(panel, DragNumber, "scaling_length_field"), "3")
    assert pair_frequencies(panel.store.attention) == pytest.approx([1.0, 0.01 / 2])


def test_yarn_is_not_offered_for_a_base_that_it_cannot_have(panel: MechanismPanel) -> None:
    change(panel.store, position=Rope(base=0.5))
    combo = find(panel, Combo, "rope_scaling_choice")
    model = combo.model()
    assert isinstance(model, QStandardItemModel)
    item = model.item(combo.findData("yarn"))
    assert not item.isEnabled() and "must be a number above 1 with YaRN" in item.toolTip()
    assert model.item(combo.findData("llama3")).isEnabled()


# --- tables ----------------------------------------------------------------------------------------


def test_a_token_past_the_learned_table_is_refused_and_said(qtbot: QtBot, panel: MechanismPanel) -> None:
    choose(qtbot, panel, "position_more_segmented", "learned")
    assert panel.store.experiment.layers[0].position == Learned()
    type_number(qtbot, find(panel, DragNumber, "learned_length_field"), "6")
    legal = panel.store.experiment
    assert not is_shown(panel, "position_error")
    assert not panel.store.edit(set_n_tokens, 7)
    assert panel.store.experiment is legal
    said = find(panel, QLabel, "position_error")
    assert said.text().startswith(
        "layers[0].position.length must be at least 7 for a last token at position 6; got 6."
    )
    assert is_shown(panel, "position_error")
    type_number(qtbot, find(panel, DragNumber, "learned_length_field"), "5")
    assert panel.store.experiment is legal and "must be at least 6" in said.text()
    type_number(qtbot, find(panel, DragNumber, "learned_length_field"), "7")
    assert not is_shown(panel, "position_error")
    assert panel.store.edit(set_n_tokens, 7)


def test_a_drawn_table_is_written_out_and_drawn_again(qtbot: QtBot, panel: MechanismPanel) -> None:
    choose(qtbot, panel, "position_more_segmented", "learned")
    type_number(qtbot, find(panel, DragNumber, "position_seed_field"), "7")
    drawn = panel.store.experiment
    assert drawn.layers[0].position == Learned(table=DrawnTable(7))
    choose(qtbot, panel, "position_table_segmented", "explicit")
    written = panel.store.experiment.layers[0].position
    assert isinstance(written, Learned) and isinstance(written.table, WrittenTable)
    np.testing.assert_array_equal(written.table.values.array, learned_table(Learned(table=DrawnTable(7)), 4))
    assert not is_shown(panel, "position_seed_field")
    choose(qtbot, panel, "position_table_segmented", "seeded")
    assert panel.store.experiment == drawn


def test_buckets_are_set_where_they_stand(qtbot: QtBot, panel: MechanismPanel) -> None:
    choose(qtbot, panel, "position_more_segmented", "t5")
    assert panel.store.experiment.layers[0].position == T5Buckets()
    type_number(qtbot, find(panel, DragNumber, "t5_buckets_field"), "8")
    type_number(qtbot, find(panel, DragNumber, "t5_distance_field"), "20")
    find(panel, Toggle, "t5_bidirectional_toggle").click()
    assert panel.store.experiment.layers[0].position == T5Buckets(8, 20, False)
    assert panel.store.trace is not None
    trace = panel.store.trace
    added = (trace["biased"] - trace["scaled"])[0]
    assert added[5, 0] == pytest.approx(bucket_table(T5Buckets(8), 1)[4, 0])
    assert added[0, 5] == pytest.approx(added[3, 3])


# --- relative terms --------------------------------------------------------------------------------


def test_transformer_xl_is_set_where_it_stands(qtbot: QtBot, panel: MechanismPanel) -> None:
    choose(qtbot, panel, "position_more_segmented", "transformer_xl")
    assert panel.store.experiment.layers[0].position == TransformerXl()
    type_number(qtbot, find(panel, DragNumber, "xl_weights_seed_field"), "7")
    type_number(qtbot, find(panel, SliderField, "xl_u_field").number, "0")
    type_number(qtbot, find(panel, SliderField, "xl_v_field").number, "2")
    type_number(qtbot, find(panel, SliderField, "position_base_field").number, "100")
    position = TransformerXl(100.0, DrawnTable(7, 0.3), DrawnTable(1, 0.0), DrawnTable(2, 2.0))
    assert panel.store.experiment.layers[0].position == position
    assert panel.store.trace is not None
    added = (panel.store.trace["relative"] - panel.store.trace["scores"])[0]
    # Tokens whose vectors are zero have no q and no k: v alone speaks, of the distance only.
    assert added[0, 1] == pytest.approx(added[3, 4]) and added[0, 1] != pytest.approx(added[1, 0])


def test_deberta_says_its_scale(qtbot: QtBot, panel: MechanismPanel) -> None:
    choose(qtbot, panel, "position_more_segmented", "deberta")
    assert panel.store.experiment.layers[0].position == Deberta()
    note = find(panel, QLabel, "position_note")
    assert note.text() == "DeBERTa scales the sum by 1/√(3 · 4) = 0.2887; this experiment by 0.5000."
    change(panel.store, scale=ScaleValue(12**-0.5))
    assert not is_shown(panel, "position_note")
    type_number(qtbot, find(panel, DragNumber, "deberta_span_field"), "5")
    type_number(qtbot, find(panel, DragNumber, "deberta_distance_field"), "30")
    type_number(qtbot, find(panel, SliderField, "deberta_keys_field").number, "0")
    type_number(qtbot, find(panel, SliderField, "deberta_queries_field").number, "1.5")
    type_number(qtbot, find(panel, DragNumber, "deberta_seed_field"), "4")
    assert panel.store.experiment.layers[0].position == Deberta(4, 30, DrawnTable(4, 0.0), DrawnTable(5, 1.5))


def test_relative_kinds_come_back_with_their_numbers(qtbot: QtBot, panel: MechanismPanel) -> None:
    choose(qtbot, panel, "position_more_segmented", "deberta")
    type_number(qtbot, find(panel, DragNumber, "deberta_span_field"), "100")
    kept = panel.store.experiment.layers[0].position
    assert kept == Deberta(100, 64)
    choose(qtbot, panel, "position_segmented", "none")
    choose(qtbot, panel, "position_more_segmented", "deberta")
    assert panel.store.experiment.layers[0].position == kept
