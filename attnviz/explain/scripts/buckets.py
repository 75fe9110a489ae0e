"""Buckets of distances, as T5 and DeBERTa have them: NumPy in both libraries, because rounding decides."""

from __future__ import annotations

from attnviz.explain.scripts.code import Asked, Lines, note
from attnviz.i18n import N_
from attnviz.model.spec.positions import Deberta, T5Buckets

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
