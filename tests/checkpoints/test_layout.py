"""Conversions of a model that fits lie as products read them fastest, with the same numbers."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from checkpoints.written import LLAMA_CONFIG, llama_arrays, write_folder

from attnviz.checkpoints.importing import import_checkpoint
from attnviz.compute.execute import execute_decoding
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.model.io.files import matrices
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.conversions import CONVERSIONS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for module in ("plan", "filling"):
        monkeypatch.setattr(f"attnviz.checkpoints.{module}.MAPPED_NUMBERS", 1)
    arrays = {name: array.astype(np.float16) for name, array in llama_arrays().items()}
    write_folder(tmp_path, arrays, LLAMA_CONFIG)
    return tmp_path


def converted(folder: Path) -> dict[str, Matrix]:
    document = import_checkpoint(folder, ids=[1, 2, 3])
    return {name: one for name, one in matrices(document.experiment) if one.lies_in_file}


def test_the_longer_side_lies_together(folder: Path) -> None:
    for name, matrix in converted(folder).items():
        rows, columns = matrix.shape
        array = matrix.array
        assert array.flags.c_contiguous if columns >= rows else array.flags.f_contiguous, name


def test_a_model_that_does_not_fit_keeps_the_order_of_its_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = {name: matrix.array for name, matrix in converted(folder).items()}
    monkeypatch.setattr(CONVERSIONS, "limit", 1000)
    for name, matrix in converted(folder).items():
        assert matrix.order == "K"
        np.testing.assert_array_equal(matrix.array, wanted[name], strict=True)


def test_a_step_of_decoding_converts_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnviz.engines.stored_product.kernels", lambda: None)  # as without numba
    given = import_checkpoint(folder, ids=[1, 2, 3, 4]).experiment
    execute_decoding(given)
    with patch.object(Matrix, "_converted", side_effect=AssertionError("converted again")):
        execute_decoding(given)
    with patch.object(NumpyEngine, "shares", side_effect=AssertionError("looked up again")):
        execute_decoding(given)
