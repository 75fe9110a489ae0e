"""The masks: causal, padding, window, painted, any of them together, and what they do."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout

from attnviz.core.ranges import format_ranges, parse_ranges
from attnviz.core.text import elide, visible
from attnviz.gui.field_rows import Note
from attnviz.gui.fields import Choice, Number, Switch, Text
from attnviz.gui.panels.mechanism_section import Section
from attnviz.gui.panels.mechanism_tile import MaskTile
from attnviz.gui.store import Store
from attnviz.gui.theme import GRID
from attnviz.i18n import N_, _, ngettext
from attnviz.model.document import Document
from attnviz.model.edits import mask_of, remove_mask, set_mask
from attnviz.model.experiment import Experiment
from attnviz.model.parts import Causal, Padding, Painted, Window
from attnviz.model.switching import Remembered
from attnviz.model.view import Cell

FARTHEST = 1_000_000


def _has(kind: type) -> Any:
    return lambda experiment: mask_of(experiment, kind) is not None


def _set_causal(experiment: Experiment, is_on: bool) -> Experiment:
    return set_mask(experiment, Causal()) if is_on else remove_mask(experiment, Causal)


def _set_padded(experiment: Experiment, text: str) -> Experiment:
    return set_mask(experiment, Padding(parse_ranges(text, experiment.n_keys)))


def _set_left(experiment: Experiment, left: int) -> Experiment:
    return set_mask(experiment, replace(mask_of(experiment, Window), left=left))


def _set_right(experiment: Experiment, right: int) -> Experiment:
    return set_mask(experiment, replace(mask_of(experiment, Window), right=right))


def _why_no_empty_row(experiment: Experiment) -> str:
    if experiment.mask_placement == "before_softmax":
        return ""
    return _("After the softmax a blocked row is always zeros.")


PADDED = Text(
    name="padding_field",
    label=N_("Padding at"),
    read=lambda e: format_ranges(mask_of(e, Padding).tokens),
    edit=_set_padded,
    hint=N_("Positions that nobody sees, counted from 0, such as 3, 5-7"),
    placeholder="3, 5-7",
    shown=_has(Padding),
)
WINDOW = (
    Number(
        name="window_left_field",
        label=N_("Earlier keys"),
        read=lambda e: mask_of(e, Window).left,
        edit=_set_left,
        hint=N_("Keys before the query's own position that it sees"),
        shown=_has(Window),
        minimum=0,
        maximum=FARTHEST,
        integer=True,
    ),
    Number(
        name="window_right_field",
        label=N_("Later keys"),
        read=lambda e: mask_of(e, Window).right,
        edit=_set_right,
        hint=N_("Keys after the query's own position that it sees"),
        shown=_has(Window),
        minimum=0,
        maximum=FARTHEST,
        integer=True,
    ),
)
EFFECT = (
    Choice(
        name="mask_placement_segmented",
        label=N_("Applied"),
        read=lambda e: e.mask_placement,
        edit=lambda e, placement: replace(e, mask_placement=placement),
        options=(
            (
                "before_softmax",
                N_("before softmax"),
                N_("Blocked scores are −∞ before the softmax: rows sum to 1"),
            ),
            ("after_softmax", N_("after"), N_("Blocked weights are 0 after it: rows no longer sum to 1")),
        ),
        hint=N_("Before or after the softmax"),
    ),
    Choice(
        name="fully_masked_segmented",
        label=N_("Empty row"),
        read=lambda e: e.fully_masked_row,
        edit=lambda e, value: replace(e, fully_masked_row=value),
        options=(
            ("zeros", N_("zeros"), N_("A query that sees nothing gets weights of 0")),
            ("nan", "NaN", N_("A query that sees nothing gets what 0 ÷ 0 is")),
        ),
        reason=_why_no_empty_row,
    ),
)


class MaskSection(Section):
    """Switches beside a small picture of all masks together; below them what each one needs."""

    id = "mask"
    heading = N_("Mask")

    paint_mode_toggled = Signal(bool)

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._masks = Remembered()
        self.tile = MaskTile()
        top = QHBoxLayout()
        top.setSpacing(GRID)
        switches = self.add_form(
            (
                Switch(
                    name="causal_toggle",
                    label=N_("causal"),
                    read=_has(Causal),
                    edit=_set_causal,
                    hint=N_("A query sees its own position and those before it"),
                ),
                Switch(
                    name="padding_toggle",
                    label=N_("padding"),
                    read=_has(Padding),
                    edit=self._set_padding,
                    hint=N_("Some keys are seen by nobody"),
                ),
                Switch(
                    name="window_toggle",
                    label=N_("window"),
                    read=_has(Window),
                    edit=self._set_window,
                    hint=N_("A query sees the keys near its own position"),
                ),
            )
        )
        self.body.removeWidget(switches)
        top.addWidget(switches, 1)
        top.addWidget(self.tile)
        self.body.addLayout(top)
        self.add_form((PADDED,))
        self._padded = Note("padded_tokens")
        self.body.addWidget(self._padded)
        self.add_form(WINDOW)
        self.body.addLayout(self._painted_row())
        self.add_form(EFFECT)
        store.paint_mode_changed.connect(self._on_paint_mode)

    def _painted_row(self) -> QVBoxLayout:
        self._painted = QLabel()
        self._painted.setObjectName("painted_count")
        self._clear, self._paint = QPushButton(), QPushButton()
        self._clear.setObjectName("painted_clear_button")
        self._paint.setObjectName("paint_button")
        self._paint.setCheckable(True)
        self._clear.clicked.connect(self._on_clear)
        self._paint.clicked.connect(self._on_paint)
        row = QHBoxLayout()
        row.setSpacing(GRID)
        row.addWidget(self._painted)
        row.addStretch(1)
        row.addWidget(self._clear)
        row.addWidget(self._paint)
        column = QVBoxLayout()
        column.addLayout(row)
        return column

    def on_document(self, old: Document | None, new: Document) -> None:
        for mask in new.experiment.masks:
            self._masks.note(mask)
        super().on_document(old, new)
        self.tile.set_experiment(new.experiment)
        self._show_padded(new.experiment)
        self._show_painted(new.experiment)

    def on_hover(self, cell: Cell | None) -> None:
        self.tile.set_cell(cell)

    def retranslate(self) -> None:
        super().retranslate()
        self._clear.setText(_("clear"))
        self._clear.setAccessibleName(_("Free all painted cells"))
        self._paint.setText(_("paint…"))
        self._paint.setAccessibleName(_("Paint the mask by hand"))
        self._paint.setToolTip(_("Then drag over the large score map"))
        self.tile.retranslate()
        self._show_padded(self.store.experiment)
        self._show_painted(self.store.experiment)

    def _show_padded(self, experiment: Experiment) -> None:
        """The padded tokens by name."""
        padding = mask_of(experiment, Padding)
        inside = [i for i in getattr(padding, "tokens", ()) if i < experiment.n_keys]
        names = [visible(experiment.key_tokens[i]) for i in inside]
        text = elide(", ".join(elide(name, 24) for name in names), 120)
        self._padded.setText(_("Hidden keys: {tokens}").format(tokens=text))
        self._padded.setVisible(bool(names))

    def _show_painted(self, experiment: Experiment) -> None:
        count = len(getattr(mask_of(experiment, Painted), "cells", ()))
        self._painted.setText(ngettext("{n} painted cell", "{n} painted cells", count).format(n=count))
        self._clear.setVisible(count > 0)

    def _set_padding(self, experiment: Experiment, is_on: bool) -> Experiment:
        if not is_on:
            return remove_mask(experiment, Padding)
        last = self._masks.last(Padding, Padding((experiment.n_keys - 1,)))
        inside = tuple(position for position in last.tokens if position < experiment.n_keys)
        return set_mask(experiment, Padding(inside or (experiment.n_keys - 1,)))

    def _set_window(self, experiment: Experiment, is_on: bool) -> Experiment:
        if not is_on:
            return remove_mask(experiment, Window)
        right = 0 if mask_of(experiment, Causal) else 1
        return set_mask(experiment, self._masks.last(Window, Window(1, right)))

    @Slot()
    def _on_clear(self) -> None:
        self.store.edit(remove_mask, Painted)

    @Slot(bool)
    def _on_paint(self, is_painting: bool) -> None:
        self.store.set_paint_mode(is_painting)

    @Slot(bool)
    def _on_paint_mode(self, is_painting: bool) -> None:
        self._paint.setChecked(is_painting)
        self.paint_mode_toggled.emit(is_painting)
