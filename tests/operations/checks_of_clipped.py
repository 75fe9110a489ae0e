"""Checks of the stage `clipped`, run by `test_new_stage.py` in a process that has it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from experiments import SPREAD, small

from attnviz import backward, decode
from attnviz.compute.estimate import estimate
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.engines.table import ENGINES
from attnviz.explain.arithmetic.cell import explain
from attnviz.explain.formulas.symbols import site_lines
from attnviz.explain.gradients.cell import explain_gradient as explain_gradient
from attnviz.explain.position_curves import curves, distances
from attnviz.explain.score_pair import Pair
from attnviz.explain.scripts.library import LIBRARIES
from attnviz.explain.scripts.stages import stage_text
from attnviz.gui.panels.pipeline.room import folds
from attnviz.model.sites.stages import score_stages
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Heads
from attnviz.model.spec.positions import Alibi
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID, inputs
from attnviz.operations.pointwise import Cap
from attnviz.pages import page_html
from attnviz.study.failures.checks import CHECKS, first_finding

EXPERIMENT = small(heads=Heads(4, 2, 3), cap=5.0, position=Alibi())
CLIP = 3.0
"""The stage's operand is d_head."""


def expected(given: np.ndarray, clip: float = CLIP) -> np.ndarray:
    return clip * np.tanh(given / clip)


@pytest.mark.parametrize("engine", [row.id for row in ENGINES])
def test_runs_windows_and_decoding_have_it(engine: str) -> None:
    from attnviz import run as run_document

    site = run_document(EXPERIMENT, engine=engine).only
    assert ("capped", "clipped", "biased") == site.stages[site.stages.index("capped") :][:3]
    assert inputs("clipped", site.stages) == ("capped",) and inputs("biased", site.stages) == ("clipped",)
    np.testing.assert_allclose(site["clipped"], expected(site["capped"]), rtol=1e-12, atol=0)
    bias = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    assert np.all((site["clipped"] - site["biased"])[:, bias > 0] > 0)
    part = site.window("clipped", 1, slice(1, 3), slice(2, 4))
    np.testing.assert_array_equal(part, site["clipped"][1, 1:3, 2:4])
    powers = np.exp(site["biased"])
    np.testing.assert_allclose(site["weights"], powers / powers.sum(-1, keepdims=True), rtol=1e-12)
    for query, step in enumerate(decode(SPREAD["masks"], engine=engine).steps):
        made = step.site("layers.0.self")
        assert "clipped" in made.stages, query
        d_head = SPREAD["masks"].layers[0].heads.d_head
        np.testing.assert_allclose(made["clipped"], expected(made["capped"], d_head), rtol=1e-12, atol=0)


def test_the_formula_of_the_map_has_it() -> None:
    site = run(NumpyEngine("float64"), EXPERIMENT).only
    text = ["".join(part.text for part in line) for line in site_lines(site.experiment, site.stages)]
    assert text[1] == "softmax(clip(cap(q kᵀ ÷ √3)) + bias) v W_O"


def test_the_curve_passes_through_the_score_before_the_softmax() -> None:
    site = run(NumpyEngine("float64"), EXPERIMENT).only
    away = distances(site.experiment).tolist()
    for query in range(5):
        for key in range(5):
            (own,) = [curve for curve in curves(site, Pair(2, query, key)) if curve.is_present]
            assert own.values[away.index(key - query)] == pytest.approx(site["biased"][2, query, key])


def test_the_inspector_writes_it() -> None:
    site = run(NumpyEngine("float64"), EXPERIMENT).only
    made = explain(site, Cell("clipped", 1, 3, 2))
    assert made.value == pytest.approx(made.recomputed) == pytest.approx(site["clipped"][2, 1, 3])
    followed = [
        line.name[0].source.stage for line in explain(site, Cell("weights", 1, 3, 2)).lines if line.name
    ]
    assert ["biased", "clipped", "capped", "scaled", "scores"] == followed[1:6]


@pytest.mark.parametrize("engine", [row.id for row in ENGINES])
def test_the_gradient_is_that_of_finite_differences(engine: str) -> None:
    target = "layers.0.self.attention_output[1, 2]"
    gradient = backward(EXPERIMENT, target, engine=engine)
    site = gradient.site("layers.0.self")
    values = run(NumpyEngine("float64"), EXPERIMENT).only
    slope = 1 - (values["clipped"] / CLIP) ** 2
    np.testing.assert_allclose(site["capped"], site["clipped"] * slope, rtol=1e-10, atol=1e-14)
    explained = explain_gradient(site, Cell("capped", 1, 3, 2))
    assert explained.recomputed == pytest.approx(site["capped"][2, 1, 3], rel=1e-10)
    name, step = "layers.0.self.projections.query", 1e-6
    assert gradient.parameters[name].shape[1] == 12
    moved = [
        run(NumpyEngine("float64"), with_query(EXPERIMENT, change)).only["attention_output"][1, 2]
        for change in (step, -step)
    ]
    assert gradient.parameters[name][1, 4] == pytest.approx((moved[0] - moved[1]) / (2 * step), rel=1e-5)


def with_query(experiment: Experiment, change: float) -> Experiment:
    from attnviz.model.sites.sites import alone, at
    from attnviz.model.weights import WEIGHTS

    (weight,) = [row for row in WEIGHTS if row.path == "projections.query"]
    site = at(experiment, "layers.0.self")
    return alone(weight.put_cell(site, 1, 4, float(weight.array(site)[1, 4]) + change))


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda row: row.id)
def test_both_scripts_compute_it(library: object) -> None:
    site = run(NumpyEngine("float64"), EXPERIMENT).only
    text = stage_text(site.experiment, "clipped", library)  # type: ignore[arg-type]
    name = library.name  # type: ignore[attr-defined]
    assert text.splitlines()[-1] == f"clipped = 3 * {name}.tanh(capped / 3)"


def test_the_estimate_stores_nothing_for_it_and_checks_know_it() -> None:
    site = run(NumpyEngine("float64"), EXPERIMENT)
    assert "clipped" in score_stages(site.only.experiment) and STAGE_BY_ID["clipped"].made_by is Cap
    assert not [line for line in estimate(EXPERIMENT, 8).lines if "clip" in line.label]
    assert CHECKS and first_finding(site) is None


def test_a_page_and_the_strip_have_it() -> None:
    trace = run(NumpyEngine("float64"), EXPERIMENT)
    text = page_html(Document(EXPERIMENT), trace)
    assert re.search(r'"(stage|id)": ?"clipped"', text)
    assert "clipped" in folds()[9] and "capped" in folds()[9]
