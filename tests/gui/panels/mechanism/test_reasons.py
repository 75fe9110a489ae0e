"""An option is grey exactly if its edit is refused, in the same words; and no edit is tried for that."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest
from experiments import SPREAD, STACKS, experiments, small
from first_layer import with_fields
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.panels.mechanism.mechanism import MechanismPanel
from attnviz.gui.store import Store
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.toggle import Toggle
from attnviz.model.edit.edits import set_embedding_projection
from attnviz.model.edit.layers import set_cross, set_n_layers
from attnviz.model.errors.titles import in_words
from attnviz.model.sites.sites import site_names
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.document import Document
from attnviz.model.spec.edit import Edit
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.experts import Experts
from attnviz.model.spec.latent import Latent
from attnviz.model.spec.parts import Heads, Projections, QKNorm, Rope, Seeded, SeededSinks, Tied
from attnviz.model.spec.rows import DrawnRow
from attnviz.model.spec.value import Value
from attnviz.model.spec.view import View
from attnviz.model.spec.vocabulary import EmbeddingProjection

Option = tuple[QWidget, Any]

NOT_EDITS = {"d_model_link", "alike_toggle", "mechanism_alike_toggle"}
"""Controls of the form, not of the document."""


class TryingStore(Store):
    """A store that tries every edit and makes none; `said` are the words of the last refusal."""

    said: str | None = None

    def edit(self, function: Any, *args: Any, **named: Any) -> bool:
        try:
            function(self.experiment, *args, **named)
        except ValueError as error:
            self.said = in_words(error)
        else:
            self.said = ""
        return False


def options(panel: QWidget) -> Iterator[Option]:
    """Every option in sight: each control, and the value that a user can give it."""
    for control in panel.findChildren(QWidget):
        if not control.isVisibleTo(panel) or control.objectName() in NOT_EDITS:
            continue
        if isinstance(control, Segmented):
            yield from ((control, id_) for id_ in control._segments)
        elif isinstance(control, Combo):
            yield from ((control, control.itemData(index)) for index in range(control.count()))
        elif isinstance(control, Toggle):
            yield control, not control.value()
        elif control.objectName() == "remove_layer_button":
            yield control, None


def tip_of_grey(option: Option) -> str:
    """The tooltip of an option that cannot be chosen; empty for one that can."""
    control, value = option
    if isinstance(control, Combo):
        index = control.findData(value)
        is_on = bool(control.model().flags(control.model().index(index, 0)) & Qt.ItemFlag.ItemIsEnabled)
        return "" if is_on else str(control.itemData(index, Qt.ItemDataRole.ToolTipRole))
    shown = control._segments[value] if isinstance(control, Segmented) else control
    return "" if shown.isEnabledTo(control.window()) else shown.toolTip()


def choose(option: Option) -> None:
    """Choose an option, whether it is grey or not."""
    control, value = option
    if isinstance(control, QPushButton):
        control.clicked.emit()
    else:
        control.changed.emit(value)  # type: ignore[attr-defined]


def panel_of(qtbot: QtBot, store: Store) -> MechanismPanel:
    panel = MechanismPanel(store)
    qtbot.addWidget(panel)
    panel.start()
    panel.open_all()
    return panel


# --- documents -------------------------------------------------------------------------------------

EXPERTS = st.one_of(st.none(), st.builds(Experts, d_shared=st.sampled_from([0, 3])))
FEED_FORWARDS = st.one_of(
    st.none(),
    st.builds(FeedForward, st.just(4), st.sampled_from(["gelu", "silu"]), st.booleans(), experts=EXPERTS),
    st.just(FeedForward(4, "clamped_swish", gated=True)),
)
FIRST_NORMS = st.sampled_from([None, Norm("rms"), Norm("layer", bias=DrawnRow())])
BLOCKS = st.one_of(
    st.none(),
    st.builds(
        Block,
        st.sampled_from(["pre", "post", "sandwich"]),
        st.booleans(),
        FIRST_NORMS,
        FEED_FORWARDS,
    ),
    st.builds(Block, st.just("parallel"), norm_1=FIRST_NORMS, feed_forward=FEED_FORWARDS),
)


@st.composite
def _drawn(draw: st.DrawFn) -> Experiment:
    """Any experiment with a block, numbers by hand, more layers, both attentions, or wider layers."""
    experiment = draw(experiments(block=draw(BLOCKS)))
    if experiment.layers[0].latent is None and draw(st.booleans()):
        experiment = with_fields(experiment, edits=(Edit("k", 0, 1.0, column=0),))
    experiment = set_n_layers(experiment, draw(st.integers(1, 2)))
    if experiment.memory is not None:
        experiment = set_cross(experiment, draw(st.booleans()))
    if experiment.readout == "none" and draw(st.booleans()):
        experiment = set_embedding_projection(experiment, EmbeddingProjection(draw(st.integers(2, 5))))
    return experiment


EXPERIMENTS = st.one_of(_drawn(), st.sampled_from([*SPREAD.values(), *STACKS.values()]))


LATENT: dict[str, Any] = {
    "heads": Heads(2, 2, 4),
    "projections": Projections(Seeded(1), output=Seeded(4)),
    "latent": Latent(3, d_rope=2),
    "position": Rope(),
}
GREY: dict[str, tuple[Experiment, set[tuple[str, Any]]]] = {
    "parallel": (small(block=Block("parallel")), {("residual_toggle", False)}),
    "no residual": (small(block=Block(residual=False)), {("placement_segmented", "parallel")}),
    "a norm without mean": (small(block=Block(norm_1=Norm("rms"))), {("norm_1_bias_toggle", True)}),
    "a unit with its gate": (
        small(block=Block(feed_forward=FeedForward(4, "clamped_swish", gated=True))),
        {("gated_toggle", False)},
    ),
    "experts": (
        small(block=Block(feed_forward=FeedForward(4, experts=Experts()))),
        {("activation_combo", "clamped_swish"), ("experts_shared_gate_toggle", True)},
    ),
    "sinks": (small(sinks=SeededSinks()), {("normaliser_choice", "sigmoid")}),
    "sigmoid": (small(normaliser="sigmoid"), {("sinks_toggle", True)}),
    "three heads": (small(heads=Heads(3, 1, 4)), {("differential_toggle", True)}),
    "a narrow head": (small(heads=Heads(1, 1, 1)), {("position_segmented", "rope")}),
    "a small base": (small(position=Rope(0.5)), {("rope_scaling_choice", "yarn")}),
    "rotated values": (small(position=Rope(on_values=True)), {("latent_segmented", "latent")}),
    "normalised keys": (small(qk_norm=QKNorm("rms")), {("latent_segmented", "latent")}),
    "a key by hand": (small(edits=(Edit("k", 0, 1.0, column=0),)), {("latent_segmented", "latent")}),
    "two tied": (
        small(projections=Projections(Tied("key"), Seeded(2)), heads=Heads(2, 2, 3)),
        {("value_projection_combo", "query"), ("output_projection_combo", "query")},
    ),
    "a latent": (
        small(**LATENT),
        {
            ("n_kv_heads_segmented", "1"),
            ("output_projection_combo", "key"),
            ("position_more_segmented", "deberta"),
            ("position_more_segmented", "transformer_xl"),
            ("qk_norm_choice", "l2"),
            ("rope_on_values_toggle", True),
        },
    ),
    "a latent of narrow heads": (
        small(**LATENT | {"heads": Heads(2, 2, 1)}),
        {("latent_segmented", "projections")},
    ),
    "a late mask": (
        small(mask_placement="after_softmax"),
        {("mask_bias_segmented", "added"), ("fully_masked_row_segmented", "nan")},
    ),
    "a mask bias": (small(mask_bias=-1e4), {("fully_masked_row_segmented", "nan")}),
    "both attentions": (STACKS["encoder and decoder"], {("ffn_toggle", True)}),
    "wider layers": (
        small(readout="none", embedding_projection=EmbeddingProjection(9)),
        {("readout_toggle", True), ("remove_layer_button", None)},
    ),
}
"""Experiments, and options that each excludes: control and value."""


# --- tests -----------------------------------------------------------------------------------------


def greyed(panel: QWidget, store: TryingStore) -> set[tuple[str, Any]]:
    """The grey options, after a comparison of every option with its edit."""
    found = [(option, tip_of_grey(option)) for option in options(panel)]
    for option, tip in found:
        store.said = None
        choose(option)
        name = f"{option[0].objectName()}: {option[1]}"
        assert store.said is not None, name
        assert tip == (plain_tooltip(store.said) if store.said else ""), name
    return {(option[0].objectName(), option[1]) for option, tip in found if tip}


def test_an_option_is_grey_exactly_if_its_edit_is_refused_in_the_same_words(qtbot: QtBot) -> None:
    store = TryingStore(Document(SPREAD["plain"]))
    panel = panel_of(qtbot, store)

    @settings(max_examples=25, suppress_health_check=list(HealthCheck), deadline=None)
    @given(EXPERIMENTS, st.data())
    def check(experiment: Experiment, data: st.DataObject) -> None:
        site = data.draw(st.sampled_from(site_names(experiment)))
        store.open(Document(experiment, View(site=site)))
        greyed(panel, store)

    check()


def test_what_excludes_an_option_makes_it_grey(qtbot: QtBot) -> None:
    store = TryingStore(Document(SPREAD["plain"]))
    panel = panel_of(qtbot, store)
    for name, (experiment, excluded) in GREY.items():
        store.open(Document(experiment))
        assert excluded <= greyed(panel, store), name


@pytest.mark.parametrize("name", ["encoder and decoder", "two layers, pre"])
def test_a_tick_of_a_slider_constructs_nothing_but_the_edited_document(name: str, qtbot: QtBot) -> None:
    """The parts that an edit of the store constructs by itself are all that a window with it constructs."""

    def constructed(store: Store) -> Counter[str]:
        parts = Counter[str]()

        def watch(frame: FrameType, event: str, _argument: object) -> None:
            if event == "call" and frame.f_code is Value.__post_init__.__code__:
                parts[type(frame.f_locals["self"]).__name__] += 1

        store.begin_gesture()
        for temperature in (2.0, 3.0):  # the first edit of a gesture is an entry of the history
            parts.clear()
            sys.setprofile(watch)
            store.edit_attention(replace, temperature=temperature)
            sys.setprofile(None)
        store.end_gesture()
        return parts

    store = Store(Document(STACKS[name]))
    panel_of(qtbot, store)
    found = constructed(store)
    assert found == constructed(Store(Document(STACKS[name])))
    assert found["Experiment"] == 1
