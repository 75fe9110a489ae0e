"""Learned positions: the length of a table of vectors, T5's buckets, and where the numbers come from."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from attnviz.gui.forms.fields import Edit, Number, Seed, Slider, Switch, replacing
from attnviz.i18n import N_
from attnviz.model.edit.switching import set_buckets
from attnviz.model.operands.matrices import table_array
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.positions import DrawnTable, Learned, T5Buckets, WrittenTable
from attnviz.model.spec.site import Site

LONGEST = 100_000
MOST_BUCKETS = 1024
FARTHEST = 1_000_000


def _is_learned(site: Site) -> bool:
    return isinstance(site.position, Learned)


def _is_t5(site: Site) -> bool:
    return isinstance(site.position, T5Buckets)


def _is_drawn(site: Site) -> bool:
    position = site.position
    return isinstance(getattr(position, "table", None), DrawnTable)


def _set_length(site: Site, length: int) -> Site:
    position = site.position
    assert isinstance(position, Learned)
    return replace(site, position=position.resized(length))


def _bucket_setter(field: str) -> Edit[Site]:
    """The edit that changes one number of T5's buckets."""

    def edit(site: Site, value: Any) -> Site:
        return set_buckets(site, **{field: value})

    return edit


def table_kind(site: Site) -> str:
    """Where the position's table comes from: `seeded` or `explicit`."""
    return "seeded" if _is_drawn(site) else "explicit"


def set_table_kind(site: Site, kind: str, drawn: DrawnTable) -> Site:
    """Write the present numbers out, or draw them as `drawn` says."""
    position: Any = site.position
    set_table = replacing("position", "table")
    if kind == "seeded":
        return set_table(site, drawn)
    heads = site.heads
    shape = position.table_shapes(site.d_model, heads.n_heads, heads.d_head)["table"]
    values = table_array(position.table, shape)
    return set_table(site, WrittenTable(Matrix(values)))


TABLE_FIELDS = (
    Number(
        name="learned_length_field",
        path="position.length",
        label=N_("Table length"),
        read=lambda e: e.position.length,
        edit=_set_length,
        hint=N_("The table has one row per position; a token past its end is refused"),
        shown=_is_learned,
        minimum=1,
        maximum=LONGEST,
        integer=True,
    ),
    Number(
        name="t5_buckets_field",
        path="position.n_buckets",
        label=N_("Buckets"),
        read=lambda e: e.position.n_buckets,
        edit=_bucket_setter("n_buckets"),
        hint=N_("Half of each direction's buckets hold one distance each, the rest wider ranges"),
        shown=_is_t5,
        limits=lambda e: (4 if e.position.bidirectional else 2, MOST_BUCKETS),  # type: ignore[union-attr]
        step=2,
        integer=True,
        from_start=True,
    ),
    Number(
        name="t5_distance_field",
        path="position.max_distance",
        label=N_("Maximum distance"),
        read=lambda e: e.position.max_distance,
        edit=_bucket_setter("max_distance"),
        hint=N_("All keys from this distance on share the last bucket"),
        shown=_is_t5,
        limits=lambda e: (e.position.n_exact + 1, FARTHEST),  # type: ignore[union-attr]
        integer=True,
    ),
    Switch(
        name="t5_bidirectional_toggle",
        path="position.bidirectional",
        label=N_("both directions"),
        read=lambda e: e.position.bidirectional,
        edit=_bucket_setter("bidirectional"),
        hint=N_("Half of the buckets serve later keys (T5's encoder); off: later keys count as distance 0"),
        shown=_is_t5,
    ),
    Seed(
        name="position_seed_field",
        path="position.table.seed",
        label=N_("Seed"),
        read=lambda e: e.position.table.seed,
        edit=replacing("position", "table", "seed"),
        shown=_is_drawn,
    ),
    Slider(
        name="position_std_field",
        path="position.table.std",
        label=N_("Standard deviation"),
        read=lambda e: e.position.table.std,
        edit=replacing("position", "table", "std"),
        hint=N_("Standard deviation of the random values"),
        shown=_is_drawn,
        minimum=0.0,
        maximum=3.0,
        lowest=0.0,
        highest=100.0,
        default=1.0,
    ),
)
