"""A run on a device stays there; a model lives there, or its layers stream through."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import POSITIONS, experiment
from checkpoints.written import LLAMA_CONFIG, llama_arrays, write_folder
from msgspec.structs import replace

from attnviz import analysis
from attnviz.checkpoints.importing import import_checkpoint
from attnviz.compute import execute as module
from attnviz.compute.estimate import estimate
from attnviz.compute.execute import execute, execute_backward, execute_decoding
from attnviz.engines import table
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.on_device import SHARE, rest
from attnviz.engines.run import run
from attnviz.engines.torch_engine import TorchEngine
from attnviz.model.caches import CACHES
from attnviz.model.io.files import matrices
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.conversions import CONVERSIONS
from attnviz.model.spec.document import Document
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.memory_map import FileChanged
from attnviz.model.spec.parts import Dropout, DType
from attnviz.model.spec.sampling import Sampling, StopConditions
from attnviz.model.trace import Trace

torch = pytest.importorskip("torch")

from gpu import DEVICE, Gpu, Memory, stand_in  # noqa: E402


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    made = stand_in(monkeypatch)
    module._engine.cache_clear()
    monkeypatch.setattr(table, "_ON_DEVICE", {})
    with Gpu():
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


def test_the_stand_in_refuses_what_a_gpu_refuses(memory: Memory) -> None:
    engine = TorchEngine("float32", "cuda")
    there, here = engine.asarray(np.ones((2, 2))), torch.ones(2, 2)
    assert engine.to_numpy(there @ there + torch.tensor(1.0)).tolist() == [[3, 3], [3, 3]]
    with pytest.raises(RuntimeError, match="same device"):
        there + here
    with pytest.raises(TypeError, match="numpy"):
        np.asarray(there)


@pytest.mark.parametrize("masks", ["none", "all"])
@pytest.mark.parametrize("position", POSITIONS)
def test_every_stage_is_computed_on_the_device(memory: Memory, position: str, masks: str) -> None:
    given = experiment(masks, position, "gqa", dropout=Dropout(0.4, seed=3), dtype="float64")
    assert_numbers(execute(given, "torch", "cuda"), run(NumpyEngine("float64"), given), 1e-12)
    (_, expected), (_, found) = (
        execute_backward(given, "weights[0, 0, 0]", engine) for engine in ("numpy", "torch")
    )
    assert_numbers(found, expected, 1e-12)


@pytest.mark.parametrize("row", CACHES, ids=[row.id for row in CACHES])
def test_every_cache_is_kept_on_the_device(memory: Memory, row: Any) -> None:
    given = experiment("causal", writing=Writing(Sampling(stop=StopConditions(length=20)), row.kind()))
    here, there = (
        execute_decoding(given, engine=engine, device=device)
        for engine, device in (("numpy", "cpu"), ("torch", "cuda"))
    )
    assert (there.device, len(there.steps)) == (DEVICE, len(here.steps))
    for ours, theirs in zip(here.steps, there.steps, strict=True):
        np.testing.assert_allclose(theirs.logits, ours.logits, rtol=0, atol=1e-12)
        assert theirs.cached.bytes_held == ours.cached.bytes_held


def test_a_model_that_fits_is_brought_in_once(
    document: Document, memory: Memory, brought_in: Counter[int]
) -> None:
    on_machine = CONVERSIONS.nbytes
    traces = [on_cuda(document) for _again in range(3)]
    decoding = execute_decoding(document.experiment, engine="torch", device="cuda")
    assert len(brought_in) >= 15 and set(brought_in.values()) == {1}
    assert memory.kept.nbytes == size(document) and CONVERSIONS.nbytes == on_machine
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
        assert whole / 4 < memory.kept.nbytes <= memory.kept.limit <= whole / 2


def test_a_run_that_needs_the_room_displaces_matrices(document: Document, memory: Memory) -> None:
    expected = run(NumpyEngine("float32"), document.experiment)
    on_cuda(document)
    assert memory.kept.nbytes > 0
    memory.size = 2 * run_size(document)
    assert_numbers(on_cuda(document), expected)
    assert memory.kept.nbytes == 0
    memory.size = 2**30
    assert_numbers(on_cuda(document), expected)
    assert memory.kept.nbytes > 0


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
    assert memory.kept.nbytes == size(document)
    rest([])
    assert memory.kept.nbytes == 0
    on_cuda(document)
    assert memory.kept.nbytes == size(document)


def test_an_ablation_of_every_head_brings_each_matrix_in_once_more(
    document: Document, memory: Memory, brought_in: Counter[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without room for any matrix: once for the pass without patches, and once for those of all heads."""
    memory.size = 0
    monkeypatch.setattr("attnviz.study.passes.MOST_KEPT", 2**30)
    vocabulary = document.experiment.vocabulary
    assert vocabulary is not None
    target = analysis.Target(vocabulary.tokens[3])
    expected = analysis.ablate(document, target)
    brought_in.clear()
    effects = analysis.ablate(document, target, engine="torch", device="cuda")
    assert max(brought_in.values()) == 2 and memory.kept.nbytes == 0
    for site, values in expected.values.items():
        np.testing.assert_allclose(effects.values[site], values, rtol=0, atol=1e-5)


def test_a_file_that_is_written_to_is_noticed_on_a_device(
    document: Document, memory: Memory, tmp_path: Path
) -> None:
    file = tmp_path / "model.safetensors"
    os.truncate(file, file.stat().st_size // 2)
    with pytest.raises(FileChanged, match=r"^model\.safetensors: The file must not change while"):
        on_cuda(document)
