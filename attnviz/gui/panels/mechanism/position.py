"""The position: its kind, and what belongs to it: RoPE's dials and scaling, tables, ALiBi's slopes."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from PySide6.QtCore import Slot

from attnviz.errors import FieldError, InputError
from attnviz.gui.forms.fields import Choice, FormField
from attnviz.gui.forms.paths import row
from attnviz.gui.forms.rows import Note
from attnviz.gui.panels.mechanism.dials import RopeDials
from attnviz.gui.panels.mechanism.relative import RELATIVE_FIELDS, relative_note
from attnviz.gui.panels.mechanism.scaling import SCALING_FIELDS, scaling_note
from attnviz.gui.panels.mechanism.section import Section
from attnviz.gui.panels.mechanism.slopes import AlibiSlopes
from attnviz.gui.panels.mechanism.tables import TABLE_FIELDS, set_table_kind, table_kind
from attnviz.gui.widgets.segmented import Option
from attnviz.i18n import N_, _
from attnviz.model.edit.paths import put_at
from attnviz.model.edit.switching import LastOfKind, set_n_rotated, set_position
from attnviz.model.errors.titles import in_words
from attnviz.model.fields import place_in_attention
from attnviz.model.positions import POSITIONS, n_rotated, rotation
from attnviz.model.scalings import SCALING_BY_RECORD, SCALINGS
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import Rope
from attnviz.model.spec.positions import values_beside_latent
from attnviz.model.spec.site import Site
from attnviz.model.spec.source import DrawnTable
from attnviz.model.spec.value import Refusal
from attnviz.model.spec.view import Cell
from attnviz.model.trace import Trace

KINDS = {row.id: row.record for row in POSITIONS}
TITLES = {row.record: row.title for row in POSITIONS}
SCALING_KINDS = {row.id: row.record for row in SCALINGS}
FIRST_ROW = {"none", "sinusoidal", "rope", "alibi"}
"""Kinds that need no table, in the upper row of buttons; the ones with learned numbers stand below."""
LAST_START = 2**31


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
    def _on_rejected(self, error: InputError) -> None:
        """Show a rejected edit of the position here, too, until the next change."""
        if isinstance(error, FieldError) and place_in_attention(error.path).startswith("position."):
            self._complaint.setText(in_words(error))
            self._complaint.show()
