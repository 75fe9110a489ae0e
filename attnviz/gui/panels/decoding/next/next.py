"""The distribution of the next token: what it is, what it could be, and another choice by a click."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QTimer, Slot
from PySide6.QtWidgets import QWidget

from attnviz.compute.decoding import Decoded
from attnviz.core.text import isolated, number
from attnviz.gui.forms.marks import Mark
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.panels.decoding.counts import plain_label
from attnviz.gui.panels.decoding.links import Links, StepCells
from attnviz.gui.panels.decoding.names import names_of
from attnviz.gui.panels.decoding.next.rows import NextRow, NextRows
from attnviz.gui.panels.decoding.next_token import Drawn, drawn_after, sampling_of, seen_ids
from attnviz.gui.panels.decoding.part import DecodingPart
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.elided_label import ElidedLabel, WholeLabel
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _, ngettext
from attnviz.model.edit.generation import force, release, set_operation, writing_of
from attnviz.model.errors.titles import in_words
from attnviz.model.spec.sampling import Temperature, shaped

MOST_ROWS = 64
GREEDY = Temperature(0.0)

CHOICES = (
    ("greedy", N_("greedy"), N_("Generate the most probable token")),
    ("sample", N_("sample"), N_("Sample the next token by its probability")),
)


class NextPanel(DecodingPart):
    """The most probable tokens after the present step; a click on one generates it, and the text goes on."""

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._last_temperature = Temperature(0.8)
        self._order: list[int] = []
        self._rows, self._cells = NextRows(), StepCells(store)
        says(self._rows, id="decode_next", name=N_("next token"))
        self._rows.used.connect(self._on_used)
        Mark(store, self._rows, "forced")
        Links(store, self._rows, self._cells.next)
        self._place, self._others = WholeLabel(), ElidedLabel()
        self._place.setObjectName("decode_after")
        self._others.setObjectName("decode_others")
        self._empty = plain_label("decode_next_empty")
        name = N_("Choice of the next token")
        self._choice = says(Segmented(()), id="decode_choice", name=name, options=CHOICES)
        self._choice.changed.connect(self._on_choice)
        self._header = QWidget()
        in_row(self._header, self._place, self._choice, spacing=GRID)
        column = in_column(self, spacing=GRID // 2)
        self._scroll = clear_scroll(self._rows, sideways=False)
        bar = self._scroll.verticalScrollBar()
        bar.valueChanged.connect(self._on_scrolled)
        bar.rangeChanged.connect(self._on_scrolled)
        # Rows have their height once they have been laid out, which Qt does later.
        self._laid_out = QTimer(self)
        self._laid_out.setSingleShot(True)
        self._laid_out.setInterval(0)
        self._laid_out.timeout.connect(self._bring_into_sight)
        column.addWidget(self._scroll, 1)
        column.addWidget(self._empty, 1)
        column.addWidget(self._others)
        set_tone("muted", self._place, self._others, self._empty)

    def header(self) -> QWidget:
        """The token before, and the rule of the choice, for the title."""
        return self._header

    # --- following

    def refresh(self) -> None:
        """Show the document's rule, and its effect on the step at once."""
        operations = writing_of(self.store.experiment).sampling.operations
        heat = next((one for one in operations if isinstance(one, Temperature)), None)
        is_greedy = heat == GREEDY or self.store.experiment.writing is None
        if heat is not None and not is_greedy:
            self._last_temperature = heat
        self._choice.set_value("greedy" if is_greedy else "sample")
        self.show_step()

    def show_step(self) -> None:
        decoded = self.decoded
        self._cells.decoded, self._cells.index = decoded, self.step
        self._empty.setText(self.why_empty)
        rows = [] if decoded is None else self._likeliest(decoded)
        self._scroll.setVisible(bool(rows))
        self._empty.setVisible(not rows)
        self._rows.set_rows(rows, shows_after=any(row.after != row.probability for row in rows))
        if decoded is None:
            self._place.set_line("")
            self._others.set_line("")
            return
        token = names_of(decoded.decoding).label(decoded.decoding.steps[self.step].token)
        self._place.set_line(_("after “{token}”").format(token=isolated(token)))
        self._laid_out.start()

    @Slot()
    def _on_scrolled(self) -> None:
        """Paint other rows whole."""
        self._rows.update()

    @Slot()
    def _bring_into_sight(self) -> None:
        """Scroll to the token that is chosen; the first row in sight is whole."""
        if not self._rows.rows:
            return
        chosen = next((place for place, row in enumerate(self._rows.rows) if row.is_chosen), 0)
        bar, height = self._scroll.verticalScrollBar(), self._scroll.viewport().height()
        tops = [int(self._rows.row_rect(place).top()) for place in range(chosen + 1)]
        least = int(self._rows.row_rect(chosen).bottom()) - height
        if least <= bar.value() <= tops[-1]:
            bar.setValue(max(top for top in (0, *tops) if top <= bar.value()))
        if not least <= bar.value() <= tops[-1]:
            bar.setValue(next((top for top in (0, *tops) if top >= least), tops[-1]))

    def _likeliest(self, decoded: Decoded) -> list[NextRow]:
        """The rows of the present step; the line below says the rest, or why no rows exist."""
        step, experiment = decoded.decoding.steps[self.step], self.store.experiment
        try:
            drawn = drawn_after(decoded, self.step, experiment)
            last = shaped(sampling_of(experiment), step.logits, seen_ids(decoded, self.step))[-1]
        except ValueError as error:  # logits that are NaN have no distribution
            self._empty.setText("")
            self._others.set_line(in_words(error))
            return []
        probabilities = step.probabilities
        order = np.argsort(-probabilities, kind="stable")
        self._order = order[:MOST_ROWS].tolist()
        if drawn.id not in self._order:
            self._order[-1] = drawn.id
        self._cells.order = self._order
        self._others.set_line(
            self._rest(decoded, drawn, int(np.count_nonzero(probabilities > probabilities[drawn.id])) + 1)
        )
        names, texts = names_of(decoded.decoding), decoded.decoding.vocabulary
        return [
            NextRow(
                names.label(texts[id_]),
                names.described(texts[id_]),
                float(probabilities[id_]),
                float(last.probabilities[id_]),
                id_ == drawn.id,
                id_ == drawn.id and drawn.is_forced,
            )
            for id_ in self._order
        ]

    def _rest(self, decoded: Decoded, drawn: Drawn, rank: int) -> str:
        """The rule and the token that it chose, and the sum of those that are not listed."""
        decoding, probabilities = decoded.decoding, decoded.decoding.steps[self.step].probabilities
        label = isolated(names_of(decoding).label(decoding.vocabulary[drawn.id]))
        text = drawn.words.format(token=label, p=number(float(probabilities[drawn.id]), 4), rank=rank)
        n_others = len(probabilities) - len(self._order)
        if not n_others:
            return text
        others = ngettext("{n} other: {p}", "{n} others sum to {p}", n_others)
        left = float(np.delete(probabilities, self._order).sum(dtype=np.float64))
        return f"{text} · {others.format(n=f'{n_others:,}', p=number(left, 4))}"

    def retranslate(self) -> None:
        self.refresh()

    # --- acting

    @Slot(int)
    def _on_used(self, row: int) -> None:
        """Generate the token of a row, and show the step that computes it; a forced one is sampled again."""
        decoded, place = self.decoded, self.step + 1
        if decoded is None:
            return
        if self._rows.rows[row].is_forced:
            self.store.edit(release, place)
        elif self.store.edit(force, place, decoded.decoding.vocabulary[self._order[row]]):
            self.store.look(step=place)

    @Slot(str)
    def _on_choice(self, choice: str) -> None:
        self.store.edit(set_operation, GREEDY if choice == "greedy" else self._last_temperature)
        self.refresh()
