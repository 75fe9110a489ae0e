"""Arithmetic of a transformer block around its attention: norms, activations, gated units.

Numbers stored in float16 or bfloat16 are computed in float32 and rounded once: see `core.precision`.
NaN stays NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from attnviz.core.dims import Array
from attnviz.core.precision import at_least_single, rounded
from attnviz.core.special import Special
from attnviz.i18n import N_

CLAMP_ALPHA = 1.702
"""β of the clamped unit's Swish; z · σ(1.702 z) is an approximation of GELU (Hendrycks and Gimpel 2016)."""

LOWEST = -3e38
"""Nearly the smallest number of float32: 0 times it is 0, whereas 0 times −∞ is NaN."""


def layer_norm(xp: Any, x: Array, eps: float) -> Array:
    """(x - mean) / √(variance + eps) over the last axis of `x` (..., d), without gains and biases.

    The variance is the mean of (x - mean)², divided by d and not by d - 1. Ba et al. 2016.
    """
    wide = at_least_single(xp, x)
    return rounded(xp, _by_root_mean_square(xp, wide - _mean(wide), eps), x)


def rms_norm(xp: Any, x: Array, eps: float) -> Array:
    """x / √(mean x² + eps) over the last axis of `x` (..., d), without gains. Zhang and Sennrich 2019."""
    return rounded(xp, _by_root_mean_square(xp, at_least_single(xp, x), eps), x)


def length_norm(xp: Any, x: Array, eps: float) -> Array:
    """x / √(Σ x² + eps) over the last axis of `x` (..., d), of length one. Henry et al. 2020, "Query-Key
    Normalization".
    """
    wide = at_least_single(xp, x)
    return rounded(xp, wide / xp.sqrt(_along(xp, wide, wide) + eps), x)


def pull_layer_norm(xp: Any, x: Array, g: Array, eps: float) -> tuple[Array, Array]:
    """The gradient by x (..., d), from that by n = `layer_norm(x)`, and n itself.

    (g − mean g − n · mean(g n)) / σ with σ = √(variance + eps).
    """
    d = float(x.shape[-1])
    centred = x - _mean(x)
    deviation = xp.sqrt(_along(xp, centred, centred) / d + eps)
    n = centred / deviation
    by_x = g - _mean(g)
    by_x -= n * (_along(xp, g, n) / d)
    by_x /= deviation
    return by_x, n


def pull_rms_norm(xp: Any, x: Array, g: Array, eps: float) -> tuple[Array, Array]:
    """The gradient by x (..., d), from that by n = `rms_norm(x)`, and n.

    (g − n · mean(g n)) / √(mean x² + eps).
    """
    d = float(x.shape[-1])
    root = xp.sqrt(_along(xp, x, x) / d + eps)
    return _pulled(xp, x / root, g, root, d)


def pull_length(xp: Any, x: Array, g: Array, eps: float) -> tuple[Array, Array]:
    """The gradient by x (..., d), from that by n = `length_norm(x)`, and n: (g − n Σ g n) / √(Σ x² + eps)."""
    length = xp.sqrt(_along(xp, x, x) + eps)
    return _pulled(xp, x / length, g, length, 1.0)


def _pulled(xp: Any, n: Array, g: Array, root: Array, d: float) -> tuple[Array, Array]:
    """(g − n Σ g n / d) / root, and n."""
    by_x = n * (_along(xp, g, n) / -d)
    by_x += g
    by_x /= root
    return by_x, n


def _along(xp: Any, x: Array, y: Array) -> Array:
    """Σ x y over the last axis, which stays."""
    return xp.vecdot(x, y)[..., None]


def _by_root_mean_square(xp: Any, x: Array, eps: float) -> Array:
    return x / xp.sqrt(_along(xp, x, x) / float(x.shape[-1]) + eps)


def _mean(x: Array) -> Array:
    # A sum and a division equal NumPy's mean in half the time, and the array's own sum is reached soonest.
    return x.sum(-1)[..., None] / float(x.shape[-1])


@dataclass(frozen=True)
class Activation:
    """One elementwise function. `title` and `source` are messages; `formula` is written in z.

    `function(xp, z, special)` takes and returns float32 or float64 arrays; `apply` accepts every dtype.
    `derivative(xp, z, special)` is the derivative by z; at a corner, that of the side of the zeros.
    """

    id: str
    title: str
    formula: str
    source: str
    function: Callable[[Any, Array, Special], Array]
    derivative: Callable[[Any, Array, Special], Array]

    def apply(self, xp: Any, x: Array, special: Special) -> Array:
        """Apply the function to every element of `x`; the result has its shape and dtype. Identity returns
        `x` itself.

        No finite number overflows on the way, except by its square, and an infinity yields the limit.
        """
        return rounded(xp, self.function(xp, at_least_single(xp, x), special), x)


def _relu(xp: Any, z: Array, special: Special) -> Array:
    return special.at_least(z, 0.0)  # NaN stays NaN


def _gelu(xp: Any, z: Array, special: Special) -> Array:
    return _share(special, z, 0.5 * (1 + special.erf(z * math.sqrt(0.5))))


def _gelu_tanh(xp: Any, z: Array, special: Special) -> Array:
    # (1 + tanh u) / 2 is σ(2u), which keeps its digits where tanh comes near -1.
    # beyond these, the share is 0 or 1 to float64's last digit, and z³ may overflow
    near = xp.clip(z, -30.0, 30.0)
    u = math.sqrt(2 / math.pi) * (near + 0.044715 * near * near * near)
    return _share(special, z, special.sigmoid(2 * u))


def _silu(xp: Any, z: Array, special: Special) -> Array:
    return _share(special, z, special.sigmoid(z))


def _sigmoid(xp: Any, z: Array, special: Special) -> Array:
    return special.sigmoid(z)


def _identity(xp: Any, z: Array, special: Special) -> Array:
    return z


def _quick_gelu(xp: Any, z: Array, special: Special) -> Array:
    return _share(special, z, special.sigmoid(CLAMP_ALPHA * xp.clip(z, -1e3, 1e3)))


def _tanh(xp: Any, z: Array, special: Special) -> Array:
    return xp.tanh(z)


def _relu_squared(xp: Any, z: Array, special: Special) -> Array:
    above = _relu(xp, z, special)
    return above * above


def _d_relu_squared(xp: Any, z: Array, special: Special) -> Array:
    return 2 * _relu(xp, z, special)


def _d_relu(xp: Any, z: Array, special: Special) -> Array:
    return xp.asarray(z > 0, dtype=z.dtype)


def _d_gelu(xp: Any, z: Array, special: Special) -> Array:
    density = xp.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    return 0.5 * (1 + special.erf(z * math.sqrt(0.5))) + z * density


def _d_gelu_tanh(xp: Any, z: Array, special: Special) -> Array:
    near = xp.clip(z, -30.0, 30.0)
    root = math.sqrt(2 / math.pi)
    share = special.sigmoid(2 * root * (near + 0.044715 * near * near * near))
    return share + near * share * (1 - share) * 2 * root * (1 + 3 * 0.044715 * near * near)


def _d_silu(xp: Any, z: Array, special: Special) -> Array:
    share = special.sigmoid(z)
    return share + z * share * (1 - share)


def _d_quick_gelu(xp: Any, z: Array, special: Special) -> Array:
    share = special.sigmoid(CLAMP_ALPHA * z)
    return share + CLAMP_ALPHA * z * share * (1 - share)


def _d_tanh(xp: Any, z: Array, special: Special) -> Array:
    return 1 - xp.tanh(z) ** 2


def _d_sigmoid(xp: Any, z: Array, special: Special) -> Array:
    share = special.sigmoid(z)
    return share * (1 - share)


def _d_identity(xp: Any, z: Array, special: Special) -> Array:
    return xp.ones_like(z)


def _share(special: Special, z: Array, share: Array) -> Array:
    """z · share, and 0 at −∞, where the share is 0: the product would be NaN, and its limit is 0."""
    return special.at_least(z, LOWEST) * share


ACTIVATIONS: tuple[Activation, ...] = (
    Activation(
        "relu",
        "ReLU",
        "max(0, z)",
        N_("Nair and Hinton 2010; Vaswani et al. 2017, equation 2"),
        _relu,
        _d_relu,
    ),
    Activation(
        "gelu",
        "GELU",
        "z · (1 + erf(z ÷ √2)) ÷ 2",
        N_("Hendrycks and Gimpel 2016, exact; BERT, ViT"),
        _gelu,
        _d_gelu,
    ),
    Activation(
        "gelu_tanh",
        N_("GELU (tanh)"),
        "z · (1 + tanh(√(2 ÷ π) · (z + 0.044715 · z³))) ÷ 2",
        N_("Hendrycks and Gimpel 2016, approximation; GPT-2, Gemma"),
        _gelu_tanh,
        _d_gelu_tanh,
    ),
    Activation(
        "silu",
        "SiLU",
        "z · σ(z)",
        N_("Hendrycks and Gimpel 2016; Elfwing et al. 2017; as Swish with β = 1: Ramachandran et al. 2017"),
        _silu,
        _d_silu,
    ),
    Activation(
        "sigmoid",
        N_("sigmoid"),
        "1 ÷ (1 + exp(−z))",
        N_("the logistic function; as a gate: Dauphin et al. 2016"),
        _sigmoid,
        _d_sigmoid,
    ),
    Activation(
        "identity",
        N_("none (z itself)"),
        "z",
        N_("Without a gate, the two matrices act as one"),
        _identity,
        _d_identity,
    ),
    Activation(
        "quick_gelu",
        N_("quick GELU"),
        "z · σ(1.702 · z)",
        N_("Hendrycks and Gimpel 2016, approximation by a sigmoid; CLIP"),
        _quick_gelu,
        _d_quick_gelu,
    ),
    Activation("tanh", N_("tanh"), "tanh(z)", N_("The pooler of BERT (Devlin et al. 2019)"), _tanh, _d_tanh),
    Activation(
        "relu_squared",
        "ReLU²",
        "max(0, z)²",
        N_("So et al. 2021, Primer; Nemotron"),
        _relu_squared,
        _d_relu_squared,
    ),
)

ACTIVATION_BY_ID = {row.id: row for row in ACTIVATIONS}

CLAMP_LIMIT = 7.0
"""Limit at which the clamped unit of GPT-OSS cuts its gate (from above) and its up (on both sides)."""


@dataclass(frozen=True)
class GatedUnit:
    """One way of combining gate = x W_gate and up = x W_up, elementwise.

    `title` and `source` are messages; `formula` is written in gate and up. `apply(xp, gate, up, special)`
    returns an array of their shape and dtype; `derivatives(xp, gate, up, special)` those by gate and by up.
    """

    id: str
    title: str
    formula: str
    source: str
    apply: Callable[[Any, Array, Array, Special], Array]
    derivatives: Callable[[Any, Array, Array, Special], tuple[Array, Array]]


def _of_activation(activation: str, title: str, source: str) -> GatedUnit:
    row = ACTIVATION_BY_ID[activation]

    def apply(xp: Any, gate: Array, up: Array, special: Special) -> Array:
        return row.apply(xp, gate, special) * up

    def derivatives(xp: Any, gate: Array, up: Array, special: Special) -> tuple[Array, Array]:
        return up * row.derivative(xp, gate, special), row.apply(xp, gate, special)

    return GatedUnit(row.id, title, f"{row.formula.replace('z', 'gate')} · up", source, apply, derivatives)


def _clamped_swish(xp: Any, gate: Array, up: Array, special: Special) -> Array:
    g = xp.clip(at_least_single(xp, gate), None, CLAMP_LIMIT)
    u = xp.clip(at_least_single(xp, up), -CLAMP_LIMIT, CLAMP_LIMIT)
    joined = (u + 1) * _share(special, g, special.sigmoid(CLAMP_ALPHA * g))
    return rounded(xp, joined, gate)


def _d_clamped_swish(xp: Any, gate: Array, up: Array, special: Special) -> tuple[Array, Array]:
    g, u = xp.clip(gate, None, CLAMP_LIMIT), xp.clip(up, -CLAMP_LIMIT, CLAMP_LIMIT)
    share = special.sigmoid(CLAMP_ALPHA * g)
    by_gate = (u + 1) * (share + CLAMP_ALPHA * g * share * (1 - share))
    zeros = xp.zeros_like(gate)
    inside = (up >= -CLAMP_LIMIT) & (up <= CLAMP_LIMIT)
    return xp.where(gate <= CLAMP_LIMIT, by_gate, zeros), xp.where(inside, g * share, zeros)


GATED_UNITS: tuple[GatedUnit, ...] = (
    _of_activation("relu", "ReGLU", "Shazeer 2020"),
    _of_activation("gelu", "GEGLU", "Shazeer 2020"),
    _of_activation("gelu_tanh", N_("GEGLU (tanh)"), "Shazeer 2020; Gemma"),
    _of_activation("silu", "SwiGLU", "Shazeer 2020; Llama, Qwen, Mistral, DeepSeek"),
    _of_activation("sigmoid", "GLU", "Dauphin et al. 2016"),
    _of_activation("identity", N_("bilinear"), "Mnih and Hinton 2007; Shazeer 2020"),
    _of_activation("quick_gelu", N_("GEGLU (sigmoid)"), "Shazeer 2020"),
    _of_activation("tanh", N_("tanh, gated"), "Dauphin et al. 2016"),
    _of_activation("relu_squared", N_("ReLU², gated"), "Shazeer 2020; So et al. 2021"),
    GatedUnit(
        "clamped_swish",
        N_("SwiGLU, clamped"),
        "(clip(up, −7, 7) + 1) · g · σ(1.702 · g), g = min(gate, 7)",
        "GPT-OSS (OpenAI 2025)",
        _clamped_swish,
        _d_clamped_swish,
    ),
)
"""Every activation has a gated unit with the same id; units that exist only gated follow them."""

GATED_UNIT_BY_ID = {row.id: row for row in GATED_UNITS}
