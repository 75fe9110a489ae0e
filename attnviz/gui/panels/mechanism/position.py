"""The position: its kind, and what belongs to it: RoPE's dials and scaling, tables, ALiBi's slopes."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QWidget

from attnviz.core.text import number
from attnviz.errors import FieldError, InputError
from attnviz.gui.forms.fields import Choice, Edit, FormField, Slider
from attnviz.gui.forms.paths import row
from attnviz.gui.forms.rows import Note
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.panels.mechanism.head_numbers import HeadNumbers
from attnviz.gui.panels.mechanism.rope import SCALING_FIELDS, RopeDials, scaling_note
from attnviz.gui.panels.mechanism.section import Section
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.segmented import Option
from attnviz.i18n import N_, _
from attnviz.model.edit.paths import put_at, putting
from attnviz.model.edit.switching import (
    LastOfKind,
    scale_value,
    set_buckets,
    set_n_rotated,
    set_position,
    set_slope,
    set_span,
)
from attnviz.model.errors.titles import in_words
from attnviz.model.fields import field_at, place_in_attention
from attnviz.model.operands.matrices import table_array
from attnviz.model.positions import POSITIONS, n_rotated, rotation, slopes_of
from attnviz.model.scalings import SCALING_BY_RECORD, SCALINGS
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import Alibi, Rope
from attnviz.model.spec.positions import Deberta, T5Buckets, values_beside_latent
from attnviz.model.spec.site import Site
from attnviz.model.spec.source import DrawnTable, WrittenTable
from attnviz.model.spec.value import Refusal
from attnviz.model.spec.view import Cell
from attnviz.model.trace import Trace


def _publish(site: Site) -> Site:
    return replace(site, position=Alibi(None))


class AlibiSlopes(QWidget):
    """Shown where the position is ALiBi."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.setObjectName("alibi_slopes")
        self._store = store
        self._numbers = HeadNumbers(
            store,
            "alibi_slope",
            "position.slopes",
            N_("Slope of head {head}"),
            set_slope,
        )
        self._reset = says(Button(), N_("Published slopes"), id="alibi_reset_button")
        says(self._reset, name=N_("Reset to the published slopes"))
        self._reset.clicked.connect(self._on_reset)
        column = in_column(self, self._numbers, spacing=GRID - 2)
        column.addWidget(self._reset, 0, Qt.AlignmentFlag.AlignRight)

    def refresh(self) -> None:
        """Show the document's slopes."""
        position: Any = self._store.attention.position
        is_shown = isinstance(position, Alibi)
        self.setVisible(is_shown)
        if is_shown:
            self._numbers.show_values(slopes_of(self._store.attention))
            self._reset.setVisible(position.slopes is not None)

    @Slot()
    def _on_reset(self) -> None:
        self._store.edit_attention(_publish)


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


KINDS = {row.id: row.record for row in POSITIONS}
TITLES = {row.record: row.title for row in POSITIONS}
SCALING_KINDS = {row.id: row.record for row in SCALINGS}
FIRST_ROW = {"none", "sinusoidal", "rope", "alibi"}
"""Kinds that need no table, in the upper row of buttons; the ones with learned numbers stand below."""


def _options(kinds: Set[str]) -> tuple[Option, ...]:
    return tuple((row.id, row.title, row.description) for row in POSITIONS if row.id in kinds)


def _is_rope(site: Site) -> bool:
    return isinstance(site.position, Rope)


def _has_table(site: Site) -> bool:
    return hasattr(site.position, "table")


def _why_no_kind(site: Site, kind: str) -> Refusal:
    return KINDS[kind].at_sizes(site.sizes_for(site.position))


OFFSET: FormField[Site] = row("query_offset")

FIELDS: tuple[FormField[Site], ...] = (
    row("position.base"),
    row("position.start"),
    row(
        "position.n_rotated",
        name="rope_rotated_field",
        read=n_rotated,
        edit=set_n_rotated,
        shown=_is_rope,
        limits=lambda e: (2, e.d_turnable - e.d_turnable % 2),
        from_start=True,
    ),
    row("position.pairing", name="rope_pairing_segmented"),
    row(
        "position.on_values",
        name="rope_on_values_toggle",
        reason=lambda e: None if e.latent is None else values_beside_latent(True),
    ),
)


class PositionSection(Section):
    """The kind of encoding and what belongs to it; each kind's last numbers come back with it."""

    id = "position"
    heading = N_("Position")
    spoken = {
        "rope_dials": (
            N_("Rotation frequency of pair {pair}"),
            N_("q·k unrotated"),
            N_("q·k rotated"),
            N_("Reset to the frequencies of the base"),
        ),
        "alibi_slopes": (N_("Slope of head {head}"), N_("Reset to the published slopes")),
    }

    def fill(self) -> None:
        self._positions, self._scalings, self._tables = LastOfKind(), LastOfKind(), LastOfKind()
        self.add_form(
            (
                Choice(
                    name="position_segmented",
                    path="position.kind",
                    label="",
                    hint=N_("Position"),
                    read=lambda e: e.position.__struct_config__.tag,
                    edit=self._set_kind,
                    options=_options(KINDS.keys() & FIRST_ROW),
                    why_not=_why_no_kind,
                ),
                Choice(
                    name="position_more_segmented",
                    path="position.kind",
                    label="",
                    hint=N_("Position"),
                    read=lambda e: e.position.__struct_config__.tag,
                    edit=self._set_kind,
                    options=_options(KINDS.keys() - FIRST_ROW),
                    why_not=_why_no_kind,
                ),
            )
        )
        self._complaint = Note("position_error")
        self._complaint.hide()
        self.body.addWidget(self._complaint)
        self.dials = RopeDials(self.store)
        self.body.addWidget(self.dials)
        self.add_form((*FIELDS, self._scaling_choice(), *SCALING_FIELDS))
        self._scaling_note = Note("position_note")
        self.body.addWidget(self._scaling_note)
        self.add_form((*TABLE_FIELDS[:-2], self._table_choice(), *TABLE_FIELDS[-2:], *RELATIVE_FIELDS))
        self.slopes = AlibiSlopes(self.store)
        self.body.addWidget(self.slopes)
        self.add_form((OFFSET,))
        self.store.rejected.connect(self._on_rejected)

    def present(self, document: Document) -> str:
        """The kind, with RoPE's base and scaling: "RoPE 10 000 · YaRN"."""
        position: Any = document.attention.position
        title = _(TITLES[type(position)])
        if not _is_rope(document.attention):
            return title
        base = f"{position.base:,.6g}".replace(",", "\N{NARROW NO-BREAK SPACE}")
        scaling = SCALING_BY_RECORD[type(position.scaling)]
        parts = [f"{title} {base}", *([_(scaling.title)] if scaling.id != "none" else [])]
        return " · ".join(parts)

    def _scaling_choice(self) -> Choice[Site]:
        choice: Choice[Site] = row(
            "position.scaling",
            Choice,
            name="rope_scaling_choice",
            read=lambda e: e.position.scaling.__struct_config__.tag,
            edit=self._set_scaling,
            options=tuple((row.id, row.title, row.description) for row in SCALINGS),
            why_not=lambda e, id_: SCALING_KINDS[id_].beside_base(e.position.base),
            as_list=True,
        )
        return choice

    def _table_choice(self) -> Choice[Site]:
        choice: Choice[Site] = row(
            "position.table",
            Choice,
            name="position_table_segmented",
            hint="",
            read=table_kind,
            edit=self._set_table_kind,
            options=(
                ("seeded", N_("seeded"), N_("Samples from a normal distribution, by a seed")),
                ("explicit", N_("explicit"), N_("The present values, stored in the document")),
            ),
        )
        return choice

    def on_document(self, old: Document | None, new: Document) -> None:
        position: Any = new.attention.position
        self._positions.note(position)
        if _is_rope(new.attention):
            self._scalings.note(position.scaling)
        if _has_table(new.attention):
            self._tables.note(position.table)
        super().on_document(old, new)
        self._complaint.hide()
        self._scaling_note.setText(scaling_note(new.attention) or relative_note(new.attention))
        self._scaling_note.setVisible(bool(self._scaling_note.text()))
        self.dials.refresh()
        self.slopes.refresh()

    def on_view(self, document: Document) -> None:
        self.dials.show_pair()

    def on_trace(self, trace: Trace) -> None:
        self.dials.show_scores()

    def on_hover(self, cell: Cell | None) -> None:
        self.dials.show_pair()

    def _set_kind(self, site: Site, kind: str) -> Site:
        record = KINDS[kind]
        return set_position(site, self._positions.last(record, record()))

    def _set_scaling(self, site: Site, kind: str) -> Site:
        if not _is_rope(site):  # another layer, edited alike
            return site
        record = SCALING_KINDS[kind]
        fresh = SCALING_BY_RECORD[record].fresh(rotation(site))
        scaling = self._scalings.last(record, fresh).cut_to(n_rotated(site) // 2)
        return put_at(site, "position.scaling", scaling)

    def _set_table_kind(self, site: Site, kind: str) -> Site:
        if not _has_table(site):
            return site
        return set_table_kind(site, kind, self._tables.last(DrawnTable, DrawnTable()))

    @Slot(object)
    def _on_rejected(self, error: InputError | None) -> None:
        """Show a rejected edit of the position here, too, until the next change."""
        if isinstance(error, FieldError) and place_in_attention(error.path).startswith("position."):
            self._complaint.setText(in_words(error))
            self._complaint.show()
        elif error is None:
            self._complaint.hide()
