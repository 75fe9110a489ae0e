"""Checks of the stage that `new_stage.py` has added to the table, in a process of its own."""

from __future__ import annotations

import re

import numpy as np
import pytest
from autograd_scripts import Autograd
from experiments import SPREAD, small
from new_stage import ADDED
from ran_scripts import judge

from attnviz import backward, decode
from attnviz import run as run_document
from attnviz.compute.estimate import estimate
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.engines.table import ENGINES
from attnviz.explain.arithmetic.cell import explain
from attnviz.explain.formulas.symbols import site_lines
from attnviz.explain.gradients.cell import explain_gradient
from attnviz.explain.position_curves import curves, distances
from attnviz.explain.score_pair import Pair
from attnviz.explain.scripts.library import LIBRARIES, Library
from attnviz.explain.scripts.stages import stage_text
from attnviz.gui.panels.pipeline.pipeline import folds
from attnviz.model.sites.sites import alone, at
from attnviz.model.sites.stages import score_stages
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Heads
from attnviz.model.spec.positions import Alibi
from attnviz.model.spec.view import Cell
from attnviz.model.stages import inputs
from attnviz.model.trace import Trace
from attnviz.model.weights import WEIGHT_BY_PATH
from attnviz.pages import page_html
from attnviz.study.failures.checks import CHECKS, first_finding

EXPERIMENT = small(heads=Heads(4, 2, 3), cap=5.0, position=Alibi())
D_HEAD = 3.0
(NEW,) = ADDED
STAGE = NEW.row.id
TARGET = "layers.0.self.attention_output[1, 2]"


def traced(experiment: Experiment = EXPERIMENT, block_cells: int | None = None) -> Trace:
    engine = NumpyEngine("float64")
    engine.block_cells = block_cells
    return run(engine, experiment)


@pytest.mark.parametrize("engine", [row.id for row in ENGINES])
def test_runs_windows_and_decoding_have_it(engine: str) -> None:
    site = run_document(EXPERIMENT, engine=engine).only
    assert ("capped", STAGE, "biased") == site.stages[site.stages.index("capped") :][:3]
    assert inputs(STAGE, site.stages) == ("capped",) and inputs("biased", site.stages) == (STAGE,)
    np.testing.assert_allclose(site[STAGE], NEW.computed(site["capped"], D_HEAD), rtol=1e-12, atol=0)
    bias = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    assert np.all((site[STAGE] - site["biased"])[:, bias > 0] > 0)
    part = site.window(STAGE, 1, slice(1, 3), slice(2, 4))
    np.testing.assert_array_equal(part, site[STAGE][1, 1:3, 2:4])
    powers = np.exp(site["biased"])
    np.testing.assert_allclose(site["weights"], powers / powers.sum(-1, keepdims=True), rtol=1e-12)
    for query, step in enumerate(decode(SPREAD["masks"], engine=engine).steps):
        made = step.site("layers.0.self")
        assert STAGE in made.stages, query
        d_head = SPREAD["masks"].layers[0].heads.d_head
        np.testing.assert_allclose(made[STAGE], NEW.computed(made["capped"], d_head), rtol=1e-12, atol=0)


def test_tiles_of_a_few_cells_have_the_same_numbers() -> None:
    whole, tiled = traced().only, traced(block_cells=7).only
    for stage in ("capped", STAGE, "biased", "weights", "attention_output"):
        np.testing.assert_allclose(tiled[stage], whole[stage], rtol=1e-12, atol=1e-15)


def test_the_formula_of_the_map_has_it() -> None:
    site = traced().only
    text = ["".join(part.text for part in line) for line in site_lines(site.experiment, site.stages)]
    assert text[1] == NEW.formula


def test_the_curve_passes_through_the_score_before_the_softmax() -> None:
    site = traced().only
    away = distances(site.experiment).tolist()
    for query in range(5):
        for key in range(5):
            (own,) = [curve for curve in curves(site, Pair(2, query, key)) if curve.is_present]
            assert own.values[away.index(key - query)] == pytest.approx(site["biased"][2, query, key])


def test_the_inspector_writes_it() -> None:
    site = traced().only
    made = explain(site, Cell(STAGE, 1, 3, 2))
    assert made.value == pytest.approx(made.recomputed) == pytest.approx(site[STAGE][2, 1, 3])
    followed = [
        line.name[0].source.stage for line in explain(site, Cell("weights", 1, 3, 2)).lines if line.name
    ]
    assert ["biased", STAGE, "capped", "scaled", "scores"] == followed[1:6]


@pytest.mark.parametrize("engine", [row.id for row in ENGINES])
def test_the_gradient_is_that_of_autograd_and_of_finite_differences(engine: str) -> None:
    gradient, values = backward(EXPERIMENT, TARGET, engine=engine), traced().only
    site = gradient.site("layers.0.self")
    by_slope = site[STAGE] * NEW.slope(values["capped"], D_HEAD)
    np.testing.assert_allclose(site["capped"], by_slope, rtol=1e-10, atol=1e-14)
    explained = explain_gradient(site, Cell("capped", 1, 3, 2))
    assert explained.recomputed == pytest.approx(site["capped"][2, 1, 3], rel=1e-10)
    graph = Autograd(EXPERIMENT)
    others = graph.gradients(graph.stages["layers.0.self.attention_output"][1, 2])
    np.testing.assert_allclose(site[STAGE], others[f"layers.0.self.{STAGE}"], rtol=1e-9, atol=1e-13)
    name, step = "layers.0.self.projections.query", 1e-6
    np.testing.assert_allclose(gradient.parameters[name], others[name], rtol=1e-9, atol=1e-13)
    moved = [
        traced(with_query(EXPERIMENT, change)).only["attention_output"][1, 2] for change in (step, -step)
    ]
    assert gradient.parameters[name][1, 4] == pytest.approx((moved[0] - moved[1]) / (2 * step), rel=1e-5)


def with_query(experiment: Experiment, change: float) -> Experiment:
    weight = WEIGHT_BY_PATH["projections.query"]
    site = at(experiment, "layers.0.self")
    return alone(weight.put_cell(site, 1, 4, float(weight.array(site)[1, 4]) + change))


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda row: row.id)
def test_both_scripts_compute_it(library: Library) -> None:
    trace = traced()
    text = stage_text(trace.only.experiment, STAGE, library)
    assert text.splitlines()[-1] == NEW.code.format(xp=library.name)
    judge(EXPERIMENT, trace, library)


def test_the_estimate_stores_nothing_for_it_and_checks_know_it() -> None:
    trace = traced()
    assert STAGE in score_stages(trace.only.experiment)
    assert not [line for line in estimate(EXPERIMENT, 8).lines if NEW.row.title in line.label]
    assert CHECKS and first_finding(trace) is None


def test_a_page_and_the_strip_have_it() -> None:
    text = page_html(Document(EXPERIMENT), traced())
    assert re.search(rf'"(stage|id)": ?"{STAGE}"', text)
    assert STAGE in folds()[9] and "capped" in folds()[9]
