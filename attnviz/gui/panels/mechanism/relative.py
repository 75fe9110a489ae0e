"""Relative positions that read q and k: Transformer-XL's and DeBERTa's numbers."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from attnviz.core.text import number
from attnviz.gui.forms.fields import Number, Seed, Slider, replacing
from attnviz.i18n import N_, _
from attnviz.model.edit.switching import scale_value, set_span
from attnviz.model.spec.positions import Deberta, DrawnTable, TransformerXl
from attnviz.model.spec.site import Site

FARTHEST, MOST_BUCKETS = 1_000_000, 1024


def _shown_for(kind: type, table: str = "") -> Any:
    """Whether the position is of this kind and, where a table is named, that table is drawn."""

    def shown(site: Site) -> bool:
        position = site.position
        if not isinstance(position, kind):
            return False
        return not table or isinstance(getattr(position, table), DrawnTable)

    return shown


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


def _deviation(name: str, kind: type, table: str, label: str, hint: str) -> Slider[Site]:
    return Slider(
        name=name,
        label=label,
        read=lambda e: getattr(e.position, table).std,
        edit=replacing("position", table, "std"),
        hint=hint,
        shown=_shown_for(kind, table),
        minimum=0.0,
        maximum=3.0,
        lowest=0.0,
        highest=100.0,
        default=0.5,
    )


RELATIVE_FIELDS = (
    Seed(
        name="xl_weights_seed_field",
        path="position.weights.seed",
        label=N_("Seed of W_R"),
        read=lambda e: e.position.weights.seed,
        edit=replacing("position", "weights", "seed"),
        shown=_shown_for(TransformerXl, "weights"),
    ),
    _deviation(
        "xl_weights_field",
        TransformerXl,
        "weights",
        N_("W_R"),
        N_("Standard deviation of the matrix that projects the distance sinusoids"),
    ),
    _deviation(
        "xl_u_field",
        TransformerXl,
        "u",
        N_("u"),
        N_("Standard deviation of u, the bias multiplied with every key"),
    ),
    _deviation(
        "xl_v_field",
        TransformerXl,
        "v",
        N_("v"),
        N_("Standard deviation of v, the bias multiplied with every distance"),
    ),
    Number(
        name="deberta_span_field",
        path="position.span",
        label=N_("Buckets per side"),
        read=lambda e: e.position.span,
        edit=set_span,
        hint=N_("Half of the buckets hold one distance each, the rest wider ranges"),
        shown=_shown_for(Deberta),
        minimum=2,
        maximum=MOST_BUCKETS,
        step=2,
        integer=True,
        from_start=True,
    ),
    Number(
        name="deberta_distance_field",
        path="position.max_distance",
        label=N_("Maximum distance"),
        read=lambda e: e.position.max_distance,
        edit=replacing("position", "max_distance"),
        hint=N_("All keys from this distance on share the last bucket"),
        shown=_shown_for(Deberta),
        limits=lambda e: (e.position.span // 2 + 2, FARTHEST),  # type: ignore[union-attr]
        integer=True,
    ),
    Seed(
        name="deberta_seed_field",
        path="position.keys.seed",
        label=N_("Seed"),
        read=lambda e: e.position.keys.seed,
        edit=_set_deberta_seed,
        shown=_shown_for(Deberta, "keys"),
    ),
    _deviation(
        "deberta_keys_field",
        Deberta,
        "keys",
        N_("q · K_r"),
        N_("Content to position: standard deviation of the distance keys"),
    ),
    _deviation(
        "deberta_queries_field",
        Deberta,
        "queries",
        N_("k · Q_r"),
        N_("Position to content: standard deviation of the distance queries"),
    ),
)


def relative_note(site: Site) -> str:
    """DeBERTa's scale, where the experiment has another; else empty."""
    if not isinstance(site.position, Deberta):
        return ""
    d_head = site.heads.d_head
    wanted, present = (3.0 * d_head) ** -0.5, scale_value(site)
    if abs(present - wanted) < 1e-4 * wanted:
        return ""
    says = _("DeBERTa scales the sum by 1/√(3 · {d}) = {wanted}; this experiment by {present}.")
    return says.format(d=d_head, wanted=number(wanted, 4), present=number(present, 4))
