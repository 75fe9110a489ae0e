"""`POSITION_CODE`: the stage that each position encoding adds: `x`, `relative` or `biased`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from attnviz.explain.scripts.code import Asked, Code, Lines, note
from attnviz.explain.scripts.masks import grid, row_of_query
from attnviz.explain.scripts.sources import parameter
from attnviz.i18n import N_
from attnviz.model.positions import slopes_of
from attnviz.model.spec.positions import (
    Alibi,
    Deberta,
    Learned,
    NoPosition,
    Sinusoidal,
    T5Buckets,
    TransformerXl,
)

SINGLE = N_("in float32, as in training: rounding decides at the edge of a bucket")
LATER = N_("later keys have the upper half of the buckets")
DISTANCE = N_("query position − key position")


def t5_buckets(position: T5Buckets, asked: Asked) -> None:
    """Define the bucket of every (query, key)."""
    each, exact = position.n_buckets // (2 if position.bidirectional else 1), position.n_exact
    log = f"np.float32(math.log({position.max_distance} / {exact}))"
    two_ways = (f"bucket = bucket + np.where(ahead > 0, {each}, 0){note(LATER)}",)
    asked.define(
        "bucket",
        f"ahead = np.arange({asked.site.n_keys}) - {_queries(asked)}[:, None]",
        "distance = " + ("np.abs(ahead)" if position.bidirectional else "np.maximum(-ahead, 0)"),
        f"ratio = np.maximum(distance, {exact}).astype(np.float32) / np.float32({exact}){note(SINGLE)}",
        f"wide = {exact} + (np.log(ratio) / {log} * np.float32({each - exact})).astype(int)",
        f"bucket = np.where(distance < {exact}, distance, np.minimum(wide, {each - 1}))",
        *(two_ways if position.bidirectional else ()),
        *_converted(asked),
    )


def deberta_buckets(position: Deberta, asked: Asked) -> None:
    """Define the bucket of every (query, key)."""
    span, middle = position.span, position.span // 2
    log = f"np.float32(math.log(np.float32({position.max_distance - 1} / {middle})))"
    asked.define(
        "bucket",
        f"distance = {_queries(asked)}[:, None] - np.arange({asked.site.n_keys}){note(DISTANCE)}",
        f"ratio = np.maximum(np.abs(distance), {middle}).astype(np.float32) / np.float32({middle})"
        f"{note(SINGLE)}",
        f"wide = {middle} + np.ceil(np.log(ratio) / {log} * np.float32({middle - 1})).astype(int)",
        f"bucket = np.where(np.abs(distance) <= {middle}, distance, wide * np.sign(distance))",
        f"bucket = np.clip(bucket + {span}, 0, {2 * span - 1})",
        *_converted(asked),
    )


def _queries(asked: Asked) -> str:
    """Positions of the queries."""
    first, count = asked.site.query_offset, asked.site.n_queries
    return f"np.arange({first}, {first + count})" if first else f"np.arange({count})"


def _converted(asked: Asked) -> Lines:
    return () if asked.library.is_numpy else ("bucket = torch.from_numpy(bucket)",)


SLOPES = N_("slope of each head")


# --- added to vectors ------------------------------------------------------------------------------


def _waves(asked: Asked, positions: str, base: float, name: str) -> None:
    """Define sines and cosines of positions, (position, d_model): even features sines, odd ones cosines."""
    xp, d_model = asked.xp, asked.site.d_for(asked.site.position)
    pairs = (d_model + 1) // 2
    cut = f"[:, :{d_model}]" if d_model % 2 else ""
    stacked = f"{xp}.stack(({xp}.sin(angle), {xp}.cos(angle)), {asked.library.axis}=-1)"
    asked.define(
        name,
        f"frequency = {base!r} ** (-2.0 * {xp}.arange({pairs}) / {d_model})",
        f"angle = ({positions})[:, None] * frequency",
        f"{name} = {stacked}.reshape(-1, {2 * pairs}){cut}",
    )


def _from(start: int, count: int, xp: str) -> str:
    return f"{xp}.arange({start}, {start + count})" if start else f"{xp}.arange({count})"


def _sinusoidal(position: Any, asked: Asked) -> Code:
    (read,) = asked.reads
    _waves(asked, _from(position.start, asked.site.n_queries, asked.xp), position.base, "P")
    return asked.done(f"x = {read} + P")


def _learned(position: Any, asked: Asked) -> Code:
    (read,) = asked.reads
    start = position.start
    parameter(asked, "position.table", "P")
    return asked.done(f"x = {read} + P[{start}:{start + asked.site.n_queries}]")


# --- biases ----------------------------------------------------------------------------------------


def _alibi(position: Any, asked: Asked) -> str:
    grid(asked)
    slopes = asked.trained.get("position.slopes") or _slopes(asked, position)
    asked.define("slope", f"slope = {slopes}{note(SLOPES)}")
    return f" - slope[:, None, None] * {asked.xp}.abs(i - j)"


def _slopes(asked: Asked, position: Alibi) -> str:
    """Explicit slopes, or the published ones: of a power of two, then every other one of the next."""
    xp, n_heads = asked.xp, asked.site.heads.n_heads
    if position.slopes is not None:
        return asked.library.array(repr(list(slopes_of(asked.site))))
    power = 2 ** int(math.log2(n_heads))
    first = f"2.0 ** (-8.0 * {xp}.arange(1, {power + 1}) / {power})"
    if power == n_heads:
        return first
    extra = f"2.0 ** (-8.0 * {xp}.arange(1, {2 * power + 1}, 2) / {2 * power})[:{n_heads - power}]"
    return f"{asked.library.join}(({first}, {extra}))"


def _t5(position: Any, asked: Asked) -> str:
    parameter(asked, "position.table", "B")
    t5_buckets(position, asked)
    return f" + {_heads_first(asked, 'B[bucket]')}"


def _heads_first(asked: Asked, array: str) -> str:
    """(query, key, head) as (head, query, key)."""
    return f"{array}.transpose(2, 0, 1)" if asked.library.is_numpy else f"{array}.permute(2, 0, 1)"


# --- products with the distance --------------------------------------------------------------------


def keys_of_heads(asked: Asked, key: str) -> str:
    """The keys or values as every query head reads them: those of a group repeated."""
    size = asked.site.heads.group_size
    return key if size == 1 else asked.library.repeat(key, size)


def _transformer_xl(position: Any, asked: Asked) -> Code:
    scores, q, k = asked.reads
    site, heads, xp = asked.site, asked.site.heads, asked.xp
    reach = max(site.query_offset + site.n_queries, site.n_keys) - 1
    grid(asked)
    _waves(asked, f"{xp}.arange({-reach}, {reach + 1})", position.base, "R")
    for path, name in (("weights", "W_R"), ("u", "u"), ("v", "v_R")):
        parameter(asked, f"position.{path}", name)
    r = asked.library.split_heads("(R @ W_R)", 2 * reach + 1, heads.n_heads, heads.d_head)
    row = f"[:, {row_of_query(asked)}, i - j + {reach}]"
    return asked.done(
        f"r = {r}{note(N_('(head, distance, feature)'))}",
        f"relative = {scores} + ({q} @ r.mT){row}",
        f"relative = relative + u[:, None, :] @ {keys_of_heads(asked, k)}.mT",
        f"relative = relative + (r @ v_R[:, :, None])[..., 0][:, i - j + {reach}]",
    )


def _deberta(position: Any, asked: Asked) -> Code:
    scores, q, k = asked.reads
    heads, rows = asked.site.heads, 2 * position.span
    grid(asked)
    for path, name in (("keys", "K_rel"), ("queries", "Q_rel")):
        parameter(asked, f"position.{path}", name)
    deberta_buckets(position, asked)
    by_head = [
        asked.library.split_heads(name, rows, heads.n_heads, heads.d_head) for name in ("K_rel", "Q_rel")
    ]
    return asked.done(
        f"relative = {scores} + ({q} @ {by_head[0]}.mT)[:, {row_of_query(asked)}, bucket]",
        f"relative = relative + ({keys_of_heads(asked, k)} @ {by_head[1]}.mT)[:, j, bucket]",
    )


# --- the table -------------------------------------------------------------------------------------


def _nothing(position: Any, asked: Asked) -> Code:
    raise KeyError(asked.stage)  # a site without positions has none of these stages


POSITION_CODE: dict[type, Callable[[Any, Asked], Code]] = {
    NoPosition: _nothing,
    Sinusoidal: _sinusoidal,
    Learned: _learned,
    TransformerXl: _transformer_xl,
    Deberta: _deberta,
}


BIAS_CODE: dict[type, Callable[[Any, Asked], str]] = {Alibi: _alibi, T5Buckets: _t5}
"""Of each position that is added to the scores, its term with its sign."""


def position_addend(asked: Asked) -> str:
    """The term that the position of a site adds to the scores."""
    position = asked.site.position
    return BIAS_CODE[type(position)](position, asked)


def position_code(asked: Asked) -> Code:
    """The code of the stage that the position of a site adds."""
    position = asked.site.position
    return POSITION_CODE[type(position)](position, asked)
