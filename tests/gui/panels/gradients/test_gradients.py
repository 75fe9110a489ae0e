"""The panel of gradients: norms by stage and by layer, and the document's point among the curves."""

from __future__ import annotations

import numpy as np
import pytest
from desk import Desk, MakeDesk
from msgspec.structs import replace
from PySide6.QtWidgets import QLabel

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.core.recurrent import attention_by_distance, recurrent_by_distance
from attnviz.core.softmax_slope import WIDTHS, slopes_by_width
from attnviz.gui.panels.gradients.gradients import GradientsPanel
from attnviz.gui.widgets.combo import Combo
from attnviz.study.claims.functions import slope

DOCUMENT = load_preset("decoder-only")


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    made = make_desk(DOCUMENT)
    made.window.workspaces.switch("explore")
    made.window.workspaces.show_panel("gradients")
    return made


def panel(desk: Desk) -> GradientsPanel:
    found = desk.window.panels["gradients"]
    assert isinstance(found, GradientsPanel)
    return found


def choose(desk: Desk, id_: str) -> None:
    combo = desk.find(Combo, "gradients_shown")
    combo.set_value(id_)
    combo.activated.emit(combo.currentIndex())


def test_the_dot_is_the_shown_head_and_the_curves_are_the_medians(desk: Desk) -> None:
    choose(desk, "softmax")
    x, y = panel(desk).plot.dot.getData()
    weights = attnviz.run(DOCUMENT).site(DOCUMENT.site)["weights"][DOCUMENT.view.head]
    assert 2 ** x[0] == pytest.approx(4) and y[0] == pytest.approx(slope(weights))
    for is_scaled, lines in zip((True, False), panel(desk).plot.edges, strict=True):
        drawn_x, drawn_y = lines[0].getData()
        np.testing.assert_allclose(2**drawn_x, WIDTHS)
        np.testing.assert_array_equal(drawn_y, slopes_by_width(is_scaled).median)


def test_over_distance_a_recurrent_network_loses_the_gradient(desk: Desk) -> None:
    choose(desk, "distance")
    attention, recurrent = (lines[0].getData() for lines in panel(desk).plot.edges)
    np.testing.assert_allclose(recurrent[1][:-1], np.log10(recurrent_by_distance().median[:-1]))
    np.testing.assert_allclose(10 ** attention[1], attention_by_distance().median)
    weights = attnviz.run(DOCUMENT).site(DOCUMENT.site)["weights"][DOCUMENT.view.head]
    x, y = panel(desk).plot.dot.getData()
    assert x[0] == len(weights) - 1 and 10 ** y[0] == pytest.approx(weights[-1, 0])
    said = desk.find(QLabel, "gradients_says").text()
    assert f"over {len(weights) - 1} steps" in said


def test_the_dot_follows_the_temperature(desk: Desk) -> None:
    choose(desk, "temperature")
    desk.store.edit_attention(lambda site: replace(site, temperature=4.0))
    desk.settle()
    weights = attnviz.run(desk.store.document).site(DOCUMENT.site)["weights"][DOCUMENT.view.head]
    x, y = panel(desk).plot.dot.getData()
    assert x[0] == 2 and y[0] == pytest.approx(slope(weights))


def test_without_a_target_the_bars_say_what_to_do(desk: Desk) -> None:
    choose(desk, "stages")
    assert desk.find(QLabel, "gradients_says").text().startswith("Choose a target with ∂")


def test_bars_are_norms_and_a_click_goes_to_the_stage_and_the_layer(desk: Desk) -> None:
    desk.store.look(target="loss", quantity="gradient", stage="q")
    choose(desk, "layers")
    found = attnviz.backward(DOCUMENT, "loss")
    norms = [float(np.linalg.norm(found.site(name)["q"])) for name in found.sites]
    assert panel(desk).bars._values == pytest.approx(norms)
    panel(desk).bars.clicked.emit(0)
    assert desk.store.document.site == "layers.0.self"
    choose(desk, "stages")
    stages = found.site("layers.0.self").stages
    assert panel(desk).bars._values == pytest.approx(
        [float(np.linalg.norm(found.site("layers.0.self")[stage])) for stage in stages]
    )
    panel(desk).bars.clicked.emit(stages.index("v"))
    assert desk.store.document.view.stage == "v"
