"""`FUNCTIONS`: the functions of expressions, with the kind and the bounds of each argument."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from attnviz.core.cost.lines import parameter_count
from attnviz.core.cost.memory import FORMAT_BY_ID, bytes_per_token
from attnviz.core.cost.published_models import PUBLISHED_BY_ID
from attnviz.core.deep_stack import LAYERS, N_TOKENS, WIDTH, depth_gradients
from attnviz.core.head_measures import entropy_bits
from attnviz.core.head_scores import HEAD_SCORE_BY_ID, Head, Repeats
from attnviz.core.norm_placement import gradient_by_layer
from attnviz.core.recurrent import path_gradient
from attnviz.core.softmax_slope import jacobian_norm
from attnviz.errors import InputError, Message, among, must_be, quoted, verbatim, whole_number
from attnviz.i18n import N_
from attnviz.model.expressions.budget import Budget, product, together
from attnviz.model.expressions.expression import whole
from attnviz.model.expressions.kinds import Grid, KindId, Value, as_number, floats, named, numbers, transposed


class Parameter(Protocol):
    """One parameter; `name` is that of the documentation."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    @property
    def kind(self) -> KindId:
        """The kind of its arguments."""

    def read(self, function: str, value: Value) -> Value:
        """An argument of its kind, within its bounds. Raises `InputError`."""


@dataclass(frozen=True)
class Numbers:
    """A number or an array of at most `MOST_NUMBERS` numbers, which the budget counts.

    `needs_one` refuses an empty array; `is_grid` keeps the names along the axes.
    """

    name: str
    kind: KindId = "numbers"
    needs_one: bool = False
    is_grid: bool = False

    def read(self, function: str, value: Value) -> Value:
        if self.needs_one and not np.size(numbers(value)):
            raise _refused(function, self.name, must_be("at least one number"), Message("an empty array"))
        return value if self.is_grid else numbers(value)


@dataclass(frozen=True)
class Number:
    """One number within bounds."""

    name: str
    least: float = -np.inf
    most: float = np.inf
    kind: KindId = "numbers"

    def read(self, function: str, value: Value) -> Value:
        number = one_number(function, self.name, value)
        if not self.least <= number <= self.most:
            rule = must_be("a number from {least} to {most}", least=self.least, most=self.most)
            raise _refused(function, self.name, rule, f"{number:.15g}")
        return number


@dataclass(frozen=True)
class Whole:
    """One whole number within bounds."""

    name: str
    least: int
    most: int
    kind: KindId = "numbers"

    def read(self, function: str, value: Value) -> Value:
        number = one_number(function, self.name, value)
        if not (number.is_integer() and self.least <= number <= self.most):
            raise _refused(function, self.name, whole_number(self.least, self.most), f"{number:.15g}")
        return int(number)


@dataclass(frozen=True)
class Truth:
    """True or false."""

    name: str
    kind: KindId = "truth"

    def read(self, function: str, value: Value) -> Value:
        return value


@dataclass(frozen=True)
class Choice:
    """One of several texts."""

    name: str
    choices: Iterable[str]
    kind: KindId = "text"

    def read(self, function: str, value: Value) -> Value:
        if value not in self.choices:
            raise _refused(function, self.name, among(self.choices), quoted(value))
        return value


def require_kind(function: str, parameter: Parameter, kind: KindId) -> None:
    """Raise `InputError` for an argument of another kind."""
    if kind != parameter.kind:
        rule = Message("must be {kind}", kind=named(parameter.kind))
        raise _refused(function, parameter.name, rule, named(kind))


def one_number(function: str, name: str, value: Value) -> float:
    """An argument as one number. Raises `InputError` for an array."""
    if np.ndim(numbers(value)) != 0:
        raise _refused(function, name, must_be("one number"), str(np.shape(numbers(value))))
    return as_number(value)


def _refused(function: str, name: str, rule: Message, got: str | Message) -> InputError:
    return InputError(
        Message(
            "The argument {name} of {function} {rule}; got {got}.",
            name=verbatim(name),
            function=verbatim(function),
            rule=rule,
            got=got,
        )
    )


Array = NDArray[Any]
Spend = Callable[..., None]
"""Counts the work of a function of some arguments."""


def _of_each(budget: Budget, *arguments: Value) -> None:
    """The work of a function that computes each number by itself."""
    budget.spend(0, together(*(np.shape(numbers(one)) for one in arguments)))


def _of_all(budget: Budget, x: Value, axis: Value = None) -> None:
    """The work of a reduction, which computes few numbers from many."""
    budget.spend(4 * np.size(x))


def _of_product(budget: Budget, left: Value, right: Value) -> None:
    """The work of a product of vectors or matrices; of a number with anything that of each."""
    shapes = np.shape(left), np.shape(right)
    budget.spend(*product(*shapes)) if all(shapes) else _of_each(budget, left, right)


def _of(work: Callable[..., int]) -> Spend:
    """The work that a function of the arguments says."""
    return lambda budget, *arguments: budget.spend(work(*arguments))


def _gives_numbers(n_arguments: int) -> KindId:
    return "numbers"


def _gives_truth(n_arguments: int) -> KindId:
    return "truth"


def _gives_truth_of_all(n_arguments: int) -> KindId:
    """One condition of all numbers; along an axis an array of 0 and 1."""
    return "truth" if n_arguments == 1 else "numbers"


@dataclass(frozen=True)
class Function:
    """A row of `FUNCTIONS`: its name, its parameters, and what it computes.

    The last `n_optional` parameters may be missing; the last one may stand `repeats` times. `gives` is the
    kind of the result by the number of arguments. `spend` counts the work.
    """

    id: str
    parameters: tuple[Parameter, ...]
    compute: Callable[..., Value]
    n_optional: int = 0
    repeats: int = 1
    gives: Callable[[int], KindId] = _gives_numbers
    spend: Spend = _of_each

    def kind(self, kinds: Sequence[KindId]) -> KindId:
        """The kind of the result. Raises `InputError` for arguments of other kinds, more or fewer of them."""
        least, most = len(self.parameters) - self.n_optional, len(self.parameters) + self.repeats - 1
        if not least <= len(kinds) <= most:
            raise InputError(
                Message(
                    "The function {name} must have {least} to {most} arguments; got {n}.",
                    name=self.id,
                    least=least,
                    most=most,
                    n=len(kinds),
                )
            )
        for index, kind in enumerate(kinds):
            require_kind(self.id, self._parameter(index), kind)
        return self.gives(len(kinds))

    def value(self, budget: Budget, arguments: Sequence[Value]) -> Value:
        """The result. Raises `InputError` for arguments past their bounds, and for too much work."""
        values = [self._parameter(index).read(self.id, one) for index, one in enumerate(arguments)]
        self.spend(budget, *values)
        try:
            with np.errstate(all="ignore"):
                computed = self.compute(*values)
        except InputError:
            raise
        except (TypeError, ValueError, IndexError):
            raise InputError(
                Message("The function {name} must have arrays of compatible shapes.", name=self.id)
            ) from None
        return bool(computed) if self.gives(len(values)) == "truth" else floats(computed)

    def _parameter(self, index: int) -> Parameter:
        return self.parameters[min(index, len(self.parameters) - 1)]


def _along(reduce: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction of all numbers, or along an axis: `sum(weights, 1)`."""

    def reduced(x: Any, axis: float | None = None) -> Any:
        array = np.asarray(x)
        return reduce(array, axis=None if axis is None else _axis(axis, array.ndim))

    return reduced


def _axis(axis: Value, n_axes: int) -> int:
    """An axis of an array. Raises `InputError` with what the array has."""
    if not n_axes:
        raise InputError(Message("An axis needs an array; got a single number."))
    return whole(axis, N_("axis"), -n_axes, n_axes - 1)


def near(a: Any, b: Any, tolerance: float = 1e-6) -> bool:
    """True if all numbers of `a` and `b` differ by at most `tolerance`."""
    return bool(np.all(np.abs(np.asarray(a) - np.asarray(b)) <= tolerance))


def softmax(x: Any, divisor: float = 1.0) -> Array:
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


def _transposed(x: Value) -> Value:
    return transposed(x) if isinstance(x, Grid) else np.asarray(x).T


def _head_score(id_: str) -> Function:
    """A row of `HEAD_SCORES` as a function of the weights of one head, whose keys are tokens with names."""

    def score(weights: Value) -> float:
        names = weights.columns if isinstance(weights, Grid) else ()
        if not names or np.shape(weights.array) != (len(names), len(names)):
            rule = must_be("the weights of one head of a self-attention")
            raise _refused(id_, "w", rule, str(np.shape(numbers(weights))))
        known = {name: index for index, name in enumerate(dict.fromkeys(names))}
        repeats = Repeats(np.array([known[name] for name in names]))
        return HEAD_SCORE_BY_ID[id_].of(Head(weights.array, None, repeats))

    work = _of(lambda weights: 16 * np.size(numbers(weights)))
    return Function(id_, (Numbers("w", is_grid=True),), score, spend=work)


def cache_per_token(name: str, form: str = "float16") -> float:
    """Bytes that the cache of a published model, named by its id, has for each token."""
    return float(bytes_per_token(PUBLISHED_BY_ID[name].architecture, FORMAT_BY_ID[form]))


def parameters(name: str) -> float:
    """Number of parameters of a published model, named by its id."""
    return float(parameter_count(PUBLISHED_BY_ID[name].architecture))


def stack_gradient(layers: int, has_residual: bool) -> float:
    """Norm of a gradient of norm 1 after it has passed a number of layers; see `core/deep_stack`."""
    return float(depth_gradients(N_TOKENS, WIDTH, has_residual, 0)[layers])


def layer_gradient(layers: int, layer: int, is_pre: bool) -> float:
    """Median norm of the gradient by W_down of a layer, from 1 on; see `core/norm_placement`."""
    return float(gradient_by_layer(is_pre, layers).median[whole(layer, N_("layer number"), 1, layers) - 1])


_X, _ALL, _AXIS = (Numbers("x"),), Numbers("x", needs_one=True), Number("axis")
_MODEL = Choice("model", PUBLISHED_BY_ID)
_LOOK_UP = 2**16
"""Work of a sum over the parts of a published model."""


def _reduction(name: str, reduce: Callable[..., Any], **special: Any) -> Function:
    return Function(name, (_ALL, _AXIS), _along(reduce), n_optional=1, spend=_of_all, **special)


FUNCTIONS: tuple[Function, ...] = (
    _reduction("sum", np.sum),
    _reduction("mean", np.mean),
    _reduction("std", np.std),
    _reduction("max", np.max),
    _reduction("min", np.min),
    _reduction("argmax", np.argmax),
    _reduction("argmin", np.argmin),
    _reduction("all", np.all, gives=_gives_truth_of_all),
    _reduction("any", np.any, gives=_gives_truth_of_all),
    Function("abs", _X, np.abs),
    Function("sqrt", _X, np.sqrt),
    Function("exp", _X, np.exp),
    Function("log", _X, np.log),
    Function("log2", _X, np.log2),
    Function("cos", _X, np.cos),
    Function("sin", _X, np.sin),
    Function("round", _X, np.round),
    Function("norm", _X, np.linalg.norm),
    Function("dot", (Numbers("a"), Numbers("b")), np.dot, spend=_of_product),
    Function("cosine", (Numbers("a"), Numbers("b")), cosine, spend=_of_product),
    Function(
        "near",
        (Numbers("a"), Numbers("b"), Number("tolerance", 0)),
        near,
        n_optional=1,
        gives=_gives_truth,
    ),
    Function("softmax", (_ALL, Number("divisor")), softmax, n_optional=1),
    Function("slope", (Numbers("w", needs_one=True),), slope),
    Function("entropy", (Numbers("w"),), _entropy),
    _head_score("previous"),
    _head_score("induction"),
    Function("list", (Number("x"),), lambda *found: np.array(found), repeats=64),
    Function(
        "cache_per_token",
        (_MODEL, Choice("format", FORMAT_BY_ID)),
        cache_per_token,
        n_optional=1,
        spend=_of(lambda *names: _LOOK_UP),
    ),
    Function("parameters", (_MODEL,), parameters, spend=_of(lambda name: _LOOK_UP)),
    Function(
        "recurrent_gradient",
        (Whole("width", 1, 64), Whole("steps", 0, 256), Whole("seed", 0, 2**32 - 1)),
        path_gradient,
        spend=_of(lambda width, steps, seed: (steps + 1) * (width**3 + 2**14)),
    ),
    Function(
        "stack_gradient",
        (Whole("layers", 0, LAYERS[-1]), Truth("residual")),
        stack_gradient,
        spend=_of(lambda layers, has_residual: 2**20),
    ),
    Function(
        "layer_gradient",
        (Whole("layers", 1, 48), Whole("layer", 1, 48), Truth("pre")),
        layer_gradient,
        spend=_of(lambda layers, layer, is_pre: layers * 2**21),
    ),
    Function("T", (Numbers("x", is_grid=True),), _transposed),
)
FUNCTION_BY_ID = {row.id: row for row in FUNCTIONS}
