"""The masks: all of them together, the families as tiles, their settings, and their effects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from attnviz.checkpoints.signals.reading import read_array
from attnviz.core.phrases import enumerated
from attnviz.core.text import elide
from attnviz.errors import InputError, about, message_of
from attnviz.gui.forms.fields import Choice, FormField
from attnviz.gui.forms.marks import Mark
from attnviz.gui.forms.paths import positions, presence, row
from attnviz.gui.forms.rows import Note
from attnviz.gui.live.brush import Brush
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.panels.mechanism.families import FAMILIES, FamilyGrid
from attnviz.gui.panels.mechanism.section import Section
from attnviz.gui.panels.mechanism.tile import MaskTile
from attnviz.gui.pointer import Pointer
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.numbers.block import laid_over, parse_block
from attnviz.gui.widgets.numbers.grid import NumberGrid
from attnviz.gui.widgets.numbers.painting import CELL_HEIGHT
from attnviz.i18n import N_, _, ngettext
from attnviz.model.edit.additive import put_array, put_table, set_additive, set_per_head, table_of, zeros
from attnviz.model.edit.edits import remove_mask
from attnviz.model.edit.masks import (
    bias_without_effect,
    find_mask,
    fitting_mask,
    has_pattern,
    joining,
    put_mask,
    set_bias,
    set_fully_masked_row,
    set_joining,
    settled_row,
    take_mask,
)
from attnviz.model.edit.switching import LastOfKind
from attnviz.model.fields import FIELDS, FieldRow
from attnviz.model.io.json_text import MAX_TEXT
from attnviz.model.io.regular_file import read_text
from attnviz.model.masks import MASKS, MaskFamily, mask_of, visible_pairs
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import AdditiveMask, AnyOf, Mask, OneMask, Padding, Painted
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell
from attnviz.model.text import shown_token


def _longer(site: Site) -> int:
    return max(site.n_queries, site.n_keys)


def _row(field: FieldRow) -> FormField[Site]:
    form_field: FormField[Site] = row(field.path) if field.kind is int else positions(field.path, _longer)
    return form_field


PADDED = positions("masks.padding.tokens", lambda site: site.n_keys)

PARAMETERS: tuple[FormField[Site], ...] = tuple(
    _row(field)
    for field in FIELDS
    if field.path.startswith("masks.") and field.owner not in (Padding, Painted, AnyOf)
)

JOINING = Choice(
    name="mask_joining_segmented",
    label=N_("Pattern combination"),
    read=joining,
    edit=set_joining,
    options=(
        ("all", N_("and"), N_("A query attends to a key that every pattern allows")),
        ("any", N_("or"), N_("A query attends to a key that at least one pattern allows")),
    ),
    hint=N_("Combines the patterns, such as window and blocks; masks such as causal always apply"),
    shown=has_pattern,
)


EFFECT: tuple[FormField[Site], ...] = (
    row("mask_placement"),
    Choice(
        name="mask_bias_segmented",
        label=N_("Blocked scores"),
        read=lambda e: "infinite" if e.mask_bias is None else "added",
        edit=lambda e, kind: set_bias(e, kind == "added"),
        options=(
            ("infinite", "−∞", N_("A blocked score is −∞: its weight is exactly 0")),
            (
                "added",
                N_("+ number"),
                N_("Adds a large negative number instead of −∞; the weight becomes tiny, not zero"),
            ),
        ),
        reason=bias_without_effect,
    ),
    row("mask_bias", shown=lambda e: e.adds_to_blocked),
    row("fully_masked_row", edit=set_fully_masked_row, reason=settled_row),
)


MOST_ROWS = 8
"""Rows that stand in the section; more are scrolled."""
ARRAY = ".npy"


class AdditiveGrid(QWidget):
    """The numbers that are added to the scores of the selected head, (query, key); −∞ blocks a key."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.setObjectName("additive_mask")
        self._store = store
        grid = NumberGrid(takes_minus_infinity=True)
        self.grid = says(grid, id="additive_grid", name=N_("Numbers of the additive mask"))
        self.grid.edited.connect(self._on_edited)
        self.grid.pasted.connect(self._on_pasted)
        self.grid.rejected.connect(store.rejected)
        self.grid.gesture_started.connect(store.begin_gesture)
        self.grid.gesture_finished.connect(store.end_gesture)
        Mark(store, self.grid, lambda: "additive_mask.values", lambda: "additive_mask")
        self._load = says(
            Button(),
            N_("Load…"),
            id="additive_load_button",
            name=N_("Load the additive mask"),
            tip=N_("Reads (query, key) or (head, query, key) from a .npy or CSV file"),
        )
        self._load.clicked.connect(self._on_load)
        self._whose = Note("additive_note")
        row = QHBoxLayout()
        row.addWidget(self._whose, 1)
        row.addWidget(self._load)
        column = in_column(self, spacing=GRID // 2)
        column.addLayout(row)
        column.addWidget(self.grid)

    def refresh(self) -> None:
        """Show the numbers of the selected head."""
        site = self._store.attention
        self.setVisible(site.additive_mask is not None)
        if site.additive_mask is None:
            return
        vocabulary = self._store.experiment.vocabulary
        labels = [
            [shown_token(vocabulary, token) for token in tokens] for tokens in (site.tokens, site.key_tokens)
        ]
        self.grid.set_values(table_of(site, self._head()), *labels)
        # The labels above, the rows, and the scroll bar below.
        self.grid.setFixedHeight((min(site.n_queries, MOST_ROWS) + 2) * CELL_HEIGHT)
        whose = _("M of head {head}").format(head=self._head() + 1)
        self._whose.setText(whose if site.additive_mask.per_head else _("M of all heads"))

    def _head(self) -> int:
        return min(self._store.document.view.head, self._store.attention.heads.n_heads - 1)

    def _put(self, values: NDArray[np.float64]) -> None:
        self._store.edit_here(put_table, self._head(), values)

    @Slot(int, int, float)
    def _on_edited(self, row: int, column: int, value: float) -> None:
        values = table_of(self._store.attention, self._head())
        values[row, column] = value
        self._put(values)

    @Slot(int, int, object)
    def _on_pasted(self, row: int, column: int, block: NDArray[np.float64]) -> None:
        present = table_of(self._store.attention, self._head())
        values, complaint = laid_over(present, row, column, block)
        self._put(values)
        if complaint is not None:
            self._store.rejected.emit(complaint)

    @Slot()
    def _on_load(self) -> None:
        kinds = _("Numbers (*.npy *.csv *.tsv *.txt)")
        name, _kind = QFileDialog.getOpenFileName(self, _("Load the additive mask"), "", kinds)
        if name:
            self.load(Path(name))

    def load(self, path: Path) -> None:
        """Read the numbers of a file; emit why it has none."""
        try:
            array = read_numbers(path)
        except InputError as error:
            self._store.rejected.emit(error)
            return
        self._store.edit_here(put_array, array)


def read_numbers(path: Path) -> NDArray[Any]:
    """The array of a .npy file, or the rows of a text, perhaps with labels around them.

    Raises `InputError`.
    """
    if path.suffix == ARRAY:
        return read_array(path)
    try:
        text = read_text(path, MAX_TEXT)
    except (OSError, InputError) as error:
        raise InputError(about(path.name, message_of(error))) from None
    lines = text.splitlines()
    if lines and lines[0][:1] in (",", "\t", ";"):  # an empty corner: labels around the numbers
        mark = lines[0][0]
        text = "\n".join(line.split(mark, 1)[-1] for line in lines[1:])
    try:
        return parse_block(text, takes_minus_infinity=True)
    except InputError as error:
        raise InputError(about(path.name, error.message)) from None


PER_HEAD = row("additive_mask.per_head", name="additive_per_head_toggle", edit=set_per_head)

MOST_COUNTED = 1 << 20
"""Pairs that are counted while a hand moves: a few milliseconds."""


class MaskSection(Section):
    """A small picture of all masks together over the tiles of the families; below, the settings
    of active ones.
    """

    id = "mask"
    heading = N_("Mask")
    spoken = {
        "paint_button": (
            N_("Paint the mask by hand"),
            N_("Drag over the map or the small picture to block or release cells"),
        ),
        "painted_clear_button": (N_("Clear all painted cells"),),
    }

    def fill(self) -> None:
        self._masks = LastOfKind()
        self._last_additive: AdditiveMask | None = None
        self._shown: tuple[tuple[Mask, ...], AdditiveMask | None, int, int, int] | None = None
        self._seen: int | None = None
        self.tile = MaskTile()
        self._brush = Brush(self.store)
        self.tile.cell_stroked.connect(self._on_stroked)
        self.tile.stroke_finished.connect(self.store.end_gesture)
        self.families = FamilyGrid()
        self.families.chosen.connect(self._on_chosen)
        top = QHBoxLayout()
        top.setSpacing(GRID + GRID // 2)
        top.addWidget(self.tile)
        top.addLayout(self._together(), 1)
        self.body.addLayout(top)
        self.body.addSpacing(GRID // 2)
        self.body.addWidget(self.families)
        self.add_form((PADDED,))
        self._padded = Note("padded_tokens")
        self.body.addWidget(self._padded)
        self.add_form((*PARAMETERS, JOINING))
        self.add_form(EFFECT)
        self.add_form((presence("additive_mask", self._set_additive), PER_HEAD))
        self.additive = AdditiveGrid(self.store)
        self.body.addWidget(self.additive)
        self.store.pointer_changed.connect(self._on_pointer)

    def present(self, document: Document) -> str:
        """The families of the masks: "causal · window"."""
        site = document.attention
        names = [_(family.title) for family in MASKS if find_mask(site, family.kind) is not None]
        names += [] if site.additive_mask is None else ["+ M"]
        return " · ".join(names) or _("none")

    def _together(self) -> QVBoxLayout:
        """Layout beside the picture: the visible pairs, and painting cells."""
        self._pairs = Note("visible_pairs")
        self._painted = QLabel()
        self._painted.setObjectName("painted_count")
        self._clear = says(
            Button(), N_("Clear"), id="painted_clear_button", name=N_("Clear all painted cells")
        )
        self._paint = says(
            Button(),
            N_("Paint"),
            id="paint_button",
            name=N_("Paint the mask by hand"),
            tip=N_("Drag over the map or the small picture to block or release cells"),
        )
        self._paint.setCheckable(True)
        self._clear.clicked.connect(self._on_clear)
        self._paint.clicked.connect(self._on_paint)
        buttons = QVBoxLayout()  # side by side they would widen a narrow panel
        buttons.setSpacing(GRID // 2)
        buttons.addWidget(self._paint, 0, Qt.AlignmentFlag.AlignLeft)
        buttons.addWidget(self._clear, 0, Qt.AlignmentFlag.AlignLeft)
        column = QVBoxLayout()
        column.setSpacing(GRID // 2)
        column.addWidget(self._pairs)
        column.addWidget(self._painted)
        column.addStretch(1)
        column.addLayout(buttons)
        return column

    def on_document(self, old: Document | None, new: Document) -> None:
        for family in FAMILIES:
            mask = find_mask(new.attention, family.kind)
            if mask is not None:
                self._masks.note(mask)
        super().on_document(old, new)
        self.tile.set_experiment(new.attention)
        self._show_masks(new.attention)
        self._show_pairs(new.attention)
        self._show_padded(new.attention)
        self._show_painted(new.attention)
        self._last_additive = new.attention.additive_mask or self._last_additive
        self.additive.refresh()

    def on_view(self, document: Document) -> None:
        self.additive.refresh()

    def on_hover(self, cell: Cell | None) -> None:
        self.tile.set_cell(cell)

    def _show_masks(self, site: Site) -> None:
        """Draw the families and count the visible pairs, if masks or lengths changed."""
        shown = (site.masks, site.additive_mask, site.query_offset, site.n_queries, site.n_keys)
        if shown != self._shown:
            self._shown = shown
            self.families.show_masks(site, self._wanted)
            self._seen = visible_pairs(site) if site.n_queries * site.n_keys <= MOST_COUNTED else None

    def _show_pairs(self, site: Site) -> None:
        """Number of visible (query, key) pairs."""
        everything = site.n_queries * site.n_keys
        if self._seen is None:
            text = _("{all} pairs; visible pairs are counted up to {most}")
            self._pairs.setText(text.format(all=f"{everything:,}", most=f"{MOST_COUNTED:,}"))
        else:
            text = _("Visible pairs: {seen} of {all}")
            self._pairs.setText(text.format(seen=f"{self._seen:,}", all=f"{everything:,}"))

    def _show_padded(self, site: Site) -> None:
        """The padded tokens by name."""
        padding = find_mask(site, Padding)
        inside = [i for i in getattr(padding, "tokens", ()) if i < site.n_keys]
        vocabulary = self.store.experiment.vocabulary
        names = [shown_token(vocabulary, site.key_tokens[i]) for i in inside]
        text = elide(enumerated(elide(name, 24) for name in names), 120)
        self._padded.setText(_("Hidden keys: {tokens}").format(tokens=text))
        self._padded.setVisible(bool(names))

    def _show_painted(self, site: Site) -> None:
        count = len(getattr(mask_of(site, Painted), "cells", ()))
        self._painted.setText(ngettext("{n} painted cell", "{n} painted cells", count).format(n=count))
        self._painted.setVisible(count > 0)
        self._clear.setVisible(count > 0)

    def _wanted(self, family: MaskFamily) -> OneMask:
        """The mask of a family that is switched on: its last one, as far as it fits, or a default."""
        experiment = self.store.attention
        return fitting_mask(self._masks.last(family.kind, family.fresh(experiment)), experiment)

    @Slot(object, bool)
    def _on_chosen(self, family: MaskFamily, is_wanted: bool) -> None:
        if is_wanted:
            self.store.edit_attention(put_mask, self._wanted(family))
        else:
            self.store.edit_attention(take_mask, family.kind)
        self.families.show_masks(self.store.attention, self._wanted)

    def _set_additive(self, site: Site, is_on: bool) -> Site:
        return set_additive(site, (self._last_additive or zeros(site)) if is_on else None)

    @Slot()
    def _on_clear(self) -> None:
        self.store.edit_attention(remove_mask, Painted)

    @Slot(bool)
    def _on_paint(self, is_painting: bool) -> None:
        self.store.set_paint_mode(is_painting)

    @Slot(int, int, bool)
    def _on_stroked(self, row: int, column: int, starts: bool) -> None:
        self._brush.touch(row, column, starts=starts)

    @Slot(object, object)
    def _on_pointer(self, old: Pointer, new: Pointer) -> None:
        self._paint.setChecked(new.paints)
        self.tile.set_paint_mode(new.paints)
