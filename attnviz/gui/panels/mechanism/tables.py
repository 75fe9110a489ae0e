"""Learned positions: the length of a table of vectors, T5's buckets, and where the numbers come from."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from attnviz.gui.forms.fields import Edit, FormField
from attnviz.gui.forms.paths import row
from attnviz.model.edit.paths import putting
from attnviz.model.edit.switching import set_buckets
from attnviz.model.operands.matrices import table_array
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.positions import T5Buckets
from attnviz.model.spec.site import Site
from attnviz.model.spec.source import DrawnTable, WrittenTable

LONGEST = 100_000
MOST_BUCKETS = 1024
FARTHEST = 1_000_000


def _is_t5(site: Site) -> bool:
    return isinstance(site.position, T5Buckets)


def _is_drawn(site: Site) -> bool:
    position = site.position
    return isinstance(getattr(position, "table", None), DrawnTable)


def _set_length(site: Site, length: int) -> Site:
    position: Any = site.position
    return replace(site, position=position.resized(length))


def _bucket_setter(field: str) -> Edit[Site]:
    """The edit that changes one number of T5's buckets."""

    def edit(site: Site, value: Any) -> Site:
        return set_buckets(site, **{field: value})

    return edit


def table_kind(site: Site) -> str:
    """Source of the position's table: `seeded` or `explicit`."""
    return "seeded" if _is_drawn(site) else "explicit"


def set_table_kind(site: Site, kind: str, drawn: DrawnTable) -> Site:
    """Store the present numbers, or sample them as `drawn` says."""
    position: Any = site.position
    set_table: Edit[Site] = putting("position.table")
    if kind == "seeded":
        return set_table(site, drawn)
    heads = site.heads
    shape = position.table_shapes(site.d_for(position), heads.n_heads, heads.d_head)["table"]
    values = table_array(position.table, shape)
    return set_table(site, WrittenTable(Matrix(values)))


TABLE_FIELDS: tuple[FormField[Site], ...] = (
    row("position.length", name="learned_length_field", edit=_set_length),
    row(
        "position.n_buckets",
        name="t5_buckets_field",
        edit=_bucket_setter("n_buckets"),
        limits=lambda e: (4 if e.position.bidirectional else 2, MOST_BUCKETS),
        from_start=True,
    ),
    row(
        "position.max_distance",
        name="t5_distance_field",
        edit=_bucket_setter("max_distance"),
        shown=_is_t5,
        limits=lambda e: (e.position.n_exact + 1, FARTHEST),
    ),
    row("position.bidirectional", name="t5_bidirectional_toggle", edit=_bucket_setter("bidirectional")),
    row("position.table.seed", name="position_seed_field"),
    row("position.table.std", name="position_std_field"),
)
