"""`CURVES`: sizes of gradients over many seeds against what decides them, and the document's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.core import deep_stack
from attnviz.core.deep_stack import LAYERS, gradient_by_depth
from attnviz.core.matrix import AnyMatrix, by_rows
from attnviz.core.norm_placement import LAYERS as NUMBERS
from attnviz.core.norm_placement import gradient_by_layer
from attnviz.core.recurrent import DISTANCES, N_NETWORKS, WIDTH, attention_by_distance, recurrent_by_distance
from attnviz.core.softmax_slope import (
    N_KEYS,
    N_SEEDS,
    TEMPERATURES,
    WIDTHS,
    Slopes,
    jacobian_norm,
    slopes_by_temperature,
    slopes_by_width,
)
from attnviz.i18n import N_
from attnviz.model.spec.view import View, query_head
from attnviz.model.trace import SiteTrace

Floats = NDArray[np.float64]
Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """One line with its band. `name` is a message; `is_first`: solid, in the colour of queries."""

    name: str
    slopes: Callable[[], Slopes]
    is_first: bool


@dataclass(frozen=True)
class GradientCurve:
    """A row. `label`, `hint`, `title`, `x_name`, `y_name`, `says` and `dot` are messages.

    `x` are the places of the values on the axis and `ticks` some of them with their texts; `is_log`: the
    decimal logarithms of the norms are drawn. `point(site, view)` is the document's place and norm, or None;
    `says` has the fields of `SAYS`; `dot`, which follows if that place is on the axis, has {at} and {norm}.
    """

    id: str
    label: str
    hint: str
    title: str
    x_name: str
    y_name: str
    says: str
    lines: tuple[Line, Line]
    x: tuple[float, ...]
    ticks: tuple[tuple[float, str], ...]
    point: Callable[[SiteTrace, View], tuple[Point, float] | None]
    is_log: bool = False
    dot: str = ""

    def heights(self, norms: Floats) -> Floats:
        """The places of norms on the vertical axis."""
        return np.log10(np.maximum(norms, LEAST)) if self.is_log else norms


LEAST = 1e-14
"""The norm at which a logarithmic axis ends."""
SAYS = {
    "keys": N_KEYS,
    "seeds": N_SEEDS,
    "width": WIDTH,
    "networks": N_NETWORKS,
    "tokens": deep_stack.N_TOKENS,
    "stacks": deep_stack.N_STACKS,
}
"""Numbers that the sentences of the rows name."""


def _weights(site: SiteTrace, view: View) -> AnyMatrix:
    return site.matrix(site.raw_map, query_head(site.experiment, view))


def _norm(site: SiteTrace, view: View) -> float:
    """The mean norm over the rows of the shown head that have numbers; NaN if none has."""
    norms = by_rows(jacobian_norm, _weights(site, view))
    known = norms[~np.isnan(norms)]
    return float(known.mean()) if known.size else float("nan")


def _by_width(site: SiteTrace, view: View) -> tuple[Point, float] | None:
    width, norm = site.experiment.d_qk, _norm(site, view)
    return None if np.isnan(norm) else ((float(np.log2(width)), norm), width)


def _by_temperature(site: SiteTrace, view: View) -> tuple[Point, float] | None:
    temperature, norm = site.experiment.temperature, _norm(site, view)
    return None if np.isnan(norm) else ((float(np.log2(temperature)), norm), temperature)


def _by_distance(site: SiteTrace, view: View) -> tuple[Point, float] | None:
    """The weight that the last query gives to the first key."""
    weights = _weights(site, view)
    distance = weights.shape[0] - 1
    weight = float(weights[-1, 0])
    if site.experiment.memory is not None or distance > DISTANCES[-1] or np.isnan(weight):
        return None
    return (float(distance), weight), distance


def _nowhere(site: SiteTrace, view: View) -> None:
    """No number of one attention is what the curve shows."""


def _powers(values: tuple[float, ...], step: int) -> tuple[tuple[float, str], ...]:
    """One of `step` powers of two after another, by their exponents."""
    return tuple((float(np.log2(value)), _fraction(value)) for value in values[::step])


def _fraction(value: float) -> str:
    return f"{value:g}" if value >= 1 else f"1/{1 / value:g}"


CURVES: tuple[GradientCurve, ...] = (
    GradientCurve(
        "softmax",
        N_("Softmax and d"),
        N_("The norm of ∂w/∂s against d, with and without ÷√d"),
        N_("Gradient through softmax"),
        "log₂ d",
        N_("norm of ∂w/∂s"),
        N_(
            "Norm of ∂w/∂s = w_i (δ_ij − w_j) of {keys} keys against d, {seeds} seeds: solid with ÷√d, "
            "dashed without."
        ),
        (
            Line("softmax(q · k ÷ √d)", lambda: slopes_by_width(True), True),
            Line("softmax(q · k)", lambda: slopes_by_width(False), False),
        ),
        tuple(np.log2(WIDTHS).tolist()),
        _powers(tuple(map(float, WIDTHS)), 2),
        _by_width,
        dot=N_("The dot is this head: d = {at}, {norm}."),
    ),
    GradientCurve(
        "temperature",
        N_("Temperature"),
        N_("The norm of the softmax's gradient against the temperature: low temperatures saturate"),
        N_("Gradient through softmax and temperature"),
        "log₂ T",
        N_("norm of the gradient"),
        N_(
            "Norm of the gradient of softmax(s ÷ T) over {keys} keys against T, {seeds} seeds: solid by "
            "s ÷ T, dashed by s."
        ),
        (
            Line(N_("by s ÷ T"), lambda: slopes_by_temperature(False), True),
            Line(N_("by s"), lambda: slopes_by_temperature(True), False),
        ),
        tuple(np.log2(TEMPERATURES).tolist()),
        _powers(TEMPERATURES, 2),
        _by_temperature,
        dot=N_("The dot is this head: T = {at}, {norm}."),
    ),
    GradientCurve(
        "distance",
        N_("Distance"),
        N_("The norm of a gradient after n steps: a recurrent network, and attention"),
        N_("Gradient over distance"),
        N_("steps"),
        N_("log₁₀ of the norm"),
        N_(
            "Dashed: largest factor of a gradient through n steps of h = tanh(W h + x), {width} features, "
            "{networks} networks. Solid: attention, one weight among n + 1, {seeds} seeds."
        ),
        (
            Line(N_("attention"), attention_by_distance, True),
            Line(N_("recurrent network"), recurrent_by_distance, False),
        ),
        tuple(map(float, DISTANCES)),
        tuple((float(n), str(n)) for n in (0, 16, 32, 48, 64)),
        _by_distance,
        is_log=True,
        dot=N_("The dot is this head's weight of the first token over {at} steps, {norm}."),
    ),
    GradientCurve(
        "depth",
        N_("Depth"),
        N_("The norm of a gradient after a stack of layers, with residual connections and without"),
        N_("Gradient over depth"),
        N_("layers"),
        N_("log₁₀ of the norm"),
        N_(
            "Norm of a gradient on its way down through attentions, {stacks} stacks over {tokens} "
            "tokens, matrices initialised as in GPT-2: solid X + A X V O, dashed A X V O alone. The "
            "sum passes it on."
        ),
        (
            Line(N_("with residual"), lambda: gradient_by_depth(True), True),
            Line(N_("without residual"), lambda: gradient_by_depth(False), False),
        ),
        tuple(map(float, LAYERS)),
        tuple((float(n), str(n)) for n in LAYERS[::4]),
        _nowhere,
        is_log=True,
    ),
    GradientCurve(
        "norms",
        N_("Norms"),
        N_("The gradient by the matrices of each layer, with norms before and after the sublayers"),
        N_("Gradient and norm placement"),
        N_("layer number"),
        N_("norm of ∂L/∂W_down"),
        N_(
            "Norm of the gradient by W_down of each of 12 layers when training begins, {stacks} "
            "stacks over {tokens} tokens: solid pre-norm, dashed post-norm. In the last layer, "
            "post-norm does not depend on the number L of layers, and pre-norm falls as 1 ÷ √L."
        ),
        (
            Line(N_("pre-norm"), lambda: gradient_by_layer(True), True),
            Line(N_("post-norm"), lambda: gradient_by_layer(False), False),
        ),
        tuple(map(float, NUMBERS)),
        tuple((float(n), str(n)) for n in (1, 4, 8, 12)),
        _nowhere,
    ),
)
CURVE_BY_ID = {row.id: row for row in CURVES}
