"""Gradients of every kind of document against torch's autograd over its script, and against differences."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments import SPREAD, STACKS, experiments, small
from hypothesis import assume, given, settings
from msgspec.structs import replace
from stacks import stacks

torch = pytest.importorskip("torch")

from autograd_scripts import Autograd  # noqa: E402

import attnviz  # noqa: E402
from attnviz.checkpoints.presets import load_preset  # noqa: E402
from attnviz.cli import main  # noqa: E402
from attnviz.compute.execute import execute_job  # noqa: E402
from attnviz.core.block import ACTIVATIONS, GATED_UNITS  # noqa: E402
from attnviz.core.special import NUMPY_SPECIAL  # noqa: E402
from attnviz.engines.backward.backward import backward  # noqa: E402
from attnviz.engines.engine import Engine  # noqa: E402
from attnviz.engines.patches import Patch  # noqa: E402
from attnviz.engines.run import sites_of  # noqa: E402
from attnviz.errors import FieldError  # noqa: E402
from attnviz.model.positions import slopes_of  # noqa: E402
from attnviz.model.sites.sites import main_site, site_names  # noqa: E402
from attnviz.model.spec.arrays import Matrix  # noqa: E402
from attnviz.model.spec.experiment import Experiment  # noqa: E402
from attnviz.model.spec.parts import Causal, Dropout, Heads, Padding, SeededVectors, Window  # noqa: E402
from attnviz.model.spec.positions import Deberta, TransformerXl  # noqa: E402
from attnviz.model.spec.source import WrittenTable  # noqa: E402
from attnviz.model.stages import STAGES, result_of  # noqa: E402
from attnviz.operations.operation import Operation  # noqa: E402

TOLERANCE = 1e-10


def judge(experiment: Experiment, engine: str = "numpy") -> None:
    """The gradients of a cell of the last result, and of the loss, if any, equal torch's."""
    experiment = replace(experiment, dtype="float64")
    graph, last = Autograd(experiment), site_names(experiment)[-1]
    stages = [name.rpartition(".")[2] for name in graph.stages if name.startswith(f"{last}.")]
    cell = f"{last}.{result_of(tuple(stages))}"
    targets = {f"{cell}[0, 0]": graph.stages[cell][0, 0]}
    if "logits" in stages and experiment.n_queries > 1:
        names = list(attnviz.run(experiment).site(last).labels("vocabulary"))
        if set(experiment.tokens) <= set(names):
            columns = torch.tensor([names.index(token) for token in experiment.tokens[1:]])
            logits = graph.stages[f"{last}.logits"][:-1]
            targets["loss"] = torch.nn.functional.cross_entropy(logits, columns)
            targets["loss[0]"] = torch.nn.functional.cross_entropy(logits[:1], columns[:1])
    for target, tensor in targets.items():
        if tensor.requires_grad and bool(torch.isfinite(tensor)):
            found = attnviz.backward(experiment, target, engine=engine)
            assert found.value == pytest.approx(float(tensor.detach()), abs=TOLERANCE, rel=TOLERANCE)
            compare(found, graph.gradients(tensor))


def compare(found: attnviz.Gradient, wanted: dict[str, np.ndarray]) -> None:
    for name, expected in wanted.items():
        site, _dot, stage = name.rpartition(".")
        got = found.parameters[name] if name in found.parameters else found.site(site)[stage]
        # torch's softmax has NaN for a row of −∞ alone, whose weights are constant.
        assert (got[np.isnan(expected)] == 0).all(), name
        expected = np.nan_to_num(expected, nan=0.0)
        size = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(got, expected, rtol=TOLERANCE, atol=TOLERANCE * size, err_msg=name)


@pytest.mark.parametrize("engine", ["numpy", "torch"])
@pytest.mark.parametrize("name", [*SPREAD, *STACKS])
def test_every_kind_of_document(name: str, engine: str) -> None:
    judge((SPREAD | STACKS)[name], engine)


def has_result(experiment: Experiment) -> bool:
    """True if no output is NaN: by one, no number has a gradient."""
    trace = attnviz.run(experiment)
    return all(np.isfinite(trace.site(name).window("attention_output")).all() for name in trace.sites)


@given(experiments())
@settings(max_examples=250, deadline=None)
def test_any_layer(experiment: Experiment) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assume(has_result(experiment))
        judge(experiment)


@given(stacks())
@settings(max_examples=250, deadline=None)
def test_any_stack(experiment: Experiment) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assume(has_result(experiment))
        judge(experiment)


LONG = 150
"""Tokens of which a pass with masks has several tiles."""


@pytest.mark.parametrize("engine", ["numpy", "torch"])
@pytest.mark.parametrize(
    "changes",
    [
        {"masks": (Causal(),)},
        {"masks": (Causal(), Window(20, 0)), "heads": Heads(4, 2, 3)},
        {
            "masks": (Causal(), Padding((0, 140))),
            "dropout": Dropout(0.3, 2),
            "heads": Heads(2, 2, 3, off=(1,)),
        },
        {"masks": (Window(5, 5),), "mask_placement": "after_softmax"},
        {"masks": (Causal(),), "normaliser": "sigmoid", "position": Deberta()},
        {"masks": (), "position": TransformerXl(), "cap": 3.0},
    ],
    ids=["causal", "window", "padding", "after", "sigmoid", "all keys"],
)
def test_a_pass_in_tiles(changes: dict[str, Any], engine: str) -> None:
    tokens = tuple(f"t{i}" for i in range(LONG))
    judge(small(tokens=tokens, vectors=SeededVectors(LONG, 6, 7), **changes), engine)


@pytest.mark.parametrize("target", ["masked[0, 70, 3]", "scaled[0, 2, 100]", "weights[0, 2, 100]"])
def test_a_target_among_the_scores_of_a_pass_in_tiles(target: str) -> None:
    """A blocked score moves nothing but itself: the product with its key is not left out."""
    tokens = tuple(f"t{i}" for i in range(LONG))
    experiment = small(tokens=tokens, vectors=SeededVectors(LONG, 6, 7), masks=(Causal(),), dtype="float64")
    graph = Autograd(experiment)
    stage, index = target.split("[")
    cell = graph.stages[f"{site_names(experiment)[0]}.{stage}"][tuple(map(int, index[:-1].split(",")))]
    compare(attnviz.backward(experiment, target), graph.gradients(cell))


def test_every_row_of_every_table_has_its_product() -> None:
    assert not [stage.id for stage in STAGES if stage.made_by.pull is Operation.pull]


@pytest.mark.parametrize("row", ACTIVATIONS, ids=lambda row: row.id)
def test_derivatives_of_activations_are_those_of_differences(row: object) -> None:
    z, step = np.linspace(-4.1, 4.2, 40), 1e-6
    rise = row.apply(np, z + step, NUMPY_SPECIAL) - row.apply(np, z - step, NUMPY_SPECIAL)  # type: ignore[attr-defined]
    found = row.derivative(np, z, NUMPY_SPECIAL)  # type: ignore[attr-defined]
    np.testing.assert_allclose(found, rise / (2 * step), atol=1e-8)


@pytest.mark.parametrize("row", GATED_UNITS, ids=lambda row: row.id)
def test_derivatives_of_gated_units_are_those_of_differences(row: object) -> None:
    gate, up, step = np.linspace(-8.3, 8.4, 40), np.linspace(8.5, -8.2, 40), 1e-6
    apply = row.apply  # type: ignore[attr-defined]
    by_gate, by_up = row.derivatives(np, gate, up, NUMPY_SPECIAL)  # type: ignore[attr-defined]
    rise = apply(np, gate + step, up, NUMPY_SPECIAL) - apply(np, gate - step, up, NUMPY_SPECIAL)
    np.testing.assert_allclose(by_gate, rise / (2 * step), atol=1e-7)
    rise = apply(np, gate, up + step, NUMPY_SPECIAL) - apply(np, gate, up - step, NUMPY_SPECIAL)
    np.testing.assert_allclose(by_up, rise / (2 * step), atol=1e-7)


@pytest.mark.parametrize("name", ["decoder-only", "multi-head-latent", "attention-sinks", "deberta"])
def test_a_cell_of_every_stage_moves_the_target_as_its_gradient_says(name: str) -> None:
    """Central differences, through patches of the stage itself."""
    experiment = replace(load_preset(name).experiment, dtype="float64")
    last = site_names(experiment)[-1]
    draw, step = np.random.default_rng(0), 1e-5

    def job(engine: Engine) -> None:
        stage = result_of(tuple(sites_of(engine, experiment)[-1].features.order))
        trace, found = backward(engine, experiment, f"{last}.{stage}[2, 1]")
        for site in trace.sites:
            for name in trace.site(site).stages:
                values = trace.site(site)[name]
                cell = tuple(int(draw.integers(n)) for n in values.shape)
                if not np.isfinite(values[cell]) or (site == last and name in ("logits", "probabilities")):
                    continue
                ends = []
                for by in (step, -step):
                    moved = values.copy()
                    moved[cell] += by
                    made = sites_of(engine, experiment, patches=[Patch(site, name, moved)])
                    ends.append(made[-1].trace[stage][2, 1])
                rise = (ends[0] - ends[1]) / (2 * step)
                assert found.site(site)[name][cell] == pytest.approx(rise, abs=1e-7), (site, name, cell)

    execute_job(experiment, job)


def test_blocked_cells_and_later_stages_have_zeros() -> None:
    found = attnviz.backward(load_preset("decoder-only"), "layers.0.self.weights[1, 3, 2]")
    site = found.site("layers.0.self")
    assert (site["scaled"][:, 0, 1:] == 0).all() and (site["masked"][:, 0, 1:] == 0).all()
    assert not site["mixed"].any() and not found.site("layers.1.self")["q"].any()
    weights = site["weights"]
    assert weights[1, 3, 2] == 1 and weights.sum() == 1


def test_the_softmax_jacobian_by_hand() -> None:
    """∂ w_2 / ∂ s_j = w_2 (δ_2j − w_j)."""
    experiment = replace(load_preset("toy-attention").experiment, dtype="float64")
    w = attnviz.run(experiment)["weights"][0, 1]
    found = attnviz.backward(experiment, "weights[0, 1, 2]")["scaled"][0, 1]
    np.testing.assert_allclose(found, w[2] * (np.eye(len(w))[2] - w), atol=1e-15)


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("layers.0.self.weights", "target must be 'loss', or a cell such as layers.0.self.weights[0, 2, 1]"),
        ("weights[0, 2]", "target must be 3 numbers: 'head', 'query', 'key'; got [0, 2]."),
        ("weights[0, 2, 99]", "target.key must be a whole number from 0 to 3; got 99."),
        ("logits[0, 0]", "target must be one of 'tokens_embedded', 'q', 'k'"),
        ("layers.7.self.weights[0, 0, 0]", "target must be 'layers.0.self'; got 'layers.7.self'."),
        ("loss", "target must be a cell: the experiment has no logits; got 'loss'."),
        ("loss[1]", "target must be a cell: the experiment has no logits; got 'loss'."),
        ("loss[1, 2]", "target must be "),
    ],
)
def test_a_target_that_does_not_exist_gets_one_sentence(target: str, sentence: str) -> None:
    with pytest.raises(FieldError, match=re.escape(sentence)):
        attnviz.backward(load_preset("toy-attention"), target)


def test_the_shell_writes_the_gradients(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "g.npz"
    assert main(["run", "decoder-only", "--backward", "loss", "-o", str(file)]) == 0
    found, written = attnviz.backward(load_preset("decoder-only"), "loss"), np.load(file)
    np.testing.assert_array_equal(written["layers.1.self.q"], found.site("layers.1.self")["q"])
    np.testing.assert_array_equal(written["vectors"], found.parameters["vectors"])
    view = attnviz.load(file).view
    assert (view.target, view.quantity) == ("loss", "gradient")
    assert capsys.readouterr().err.startswith("loss = ")
    assert main(["run", "decoder-only", "--backward", "love[1]"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("preset", ["alibi-window", "t5-buckets", "learned-table"])
@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_slopes_and_tables_of_positions_are_those_of_differences(preset: str, engine: str) -> None:
    experiment = replace(load_preset(preset).experiment, dtype="float64")
    position = experiment.layers[0].position
    site = site_names(experiment)[0]
    target = f"{site}.weights[0, 2, 1]"
    found = attnviz.backward(experiment, target, engine=engine).parameters
    name = "slopes" if preset == "alibi-window" else "table"
    got, step = found[f"{site}.position.{name}"], 1e-6
    for cell in zip(*(index.tolist() for index in np.nonzero(got)), strict=True):
        ends = [_moved(experiment, position, name, got.shape, cell, by, target) for by in (step, -step)]
        assert got[cell] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-8)
    assert got.any()


def _moved(
    experiment: Experiment,
    position: Any,
    name: str,
    shape: tuple[int, ...],
    cell: tuple[int, ...],
    by: float,
    target: str,
) -> float:
    """The target, after one number of the position has moved."""
    if name == "slopes":
        values = np.array(slopes_of(main_site(experiment)))
        values[cell] += by
        moved = replace(position, slopes=tuple(values.tolist()))
    else:
        values = position.table.numbers(shape).copy()
        values[cell] += by
        moved = replace(position, table=WrittenTable(Matrix(values)))
    layer = replace(experiment.layers[0], position=moved)
    return attnviz.backward(replace(experiment, layers=(layer, *experiment.layers[1:])), target).value
