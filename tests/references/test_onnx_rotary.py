"""The ONNX node tests of RotaryEmbedding against `core.positions.rotate`.

Their cosines and sines are random numbers, not those of angles, so the rotation is called itself. ONNX's
`interleaved` is our pairing of the same name; without it, theirs is our `half_split`.
"""

from __future__ import annotations

import array_api_compat.numpy as xp
import numpy as np
import pytest
from references.onnx_cases import EXPANDED, Array, NodeCase, expanded_arrays, node_cases

from attnviz.core.positions import rotate, turning

CASES = node_cases("RotaryEmbedding")


def rotated(case: NodeCase) -> Array:
    """The case's input turned by attnviz, one batch element at a time."""
    x = case.inputs["input"]
    heads_beside = x.ndim == 3
    if heads_beside:
        x = x.reshape(*x.shape[:2], case.attributes["num_heads"], -1).transpose(0, 2, 1, 3)
    pairing = "interleaved" if case.attributes.get("interleaved") else "half_split"
    cos, sin = case.inputs["cos_cache"], case.inputs["sin_cache"]
    if "position_ids" in case.inputs:
        cos, sin = cos[case.inputs["position_ids"]], sin[case.inputs["position_ids"]]
    turned = np.stack([rotate(xp, x[b], turning(cos[b], sin[b], pairing), pairing) for b in range(len(x))])
    if heads_beside:
        turned = turned.transpose(0, 2, 1, 3).reshape(case.inputs["input"].shape)
    return turned


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    case = CASES[name]
    found = rotated(case)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, case.outputs["output"], rtol=1e-5, atol=1e-6)


def test_both_pairings_and_partial_rotation_are_among_the_cases() -> None:
    attributes = [case.attributes for case in CASES.values()]
    assert {bool(a.get("interleaved")) for a in attributes} == {True, False}
    assert any("rotary_embedding_dim" in a for a in attributes)
    assert any(case.inputs["input"].ndim == 3 for case in CASES.values())
    assert any("position_ids" not in case.inputs for case in CASES.values())


def test_cases_written_out_in_primitive_operators_hold_the_same_arrays() -> None:
    for name, (inputs, expected) in expanded_arrays("RotaryEmbedding").items():
        case = CASES[name.removesuffix(EXPANDED)]
        for mine, theirs in zip(
            [*case.inputs.values(), *case.outputs.values()], [*inputs, *expected], strict=True
        ):
            np.testing.assert_array_equal(mine, theirs)
    assert len(expanded_arrays("RotaryEmbedding")) == len(CASES)
