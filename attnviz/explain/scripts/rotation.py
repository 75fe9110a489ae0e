"""The frequencies of RoPE, scaled by the code in the row of its scaling, and the rotation itself."""

from __future__ import annotations

from attnviz.explain.scripts.code import Asked, Code, note
from attnviz.i18n import N_
from attnviz.model.positions import magnitude, rope_of, rotated_features, rotation
from attnviz.model.scalings import row_of
from attnviz.model.stages import STAGE_BY_ID

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


def _angle(asked: Asked, n_tokens: int, first: int) -> None:
    """Define cos and sin of the angles of some tokens, (token, pair)."""
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


def rotated(asked: Asked) -> Code:
    """The code of `q_rotated`, `k_rotated` and `v_rotated`: (a, b) -> (a cos − b sin, a sin + b cos)."""
    (read,) = asked.reads
    is_query = STAGE_BY_ID[asked.stage].axes[0] == "head"
    _frequency(asked)
    site = asked.site
    _angle(asked, *((site.n_queries, site.query_offset) if is_query else (site.n_keys, 0)))
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
