"""One cell has one value in a trace, whichever window it is read in, and it is the one that was computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import ENGINE_IDS
from experiments import SPREAD
from first_layer import stacked, with_fields
from msgspec.structs import replace

from attnviz.engines.engine import Engine
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.engines.table import ENGINE_BY_ID
from attnviz.engines.torch_engine import TorchEngine
from attnviz.model.spec import parts as p
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace, Trace

CASES = [(kind, dtype) for kind in ENGINE_BY_ID.values() for dtype in kind.dtypes]
READINGS = 40


def engine_of(kind: str, dtype: str) -> Engine:
    return NumpyEngine(dtype) if kind == "numpy" else TorchEngine(dtype, "cpu")


def attention(n: int, **fields: Any) -> Experiment:
    """Grouped heads of odd widths, so that no tile ends where a product's kernel would like it to."""
    projections = p.Projections(*(p.Seeded(seed) for seed in range(4)))
    return stacked(
        tuple(map(str, range(n))),
        p.SeededVectors(n, 44),
        heads=p.Heads(4, 2, 11),
        projections=projections,
        **fields,
    )


LENGTHS = {"short": 13, "of two tiles": 150, "long": 700}
VARIANTS: dict[str, dict[str, Any]] = {
    "all keys": {},
    "causal": {"masks": (p.Causal(),)},
    "window, capped": {"masks": (p.Causal(), p.Window(30, 0)), "cap": 3.0},
    "blocks, ALiBi": {"masks": (p.Blocks(40),), "position": p.Alibi()},
}


def part(random: np.random.Generator, n: int) -> slice:
    start, stop = sorted(random.integers(0, n + 1, 2).tolist())
    return slice(start, max(stop, start + 1)) if start < n else slice(n - 1, n)


def assert_one_value(read: SiteTrace, whole: SiteTrace, random: np.random.Generator) -> None:
    """Cells, rows, columns and rectangles of `read` are those of the whole heads of `whole`, bit for bit."""
    for stage in read.stages:
        if not STAGE_BY_ID[stage].score_shaped:
            continue
        n_heads, n_rows, n_columns = read.shape(stage)
        for index in range(READINGS):
            head = int(random.integers(n_heads))
            rows, columns = part(random, n_rows), part(random, n_columns)
            if index % 3 == 0:
                rows = slice(rows.start, rows.start + 1)
            if index % 4 == 0:
                columns = slice(columns.start, columns.start + 1)
            found = read.window(stage, head, rows, columns)
            np.testing.assert_array_equal(found, whole.window(stage, head)[rows, columns], err_msg=stage)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize(("kind", "dtype"), CASES, ids=lambda value: getattr(value, "id", value))
def test_a_cell_has_one_value_in_every_window(kind: Any, dtype: str, length: str, variant: str) -> None:
    if length == "long" and dtype in ("float16", "bfloat16"):
        pytest.skip("a product of 16-bit numbers takes long on a CPU")
    given = attention(LENGTHS[length], dtype=dtype, **VARIANTS[variant])
    engine = engine_of(kind.id, dtype)
    alone, together = run(engine, given).only, run(engine, given).only
    assert_one_value(alone, together, np.random.default_rng(7))
    for stage in alone.stages:  # and once whole heads are remembered
        alone.window(stage)
    assert_one_value(alone, together, np.random.default_rng(8))


@pytest.mark.parametrize("case", SPREAD)
def test_every_kind_of_score_has_one_value(case: str) -> None:
    given = replace(SPREAD[case], dtype="float32")
    engine = NumpyEngine("float32")
    engine.block_cells = 7  # many tiles
    alone, together = run(engine, given).only, run(engine, given).only
    assert_one_value(alone, together, np.random.default_rng(9))


@pytest.mark.parametrize("n", LENGTHS.values())
@pytest.mark.parametrize("position", [p.NoPosition(), p.Alibi()])
@pytest.mark.parametrize("d_head", [11, 16])  # the scale of the second is a power of two, and goes into q
def test_the_shown_score_is_the_one_that_the_softmax_read(
    monkeypatch: pytest.MonkeyPatch, n: int, position: p.Position, d_head: int
) -> None:
    given = attention(n, dtype="float32", masks=(p.Causal(),), position=position)
    given = with_fields(given, vectors=p.SeededVectors(n, 4 * d_head), heads=p.Heads(4, 4, d_head))
    read: list[np.ndarray[Any, Any]] = []
    plain = NumpyEngine.softmax_

    def softmax_(self: NumpyEngine, scores: Any, is_bounded: bool = False) -> None:
        read.append(scores.copy())
        plain(self, scores, is_bounded)

    monkeypatch.setattr(NumpyEngine, "softmax_", softmax_)
    trace = run(NumpyEngine("float32"), given)
    visible = {row[np.isfinite(row)].tobytes() for row in trace["masked"].reshape(-1, n)}
    computed = {row[np.isfinite(row)].tobytes() for part in read for row in part.reshape(-1, part.shape[-1])}
    assert computed == visible


def test_windows_with_steps_are_cut_from_the_same_cells() -> None:
    site = run(NumpyEngine("float32"), attention(150, masks=(p.Causal(),))).only
    whole = run(NumpyEngine("float32"), attention(150, masks=(p.Causal(),)))["scores"]
    for rows, columns in (
        (slice(3, 140, 7), slice(None, None, 5)),
        (slice(None, None, -1), slice(100, 20, -3)),
        (slice(-5, None), slice(5, 5)),
        (slice(200, 300), slice(0, 3)),
    ):
        np.testing.assert_array_equal(site.window("scores", 3, rows, columns), whole[3, rows, columns])


def test_a_piece_is_made_once_for_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    site = run(NumpyEngine("float32"), attention(700, masks=(p.Causal(),))).only
    made: list[object] = []
    monkeypatch.setattr(NumpyEngine, "matmul_into", counted(made, NumpyEngine.matmul_into))
    for column in range(5):
        site.window("masked", 0, slice(300, 301), slice(column, column + 1))
    assert len(made) == 1


def counted(calls: list[object], function: Any) -> Any:
    def call(*arguments: Any) -> Any:
        calls.append(arguments)
        return function(*arguments)

    return call


# --- leaving out what nobody sees ------------------------------------------------------------------


def traced(given: Experiment, spares: bool) -> Trace:
    engine = NumpyEngine(given.dtype)
    engine.spares_keys = spares
    return run(engine, given)


MASKS = {
    "causal": (p.Causal(),),
    "prefix": (p.Prefix(100),),
    "window": (p.Window(20, 5),),
    "blocks": (p.Blocks(64, 1),),
    "documents": (p.Documents((0, 90, 333)),),
    "padding": (p.Padding(tuple(range(500, 700))),),
    "rows that see nothing": (p.Causal(), p.Padding(tuple(range(130)))),
}


@pytest.mark.parametrize("normaliser", ["softmax", "sigmoid", "relu_squared"])
@pytest.mark.parametrize("masks", MASKS)
def test_keys_that_nobody_sees_change_no_number(masks: str, normaliser: Any) -> None:
    given = attention(700, dtype="float64", masks=MASKS[masks], normaliser=normaliser)
    given = with_fields(given, dropout=p.Dropout(0.2))
    found, expected = traced(given, True), traced(given, False)
    for stage in expected.only.stages:
        np.testing.assert_allclose(found[stage], expected[stage], rtol=1e-12, atol=1e-13, err_msg=stage)


@pytest.mark.parametrize("masks", MASKS)
def test_keys_that_nobody_sees_are_not_multiplied(monkeypatch: pytest.MonkeyPatch, masks: str) -> None:
    cells: list[int] = []
    plain = NumpyEngine.softmax_

    def softmax_(self: NumpyEngine, scores: Any, is_bounded: bool = False) -> None:
        cells.append(scores.size)
        plain(self, scores, is_bounded)

    monkeypatch.setattr(NumpyEngine, "softmax_", softmax_)
    given = attention(700, masks=MASKS[masks])
    hidden = traced(given, True).only.blocked()
    assert hidden is not None
    seen = ~hidden
    first = np.where(seen.any(1), seen.argmax(1), 0)
    last = np.where(seen.any(1), 700 - seen[:, ::-1].argmax(1), 700)
    # Each row multiplies what the 64 rows around it see, in steps of sixteen.
    least, most = 4 * (last - first).sum(), 4 * (last - first + 64 + 2 * 64 + 2 * 16).sum()
    assert least <= sum(cells) <= most
    if masks == "causal":
        assert sum(cells) < 0.6 * 4 * 700 * 700


@pytest.mark.parametrize("engine", ENGINE_IDS)
def test_a_row_that_is_not_finite_is_so_in_all_keys(engine: str) -> None:
    """0 · NaN is NaN, so leaving out keys must not hide what a product of whole matrices shows."""
    values = np.random.default_rng(1).standard_normal((300, 44))
    values[200] *= 1e200  # its scores overflow in float64, and its value times its weight does not
    given = with_fields(
        attention(300, dtype="float64"), vectors=p.ExplicitVectors(values), masks=(p.Causal(),)
    )
    made = engine_of(engine, "float64")
    found = run(made, given)
    made.spares_keys = False
    expected = run(made, given)
    assert np.isnan(expected["weights"][:, 200]).all(axis=-1).any()
    for stage in ("weights", "mixed"):
        np.testing.assert_array_equal(np.isnan(found[stage]), np.isnan(expected[stage]))
        np.testing.assert_allclose(found[stage], expected[stage], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("engine", ENGINE_IDS)
def test_a_value_that_is_not_finite_reaches_the_rows_that_do_not_see_it(engine: str) -> None:
    big = np.full((44, 22), 1e300)
    projections = p.Projections(p.Seeded(0), p.Seeded(1), p.Explicit(big), p.Seeded(3))
    values = np.random.default_rng(1).standard_normal((300, 44))
    values[250] = 1e30  # v overflows, q and k do not
    given = attention(300, dtype="float64", masks=(p.Causal(),))
    given = with_fields(given, vectors=p.ExplicitVectors(values), projections=projections)
    trace = run(engine_of(engine, "float64"), given)
    assert np.isinf(trace["v"][:, 250]).any()
    assert np.isnan(trace["mixed"][:, :250]).any()
