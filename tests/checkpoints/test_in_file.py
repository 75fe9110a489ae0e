"""Weights that stay in their file: the same numbers, noticed changes, memory that is given back."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints.written import LLAMA_CONFIG, llama_arrays, write_folder

import attnviz
from attnviz import analysis
from attnviz.checkpoints.importing import import_checkpoint
from attnviz.compute.execute import execute, execute_decoding
from attnviz.engines.in_file import InFile
from attnviz.engines.table import ENGINE_BY_ID
from attnviz.engines.torch_engine import ALONE
from attnviz.model.io.files import matrices
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.conversions import CONVERSIONS
from attnviz.model.spec.document import Document
from attnviz.model.spec.memory_map import FileChanged

IDS = [1, 2, 3]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_folder(tmp_path, llama_arrays(), LLAMA_CONFIG)
    return tmp_path


@pytest.fixture
def everything_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the matrices of a small model stay in their file."""
    for module in ("plan", "filling"):
        monkeypatch.setattr(f"attnviz.checkpoints.{module}.MAPPED_NUMBERS", 1)


@pytest.fixture
def converts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program without numba: what lies in a file in 16 bits is converted before it is multiplied."""
    monkeypatch.setattr("attnviz.engines.stored_product.kernels", lambda: None)


def in_file(document: Document) -> list[Matrix]:
    return [matrix for _name, matrix in matrices(document.experiment) if matrix.lies_in_file]


@pytest.mark.parametrize("engine", ["numpy", "torch"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_numbers_in_a_file_are_those_in_memory(
    tmp_path: Path, engine: str, dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = {name: array.astype(dtype) for name, array in llama_arrays().items()}
    write_folder(tmp_path, arrays, LLAMA_CONFIG)
    held = import_checkpoint(tmp_path, ids=IDS)
    assert not in_file(held)
    monkeypatch.setattr("attnviz.checkpoints.plan.MAPPED_NUMBERS", 1)
    monkeypatch.setattr("attnviz.checkpoints.filling.MAPPED_NUMBERS", 1)
    mapped = import_checkpoint(tmp_path, ids=IDS)
    assert len(in_file(mapped)) > 7
    assert mapped == held and hash(mapped.experiment.layers) == hash(held.experiment.layers)
    for _again in range(2):
        first, second = (execute(one.experiment, engine) for one in (held, mapped))
        for stage in ("weights", "logits"):
            last = first.sites[-1]
            # A product with a transposed matrix sums in another order.
            assert np.allclose(first.site(last)[stage], second.site(last)[stage], rtol=1e-5, atol=1e-5)
    theirs, ours = (execute_decoding(one.experiment, engine=engine) for one in (held, mapped))
    assert np.allclose(theirs.steps[-1].logits, ours.steps[-1].logits, rtol=1e-5, atol=1e-5)


def test_a_saved_document_has_the_numbers_of_the_file(
    folder: Path, tmp_path: Path, everything_stays: None
) -> None:
    document = import_checkpoint(folder, ids=IDS)
    assert attnviz.load(attnviz.save(document, tmp_path / "made.safetensors")) == document


def test_an_edited_matrix_leaves_the_file_and_the_others_stay(folder: Path, everything_stays: None) -> None:
    document = import_checkpoint(folder, ids=IDS)
    assert document.experiment.vocabulary is not None
    matrix = document.experiment.vocabulary.embedding
    changed = matrix.replaced(0, 0, 0.5)
    assert matrix.lies_in_file and not changed.lies_in_file
    assert changed != matrix and changed.array[0, 0] == 0.5
    assert np.array_equal(changed.array[1:], matrix.array[1:])


def test_a_file_that_is_written_to_is_noticed(folder: Path, everything_stays: None) -> None:
    document = import_checkpoint(folder, ids=IDS)
    file = folder / "model.safetensors"
    os.truncate(file, file.stat().st_size // 2)
    with pytest.raises(FileChanged, match=r"^model\.safetensors: The file must not change while"):
        execute(document.experiment)


def test_a_file_that_is_replaced_leaves_the_document_as_it_was(folder: Path, everything_stays: None) -> None:
    document = import_checkpoint(folder, ids=IDS)
    before = execute(document.experiment)
    other = folder / "other"
    other.mkdir()
    write_folder(other, {name: 2 * array for name, array in llama_arrays().items()}, LLAMA_CONFIG)
    (other / "model.safetensors").replace(folder / "model.safetensors")
    after = execute(document.experiment)
    last = after.sites[-1]
    assert np.array_equal(before.site(last)["logits"], after.site(last)["logits"])
    assert import_checkpoint(folder, ids=IDS) != document


def test_conversions_of_a_closed_document_are_given_back(
    tmp_path: Path, everything_stays: None, converts: None
) -> None:
    write_folder(
        tmp_path, {name: array.astype(np.float16) for name, array in llama_arrays().items()}, LLAMA_CONFIG
    )
    gc.collect()
    before = CONVERSIONS.nbytes
    document = import_checkpoint(tmp_path, ids=IDS)
    trace = execute(document.experiment)
    assert CONVERSIONS.nbytes > before
    del document, trace
    gc.collect()
    assert CONVERSIONS.nbytes == before


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_a_transposed_weight_keeps_its_numbers_while_another_is_converted(
    folder: Path, everything_stays: None, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    """Without room for any conversion: one thread converts while the other multiplies."""
    arrays = {name: array.astype(np.float16) for name, array in llama_arrays().items()}
    write_folder(folder, arrays, LLAMA_CONFIG)
    document = import_checkpoint(folder, ids=IDS)
    monkeypatch.setattr(CONVERSIONS, "limit", 0)
    (matrix, *others), on = in_file(document), ENGINE_BY_ID[engine].make("float32", "cpu", ALONE)
    wanted = np.array(matrix.array.T)
    used = InFile(on, matrix, transposes=True)()
    for other in others:
        InFile(on, other, transposes=True)()
    np.testing.assert_array_equal(np.asarray(used), wanted)


@pytest.mark.parametrize("is_tied", [True, False])
@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_the_logits_of_passes_need_no_conversion_of_the_vocabulary(
    tmp_path: Path,
    everything_stays: None,
    converts: None,
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    is_tied: bool,
) -> None:
    """Passes take W_U band by band, from its conversion where one is kept: on NumPy equal to the last bit."""
    monkeypatch.setattr("attnviz.engines.in_file.LARGE", 1)
    monkeypatch.setattr("attnviz.model.spec.arrays.BAND_NUMBERS", 3 * 4)
    arrays = {name: array.astype(np.float16) for name, array in llama_arrays().items()}
    if not is_tied:
        arrays["lm_head.weight"] = arrays["model.embed_tokens.weight"][::-1].copy()
    write_folder(tmp_path, arrays, {**LLAMA_CONFIG, "tie_word_embeddings": is_tied})
    experiment = import_checkpoint(tmp_path, ids=IDS).experiment
    assert experiment.vocabulary is not None
    matrix = experiment.vocabulary.unembedding or experiment.vocabulary.embedding
    made, array = list[int](), Matrix._converted

    def counted(one: Matrix) -> Any:
        made.append(1) if one is matrix else None
        return array(one)

    monkeypatch.setattr(Matrix, "_converted", counted)
    first, second = (execute(experiment, engine) for _pass in range(2))
    assert not made, "no pass converts it as a whole"
    execute_decoding(experiment, engine=engine)
    kept = len(made)
    assert kept, "a decoding converts the whole"
    third = execute(experiment, engine)
    assert len(made) == kept + 1, "what is kept is read"
    CONVERSIONS.rest(matrix for _name, matrix in matrices(experiment))
    fourth = execute(experiment, engine)
    assert len(made) == kept + 1, "a rest has let it go"
    for other in (second, third, fourth):
        last = other.sites[-1]
        # Products of Torch depend on where their inputs lie in memory.
        tolerance = {"rtol": 0, "atol": 0} if engine == "numpy" else {"rtol": 1e-5, "atol": 1e-5}
        np.testing.assert_allclose(other.site(last)["logits"], first.site(last)["logits"], **tolerance)


def test_an_ablation_of_every_head_converts_each_matrix_once_more(
    tmp_path: Path, everything_stays: None, converts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without room for any conversion: once for the pass without patches, and once for those of all heads."""
    arrays = {name: array.astype(np.float16) for name, array in llama_arrays().items()}
    write_folder(tmp_path, arrays, LLAMA_CONFIG)
    document = import_checkpoint(tmp_path, ids=IDS)
    monkeypatch.setattr(CONVERSIONS, "limit", 0)
    of, made = CONVERSIONS.of, Counter[int]()

    def counted(owner: Matrix, n_bytes: int, make: Callable[[Any], Any]) -> Any:
        return of(owner, n_bytes, lambda memory: (made.update([id(owner)]), make(memory))[1])

    monkeypatch.setattr(CONVERSIONS, "of", counted)
    monkeypatch.setattr("attnviz.study.passes.MOST_KEPT", 2**30)
    target = analysis.Target(document.experiment.vocabulary.tokens[3])  # type: ignore[union-attr]
    effects = analysis.ablate(document, target)
    n_heads = sum(len(values) for values in effects.values.values())
    assert n_heads >= 4 and max(made.values()) == 2 and CONVERSIONS.nbytes == 0
    monkeypatch.setattr("attnviz.study.passes.MOST_KEPT", 1)  # one pass after the other
    alone = analysis.ablate(document, target)
    for site, values in effects.values.items():
        np.testing.assert_array_equal(values, alone.values[site])


def test_a_mapping_that_outlives_its_modules_closes_without_a_word(tmp_path: Path) -> None:
    """An object of a module is collected after the functions of `os` are gone."""
    (tmp_path / "numbers").write_bytes(bytes(64))
    code = "import os, pathlib, sys; from attnviz.model.spec.memory_map import mapped; "
    code += "os.kept = mapped(pathlib.Path(sys.argv[1]))"
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "numbers")], capture_output=True, text=True, timeout=120
    )
    assert (ended.returncode, ended.stderr) == (0, "")
