"""The node tests that the `onnx` package ships, as plain arrays."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import helper

Array = NDArray[Any]

MODULES = {"Attention": "attention", "RotaryEmbedding": "rotaryembedding"}
"""Which module of onnx writes the cases of an operator; importing it makes them."""

EXPANDED = "_expanded"
"""Ending of the cases that write the same operator out in primitive ones, over the same arrays."""


@dataclass(frozen=True)
class NodeCase:
    """One call of one operator: attributes, and arrays by the names that the operator gives them."""

    name: str
    attributes: dict[str, Any]
    inputs: dict[str, Array]
    outputs: dict[str, Array]


@cache
def node_cases(operator: str) -> dict[str, NodeCase]:
    """All cases of one operator by name, without those written out in primitive operators."""
    return {test.name: _case(test) for test in _tests(operator) if not test.name.endswith(EXPANDED)}


@cache
def expanded_arrays(operator: str) -> dict[str, tuple[list[Array], list[Array]]]:
    """Inputs and outputs of the cases written out in primitive operators, by name."""
    return {test.name: test.data_sets[0] for test in _tests(operator) if test.name.endswith(EXPANDED)}


def _tests(operator: str) -> list[Any]:
    module = MODULES[operator]
    importlib.import_module(f"onnx.backend.test.case.node.{module}")
    registered = importlib.import_module("onnx.backend.test.case.node")._NodeTestCases
    prefix = "test_rotary_embedding" if operator == "RotaryEmbedding" else "test_attention"
    return [test for test in registered if test.name.startswith(prefix)]


def _case(test: Any) -> NodeCase:
    (node,) = test.model.graph.node
    ((inputs, outputs),) = test.data_sets
    return NodeCase(
        test.name,
        {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute},
        _named(node.input, inputs),
        _named(node.output, outputs),
    )


def _named(names: Any, arrays: list[Any]) -> dict[str, Array]:
    present = [name for name in names if name]
    return {name: np.asarray(array) for name, array in zip(present, arrays, strict=True)}
