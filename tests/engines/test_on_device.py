"""A model lives on a device; with less memory there, its layers stream through, with the same numbers.

`cpu:0` stands for the device: Torch has it everywhere, and to the engine it is not the machine.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from checkpoints.written import LLAMA_CONFIG, llama_arrays, write_folder
from msgspec.structs import replace

from attnviz import analysis
from attnviz.checkpoints.importing import import_checkpoint
from attnviz.compute import execute as module
from attnviz.compute.estimate import estimate
from attnviz.compute.execute import execute, execute_decoding
from attnviz.engines import on_device, torch_engine
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.on_device import SHARE, OnDevice, rest
from attnviz.engines.run import run
from attnviz.model.io.files import matrices
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.conversions import CONVERSIONS
from attnviz.model.spec.document import Document
from attnviz.model.spec.memory_map import FileChanged
from attnviz.model.spec.parts import DType
from attnviz.model.trace import Trace

torch = pytest.importorskip("torch")

DEVICE = "cpu:0"


class Memory:
    """The memory of a device of `size` bytes, of which a run may take all that matrices do not."""

    size = 2**30

    def free(self) -> int:
        kept = on_device._BY_DEVICE[DEVICE].nbytes if DEVICE in on_device._BY_DEVICE else 0
        return self.size - kept


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    made = Memory()
    monkeypatch.setattr(on_device, "_BY_DEVICE", {})
    monkeypatch.setattr(torch_engine, "_find_device", lambda torch, device: DEVICE)
    monkeypatch.setattr(torch_engine.TorchEngine, "_free", lambda engine: made.free())
    monkeypatch.setattr(torch_engine.TorchEngine, "synchronise", lambda engine: None)
    module._engine.cache_clear()
    yield made
    module._engine.cache_clear()


@pytest.fixture
def brought_in(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """Count of the readings of each matrix from its file, by its identity."""
    found, strips = Counter[int](), Matrix.strips

    def counted(matrix: Matrix) -> object:
        found[id(matrix)] += 1
        return strips(matrix)

    monkeypatch.setattr(Matrix, "strips", counted)
    return found


@pytest.fixture(params=[np.float16, np.float32])
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Document:
    for name in ("plan", "filling"):
        monkeypatch.setattr(f"attnviz.checkpoints.{name}.MAPPED_NUMBERS", 1)
    arrays = {name: array.astype(request.param) for name, array in llama_arrays().items()}
    write_folder(tmp_path, arrays, LLAMA_CONFIG)
    return import_checkpoint(tmp_path, ids=[1, 2, 3])


def in_file(document: Document) -> list[Matrix]:
    return [matrix for _name, matrix in matrices(document.experiment) if matrix.lies_in_file]


def size(document: Document) -> int:
    """Bytes of all matrices in float32."""
    return sum(4 * matrix.shape[0] * matrix.shape[1] for matrix in in_file(document))


def run_size(document: Document) -> int:
    return estimate(document.experiment, 4).bytes


def assert_numbers(trace: Trace, expected: Trace, tolerance: float = 1e-5) -> None:
    assert (trace.engine, trace.device, trace.notices) == ("torch", DEVICE, ())
    for name in expected.sites:
        for stage in expected.site(name).stages:
            actual, wanted = trace.site(name)[stage], expected.site(name)[stage]
            np.testing.assert_allclose(actual, wanted, rtol=0, atol=tolerance, err_msg=f"{name} {stage}")


def on_cuda(document: Document, dtype: DType = "float32") -> Trace:
    return execute(replace(document.experiment, dtype=dtype), "torch", "cuda")


def kept() -> OnDevice:
    return on_device._BY_DEVICE[DEVICE]


def test_a_model_that_fits_is_brought_in_once(
    document: Document, memory: Memory, brought_in: Counter[int]
) -> None:
    on_machine = CONVERSIONS.nbytes
    traces = [on_cuda(document) for _again in range(3)]
    decoding = execute_decoding(document.experiment, engine="torch", device="cuda")
    assert len(brought_in) >= 15 and set(brought_in.values()) == {1}
    assert kept().nbytes == size(document) and CONVERSIONS.nbytes == on_machine
    for trace in traces:
        assert_numbers(trace, run(NumpyEngine("float32"), document.experiment))
    last = execute_decoding(document.experiment).steps[-1].logits
    np.testing.assert_allclose(decoding.steps[-1].logits, last, rtol=0, atol=1e-5)


def test_of_a_larger_model_as_much_stays_as_fits(
    document: Document, memory: Memory, brought_in: Counter[int]
) -> None:
    """Half of the layers live there, the others stream through; nothing is above the limit."""
    expected = run(NumpyEngine("float32"), document.experiment)
    whole = size(document)
    memory.size = int(whole / 2 / SHARE) + 2 * run_size(document)
    brought_in.clear()
    on_cuda(document)
    once = dict(brought_in)
    for passes in (2, 3):
        assert_numbers(on_cuda(document), expected)
        again = [key for key, count in brought_in.items() if count > 1]
        assert 0 < len(again) < len(once)
        assert max(brought_in.values()) == passes
        assert whole / 4 < kept().nbytes <= kept().limit <= whole / 2


def test_a_run_that_needs_the_room_displaces_matrices(document: Document, memory: Memory) -> None:
    expected = run(NumpyEngine("float32"), document.experiment)
    on_cuda(document)
    assert kept().nbytes > 0
    memory.size = 2 * run_size(document)
    assert_numbers(on_cuda(document), expected)
    assert kept().nbytes == 0
    memory.size = 2**30
    assert_numbers(on_cuda(document), expected)
    assert kept().nbytes > 0


def test_each_precision_has_matrices_of_its_own(
    document: Document, memory: Memory, brought_in: Counter[int]
) -> None:
    expected = {dtype: run(NumpyEngine(dtype), document.experiment) for dtype in ("float32", "float64")}
    brought_in.clear()
    for _again in range(2):
        for dtype, tolerance in (("float32", 1e-5), ("float64", 1e-12)):
            assert_numbers(on_cuda(document, dtype), expected[dtype], tolerance)  # type: ignore[arg-type]
    assert set(brought_in.values()) == {2}


def test_what_another_document_does_not_use_is_let_go_at_rest(document: Document, memory: Memory) -> None:
    on_cuda(document)
    rest(in_file(document))
    assert kept().nbytes == size(document)
    rest([])
    assert kept().nbytes == 0
    on_cuda(document)
    assert kept().nbytes == size(document)


def test_an_ablation_of_every_head_brings_each_matrix_in_once_more(
    document: Document, memory: Memory, brought_in: Counter[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without room for any matrix: once for the pass without patches, and once for those of all heads."""
    memory.size = 0
    monkeypatch.setattr("attnviz.analysis.passes.MOST_KEPT", 2**30)
    vocabulary = document.experiment.vocabulary
    assert vocabulary is not None
    target = analysis.Target(vocabulary.tokens[3])
    expected = analysis.ablate(document, target)
    brought_in.clear()
    effects = analysis.ablate(document, target, engine="torch", device="cuda")
    assert max(brought_in.values()) == 2 and kept().nbytes == 0
    for site, values in expected.values.items():
        np.testing.assert_allclose(effects.values[site], values, rtol=0, atol=1e-5)


def test_a_file_that_is_written_to_is_noticed_on_a_device(
    document: Document, memory: Memory, tmp_path: Path
) -> None:
    file = tmp_path / "model.safetensors"
    os.truncate(file, file.stat().st_size // 2)
    with pytest.raises(FileChanged, match=r"^model\.safetensors: The file must not change while"):
        on_cuda(document)
