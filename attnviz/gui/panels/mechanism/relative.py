"""Relative positions that read q and k: Transformer-XL's and DeBERTa's numbers."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from attnviz.core.text import number
from attnviz.gui.forms.fields import FormField, Slider
from attnviz.gui.forms.paths import row
from attnviz.i18n import N_, _
from attnviz.model.edit.switching import scale_value, set_span
from attnviz.model.fields import field_at
from attnviz.model.spec.positions import Deberta
from attnviz.model.spec.site import Site
from attnviz.model.spec.source import DrawnTable

FARTHEST, MOST_BUCKETS = 1_000_000, 1024


def _set_deberta_seed(site: Site, seed: int) -> Site:
    """Both tables from neighbouring seeds."""
    position: Any = site.position
    tables = {"keys": seed, "queries": seed + 1 if seed < 2**32 - 1 else 0}
    drawn = {
        name: replace(getattr(position, name), seed=value)
        for name, value in tables.items()
        if isinstance(getattr(position, name), DrawnTable)
    }
    return replace(site, position=replace(position, **drawn))


def _deviation(name: str, table: str) -> Slider[Site]:
    """The row of a table's standard deviation, which is called as the table is."""
    described = field_at(f"position.{table}")
    assert described is not None
    said = described.field
    slider: Slider[Site] = row(
        f"position.{table}.std", name=name, label=said.title, hint=said.hint, default=0.5
    )
    return slider


RELATIVE_FIELDS: tuple[FormField[Site], ...] = (
    row("position.weights.seed", name="xl_weights_seed_field", label=N_("Seed of W_R")),
    _deviation("xl_weights_field", "weights"),
    _deviation("xl_u_field", "u"),
    _deviation("xl_v_field", "v"),
    row(
        "position.span",
        name="deberta_span_field",
        edit=set_span,
        minimum=2,
        maximum=MOST_BUCKETS,
        from_start=True,
    ),
    row(
        "position.max_distance",
        name="deberta_distance_field",
        shown=lambda e: isinstance(e.position, Deberta),
        limits=lambda e: (e.position.span // 2 + 2, FARTHEST),
    ),
    row("position.keys.seed", name="deberta_seed_field", edit=_set_deberta_seed),
    _deviation("deberta_keys_field", "keys"),
    _deviation("deberta_queries_field", "queries"),
)


def relative_note(site: Site) -> str:
    """DeBERTa's scale, if the site has another; else empty."""
    if not isinstance(site.position, Deberta):
        return ""
    d_head = site.heads.d_head
    wanted, present = (3.0 * d_head) ** -0.5, scale_value(site)
    if abs(present - wanted) < 1e-4 * wanted:
        return ""
    sentence = _("DeBERTa scales the sum by 1/√(3 · {d}) = {wanted}; this experiment by {present}.")
    return sentence.format(d=d_head, wanted=number(wanted, 4), present=number(present, 4))
