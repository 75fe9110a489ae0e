"""Switching of a part of a site to another kind, and back to its former numbers.

Pure: `LastOfKind` is a value in which its owner notes the records it sees.
"""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec.structs import replace

from attnviz.errors import FieldError, must_be
from attnviz.model.edit.edits import position_of
from attnviz.model.edit.fitting import fitted_qk_norm
from attnviz.model.operands.matrices import sinks_array
from attnviz.model.positions import slopes_of
from attnviz.model.spec.parts import (
    Alibi,
    ExplicitSinks,
    NoScale,
    Position,
    Projection,
    QKNorm,
    Role,
    Rope,
    Scale,
    ScaleValue,
    Sinks,
    SqrtDHead,
)
from attnviz.model.spec.positions import Deberta, T5Buckets
from attnviz.model.spec.site import Site

T = TypeVar("T")


class LastOfKind:
    """The last record of each kind that was seen."""

    def __init__(self) -> None:
        self._records: dict[type, object] = {}

    def note(self, record: object) -> None:
        """Remember `record` as the last one of its kind."""
        self._records[type(record)] = record

    def last(self, kind: type[T], default: T) -> T:
        """The last record of `kind`, or `default` if none was seen."""
        record = self._records.get(kind, default)
        assert isinstance(record, kind)
        return record


# --- positions -------------------------------------------------------------------------------------


def set_position(site: Site, position: Position) -> Site:
    """Choose a position encoding; parts of another document's record that fit are kept.

    A learned table shorter than the tokens is extended to them: the user chooses it here, and does not run
    past its end.
    """
    return replace(site, position=position.chosen(site.sizes_for(position)))


def set_span(site: Site, span: int) -> Site:
    """Change DeBERTa's buckets on each side; the farthest distance follows into its range."""
    old = position_of(site, Deberta)
    span = max(span - span % 2, 2)
    moved = Deberta(span, max(old.max_distance, span // 2 + 2), old.keys, old.queries)
    return replace(site, position=moved.fitted(site.sizes_for(moved)))


def set_buckets(site: Site, **changes: Any) -> Site:
    """Change n_buckets, max_distance or bidirectional of T5's buckets; the others follow."""
    return replace(site, position=position_of(site, T5Buckets).moved(**changes))


def set_n_rotated(site: Site, count: int) -> Site:
    """Rotate the first `count` features of each head, rounded to pairs; None in the record means all."""
    position = position_of(site, Rope)
    most = site.d_turnable
    even = min(max(2, count - count % 2), most)
    return set_position(site, replace(position, n_rotated=None if even == most else even))


def set_slope(site: Site, head: int, slope: float) -> Site:
    """Change ALiBi's slope of one head; all slopes become explicit."""
    slopes = list(slopes_of(site))
    slopes[head] = slope
    return replace(site, position=Alibi(tuple(slopes)))


# --- QK-norm, normaliser and sinks --------------------------------------------------------------------------


def set_qk_norm(site: Site, kind: Any) -> Site:
    """Choose the normalisation of queries and keys, or "none"; the ε stays."""
    old = site.qk_norm
    if kind == "none":
        return replace(site, qk_norm=None)
    return replace(site, qk_norm=QKNorm(kind) if old is None else replace(old, kind=kind))


def set_qk_across(site: Site, is_on: bool) -> Site:
    """Normalise the queries of all heads as one vector, and so the keys, or each head's by itself."""
    if site.qk_norm is None:
        raise FieldError("qk_norm", None, must_be("a norm, so that it can extend over all heads"))
    norm = replace(site.qk_norm, across=is_on)
    return replace(site, qk_norm=fitted_qk_norm(norm, site.heads))


def set_qk_norm_eps(site: Site, eps: float) -> Site:
    """Change the ε of the norm of queries and keys."""
    if site.qk_norm is None:
        raise FieldError("qk_norm", None, must_be("a norm, so that its ε can be set"))
    return replace(site, qk_norm=replace(site.qk_norm, eps=eps))


def set_normaliser(site: Site, normaliser: Any) -> Site:
    """Choose the function from scores to weights."""
    return replace(site, normaliser=normaliser)


def set_sinks(site: Site, sinks: Sinks | None) -> Site:
    """Give every head a sink, or none; numbers for other heads are cut, missing ones are 0."""
    return replace(site, sinks=None if sinks is None else sinks.fitted(site.heads.n_heads))


def set_sink(site: Site, head: int, value: float) -> Site:
    """Change the sink of one head; all sinks become explicit."""
    values = sinks_array(site).tolist()
    values[head] = value
    return replace(site, sinks=ExplicitSinks(tuple(values)))


# --- scale and projections -------------------------------------------------------------------------


def scale_value(site: Site) -> float:
    """The multiplier of the scores before the temperature."""
    return site.scale.factor(site.d_qk)


def scale_of_kind(site: Site, kind: str, remembered: LastOfKind) -> Scale:
    """The scale of a kind; a number without a former choice is the present scale."""
    if kind == "value":
        return remembered.last(ScaleValue, ScaleValue(scale_value(site)))
    return SqrtDHead() if kind == "sqrt_d_head" else NoScale()


def fits(site: Site, role: Role, source: Projection) -> bool:
    """True if a remembered weight matrix still has the shape that its role needs."""
    return source.written is not None and source.written.shape == site.projection_shape(role)
