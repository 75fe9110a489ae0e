"""Products with weights as their file has them are those with their numbers, which nothing converts."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import gguf
import numpy as np
import pytest
from checkpoints.written import LLAMA_CONFIG, llama_arrays, write_folder
from numpy.typing import NDArray

from attnviz.checkpoints.gguf import blocks
from attnviz.checkpoints.gguf.reader import GgufTensor
from attnviz.checkpoints.importing import import_checkpoint
from attnviz.compute.execute import execute, execute_decoding
from attnviz.compute.threads import parallel_map
from attnviz.engines import kernels, stored_product
from attnviz.engines.engine import Workers
from attnviz.engines.stored_product import FLOATS, ROW_NUMBERS
from attnviz.engines.table import ENGINES, EngineKind
from attnviz.model.spec.arrays import BFLOAT16, Matrix, widened
from attnviz.model.spec.codes import LANES
from attnviz.model.spec.memory_map import Computed, View, mapped

N_IN, N_OUT = 512, 3 * LANES + 5
"""The last block of codes is not full."""

engines = pytest.mark.parametrize(
    "kind", [kind for kind in ENGINES if not kind.unavailable()], ids=lambda kind: kind.id
)
TYPES = [gguf.GGMLQuantizationType(number) for number in blocks.KINDS]
Numbers = NDArray[Any]


def short(tmp_path: Path, dtype: np.dtype[Any], numbers: Numbers) -> tuple[Matrix, Numbers]:
    """W^T in 16 bits in a file, as `torch.nn.Linear` has it, and W in float32."""
    stored = np.empty(numbers.shape, dtype)
    if dtype == BFLOAT16:
        stored["bfloat16"] = numbers.astype(np.float32).view(np.uint32) >> 16
    else:
        stored[...] = numbers
    file = tmp_path / "numbers"
    file.write_bytes(stored.tobytes())
    view = mapped(file).array(dtype, numbers.shape, 0)
    return Matrix.lasting(View(mapped(file), view.T)), widened(stored).T


def quantised(
    tmp_path: Path, to: gguf.GGMLQuantizationType, change: Callable[[Numbers], Numbers] | None = None
) -> tuple[GgufTensor, Numbers]:
    """A tensor of a GGUF file, and its numbers as the package has them."""
    numbers, n_bytes = gguf.GGML_QUANT_SIZES[to]
    random = np.random.default_rng(3)
    shape = (N_OUT, N_IN)
    raw = random.integers(0, 256, (N_OUT * N_IN // numbers, n_bytes), dtype=np.uint8)
    for start in {"Q6_K": (208,), "Q4_0": (0,), "Q8_0": (0,)}.get(to.name, (0, 2)):
        factors = random.uniform(-0.01, 0.01, (len(raw), 1)).astype(np.float16)
        raw[:, start : start + 2] = factors.view(np.uint8)
    raw = raw.reshape(N_OUT, -1)
    file = tmp_path / "numbers"
    file.write_bytes(raw.tobytes())
    tensor = GgufTensor(file, "x", "F32", shape, 0, shape, to.value, (numbers, n_bytes), change)
    return tensor, gguf.dequantize(raw, to)


def made(tensor: GgufTensor, part: Callable[[Numbers], Numbers], axis: int) -> Matrix:
    """The matrix of a part of a tensor with codes along an axis."""
    rows = tensor.whole_rows(part, axis)
    numbers = part(tensor.array())
    return Matrix.lasting(
        Computed(
            numbers.shape,
            np.dtype(np.float32),
            lambda: part(tensor.array()),
            codes=lambda along: None if rows is None or along != axis else tensor.codes(rows),
        )
    )


def nothing_is_converted() -> Any:
    return patch.object(Matrix, "_converted", side_effect=AssertionError("a matrix is converted"))


def check(kind: EngineKind, matrix: Matrix, wanted: Numbers, transposes: bool = False) -> None:
    """Products with one row and with several, against sums in float64."""
    random = np.random.default_rng(4)
    for dtype in FLOATS:
        engine = kind.make(dtype, "cpu", Workers())
        for n_rows in (1, 3):
            x = random.standard_normal((n_rows, wanted.shape[0])).astype(dtype)
            with engine.active(), nothing_is_converted():
                found = stored_product.stored_product(engine, engine.asarray(x), matrix, transposes)
                assert found is not None
                y = engine.to_numpy(found)
            exact = x.astype(np.float64) @ wanted.astype(np.float64)
            size = np.abs(x).astype(np.float64) @ np.abs(wanted).astype(np.float64)
            assert y.shape == exact.shape and y.dtype == dtype
            assert (np.abs(y - exact) <= 8 * np.finfo(dtype).eps * size).all()


@engines
@pytest.mark.parametrize("dtype", [np.dtype("<f2"), BFLOAT16], ids=["F16", "BF16"])
def test_numbers_in_16_bits(tmp_path: Path, kind: EngineKind, dtype: np.dtype[Any]) -> None:
    numbers = np.random.default_rng(2).standard_normal((N_OUT, N_IN)) * 0.02
    matrix, wanted = short(tmp_path, dtype, numbers)
    check(kind, matrix, wanted)


@engines
@pytest.mark.parametrize("to", TYPES, ids=lambda to: to.name)
@pytest.mark.parametrize("transposes", [False, True])
def test_quantised_numbers(
    tmp_path: Path, kind: EngineKind, to: gguf.GGMLQuantizationType, transposes: bool
) -> None:
    tensor, numbers = quantised(tmp_path, to)
    part = np.asarray if transposes else np.transpose
    check(kind, made(tensor, part, 0 if transposes else 1), numbers.T, transposes)


@pytest.mark.parametrize("to", TYPES, ids=lambda to: to.name)
def test_numbers_made_from_codes_are_those_of_the_package(
    tmp_path: Path, to: gguf.GGMLQuantizationType
) -> None:
    tensor, numbers = quantised(tmp_path, to)
    codes = tensor.codes(np.arange(N_OUT))
    assert codes is not None and codes.are_halves == (to.name in ("Q4_0", "Q4_1", "Q4_K"))
    assert codes.n_inputs == N_IN and codes.nbytes < (0.76 if codes.are_halves else 1.26) * N_IN * 4 * LANES
    found = np.empty((N_IN, len(codes.whole) * LANES), np.float32)
    write = kernels.halves_numbers if codes.are_halves else kernels.codes_numbers
    write(codes.whole, codes.factors, codes.offsets, found)
    np.testing.assert_array_equal(found[:, :N_OUT].T, numbers, strict=True)
    assert not found[:, N_OUT:].any()


def test_every_number_in_16_bits_is_widened_exactly() -> None:
    bits = np.arange(2**16, dtype=np.uint16).reshape(256, 256)
    found = np.empty(bits.shape, np.float32)
    for dtype in (np.dtype("<f2"), BFLOAT16):
        wanted = widened(bits.view(dtype))
        is_finite = np.isfinite(wanted)
        kernels.short_numbers(bits, dtype != BFLOAT16, found)
        np.testing.assert_array_equal(
            found[is_finite].view(np.uint32), wanted[is_finite].view(np.uint32), strict=True
        )


def test_rows_in_another_order_and_some_of_them(tmp_path: Path) -> None:
    """Heads in another order, as a GGUF file of Llama has them, and one part of several in one tensor."""
    order = np.random.default_rng(5).permutation(N_OUT)
    tensor, numbers = quantised(tmp_path, gguf.GGMLQuantizationType.Q4_1, lambda array: array[order])
    matrix = made(tensor, lambda array: array[10:100].T, 1)
    check(ENGINES[0], matrix, numbers[order][10:100].T)


@pytest.mark.parametrize(
    "part",
    [lambda array: array[:, 32:].T, lambda array: array[:, ::-1].T, lambda array: array.reshape(-1, 64).T],
    ids=["some columns", "columns in another order", "parts of rows"],
)
def test_a_part_that_does_not_consist_of_whole_rows_has_no_codes(
    tmp_path: Path, part: Callable[[Numbers], Numbers]
) -> None:
    tensor, _numbers = quantised(tmp_path, gguf.GGMLQuantizationType.Q8_0)
    assert tensor.whole_rows(part, 1) is None
    assert tensor.whole_rows(np.transpose, 0) is None, "along the other axis"


def test_a_large_matrix_is_shared_out_and_the_sums_are_the_same(tmp_path: Path) -> None:
    n_out = 4 * ROW_NUMBERS // N_IN + 17
    numbers = np.random.default_rng(6).standard_normal((n_out, N_IN), dtype=np.float32)
    matrix, _wanted = short(tmp_path, BFLOAT16, numbers)
    starts: list[Any] = []

    def for_each(function: Callable[[Any], None], items: Any) -> None:
        starts.append(list(items))
        parallel_map(function, starts[-1], 2)

    x = np.random.default_rng(7).standard_normal((1, N_IN), dtype=np.float32)
    for kind in ENGINES[:1]:
        alone, shared = kind.make("float32", "cpu", Workers()), kind.make("float32", "cpu", Workers(for_each))
        first, second = (stored_product.stored_product(one, x, matrix, False) for one in (alone, shared))
        assert len(starts) == 1 and len(starts[0]) == 4
        np.testing.assert_array_equal(first, second)


@engines
def test_an_infinite_row_has_the_sums_of_its_numbers(tmp_path: Path, kind: EngineKind) -> None:
    tensor, numbers = quantised(tmp_path, gguf.GGMLQuantizationType.Q4_1)
    matrix, engine = made(tensor, np.transpose, 1), kind.make("float32", "cpu", Workers())
    x = np.ones((1, N_IN), np.float32)
    x[0, 7] = math.inf
    assert (numbers[:, 7] != 0).all()
    with engine.active():
        found = stored_product.stored_product(engine, engine.asarray(x), matrix, False)
        np.testing.assert_array_equal(engine.to_numpy(found)[0], np.copysign(math.inf, numbers[:, 7]))


@pytest.mark.parametrize("engine", ["numpy", "torch"])
@pytest.mark.parametrize("stored", ["F16", "BF16"])
def test_a_model_computes_and_generates_the_same_without_numba(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, stored: str
) -> None:
    for module in ("plan", "filling"):
        monkeypatch.setattr(f"attnviz.checkpoints.{module}.MAPPED_NUMBERS", 1)
    arrays: dict[str, Numbers] = llama_arrays()
    for name, array in arrays.items():
        upper = (array.view(np.uint32) >> 16).astype(np.uint16)
        arrays[name] = array.astype(np.float16) if stored == "F16" else upper
    write_folder(tmp_path, arrays, LLAMA_CONFIG)
    experiment = import_checkpoint(tmp_path, ids=[1, 2, 3]).experiment
    with nothing_is_converted():
        with_numba = execute(experiment, engine), execute_decoding(experiment, engine=engine)
    monkeypatch.setattr(stored_product, "kernels", stored_product.kernels.__wrapped__)
    monkeypatch.setitem(sys.modules, "numba", None)  # an import of it fails
    monkeypatch.delitem(sys.modules, "attnviz.engines.kernels")
    monkeypatch.delattr(importlib.import_module("attnviz.engines"), "kernels")
    with nothing_is_converted(), pytest.raises(AssertionError, match="converted"):
        execute(experiment, engine)
    without = execute(experiment, engine), execute_decoding(experiment, engine=engine)
    last = with_numba[0].sites[-1]
    for stage in ("weights", "logits"):
        found, wanted = (one[0].site(last)[stage] for one in (with_numba, without))
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
        found, wanted = (one[1].steps[-1][stage] for one in (with_numba, without))
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_an_edited_matrix_is_multiplied_by_its_own_numbers(tmp_path: Path) -> None:
    numbers = np.random.default_rng(8).standard_normal((N_OUT, N_IN))
    matrix, _wanted = short(tmp_path, BFLOAT16, numbers)
    changed = matrix.replaced(0, 0, 5.0)
    assert changed.bits is None and changed.codes(1) is None
    engine = ENGINES[0].make("float32", "cpu", Workers())
    assert stored_product.stored_product(engine, np.ones((1, N_IN), np.float32), changed, False) is None
