"""`OPTIMISERS` and `SCHEDULES`: the ways from gradients to new numbers, and the rate of each step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnviz.core.dims import Array
from attnviz.engines.engine import Engine
from attnviz.errors import (
    NOT_NEGATIVE,
    POSITIVE,
    FieldError,
    InputError,
    Message,
    among,
    must_be,
    whole_number,
)
from attnviz.i18n import N_

Moments = tuple[Array, ...]


@dataclass(frozen=True)
class Schedule:
    """One course of the rate behind the warm-up; `title` and `formula` are messages.

    `share(progress)` is the share of the rate when `progress`, from 0 to 1, of the steps are done; `code` is
    the same in a script.
    """

    id: str
    title: str
    formula: str
    share: Callable[[float], float]
    code: str


SCHEDULES: tuple[Schedule, ...] = (
    Schedule("constant", N_("constant"), "η", lambda progress: 1.0, "1.0"),
    Schedule(
        "cosine",
        N_("cosine"),
        "η · (1 + cos(π · t ÷ T)) ÷ 2",
        lambda progress: 0.5 * (1 + math.cos(math.pi * min(progress, 1.0))),
        "0.5 * (1 + math.cos(math.pi * progress))",
    ),
)
"""Cosine: Loshchilov and Hutter 2017, "SGDR: Stochastic Gradient Descent with Warm Restarts"."""

SCHEDULE_BY_ID = {row.id: row for row in SCHEDULES}


@dataclass(frozen=True)
class Settings:
    """All that determines the steps of a training, besides its data.

    The `rate` η grows as (t + 1) ÷ `warmup` in the first steps, then follows the `schedule` of `steps`.
    `beta_1`, `beta_2` and `epsilon` are AdamW's, `momentum` is SGD's; `decay` λ shrinks all numbers. The norm
    of all gradients together is at most `clip`; None: not clipped. Raises `FieldError` for a value that none
    of them can have.
    """

    rate: float = 2e-3
    optimiser: str = "adamw"
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8
    momentum: float = 0.9
    decay: float = 0.01
    clip: float | None = 1.0
    warmup: int = 0
    schedule: str = "constant"
    steps: int = 2000

    def __post_init__(self) -> None:
        for name, table in (("optimiser", OPTIMISER_BY_ID), ("schedule", SCHEDULE_BY_ID)):
            if getattr(self, name) not in table:
                raise FieldError(name, getattr(self, name), among(table))
        for name in ("rate", "epsilon", "clip"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise FieldError(name, value, POSITIVE)
        for name in ("beta_1", "beta_2", "momentum"):
            if not 0 <= getattr(self, name) < 1:
                raise FieldError(name, getattr(self, name), must_be("at least 0 and less than 1"))
        if not 0 <= self.decay < math.inf:
            raise FieldError("decay", self.decay, NOT_NEGATIVE)
        for name, least in (("warmup", 0), ("steps", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise FieldError(name, value, whole_number(least))

    def rate_at(self, step: int) -> float:
        """The rate of a step, counted from 0."""
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        progress = (step - self.warmup) / max(self.steps - self.warmup, 1)
        return self.rate * SCHEDULE_BY_ID[self.schedule].share(progress)


@dataclass(frozen=True)
class OptimiserKind:
    """One rule; `title`, `formula` and `source` are messages.

    `change(xp, g, moments, count, settings)` is what a step of rate 1 subtracts. g (number,), all gradients,
    may be overwritten; the `n_moments` moments are updated in place. `count` are the steps with this one.
    `decays_gradient`: λ w is added to the gradient before; else the numbers lose the share η λ. `torch` is
    PyTorch's optimiser of the same rule, with the fields of the settings in braces.
    """

    id: str
    title: str
    formula: str
    source: str
    n_moments: int
    decays_gradient: bool
    change: Callable[[Any, Array, Moments, int, Settings], Array]
    torch: str


def _adamw(xp: Any, g: Array, moments: Moments, count: int, settings: Settings) -> Array:
    mean, square = moments
    mean *= settings.beta_1
    mean += g * (1 - settings.beta_1)
    square *= settings.beta_2
    g *= g
    g *= 1 - settings.beta_2
    square += g
    size = xp.sqrt(square)
    size /= math.sqrt(1 - settings.beta_2**count)
    size += settings.epsilon
    made = mean / size
    made /= 1 - settings.beta_1**count
    return made


def _sgd(xp: Any, g: Array, moments: Moments, count: int, settings: Settings) -> Array:
    (velocity,) = moments
    velocity *= settings.momentum
    velocity += g
    return xp.asarray(velocity, copy=True)


OPTIMISERS: tuple[OptimiserKind, ...] = (
    OptimiserKind(
        "adamw",
        "AdamW",
        "w (1 − η λ) − η m̂ ÷ (√v̂ + ε)",
        "Loshchilov and Hutter 2019, Decoupled Weight Decay Regularization",
        2,
        False,
        _adamw,
        "AdamW(parameters.values(), lr={rate!r}, betas=({beta_1!r}, {beta_2!r}), eps={epsilon!r}, "
        "weight_decay={decay!r})",
    ),
    OptimiserKind(
        "sgd",
        N_("SGD with momentum"),
        "w − η m",
        "Sutskever et al. 2013, On the importance of initialization and momentum in deep learning",
        1,
        True,
        _sgd,
        "SGD(parameters.values(), lr={rate!r}, momentum={momentum!r}, weight_decay={decay!r})",
    ),
)
"""m̂ and v̂ are the running means of g and g², divided by 1 − β^t; m is μ m + g."""

OPTIMISER_BY_ID = {row.id: row for row in OPTIMISERS}


@dataclass(frozen=True)
class Taken:
    """A step that was taken: its rate, and the norm of the gradients before they were clipped.

    `norms` are those by each parameter, in their order.
    """

    rate: float
    norm: float
    norms: tuple[float, ...]


class Optimiser:
    """The steps of a training, one after the other, and what they remember.

    `moments` are (number,) of all parameters in their order, `count` the steps so far: with both, another one
    goes on where this one stopped. `frozen` has masks of numbers that no step moves, by parameter.
    """

    def __init__(self, engine: Engine, settings: Settings, parameters: Mapping[str, Array]) -> None:
        self.engine, self.settings, self.count = engine, settings, 0
        self.names = tuple(parameters)
        self.frozen: dict[str, Array] = {}
        n = sum(math.prod(numbers.shape) for numbers in parameters.values())
        with engine.active():
            n_moments = OPTIMISER_BY_ID[settings.optimiser].n_moments
            self.moments = tuple(engine.zeros((n,)) for _index in range(n_moments))

    def step(self, parameters: Mapping[str, Array], gradients: Mapping[str, Array]) -> Taken:
        """Change the parameters in place; one without a gradient counts as 0 there, and does not decay.

        Raises `InputError`, before anything changes, for a gradient that is not finite.
        """
        settings, xp = self.settings, self.engine.xp
        kind, rate = OPTIMISER_BY_ID[settings.optimiser], settings.rate_at(self.count)
        with self.engine.active():
            parts = [self._flat(parameters, gradients, name) for name in self.names]
            squares = self.engine.to_numpy(xp.stack([xp.vecdot(part, part) for part in parts]))
            norms, norm = np.sqrt(squares), math.sqrt(float(squares.sum(dtype=np.float64)))
            g = xp.concat(parts)
            if not math.isfinite(norm):
                self._refuse(norm)
            if settings.clip is not None and norm + _TINY > settings.clip:
                g *= settings.clip / (norm + _TINY)
            if kind.decays_gradient and settings.decay:
                numbers = xp.concat([parameters[name].reshape(-1) for name in self.names])
                g += settings.decay * xp.where(xp.isfinite(numbers), numbers, 0.0)  # −∞ of a mask stays
            self.count += 1
            held = self._held(parameters)
            change = kind.change(xp, g, self.moments, self.count, settings)
            change *= rate
            kept = 1.0 if kind.decays_gradient else 1 - rate * settings.decay
            self._subtract(parameters, gradients, change, kept)
            for array, mask, numbers in held:
                array[mask] = numbers
        return Taken(rate, norm, tuple(norms.tolist()))

    def _held(self, parameters: Mapping[str, Array]) -> list[tuple[Array, Array, Array]]:
        """The arrays with frozen numbers: their places, and a copy of these numbers."""
        if not self.frozen:
            return []
        xp = self.engine.xp
        places = [(parameters[name], mask) for name, mask in self.frozen.items()]
        free = {name: xp.zeros(parameters[name].shape, dtype=xp.bool) for name in self.names}
        flat = xp.concat([self.frozen.get(name, free[name]).reshape(-1) for name in self.names])
        places += [(moment, flat) for moment in self.moments]
        return [(array, mask, array[mask]) for array, mask in places]

    def _flat(self, parameters: Mapping[str, Array], gradients: Mapping[str, Array], name: str) -> Array:
        found = gradients.get(name)
        if found is None:
            return self.engine.zeros((math.prod(parameters[name].shape),))
        return found.reshape(-1)

    def _subtract(
        self, parameters: Mapping[str, Array], gradients: Mapping[str, Array], change: Array, kept: float
    ) -> None:
        start = 0
        for name in self.names:
            numbers = parameters[name]
            stop = start + math.prod(numbers.shape)
            if name in gradients:
                numbers *= kept
                numbers -= change[start:stop].reshape(numbers.shape)
            start = stop

    def _refuse(self, norm: float) -> None:
        message = Message(
            "The gradients must be numbers; their norm is {norm} at step {step} with the rate {rate}.",
            norm=norm,
            step=self.count + 1,
            rate=self.settings.rate_at(self.count),
        )
        raise InputError(message)


_TINY = 1e-6
"""Added to a norm that divides, as `torch.nn.utils.clip_grad_norm_` does."""
