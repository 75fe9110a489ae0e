"""The ONNX node tests of Softmax against the softmax of both engines, which is over the last axis."""

from __future__ import annotations

import numpy as np
import pytest
from references.onnx_cases import EXPANDED, Array, NodeCase, expanded_arrays, node_cases

from attnviz.engines.engine import SAFE_EXPONENT, Engine
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.torch_engine import TorchEngine

CASES = node_cases("Softmax")

BOUNDED = [name for name, case in CASES.items() if abs(case.inputs["x"]).max() <= SAFE_EXPONENT]
"""Cases that also allow the softmax which does not look for the largest of a row first."""

every_engine = pytest.mark.parametrize(
    "engine", [NumpyEngine("float32"), TorchEngine("float32", "cpu")], ids=["numpy", "torch"]
)


def softmax(case: NodeCase, engine: Engine, is_bounded: bool) -> Array:
    axis = case.attributes.get("axis", -1)
    # A copy of its own: the softmax is done in place.
    scores = engine.asarray(np.moveaxis(case.inputs["x"], axis, -1).copy())
    with engine.active():
        engine.softmax_(scores, is_bounded)
    return np.moveaxis(engine.to_numpy(scores), -1, axis)


@every_engine
@pytest.mark.parametrize(
    ("name", "is_bounded"), [*((name, False) for name in CASES), *((name, True) for name in BOUNDED)]
)
def test_case(name: str, is_bounded: bool, engine: Engine) -> None:
    case = CASES[name]
    found = softmax(case, engine, is_bounded)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, case.outputs["y"], rtol=1e-5, atol=1e-7)


def test_every_axis_and_scores_too_large_to_exponentiate_are_among_the_cases() -> None:
    assert {case.attributes.get("axis") for case in CASES.values()} == {None, -1, 0, 1, 2}
    assert all(case.attributes.keys() <= {"axis"} for case in CASES.values())
    assert set(CASES) - set(BOUNDED) == {"test_softmax_large_number"}


def test_cases_written_out_in_primitive_operators_hold_the_same_arrays() -> None:
    for name, (inputs, expected) in expanded_arrays("Softmax").items():
        case = CASES[name.partition(EXPANDED)[0]]
        np.testing.assert_array_equal(case.inputs["x"], inputs[0])
        np.testing.assert_array_equal(case.outputs["y"], expected[0])
    assert {name.partition(EXPANDED)[0] for name in expanded_arrays("Softmax")} == set(CASES)
