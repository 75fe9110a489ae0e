"""Switching of a part of the experiment to another kind, and back to its former numbers.

Pure: `LastOfKind` is a value in which its owner notes the records it sees.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec.structs import replace

from attnviz.errors import FieldError, must_be
from attnviz.model.edit.edits import set_projection, wrong_position
from attnviz.model.edit.fitting import cut_or_filled, fitted_tables, fitting_sinks
from attnviz.model.errors.titles import in_words
from attnviz.model.operands.matrices import sinks_array
from attnviz.model.positions import slopes_of
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.latent import Latent
from attnviz.model.spec.parts import (
    Alibi,
    Explicit,
    ExplicitSinks,
    Heads,
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
    Tied,
)
from attnviz.model.spec.positions import Deberta, Learned, T5Buckets, WrittenTable
from attnviz.model.spec.site import Site

S = TypeVar("S", Site, Experiment)
T = TypeVar("T")


def refusal(edit: Callable[[S, Any], S], subject: S, value: Any) -> str:
    """Why an edit raises an error, in the words of its subject and the active language; or empty."""
    try:
        edit(subject, value)
    except ValueError as error:
        return in_words(error)
    return ""


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


def fitting_position(position: Position, heads: Heads, latent: Latent | None = None) -> Position:
    """`position` without the parts that these heads exclude: surplus pairs, slopes of other heads."""
    if isinstance(position, Rope):
        name, most = ("heads.d_head", heads.d_head) if latent is None else ("latent.d_rope", latent.d_rope)
        if most < 2:
            raise FieldError(name, most, must_be("at least 2 with rotary positions"))
        even = most - most % 2
        n_rotated = position.n_rotated
        if n_rotated is not None and n_rotated >= most:
            n_rotated = None
        if n_rotated is None and even != most:
            n_rotated = even
        pairs = (n_rotated or even) // 2
        on_values = position.on_values and latent is None
        multipliers, scaling = position.multipliers[:pairs], position.scaling.cut_to(pairs)
        fields = {"multipliers": multipliers, "scaling": scaling, "on_values": on_values}
        return replace(position, n_rotated=n_rotated, **fields)
    if isinstance(position, Alibi) and position.slopes and len(position.slopes) != heads.n_heads:
        return replace(position, slopes=None)
    return position


def set_position(site: Site, position: Position) -> Site:
    """Choose a position encoding; parts of another document's record that fit are kept.

    A learned table shorter than the tokens is extended to them: the user chooses it here, and does not run
    past its end.
    """
    position = fitting_position(position, site.heads, site.latent)
    if isinstance(position, Learned):
        position = _reaching_table(position, site)
    position = fitted_tables(position, site.d_model, site.heads)
    return replace(site, position=position)


def _reaching_table(position: Learned, site: Site) -> Learned:
    needed = position.start + site.n_queries
    position = fitted_tables(position, site.d_model, site.heads)
    return position if position.length >= needed else set_table_length(position, needed)


def set_table_length(position: Learned, length: int) -> Learned:
    """Cut a learned table to `length` positions, or append rows of zeros if it is explicit."""
    table = position.table
    if isinstance(table, WrittenTable):
        values = table.values.array
        table = WrittenTable(Matrix(cut_or_filled(values, (length, values.shape[1]))))
    return replace(position, length=length, table=table)


def set_span(site: Site, span: int) -> Site:
    """Change DeBERTa's buckets on each side; the farthest distance follows into its valid range."""
    old = site.position
    if not isinstance(old, Deberta):
        raise wrong_position(old, "deberta")
    span = max(span - span % 2, 2)
    moved = Deberta(span, max(old.max_distance, span // 2 + 2))
    shapes = moved.table_shapes(site.d_model, site.heads.n_heads, site.heads.d_head)
    tables = {}
    for name, shape in shapes.items():
        table = getattr(old, name)
        if isinstance(table, WrittenTable):
            table = WrittenTable(Matrix(cut_or_filled(table.values.array, shape)))
        tables[name] = table
    return replace(site, position=replace(moved, **tables))


def set_buckets(site: Site, **changes: Any) -> Site:
    """Change n_buckets, max_distance or bidirectional of T5's buckets; the others follow into
    their ranges.
    """
    old = site.position
    if not isinstance(old, T5Buckets):
        raise wrong_position(old, "t5")
    bidirectional = changes.get("bidirectional", old.bidirectional)
    n_buckets = changes.get("n_buckets", old.n_buckets)
    n_buckets = max(n_buckets - n_buckets % 2, 4 if bidirectional else 2)
    n_exact = n_buckets // (4 if bidirectional else 2)
    max_distance = max(changes.get("max_distance", old.max_distance), n_exact + 1)
    table = old.table
    if isinstance(table, WrittenTable):
        values = table.values.array
        table = WrittenTable(Matrix(cut_or_filled(values, (n_buckets, values.shape[1]))))
    return replace(site, position=T5Buckets(n_buckets, max_distance, bidirectional, table))


def set_n_rotated(site: Site, count: int) -> Site:
    """Rotate the first `count` features of each head, rounded to pairs; None in the record means all."""
    position = site.position
    if not isinstance(position, Rope):
        raise wrong_position(position, "rope")
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


def set_qk_norm_eps(site: Site, eps: float) -> Site:
    """Change the ε of the norm of queries and keys."""
    if site.qk_norm is None:
        raise FieldError("qk_norm", None, must_be("a norm for its ε to be set"))
    return replace(site, qk_norm=replace(site.qk_norm, eps=eps))


def set_normaliser(site: Site, normaliser: Any) -> Site:
    """Choose the function from scores to weights."""
    return replace(site, normaliser=normaliser)


def set_sinks(site: Site, sinks: Sinks | None) -> Site:
    """Give every head a sink, or none; numbers for surplus heads are cut, missing ones are 0."""
    return replace(site, sinks=fitting_sinks(sinks, site.heads))


def set_sink(site: Site, head: int, value: float) -> Site:
    """Change the sink of one head; all sinks become explicit."""
    values = sinks_array(site).tolist()
    values[head] = value
    return replace(site, sinks=ExplicitSinks(tuple(values)))


# --- scale and projections -------------------------------------------------------------------------


def scale_value(site: Site) -> float:
    """The multiplier of the scores before the temperature."""
    scale = site.scale
    if isinstance(scale, ScaleValue):
        return scale.value
    return 1.0 if isinstance(scale, NoScale) else float(site.d_qk**-0.5)


def scale_of_kind(site: Site, kind: str, remembered: LastOfKind) -> Scale:
    """The scale of a kind; a number without a former choice is the present scale."""
    if kind == "value":
        return remembered.last(ScaleValue, ScaleValue(scale_value(site)))
    return SqrtDHead() if kind == "sqrt_d_head" else NoScale()


def fits(site: Site, role: Role, source: Projection) -> bool:
    """True if a remembered weight matrix still has the shape that its role needs."""
    return isinstance(source, Explicit) and source.values.shape == site.projection_shape(role)


def why_not_tied(site: Site, role: Role, to: Role) -> str:
    """One sentence: why W of `role` cannot be that of `to`; empty if it can."""
    return refusal(lambda e, source: set_projection(e, role, source), site, Tied(to))
