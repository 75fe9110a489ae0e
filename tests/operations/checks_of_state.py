"""Checks of the stage `state`, (head, token, d_k, d_v), in a process that has it: it is shown by token."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from autograd_scripts import Autograd
from experiments import small
from PySide6.QtCore import QSettings
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from ran_scripts import judge as judge_script
from state import STATE, State

import attnviz
from attnviz import backward, decode
from attnviz.cli import main
from attnviz.compute.estimate import estimate
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.parity import parity
from attnviz.engines.run import run
from attnviz.engines.table import ENGINES
from attnviz.explain.arithmetic.cell import explain
from attnviz.explain.scripts.library import LIBRARIES, Library
from attnviz.figures.content import content
from attnviz.figures.style import Style
from attnviz.gui.look import look
from attnviz.gui.look.theme import LIGHT
from attnviz.gui.panels.table import PANELS
from attnviz.gui.settings import Settings
from attnviz.gui.store import Store
from attnviz.gui.widgets.heat.map import HeatMap
from attnviz.gui.widgets.heat.stages import stage_content
from attnviz.gui.window.window import Window
from attnviz.model.provenance import consumers, sources
from attnviz.model.sites.stages import site_stages
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import Causal, Heads
from attnviz.model.spec.positions import Rope
from attnviz.model.spec.view import Cell, View
from attnviz.model.trace import SiteTrace
from attnviz.study.failures.checks import first_finding

EXPERIMENT = small(heads=Heads(4, 2, 4), position=Rope(), masks=(Causal(),))
N_TOKENS = 5
VIEW = View(stage="state", head=2, query=3)


def site() -> SiteTrace:
    return run(NumpyEngine("float64"), EXPERIMENT).only


def by_hand(of: SiteTrace, head: int, token: int) -> np.ndarray:
    """Σ kᵀ v, a product after the other."""
    k, v = of["k_rotated"][head // 2], of["v"][head // 2]
    made = np.zeros((4, 4))
    for i in range(token + 1):
        made += np.outer(k[i], v[i])
    return made


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The tokens whose matrices have been computed."""
    asked: list[int] = []
    own = State.at_token

    def at_token(self: State, arrays: object, inputs: tuple[object, ...], token: int) -> object:
        asked.append(token)
        return own(self, arrays, inputs, token)  # type: ignore[arg-type]

    monkeypatch.setattr(State, "at_token", at_token)
    yield asked


@pytest.mark.parametrize("engine", [row.id for row in ENGINES])
def test_a_window_is_the_matrix_of_a_head_and_a_token(engine: str, computed: list[int]) -> None:
    of = attnviz.run(EXPERIMENT, engine=engine).only
    assert of.stages == site_stages(of.experiment) and of.shape("state") == (4, N_TOKENS, 4, 4)
    assert computed == [], "a run stores no matrix"
    found = of.window("state", 2 * N_TOKENS + 3, slice(1, 3))
    assert computed == [3]
    np.testing.assert_allclose(found, by_hand(of, 2, 3)[1:3], rtol=1e-12, atol=1e-15)
    whole = of["state"]
    for head, token in np.ndindex(4, N_TOKENS):
        np.testing.assert_allclose(whole[head, token], by_hand(of, head, token), rtol=1e-12, atol=1e-15)
    with pytest.raises(IndexError, match="from 0 to 19"):
        of.window("state", 20)


def test_a_decoding_has_the_matrix_of_the_new_token() -> None:
    of = site()
    for token, step in enumerate(decode(EXPERIMENT, steps=N_TOKENS).steps):
        np.testing.assert_allclose(step["state"], of["state"][:, token], rtol=1e-10, atol=1e-12)
    assert parity(decode(EXPERIMENT, steps=N_TOKENS), attnviz.run(EXPERIMENT))["state"] < 1e-12


def test_the_inspector_writes_a_cell_of_a_token() -> None:
    of = site()
    made = explain(of, Cell("state", 1, 2, 2 * N_TOKENS + 3))
    assert made.value == pytest.approx(made.recomputed) == pytest.approx(by_hand(of, 2, 3)[1, 2])
    assert made.title == "state · head 3 of 4"
    term = made.lines[0].name[0]
    assert term.name == f"S[{of.experiment.tokens[3]}, 1, 2], head 3"  # type: ignore[union-attr]
    with pytest.raises(IndexError):
        explain(of, Cell("state", 1, 2, 4 * N_TOKENS))
    for region in sources(of, made.cell):
        assert (region.heads, region.rows) == ((1,), (0, 1, 2, 3)), region.stage
    (read,) = (region for region in consumers(of, Cell("v", 3, 2, 0)) if region.stage == "state")
    assert read.heads == (3, 4, N_TOKENS + 3, N_TOKENS + 4) and (read.rows, read.columns) == (None, (2,))


def test_its_gradient_is_that_of_autograd() -> None:
    target = "layers.0.self.state[2, 3, 1, 2]"
    gradient = backward(EXPERIMENT, target)
    assert gradient.value == pytest.approx(by_hand(site(), 2, 3)[1, 2])
    graph = Autograd(EXPERIMENT)
    others = graph.gradients(graph.stages["layers.0.self.state"][2, 3, 1, 2])
    own = gradient.site("layers.0.self")
    for stage in ("k_rotated", "k", "v"):
        np.testing.assert_allclose(own[stage], others[f"layers.0.self.{stage}"], rtol=1e-9, atol=1e-14)
    assert own.window("state", 2 * N_TOKENS + 3)[1, 2] == 1.0 and own["state"].sum() == 1.0
    assert gradient.of.name() == f"S[{EXPERIMENT.tokens[3]}, 1, 2], head 3"


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda row: row.id)
def test_both_scripts_compute_it(library: Library) -> None:
    judge_script(EXPERIMENT, run(NumpyEngine("float64"), EXPERIMENT), library)


def test_the_shell_writes_the_matrix_of_the_chosen_query(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = attnviz.save(Document(EXPERIMENT, view=VIEW), tmp_path / "states.json")
    for head, option in ((2, []), (1, ["--head", "1"])):
        assert main(["table", str(file), "--stage", "state", *option]) == 0
        rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
        numbers = np.array([row[1:] for row in rows[1:]], dtype=float)
        np.testing.assert_allclose(numbers, by_hand(site(), head, 3), rtol=1e-12, atol=1e-15)
        assert rows[0] == ["", "0", "1", "2", "3"]
    assert main(["render", str(file), "--stage", "state", "-o", str(tmp_path / "state.svg")]) == 0
    assert "at “" in (tmp_path / "state.svg").read_text(encoding="utf-8")


def test_a_figure_draws_the_matrix_of_the_chosen_query() -> None:
    of, token = site(), EXPERIMENT.tokens[3]
    one = content(of, VIEW, "state", None, Style().shades)
    np.testing.assert_allclose(one.maps[0].values, by_hand(of, 2, 3), rtol=1e-12, atol=1e-15)
    assert one.title == f"state at “{token}” · head 3 of 4"
    every = content(of, VIEW, "state", "all", Style().shades)
    assert [each.title for each in every.maps] == ["head 1", "head 2", "head 3", "head 4"]
    np.testing.assert_allclose(every.maps[1].values, by_hand(of, 1, 3), rtol=1e-12, atol=1e-15)


def test_the_window_draws_and_selects_it_by_token() -> None:
    of = site()
    drawn = stage_content(of, VIEW, "state", LIGHT)
    np.testing.assert_allclose(drawn.values, by_hand(of, 2, 3), rtol=1e-12, atol=1e-15)
    assert drawn.title == f"state at “{EXPERIMENT.tokens[3]}” · head 3 of 4"
    assert (drawn.row_axis, drawn.column_axis) == ("key feature", "feature")
    store = Store(Document(EXPERIMENT, view=VIEW))
    store.look_at(Cell("state", 1, 2, 1 * N_TOKENS + 4))
    view = store.document.view
    assert (view.stage, view.head, view.query) == ("state", 1, 4)


def test_every_panel_of_the_window_has_it(qapp: QApplication, qtbot: QtBot, tmp_path: Path) -> None:
    settings = Settings(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))
    look.apply(qapp, settings)
    window = Window(Document(EXPERIMENT, view=VIEW), settings, inline=True)
    qtbot.addWidget(window)
    window.show()
    window.start()
    for row in PANELS:
        dock = window.docks[row.id]
        dock.show()
        dock.bring(row.id)
        dock.raise_()
        QTest.qWait(20)
        assert window.panels[row.id].isVisible(), row.id
    window.docks["stage"].raise_()  # the first glance lies over it
    QTest.qWait(20)
    (heat_map,) = window.findChildren(HeatMap, "stage_map")
    np.testing.assert_allclose(heat_map.content.values, by_hand(site(), 2, 3), rtol=1e-12, atol=1e-15)
    window.store.look_at(Cell("state", 1, 2, 1 * N_TOKENS + 4))
    QTest.qWait(50)
    np.testing.assert_allclose(heat_map.content.values, by_hand(site(), 1, 4), rtol=1e-12, atol=1e-15)
    assert heat_map.content.title == f"state at “{EXPERIMENT.tokens[4]}” · head 2 of 4"
    window.close()


def test_the_estimate_counts_no_bytes_of_it_and_checks_know_it() -> None:
    lines = estimate(EXPERIMENT, 8).lines
    assert not [line for line in lines if math.prod((4, N_TOKENS, 4, 4)) * 8 == line.value]
    assert not [line for line in lines if STATE.title in line.label]
    assert first_finding(run(NumpyEngine("float64"), EXPERIMENT)) is None
