"""The ONNX node tests of Attention, each run or listed with the reason why attnviz cannot state it.

Those in half precision run on Torch, and those in float16 on NumPy, too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from references.onnx_attention import NotExpressibleError, outputs
from references.onnx_cases import EXPANDED, NodeCase, expanded_arrays, node_cases

from attnviz.engines.engine import Engine
from attnviz.engines.numpy_engine import NUMPY_DTYPES, NumpyEngine
from attnviz.engines.torch_engine import TorchEngine

CASES = node_cases("Attention")

_AFTER_CAP = (
    "between soft cap and softmax attnviz adds functions of the distance, or one number to blocked scores "
    "(`mask_bias`); here a float mask with another number in each cell is added"
)

NOT_EXPRESSIBLE = {
    "test_attention_4d_with_qk_matmul_softcap": _AFTER_CAP,
    "test_attention_3d_with_past_and_present_qk_matmul_softcap": _AFTER_CAP,
}

HALF = {"float16": 4 * 2.0**-10, "bfloat16": 4 * 2.0**-7}
"""Half-precision dtypes, and four steps of their grid: onnx rounds after other operations than we do."""


def dtype_of(case: NodeCase) -> str:
    return str(case.inputs["Q"].dtype)


FULL_PRECISION = [name for name in CASES if dtype_of(CASES[name]) not in HALF and name not in NOT_EXPRESSIBLE]
HALF_PRECISION = [name for name in CASES if dtype_of(CASES[name]) in HALF]


@pytest.mark.parametrize("name", FULL_PRECISION)
def test_case_on_numpy(name: str) -> None:
    case = CASES[name]
    found = outputs(case, NumpyEngine("float32"))
    assert found.keys() == case.outputs.keys()
    for output, expected in case.outputs.items():
        np.testing.assert_allclose(found[output], expected, rtol=1e-5, atol=1e-7, err_msg=output)


@pytest.mark.parametrize("name", FULL_PRECISION)
def test_case_on_torch(name: str) -> None:
    case = CASES[name]
    found = outputs(case, TorchEngine("float32", "cpu"))
    for output, expected in case.outputs.items():
        np.testing.assert_allclose(found[output], expected, rtol=1e-5, atol=1e-7, err_msg=output)


@pytest.mark.parametrize("name", HALF_PRECISION)
@pytest.mark.parametrize("make", [TorchEngine, NumpyEngine])
def test_case_in_half_precision(name: str, make: Callable[[str], Engine]) -> None:
    case = CASES[name]
    if make is NumpyEngine and dtype_of(case) not in NUMPY_DTYPES:
        pytest.skip("NumPy has no bfloat16")
    found = outputs(case, make(dtype_of(case)))
    for output, expected in case.outputs.items():
        np.testing.assert_allclose(
            found[output].astype(np.float32),
            expected.astype(np.float32),
            rtol=HALF[dtype_of(case)],
            atol=1e-7,
            err_msg=output,
        )


@pytest.mark.parametrize("name", NOT_EXPRESSIBLE)
def test_what_is_listed_as_not_expressible_is_refused(name: str) -> None:
    with pytest.raises(NotExpressibleError):
        outputs(CASES[name], NumpyEngine("float32"))


def test_every_case_of_the_installed_onnx_has_its_place() -> None:
    places = [*FULL_PRECISION, *HALF_PRECISION, *NOT_EXPRESSIBLE]
    assert sorted(places) == sorted(CASES)
    wanted = ("4d_causal", "3d_gqa", "scaled", "bool", "softcap", "past_and_present", "qk_matmul", "window")
    for part in wanted:
        assert any(part in name for name in FULL_PRECISION), part
    assert len(FULL_PRECISION) > 60


def test_cases_written_out_in_primitive_operators_hold_the_same_arrays() -> None:
    for name, (inputs, expected) in expanded_arrays("Attention").items():
        case = CASES[name.removesuffix(EXPANDED)]
        for mine, theirs in zip(
            [*case.inputs.values(), *case.outputs.values()], [*inputs, *expected], strict=True
        ):
            np.testing.assert_array_equal(mine, theirs)
    assert len(expanded_arrays("Attention")) == len(CASES)
