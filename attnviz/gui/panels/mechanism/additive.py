"""The additive mask of the selected head as a grid, and its numbers from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QWidget

from attnviz.checkpoints.signals.reading import read_array
from attnviz.errors import InputError, about, message_of
from attnviz.gui.forms.marks import Mark
from attnviz.gui.forms.rows import Note
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.numbers.block import laid_over, parse_block
from attnviz.gui.widgets.numbers.grid import NumberGrid
from attnviz.gui.widgets.numbers.painting import CELL_HEIGHT
from attnviz.i18n import N_, _
from attnviz.model.edit.additive import put_array, put_table, table_of
from attnviz.model.io.json_text import MAX_TEXT
from attnviz.model.io.regular_file import read_text
from attnviz.model.text import shown_token

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
