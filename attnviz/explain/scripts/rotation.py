"""The angles of RoPE, from frequencies that the code in the row of its scaling scales."""

from __future__ import annotations

from attnviz.explain.scripts.code import Asked, note
from attnviz.i18n import N_
from attnviz.model.positions import magnitude, rope_of, rotation
from attnviz.model.scalings import row_of

PAIRS = N_("radians per position of each pair")
DIALS = N_("multiplier of each pair")
MAGNITUDE = N_("attention factor: q and k grow by it")


def _frequency(asked: Asked) -> None:
    turned = rotation(asked.site)
    rope, n_rotated = turned.rope, turned.n_rotated
    row = row_of(turned.scaling)
    base = float(row.base(turned))
    power = f"{base!r} ** (-2.0 * {asked.xp}.arange({n_rotated // 2}) / {n_rotated})"
    lines = [f"frequency = {power}{note(PAIRS)}"]
    lines += [line + (note(says) if says else "") for line, says in row.code(turned, asked.xp)]
    if rope.multipliers:
        dials = [*rope.multipliers, *[1.0] * (n_rotated // 2 - len(rope.multipliers))]
        lines.append(f"frequency = frequency * {asked.library.array(repr(dials))}{note(DIALS)}")
    asked.define("frequency", *lines)


def define_angles(asked: Asked, first: int) -> None:
    """Define cos and sin of the angles of a stage's tokens, (token, pair), numbered from `first` on."""
    _frequency(asked)
    n_tokens = asked.shape[-2]
    rope = rope_of(asked.site)
    start, positions = rope.start + first, f"{asked.xp}.arange({n_tokens})[:, None]"
    positions = f"({positions} + {start})" if start else positions
    scale = magnitude(rope)
    times = f"{scale!r} * " if scale != 1.0 else ""
    behind = note(MAGNITUDE) if times else ""
    asked.define(
        "cos, sin",
        f"angle = {positions} * frequency",
        f"cos, sin = {times}{asked.xp}.cos(angle), {times}{asked.xp}.sin(angle){behind}",
    )
