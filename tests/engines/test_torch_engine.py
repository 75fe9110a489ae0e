"""The Torch engine gives NumPy's numbers, says why it cannot, and leaves torch's settings alone."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import numpy as np
import pytest
from cases import HEADS, MASKS, MEMORY, POSITIONS, experiment
from first_layer import stacked

from attnviz.engines import torch_engine
from attnviz.engines.engine import EngineError
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.engines.table import ENGINE_BY_ID, ENGINES
from attnviz.engines.torch_engine import TorchEngine, load_torch, torch_status
from attnviz.model.spec import parts as p
from attnviz.model.spec.experiment import Experiment

torch = pytest.importorskip("torch")

TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 0.02, "bfloat16": 0.15}

EXTRAS: dict[str, dict[str, Any]] = {
    "plain": {},
    "cap_and_temperature": {"cap": 2.0, "temperature": 0.5},
    "unscaled": {"scale": p.NoScale()},
    "dropout": {"dropout": p.Dropout(0.4, seed=3)},
    "mask_after_softmax": {"mask_placement": "after_softmax"},
    "nan_rows": {"fully_masked_row": "nan"},
    "memory": {"memory": MEMORY},
}


def assert_same(given: Experiment, dtype: str = "float64") -> None:
    expected, actual = run(NumpyEngine("float64"), given), run(TorchEngine(dtype, "cpu"), given)
    assert actual.only.stages == expected.only.stages
    for stage in expected.only.stages:
        a, b = actual[stage], expected[stage]
        assert a.shape == b.shape == expected.only.shape(stage)
        np.testing.assert_allclose(a, b, rtol=0, atol=TOLERANCE[dtype], err_msg=stage)


@pytest.mark.pairwise
@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("masks", MASKS)
def test_every_stage_equals_numpy(masks: str, position: str, heads: str) -> None:
    assert_same(experiment(masks, position, heads))


@pytest.mark.parametrize("masks", ["none", "all", "nothing_left"])
@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_option_equals_numpy(extra: str, masks: str, dtype: str) -> None:
    assert_same(experiment(masks, "rope_half_split", **EXTRAS[extra]), dtype)


@pytest.mark.parametrize("position", ["rope", "alibi", "sinusoidal"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_near_float64_and_is_half_precision(dtype: str, position: str) -> None:
    given = experiment("all", position)
    assert_same(given, dtype)
    weights = run(TorchEngine(dtype, "cpu"), given)["weights"]
    assert weights.dtype == (np.float16 if dtype == "float16" else np.float32)
    exact = run(NumpyEngine("float64"), given)["weights"]
    assert np.abs(weights - exact).max() > 1e-6


@pytest.mark.parametrize("engine", [NumpyEngine("float64"), TorchEngine("float64", "cpu")])
def test_the_numbers_of_the_text(engine: Any) -> None:
    vectors = p.SeededVectors(4, 3, seed=0, generator="mt19937")
    given = stacked(("a", "b", "c", "d"), vectors, heads=p.Heads(1, 1, 3))
    trace = run(engine, given)
    np.testing.assert_allclose(trace["weights"][0, 0], [0.439654, 0.332075, 0.091669, 0.136602], atol=5e-7)
    expected = [
        [1.662899, 0.801902, 0.294972],
        [2.201838, 1.785287, -0.889624],
        [1.588105, 0.793978, 0.097362],
        [1.163269, 0.366952, 0.857072],
    ]
    np.testing.assert_allclose(trace["attention_output"], expected, atol=5e-7)


def test_windows_equal_parts_of_the_whole() -> None:
    trace = run(TorchEngine("float64", "cpu"), experiment("all", dropout=p.Dropout(0.3)))
    rows, columns = slice(2, 6), slice(1, 4)
    for stage in ("scores", "scaled", "masked", "weights", "dropped"):
        whole = trace[stage][3, rows, columns]
        np.testing.assert_allclose(trace.window(stage, 3, rows, columns), whole, atol=1e-15)


def test_blocks_give_what_one_piece_gives() -> None:
    given = experiment("all", dropout=p.Dropout(0.3))
    whole, small = TorchEngine("float64", "cpu"), TorchEngine("float64", "cpu")
    small.block_cells = 20
    for stage in ("weights", "mixed", "attention_output"):
        np.testing.assert_allclose(run(small, given)[stage], run(whole, given)[stage], atol=1e-15)


@pytest.mark.parametrize("width", [1, 7, 1024, 1025, 5000])
@pytest.mark.parametrize("dtype", torch_engine.TORCH_DTYPES)
def test_softmax_in_place_equals_softmax(dtype: str, width: int) -> None:
    scores = torch.randn(2, 9, width, generator=torch.Generator().manual_seed(0)).to(getattr(torch, dtype))
    for part in (scores.clone(), torch.cat((scores, scores), 1)[:, 3:12], scores):
        expected = torch.softmax(part.clone(), -1)
        TorchEngine(dtype, "cpu").softmax_(part)
        assert torch.equal(part, expected)


# --- settings of torch -----------------------------------------------------------------------------


@pytest.mark.parametrize(("allowed", "inside"), [(False, "highest"), (True, "high")])
def test_tf32_is_off_unless_asked_for_and_the_setting_comes_back(allowed: bool, inside: str) -> None:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        with TorchEngine(device="cpu", allow_tf32=allowed).active():
            assert torch.get_float32_matmul_precision() == inside
            assert torch.is_inference_mode_enabled()
        assert torch.get_float32_matmul_precision() == "medium"
        assert not torch.is_inference_mode_enabled()
    finally:
        torch.set_float32_matmul_precision(before)


# --- failures --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("field", "value"), [("dtype", "int8"), ("device", "gpu"), ("device", "cuda:x")])
def test_illegal_choices_are_value_errors(field: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"^{field} must be one of .* on Torch; got '{value}'"):
        TorchEngine(**{field: value})


def test_a_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert TorchEngine(device="auto").device == "cpu"
    with pytest.raises(EngineError, match=r"The device must be a CUDA device; got none\."):
        TorchEngine(device="cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert TorchEngine(device="auto").device == "cuda:0"
    assert TorchEngine(device="cuda:1").device == "cuda:1"
    with pytest.raises(EngineError, match=r"The CUDA device must be one of 2, counted from 0; got 2\."):
        TorchEngine(device="cuda:2")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
            r"The device cuda:0 must have free memory; got none\.",
        ),
        (RuntimeError("CUDA error: unspecified launch failure\nmore"), "cuda:0 failed: CUDA error: unspec"),
        (RuntimeError("cuBLAS error: CUBLAS_STATUS_ALLOC_FAILED"), "cuda:0 failed: cuBLAS"),
    ],
)
def test_a_device_that_fails(error: RuntimeError, message: str) -> None:
    engine = TorchEngine(device="cpu")
    engine.device = "cuda:0"
    with pytest.raises(EngineError, match=message), engine.active():
        raise error


def test_other_errors_pass_unchanged() -> None:
    error = RuntimeError("shapes do not fit")
    with pytest.raises(RuntimeError) as caught, TorchEngine(device="cpu").active():
        raise error
    assert caught.value is error


def test_the_cpu_out_of_memory() -> None:
    engine = TorchEngine(device="cpu")
    with (
        pytest.raises(EngineError, match=r"The device cpu must have free memory; got none\."),
        engine.active(),
    ):
        engine.empty((10**15,))


def test_the_table_says_what_there_is() -> None:
    assert [kind.id for kind in ENGINES] == ["numpy", "torch"]
    assert ENGINE_BY_ID["numpy"].unavailable() == "" == ENGINE_BY_ID["torch"].unavailable()
    assert ENGINE_BY_ID["numpy"].dtypes == ("float16", "float32", "float64")
    assert set(ENGINE_BY_ID["torch"].dtypes) == set(p.DType.__args__)


def test_torch_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert (
        torch_status()
        == "PyTorch is not installed; “pip install torch” adds it"
        == ENGINE_BY_ID["torch"].unavailable()
    )
    with pytest.raises(EngineError, match="PyTorch is not installed"):
        TorchEngine()


def test_torch_that_fails_to_import(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> Any:
        raise OSError("libtorch.so: cannot open shared object file\nsecond line")

    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setattr(torch_engine.importlib, "import_module", fail)
    monkeypatch.setattr(torch_engine, "_import_failure", None)
    assert torch_status() == ""
    with pytest.raises(EngineError, match="PyTorch failed to import: libtorch.so: cannot open"):
        load_torch()
    assert torch_status().endswith("cannot open shared object file")
