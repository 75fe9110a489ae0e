"""The ONNX node tests of Gelu and the other activations that attnviz has, on both engines' arrays."""

from __future__ import annotations

import numpy as np
import pytest
from references.onnx_cases import EXPANDED, NodeCase, expanded_arrays, node_cases

from attnviz.core.block import ACTIVATION_BY_ID, ACTIVATIONS
from attnviz.engines.engine import Engine
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.torch_engine import TorchEngine

OPERATORS = ("Gelu", "Swish", "Sigmoid", "Relu", "Tanh")

CASES = [(operator, name) for operator in OPERATORS for name in node_cases(operator)]


every_engine = pytest.mark.parametrize(
    "engine", [NumpyEngine("float32"), TorchEngine("float32", "cpu")], ids=["numpy", "torch"]
)


def activation_of(operator: str, case: NodeCase) -> str:
    """Name in attnviz of the operator with these attributes. Raises `KeyError` for what it does not have."""
    return {
        ("Gelu", ()): "gelu",
        ("Gelu", (("approximate", b"none"),)): "gelu",
        ("Gelu", (("approximate", b"tanh"),)): "gelu_tanh",
        ("Swish", (("alpha", 1.0),)): "silu",
        ("Sigmoid", ()): "sigmoid",
        ("Relu", ()): "relu",
        ("Tanh", ()): "tanh",
    }[operator, tuple(case.attributes.items())]


@every_engine
@pytest.mark.parametrize(("operator", "name"), CASES)
def test_case(operator: str, name: str, engine: Engine) -> None:
    case = node_cases(operator)[name]
    row = ACTIVATION_BY_ID[activation_of(operator, case)]
    (x,), (expected,) = case.inputs.values(), case.outputs.values()
    with engine.active():
        found = engine.to_numpy(row.apply(engine.xp, engine.asarray(x), engine.special))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@every_engine
@pytest.mark.parametrize("name", node_cases("Erf"))
def test_case_of_erf(name: str, engine: Engine) -> None:
    case = node_cases("Erf")[name]
    (x,), (expected,) = case.inputs.values(), case.outputs.values()
    found = engine.to_numpy(engine.special.erf(engine.asarray(x)))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


ELSEWHERE = {"identity", "quick_gelu", "relu_squared"}
"""Quick GELU and squared ReLU are no operators of ONNX: the layers of CLIP and Nemotron have them."""


def test_every_activation_of_onnx_is_among_the_cases() -> None:
    found = {activation_of(operator, node_cases(operator)[name]) for operator, name in CASES}
    assert found == {row.id for row in ACTIVATIONS} - ELSEWHERE
    assert len(node_cases("Gelu")) >= 4


def test_cases_written_out_in_primitive_operators_hold_the_same_arrays() -> None:
    for name, (inputs, expected) in expanded_arrays("Gelu").items():
        case = node_cases("Gelu")[name.partition(EXPANDED)[0]]
        np.testing.assert_array_equal(case.inputs["x"], inputs[0])
        np.testing.assert_array_equal(case.outputs["y"], expected[0])
    assert {name.partition(EXPANDED)[0] for name in expanded_arrays("Gelu")} == set(node_cases("Gelu"))
