"""`SCALING_CODE`: the frequencies of RoPE with each of its scalings, and the rotation itself."""

from __future__ import annotations

from collections.abc import Callable

from attnviz.core.positions import yarn_ends
from attnviz.i18n import N_
from attnviz.model.positions import magnitude, rope_of, rotated_features, rotation
from attnviz.model.scalings import Rotation, row_of
from attnviz.model.spec.positions import (
    DynamicNtk,
    LinearScaling,
    Llama3Scaling,
    LongRope,
    NoScaling,
    Yarn,
)
from attnviz.model.stages import STAGE_BY_ID
from attnviz.scripts.code import Asked, Code, Lines, note

PAIRS = N_("radians per position of each pair")
TO_FACTOR = N_("position interpolation")
RAMP = N_("1: divided by the factor, 0: unchanged")
TURNS = N_("turns over the original length")
DIALS = N_("multiplier of each pair")
MAGNITUDE = N_("attention factor: q and k grow by it")


def _unscaled(turned: Rotation, asked: Asked) -> Lines:
    return ()


def _linear(turned: Rotation, asked: Asked) -> Lines:
    return (f"frequency = frequency / {turned.scaling.factor!r}{note(TO_FACTOR)}",)


def _yarn(turned: Rotation, asked: Asked) -> Lines:
    scaling = turned.scaling
    ends = turned.n_rotated, turned.rope.base, scaling.original_length, scaling.beta_fast, scaling.beta_slow
    low, high = yarn_ends(*ends, scaling.truncate)
    pairs = f"{asked.xp}.arange({turned.n_rotated // 2})"
    ramp = f"{asked.xp}.clip(({pairs} - {low!r}) / ({high!r} - {low!r}), 0.0, 1.0)"
    return (
        f"ramp = {ramp}{note(RAMP)}",
        f"frequency = frequency * (1 - ramp) + frequency / {scaling.factor!r} * ramp",
    )


def _llama3(turned: Rotation, asked: Asked) -> Lines:
    scaling = turned.scaling
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    return (
        f"turns = {scaling.original_length} * frequency / (2 * {asked.xp}.pi){note(TURNS)}",
        f"kept = {asked.xp}.clip((turns - {low!r}) / ({high!r} - {low!r}), 0.0, 1.0)",
        f"frequency = kept * frequency + (1 - kept) * frequency / {scaling.factor!r}",
    )


def _longrope(turned: Rotation, asked: Asked) -> Lines:
    scaling = turned.scaling
    is_long = turned.made_for > scaling.original_length
    divisors = list(scaling.long_factor if is_long else scaling.short_factor)
    divisors += [1.0] * (turned.n_rotated // 2 - len(divisors))
    return (f"frequency = frequency / {asked.library.array(repr(divisors))}",)


SCALING_CODE: dict[type, Callable[[Rotation, Asked], Lines]] = {
    NoScaling: _unscaled,
    LinearScaling: _linear,
    DynamicNtk: _unscaled,
    Yarn: _yarn,
    Llama3Scaling: _llama3,
    LongRope: _longrope,
}
"""By kind of scaling: the lines after the frequencies of its base. The base of dynamic NTK is a number."""


def _frequency(asked: Asked) -> None:
    turned = rotation(asked.site)
    rope, n_rotated = turned.rope, turned.n_rotated
    base = float(row_of(turned.scaling).base(turned))
    power = f"{base!r} ** (-2.0 * {asked.xp}.arange({n_rotated // 2}) / {n_rotated})"
    lines = [f"frequency = {power}{note(PAIRS)}", *SCALING_CODE[type(turned.scaling)](turned, asked)]
    if rope.multipliers:
        dials = [*rope.multipliers, *[1.0] * (n_rotated // 2 - len(rope.multipliers))]
        lines.append(f"frequency = frequency * {asked.library.array(repr(dials))}{note(DIALS)}")
    asked.define("frequency", *lines)


def _angle(asked: Asked, n_tokens: int) -> None:
    """Define cos and sin of the angles of the first tokens, (token, pair)."""
    rope = rope_of(asked.site)
    positions = f"{asked.xp}.arange({n_tokens})[:, None]"
    positions = f"({positions} + {rope.start})" if rope.start else positions
    scale = magnitude(rope)
    times = f"{scale!r} * " if scale != 1.0 else ""
    behind = note(MAGNITUDE) if times else ""
    asked.define(
        "cos, sin",
        f"angle = {positions} * frequency",
        f"cos, sin = {times}{asked.xp}.cos(angle), {times}{asked.xp}.sin(angle){behind}",
    )


def rotated(asked: Asked) -> Code:
    """The code of `q_rotated`, `k_rotated` and `v_rotated`: (a, b) -> (a cos − b sin, a sin + b cos)."""
    (read,) = asked.reads
    is_query = STAGE_BY_ID[asked.stage].axes[0] == "head"
    _frequency(asked)
    _angle(asked, asked.site.n_queries if is_query else asked.site.n_keys)
    first, second = _halves(asked)
    return asked.done(
        f"a, b = {read}[{first}], {read}[{second}]",
        f"{asked.stage} = {asked.library.copy(read)}",
        f"{asked.stage}[{first}] = a * cos - b * sin",
        f"{asked.stage}[{second}] = a * sin + b * cos",
    )


def _halves(asked: Asked) -> tuple[str, str]:
    """The first and the second features of all pairs, as slices."""
    features = rotated_features(asked.site)
    start, end, half = features.start, features.stop, len(features) // 2
    if rope_of(asked.site).pairing == "interleaved":
        return f"..., {start}:{end}:2", f"..., {start + 1}:{end}:2"
    return f"..., {start}:{start + half}", f"..., {start + half}:{end}"
