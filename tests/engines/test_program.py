"""The one program on NumPy: windows, blocks, one query at a time, cancelling, extreme numbers, addresses."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from experiments import MEMORY, SPREAD, sited, small
from first_layer import stacked

from attnviz.engines import program, projecting
from attnviz.engines.engine import EngineError
from attnviz.engines.features import Features
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.resolution import resolve
from attnviz.engines.run import run
from attnviz.model.operands.matrices import vectors_array
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import (
    Causal,
    Dropout,
    ExplicitVectors,
    Heads,
    NoScale,
    Padding,
    Projections,
    SeededVectors,
)
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import Trace


@pytest.fixture(params=SPREAD)
def experiment(request: pytest.FixtureRequest) -> Experiment:
    return SPREAD[request.param]


def traced(experiment: Experiment, block_cells: int | None = None) -> Trace:
    engine = NumpyEngine("float64")
    engine.block_cells = block_cells
    return run(engine, experiment)


def assert_same_stages(found: Trace, expected: Trace) -> None:
    assert found.only.stages == expected.only.stages
    for stage in expected.only.stages:
        np.testing.assert_allclose(found[stage], expected[stage], rtol=1e-12, atol=1e-13, err_msg=stage)


# --- windows and blocks ----------------------------------------------------------------------------


def test_a_window_is_a_part_of_the_whole(experiment: Experiment) -> None:
    whole, site = traced(experiment), traced(experiment).only
    for stage in site.stages:
        per_head = STAGE_BY_ID[stage].per_head
        for head in range(site.shape(stage)[0] if per_head else 1):
            array = whole[stage][head] if per_head else whole[stage]
            for rows, columns in (
                (slice(1, 3), slice(None)),
                (slice(None), slice(2, 3)),
                (slice(2, 5), slice(1, 2)),
            ):
                window = site.window(stage, head, rows, columns)
                np.testing.assert_allclose(
                    window, array[rows, columns], rtol=1e-12, atol=1e-13, err_msg=stage
                )


def test_a_window_taken_after_the_whole_is_the_same(experiment: Experiment) -> None:
    site = traced(experiment).only
    for stage in site.stages:
        whole = site.window(stage)
        np.testing.assert_array_equal(site.window(stage, 0, slice(1, 3), slice(0, 1)), whole[1:3, 0:1])


@pytest.mark.parametrize("block_cells", [1, 7, 20, 1 << 20])
def test_the_size_of_a_block_changes_no_value(experiment: Experiment, block_cells: int) -> None:
    assert_same_stages(traced(experiment, block_cells), traced(experiment, None))


def test_the_order_of_blocks_changes_no_value(experiment: Experiment) -> None:
    backwards = NumpyEngine("float64", lambda function, items: [function(i) for i in reversed(list(items))])  # type: ignore[arg-type,return-value]
    backwards.block_cells = 3
    assert_same_stages(run(backwards, experiment), traced(experiment))


def test_looking_changes_nothing(experiment: Experiment) -> None:
    trace = traced(experiment)
    before = trace["mixed"].copy()
    for stage in trace.only.stages:
        with pytest.raises(ValueError, match="read-only"):
            trace.window(stage)[0, 0] = 1.0
        with pytest.raises(ValueError, match="read-only"):
            trace.window(stage, 0, slice(0, 1))[0, 0] = 1.0
    np.testing.assert_array_equal(trace["mixed"], before)
    assert_same_stages(trace, traced(experiment))


# --- one query at a time ---------------------------------------------------------------------------


def test_one_query_at_its_position_is_its_row_of_the_full_pass(experiment: Experiment) -> None:
    engine, trace = NumpyEngine("float64"), traced(experiment)
    operands = resolve(engine, sited(experiment))
    vectors = vectors_array(experiment.vectors)
    k_positions = np.arange(sited(experiment).n_keys)
    for row in range(experiment.n_queries):
        positions = np.array([row])
        with engine.active():
            token = engine.asarray(vectors[row : row + 1])
            one = projecting.enter(engine, operands, "tokens_embedded", token, positions)
            projecting.query_heads(engine, operands, one, positions)
            keys = Features(heads={"q": one.query(), "k": _keys(trace, "k"), "v": _keys(trace, "v")})
            attended, _scores = program.attend(engine, operands.scoring, keys, positions, k_positions)
        weights = attended.weights.reshape(experiment.layers[0].heads.n_heads, -1)
        mixed = attended.mixed.reshape(experiment.layers[0].heads.n_heads, -1)
        np.testing.assert_allclose(weights, trace["weights"][:, row], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(mixed, trace["mixed"][:, row], rtol=1e-12, atol=1e-14)


def _keys(trace: Trace, stage: str) -> np.ndarray:  # type: ignore[type-arg]
    names = (f"{stage}_rotated", f"{stage}_normed", stage)
    return trace[next(name for name in names if name in trace.only.stages)]


# --- the stages of each site -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "stages"),
    [
        ("unscaled", ("scores", "weights")),
        ("plain", ("scores", "scaled", "weights")),
        ("fully masked", ("scores", "scaled", "masked", "weights")),
        ("after softmax", ("scores", "scaled", "weights")),
        ("alibi slopes", ("scores", "scaled", "capped", "biased", "weights")),
        ("dropout", ("scores", "scaled", "masked", "weights", "dropped")),
        ("everything", ("scores", "scaled", "capped", "masked", "weights", "dropped")),
    ],
)
def test_a_stage_that_is_not_used_is_absent(name: str, stages: tuple[str, ...]) -> None:
    site = traced(SPREAD[name]).only
    assert tuple(stage for stage in site.stages if STAGE_BY_ID[stage].score_shaped) == stages
    for stage in set(STAGE_BY_ID) - set(site.stages):
        with pytest.raises(KeyError, match=f"got '{stage}'"):
            site[stage]


def test_temperature_alone_is_a_scale() -> None:
    trace = traced(small(scale=NoScale(), temperature=4.0))
    np.testing.assert_allclose(trace["scaled"], trace["scores"] / 4)


def test_dropout_is_off_when_a_model_is_used() -> None:
    trace = traced(small(dropout=Dropout(0.5, training=False)))
    assert "dropped" not in trace.only.stages
    np.testing.assert_array_equal(trace["mixed"], traced(small())["mixed"])


# --- addresses -------------------------------------------------------------------------------------


def test_sites_are_named_by_what_is_attended_to() -> None:
    own, other = traced(small()), traced(small(memory=MEMORY))
    assert own.sites == ("layers.0.self",)
    assert other.sites == ("layers.0.cross",)
    np.testing.assert_array_equal(own.site("layers.0.self")["weights"], own["weights"])
    with pytest.raises(KeyError, match=r"layers\.0\.self"):
        own.site("layers.1.self")


@pytest.mark.parametrize("head", [-1, 2])
def test_a_head_that_is_not_there(head: int) -> None:
    trace = traced(small(heads=Heads(4, 2, 4)))
    with pytest.raises(IndexError, match=rf"^head must be a whole number from 0 to 1; got {head}\.$"):
        trace.window("k", head)


def test_labels_of_both_axes() -> None:
    site = traced(small(memory=MEMORY)).only
    assert site.labels("query") == ("the", "cat", "the", "<s>", "猫")
    assert site.labels("key") == ("un", "chat", "!")
    assert site.labels("vocabulary") == ("the", "cat", "<s>", "猫")
    with pytest.raises(KeyError):
        site.labels("feature")


# --- stopping and extremes -------------------------------------------------------------------------


def test_the_check_stops_a_run_between_blocks() -> None:
    class StopError(Exception):
        pass

    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise StopError

    engine = NumpyEngine("float64")
    engine.block_cells = 1
    with pytest.raises(StopError):
        run(engine, small(), check)
    assert calls == 5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_huge_scores_do_not_overflow(dtype: str) -> None:
    rows = [[1000.0, 0.0], [999.0, 0.0], [-1000.0, 0.0]]
    one = stacked(("a", "b", "c"), ExplicitVectors(rows), heads=Heads(1, 1, 2), scale=NoScale(), dtype=dtype)  # type: ignore[arg-type]
    weights = run(NumpyEngine(dtype), one)["weights"]
    np.testing.assert_array_equal(weights, [[[1, 0, 0], [1, 0, 0], [0, 0, 1]]])


def test_a_row_with_nothing_left_is_flagged_and_zero_or_nan() -> None:
    masks = (Causal(), Padding((0,)))
    for choice, value in (("zeros", 0.0), ("nan", np.nan)):
        trace = traced(small(masks=masks, fully_masked_row=choice))
        assert trace.only.fully_masked().tolist() == [True, False, False, False, False]
        assert np.isneginf(trace["masked"][:, 0]).all()
        for stage in ("weights", "mixed", "attention_output"):
            row = trace[stage][:, 0] if trace[stage].ndim == 3 else trace[stage][0]
            np.testing.assert_array_equal(row, np.full_like(row, value))
            rest = trace[stage][:, 1:] if trace[stage].ndim == 3 else trace[stage][1:]
            assert np.isfinite(rest).all()


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_numpy_computes_in_the_dtype_it_says(dtype: str) -> None:
    trace = run(NumpyEngine(dtype), SPREAD["everything"])
    assert {trace[stage].dtype for stage in trace.only.stages} == {np.dtype(dtype)}


def test_numpy_refuses_a_dtype_that_it_lacks() -> None:
    message = r"dtype must be one of 'float16', 'float32', 'float64' on NumPy; got 'bfloat16'\."
    with pytest.raises(EngineError, match=message):
        NumpyEngine("bfloat16")


def test_a_run_leaves_the_experiment_alone() -> None:
    one = small(projections=Projections(), heads=Heads(1, 1, 6), vectors=SeededVectors(5, 6, 31), cap=1.0)
    before = vectors_array(one.vectors).copy()
    encoded = msgspec.structs.asdict(one)
    traced(one)
    np.testing.assert_array_equal(vectors_array(one.vectors), before)
    assert msgspec.structs.asdict(one) == encoded
