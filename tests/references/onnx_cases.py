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

EXPANDED = "_expanded"
"""Ends the names of cases that write an operator out in primitive ones; a version of those may follow."""


@dataclass(frozen=True)
class NodeCase:
    """One call of one operator: attributes, and arrays by the names that the operator gives them."""

    name: str
    attributes: dict[str, Any]
    inputs: dict[str, Array]
    outputs: dict[str, Array]


@cache
def node_cases(operator: str) -> dict[str, NodeCase]:
    """All cases of one operator by name, without those in primitive operators."""
    return {
        test.name: _case(test)
        for test in _registered(operator)
        if [node.op_type for node in test.model.graph.node] == [operator]
    }


@cache
def expanded_arrays(operator: str) -> dict[str, tuple[list[Array], list[Array]]]:
    """Inputs and outputs of the cases in primitive operators, by name."""
    return {
        test.name: test.data_sets[0]
        for test in _registered(operator)
        if EXPANDED in test.name and test.name.partition(EXPANDED)[0] in node_cases(operator)
    }


def _registered(operator: str) -> list[Any]:
    # An operator's cases are made when the module of its name is imported; those of others may be there too.
    importlib.import_module(f"onnx.backend.test.case.node.{operator.lower()}")
    registered: list[Any] = importlib.import_module("onnx.backend.test.case.node")._NodeTestCases
    return registered


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
