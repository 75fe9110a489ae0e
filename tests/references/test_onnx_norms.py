"""The ONNX node tests of LayerNormalization and RMSNormalization against `core.block`, on both engines.

ONNX normalises over all axes from `axis` on, attnviz over the last: the axes are laid end to end. ONNX's
scale and bias are applied here, as attnviz's norms have none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from references.onnx_cases import EXPANDED, Array, NodeCase, expanded_arrays, node_cases

from attnviz.core.block import layer_norm, rms_norm
from attnviz.engines.engine import Engine
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.torch_engine import TorchEngine

NORMS = {"LayerNormalization": layer_norm, "RMSNormalization": rms_norm}

CASES = [(operator, name) for operator in NORMS for name in node_cases(operator)]

every_case = pytest.mark.parametrize(("operator", "name"), CASES)
every_engine = pytest.mark.parametrize(
    "engine", [NumpyEngine("float32"), TorchEngine("float32", "cpu")], ids=["numpy", "torch"]
)


def axis_of(case: NodeCase) -> int:
    """The first of the axes that are normalised over, counted from the front."""
    axis: int = case.attributes.get("axis", -1) % case.inputs["X"].ndim
    return axis


def normalised(operator: str, case: NodeCase, engine: Engine) -> Array:
    """X normalised by attnviz, without scale and bias."""
    x = case.inputs["X"]
    rows = engine.asarray(x.reshape(*x.shape[: axis_of(case)], -1))
    with engine.active():
        found = NORMS[operator](engine.xp, rows, case.attributes.get("epsilon", 1e-5))
    return engine.to_numpy(found).reshape(x.shape)


@every_engine
@every_case
def test_case(operator: str, name: str, engine: Engine) -> None:
    case = node_cases(operator)[name]
    found = normalised(operator, case, engine)
    assert found.dtype == np.float32
    scaled = found * case.inputs["W"] + case.inputs.get("B", np.float32(0))
    np.testing.assert_allclose(scaled, case.outputs["Y"], rtol=1e-5, atol=1e-6)


@every_engine
@pytest.mark.parametrize("name", node_cases("LayerNormalization"))
def test_mean_and_inverse_deviation_give_the_same_rows(name: str, engine: Engine) -> None:
    """ONNX hands these out beside Y; attnviz divides at once, so they are held against what it gives."""
    case = node_cases("LayerNormalization")[name]
    expected = (case.inputs["X"] - case.outputs["Mean"]) * case.outputs["InvStdDev"]
    found = normalised("LayerNormalization", case, engine)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_nothing_is_asked_for_that_is_not_looked_at() -> None:
    """A case with another attribute (a `stash_type`) or dtype would need more than is done here."""
    for operator, name in CASES:
        case = node_cases(operator)[name]
        assert case.attributes.keys() <= {"axis", "epsilon"}
        assert case.inputs.keys() <= {"X", "W", "B"}
        assert {array.dtype for array in case.inputs.values()} == {np.dtype(np.float32)}


@pytest.mark.parametrize("operator", NORMS)
def test_one_and_several_axes_and_another_epsilon_are_among_the_cases(operator: str) -> None:
    cases = node_cases(operator).values()
    assert {case.inputs["X"].ndim - axis_of(case) for case in cases} == {1, 2, 3, 4}
    assert any(case.attributes.get("axis", 0) < 0 for case in cases)
    assert any("axis" not in case.attributes for case in cases)
    assert any(case.attributes.get("epsilon", 0.0) > 0.05 for case in cases)


@pytest.mark.parametrize("operator", NORMS)
def test_cases_written_out_in_primitive_operators_hold_the_same_arrays(operator: str) -> None:
    written: dict[str, Any] = expanded_arrays(operator)
    for name, (inputs, expected) in written.items():
        case = node_cases(operator)[name.partition(EXPANDED)[0]]
        for mine, theirs in zip(
            [*case.inputs.values(), *case.outputs.values()], [*inputs, *expected], strict=True
        ):
            np.testing.assert_array_equal(mine, theirs)
    assert {name.partition(EXPANDED)[0] for name in written} == set(node_cases(operator))
