"""A document's matrix is converted once per engine; what may still change is converted every time."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from cases import experiment

from attnviz.engines import constants as constants_module
from attnviz.engines import numpy_engine
from attnviz.engines.constants import Constants
from attnviz.engines.decode.run import decode
from attnviz.engines.engine import Workers
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.table import ENGINES, EngineKind


def frozen(rows: int) -> np.ndarray[Any, Any]:
    array = np.arange(3.0 * rows).reshape(rows, 3).copy()
    array.setflags(write=False)
    return array


def test_only_arrays_that_cannot_change_are_remembered() -> None:
    converted: list[int] = []
    constants = Constants(lambda values: converted.append(len(values)) or values + 1)  # type: ignore[func-returns-value]
    kept, writeable, shown = frozen(2), np.zeros((3, 3)), np.zeros((4, 3))
    of_writeable = shown[:]
    of_writeable.setflags(write=False)
    for values in (kept, writeable, of_writeable):
        for _ in range(2):
            np.testing.assert_array_equal(constants(values), values + 1)
    assert converted == [2, 3, 3, 4, 4]


def test_views_that_are_made_anew_are_converted_once_each() -> None:
    converted: list[tuple[int, ...]] = []
    constants = Constants(lambda values: converted.append(values.shape) or values + 1)  # type: ignore[func-returns-value]
    kept = frozen(2)
    for make in (lambda: kept.T, lambda: kept[:1], lambda: kept[1:], lambda: kept[0], lambda: kept[:, ::2]):
        for _ in range(2):
            np.testing.assert_array_equal(constants(make()), make() + 1)
    assert converted == [(3, 2), (1, 3), (1, 3), (3,), (2, 2)]


def test_a_conversion_goes_with_its_original() -> None:
    constants = Constants(lambda values: values + 1)
    first, second = frozen(2), frozen(3)
    for values in (first, first.T, first[:1], second):
        constants(values)
    assert len(constants._kept) == 4
    del first, values
    gc.collect()
    assert len(constants._kept) == 1
    np.testing.assert_array_equal(constants(second), second + 1)


def test_what_needs_no_conversion_is_not_held() -> None:
    constants = Constants(lambda values: values.astype(np.float64, copy=False))
    values = frozen(2)
    assert constants(values) is values and not constants._kept


def test_the_oldest_are_let_go_past_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants_module, "KEPT_BYTES", 3 * frozen(2).nbytes)
    converted: list[int] = []
    constants = Constants(lambda values: converted.append(id(values)) or values + 1)  # type: ignore[func-returns-value]
    arrays = [frozen(2) for _ in range(4)]
    for index in (0, 1, 2, 3, 3, 0):
        constants(arrays[index])
    assert converted == [id(arrays[index]) for index in (0, 1, 2, 3, 0)]


def test_a_later_array_never_gets_an_earlier_ones_numbers() -> None:
    constants = Constants(lambda values: values + 1)
    for rows in range(1, 60):  # without a reference to the original, ids would come again
        assert constants(frozen(rows)).shape == (rows, 3)


def test_a_decoding_converts_each_weight_matrix_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes: list[tuple[int, ...]] = []
    plain = numpy_engine.NumpyEngine._converted

    def converted(self: NumpyEngine, values: Any) -> Any:
        shapes.append(values.shape)
        return plain(self, values)

    monkeypatch.setattr(numpy_engine.NumpyEngine, "_converted", converted)
    decode(NumpyEngine("float32"), experiment("causal", "none"), 7)
    assert sorted(shape for shape in shapes if len(shape) == 2 and min(shape) > 6) == [
        (7, 8),  # the vectors
        (8, 8),
        (8, 8),
        (8, 16),
        (16, 8),
    ]


@pytest.mark.parametrize("kind", ENGINES, ids=lambda kind: kind.id)
def test_the_engines_of_a_drag_convert_a_matrix_once(kind: EngineKind) -> None:
    if kind.unavailable():
        pytest.skip(kind.unavailable())
    matrix = frozen(5)
    first, second = (kind.make("float32", "cpu", Workers()) for _time in range(2))
    with second.active():
        assert first is not second
        assert first.asarray(matrix) is second.asarray(matrix)
        assert kind.make("float64", "cpu", Workers()).asarray(matrix) is not first.asarray(matrix)
