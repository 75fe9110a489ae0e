"""`FUNCTIONS`: the functions of expressions over arrays, with how many arguments each takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.cost.lines import parameter_count
from attnviz.core.cost.memory import FORMAT_BY_ID, bytes_per_token
from attnviz.core.deep_stack import LAYERS, N_TOKENS, WIDTH, depth_gradients
from attnviz.core.entropy import entropy_bits
from attnviz.core.norm_placement import gradient_by_layer
from attnviz.core.recurrent import path_gradient
from attnviz.core.softmax_slope import jacobian_norm
from attnviz.errors import InputError, Message, among, quoted
from attnviz.i18n import N_
from attnviz.model.claims.expression import Grid, Value, numbers, transposed, whole
from attnviz.model.published_models import PUBLISHED

Numbers = NDArray[Any]


@dataclass(frozen=True)
class Function:
    """A row of `FUNCTIONS`: its name, its least and greatest number of arguments, and what it computes."""

    id: str
    least: int
    most: int
    compute: Callable[..., Value]


def _along(reduce: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction of all numbers, or along an axis: `sum(weights, 1)`."""

    def reduced(x: Any, axis: float | None = None) -> Any:
        array = np.asarray(numbers(x))
        if not array.size:
            raise InputError(Message("A function of all numbers needs at least one; got an empty array."))
        return reduce(array, axis=None if axis is None else _axis(axis, array.ndim))

    return reduced


def _axis(axis: Value, n_axes: int) -> int:
    """An axis of an array. Raises `InputError` with what the array has."""
    if not n_axes:
        raise InputError(Message("An axis needs an array; got a single number."))
    return whole(axis, N_("axis"), -n_axes, n_axes - 1)


def _of_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes arrays without names."""
    return lambda *arguments: function(*(numbers(one) for one in arguments))


def near(a: Any, b: Any, tolerance: float = 1e-6) -> bool:
    """True if all numbers of `a` and `b` differ by at most `tolerance`."""
    return bool(np.all(np.abs(np.asarray(a) - np.asarray(b)) <= tolerance))


def softmax(x: Any, divisor: float = 1.0) -> Numbers:
    """exp(x/divisor) ÷ Σ exp(x/divisor) along the last axis."""
    shifted = np.asarray(x, dtype=np.float64) / divisor
    raised = np.exp(shifted - shifted.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def cosine(a: Any, b: Any) -> float:
    """The cosine of the angle between two vectors."""
    return float(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)))


def slope(w: Any) -> float:
    """Frobenius norm of the Jacobian of softmax, w_i (δ_ij − w_j), mean of the rows of `w`."""
    return float(np.mean(jacobian_norm(np.atleast_2d(np.asarray(w)))))


def _entropy(w: Any) -> Any:
    """Entropy in bits of one row of weights, or of each row."""
    bits = entropy_bits(np.atleast_2d(np.asarray(w)))
    return bits if np.ndim(w) > 1 else float(bits[0])


def _listed(*arguments: Any) -> Numbers:
    return np.array([float(one) for one in arguments])


def _architecture(name: Value) -> Any:
    found = next((row for row in PUBLISHED if row.id == name), None)
    if found is None:
        known = among(row.id for row in PUBLISHED)
        raise InputError(Message("The model {name} {rule}.", name=quoted(name), rule=known))
    return found.architecture


def cache_per_token(name: Value, form: Value = "float16") -> float:
    """Bytes that the cache of a published model, named by its id, has for each token."""
    if form not in FORMAT_BY_ID:
        raise InputError(Message("The format {name} {rule}.", name=quoted(form), rule=among(FORMAT_BY_ID)))
    return float(bytes_per_token(_architecture(name), FORMAT_BY_ID[form]))


def parameters(name: Value) -> float:
    """Number of parameters of a published model, named by its id."""
    return float(parameter_count(_architecture(name)))


def stack_gradient(layers: float, has_residual: Any) -> float:
    """Norm of a gradient of norm 1 after it has passed a number of layers; see `core/deep_stack`."""
    passed = whole(layers, N_("number of layers"), 0, LAYERS[-1])
    return float(depth_gradients(N_TOKENS, WIDTH, bool(has_residual), 0)[passed])


def layer_gradient(layers: float, layer: float, is_pre: Any) -> float:
    """Median norm of the gradient by W_down of a layer, from 1 on; see `core/norm_placement`."""
    n = whole(layers, N_("number of layers"), 1, MOST_LAYERS)
    return float(gradient_by_layer(bool(is_pre), n).median[whole(layer, N_("layer number"), 1, n) - 1])


MOST_LAYERS = 48
"""Layers of the largest stack that an expression computes."""

FUNCTIONS: tuple[Function, ...] = (
    Function("sum", 1, 2, _along(np.sum)),
    Function("mean", 1, 2, _along(np.mean)),
    Function("std", 1, 2, _along(np.std)),
    Function("max", 1, 2, _along(np.max)),
    Function("min", 1, 2, _along(np.min)),
    Function("argmax", 1, 2, _along(np.argmax)),
    Function("argmin", 1, 2, _along(np.argmin)),
    Function("all", 1, 2, _along(np.all)),
    Function("any", 1, 2, _along(np.any)),
    Function("abs", 1, 1, _of_numbers(np.abs)),
    Function("sqrt", 1, 1, _of_numbers(np.sqrt)),
    Function("exp", 1, 1, _of_numbers(np.exp)),
    Function("log", 1, 1, _of_numbers(np.log)),
    Function("log2", 1, 1, _of_numbers(np.log2)),
    Function("cos", 1, 1, _of_numbers(np.cos)),
    Function("sin", 1, 1, _of_numbers(np.sin)),
    Function("round", 1, 1, _of_numbers(np.round)),
    Function("norm", 1, 1, _of_numbers(np.linalg.norm)),
    Function("dot", 2, 2, _of_numbers(np.dot)),
    Function("cosine", 2, 2, _of_numbers(cosine)),
    Function("near", 2, 3, _of_numbers(near)),
    Function("softmax", 1, 2, _of_numbers(softmax)),
    Function("slope", 1, 1, _of_numbers(slope)),
    Function("entropy", 1, 1, _of_numbers(_entropy)),
    Function("list", 1, 64, _of_numbers(_listed)),
    Function("cache_per_token", 1, 2, cache_per_token),
    Function("parameters", 1, 1, parameters),
    Function("recurrent_gradient", 3, 3, lambda *sizes: path_gradient(*map(int, sizes))),
    Function("stack_gradient", 2, 2, stack_gradient),
    Function("layer_gradient", 3, 3, layer_gradient),
    Function("T", 1, 1, lambda x: transposed(x) if isinstance(x, Grid) else np.asarray(x).T),
)
FUNCTION_BY_ID = {row.id: row for row in FUNCTIONS}
