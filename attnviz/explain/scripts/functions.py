"""Functions that a script defines before their first use: activations, softmax.

`ACTIVATION_CODE` and `GATED_CODE` have a row for each kind of the tables of `core.block`.
"""

from __future__ import annotations

from collections.abc import Callable

from attnviz.explain.scripts.code import Asked

Row = Callable[[Asked], str]
"""Defines a function, where it needs one; returns the name by which it is called."""


def softmax(asked: Asked, array: str) -> str:
    """Softmax over the last axis of an array; defined where the library has none."""
    if asked.library.is_numpy:
        asked.define(
            "softmax",
            "def softmax(s):",
            "    exp = np.exp(s - s.max(axis=-1, keepdims=True))",
            "    return exp / exp.sum(axis=-1, keepdims=True)",
            "",
        )
    return asked.library.softmax(array)


def _defined(name: str, *lines: str, torch: str | tuple[str, ...], needs: tuple[Row, ...] = ()) -> Row:
    """A function that NumPy lacks; PyTorch's own by its name, or its lines there."""

    def define(asked: Asked) -> str:
        if not asked.library.is_numpy:
            return torch if isinstance(torch, str) else asked.define(name, *torch, "")
        for row in needs:
            row(asked)
        return asked.define(name, *lines, "")

    return define


sigmoid = _defined(
    "sigmoid",
    "def sigmoid(z):",
    "    return np.exp(np.minimum(z, 0)) / (1 + np.exp(-np.abs(z)))",
    torch="torch.sigmoid",
)
_erf = _defined("erf", "erf = np.vectorize(math.erf, otypes=[float])", torch="torch.erf")

ACTIVATION_CODE: dict[str, Row] = {
    "relu": _defined("relu", "def relu(z):", "    return np.maximum(z, 0)", torch="torch.relu"),
    "gelu": _defined(
        "gelu",
        "def gelu(z):",
        "    return z * (1 + erf(z / np.sqrt(2))) / 2",
        torch="torch.nn.functional.gelu",
        needs=(_erf,),
    ),
    "gelu_tanh": _defined(
        "gelu_tanh",
        "def gelu_tanh(z):",
        "    return z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))) / 2",
        torch=("def gelu_tanh(z):", '    return torch.nn.functional.gelu(z, approximate="tanh")'),
    ),
    "silu": _defined(
        "silu",
        "def silu(z):",
        "    return z * sigmoid(z)",
        torch="torch.nn.functional.silu",
        needs=(sigmoid,),
    ),
    "sigmoid": sigmoid,
    "identity": lambda asked: "",
    "quick_gelu": _defined(
        "quick_gelu",
        "def quick_gelu(z):",
        "    return z * sigmoid(1.702 * z)",
        torch=("def quick_gelu(z):", "    return z * torch.sigmoid(1.702 * z)"),
        needs=(sigmoid,),
    ),
    "tanh": _defined("tanh", "tanh = np.tanh", torch="torch.tanh"),
    "relu_squared": _defined(
        "relu_squared",
        "def relu_squared(z):",
        "    return np.maximum(z, 0) ** 2",
        torch=("def relu_squared(z):", "    return torch.relu(z) ** 2"),
    ),
}


def activated(asked: Asked, activation: str, array: str) -> str:
    """An activation applied to an array; the identity leaves its name alone."""
    name = ACTIVATION_CODE[activation](asked)
    return f"{name}({array})" if name else array


def _clamped(asked: Asked, gate: str, up: str) -> str:
    xp, of_sigmoid = asked.xp, sigmoid(asked)
    name = asked.define(
        "clamped_swish",
        "def clamped_swish(gate, up):",
        f"    gate, up = {xp}.clip(gate, None, 7.0), {xp}.clip(up, -7.0, 7.0)",
        f"    return (up + 1) * gate * {of_sigmoid}(1.702 * gate)",
        "",
    )
    return f"{name}({gate}, {up})"


def _times(activation: str) -> Callable[[Asked, str, str], str]:
    return lambda asked, gate, up: f"{activated(asked, activation, gate)} * {up}"


GATED_CODE: dict[str, Callable[[Asked, str, str], str]] = {
    **{activation: _times(activation) for activation in ACTIVATION_CODE},
    "clamped_swish": _clamped,
}
"""By gated unit: the expression, from (asked, gate, up)."""
