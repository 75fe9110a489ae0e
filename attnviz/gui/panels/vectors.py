"""The token vectors as a table of numbers that are edited where they stand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QWidget

from attnviz.gui.forms.marks import Mark
from attnviz.gui.look.icons import icon
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.look.words import says
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.fold_button import FoldButton
from attnviz.gui.widgets.heat.stages import numbered
from attnviz.gui.widgets.numbers.block import laid_over
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.numbers.grid import NumberGrid
from attnviz.gui.widgets.numbers.pager import ColumnPager
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_
from attnviz.model.edit import edits
from attnviz.model.operands.matrices import vectors_array
from attnviz.model.provenance import consumers, sources
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import SeededVectors
from attnviz.model.spec.view import Cell
from attnviz.model.text import shown_token

MOST_SEED = 9999


class VectorsPanel(Panel):
    """x of the queries' sequence, or of the memory; drag, wheel, type, paste, or sample by a seed."""

    follows = ()

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self.grid = says(NumberGrid(), id="vectors_grid", name=N_("Token vectors"))
        self.grid.setMinimumHeight(58)
        self.grid.edited.connect(self._on_edited)
        self.grid.pasted.connect(self._on_pasted)
        self.grid.rejected.connect(store.rejected)
        self.grid.cell_hovered.connect(self._on_hovered)
        self._seed = DragNumber(0, minimum=0, maximum=MOST_SEED, integer=True)
        says(self._seed, id="vectors_seed_field", name=N_("Seed of the vectors"))
        self._seed.changed.connect(self._on_seed)
        self._width = DragNumber(4, minimum=1, maximum=1024, integer=True)
        says(self._width, id="d_model_field", name=N_("Model width, d_model"))
        self._width.changed.connect(self._on_width)
        for number in (self._seed, self._width):
            number.rejected.connect(store.rejected)
        for control in (self.grid, self._seed, self._width):
            control.gesture_started.connect(store.begin_gesture)
            control.gesture_finished.connect(store.end_gesture)
        name = N_("Resample the vectors with a new seed")
        self._dice = says(QToolButton(), id="vectors_dice", name=name, tip=True)
        self._dice.clicked.connect(self._on_dice)
        sequences = (("tokens", N_("queries"), ""), ("memory", N_("memory"), ""))
        self._sequence = says(Segmented((), "tokens"), id="sequence_segmented", options=sequences)
        self._sequence.changed.connect(self._on_sequence)
        self.pager = ColumnPager(self.grid)
        self._header = QWidget()
        top = in_row(self._header, spacing=GRID)
        top.addStretch(1)
        top.addWidget(self._sequence)
        top.addWidget(self.pager)
        self._fold = FoldButton(self)
        top.addWidget(self._fold)
        self._seed_label = says(QLabel(), N_("seed"))
        self._width_label = says(QLabel(), N_("features"))
        self._tokens: tuple[str, ...] = ()
        self._labels: tuple[str, ...] = ()
        Mark(store, self.grid, lambda: f"{self._path()}.values", self._path)
        Mark(store, self._seed, lambda: f"{self._path()}.seed")
        Mark(store, self._width, lambda: f"{self._path()}.d_model")
        self._lay_out()
        set_tone("muted", self._seed_label, self._width_label)

    def header(self) -> QWidget:
        """The choice of the sequence, if two exist, the pages of columns, and the fold."""
        return self._header

    def on_document(self, old: Document | None, new: Document) -> None:
        memory = new.experiment.memory
        self._sequence.setVisible(memory is not None)
        if memory is None:
            self._sequence.set_value("tokens")
        if old is None or old.experiment is not new.experiment:
            self._show()

    def on_hover(self, cell: Cell | None) -> None:
        """Outline the vectors' cells that the hovered cell comes from, or that it is."""
        trace = self.store.trace
        stage = "memory" if self._which() == "memory" else "tokens_embedded"
        cells: set[tuple[int, int]] = set()
        rows: set[int] = set()
        if cell is not None and trace is not None and cell.stage in self.store.site.stages:
            if cell.stage == stage:
                cells.add((cell.row, cell.column))
            for region in (*sources(self.store.site, cell), *consumers(self.store.site, cell)):
                if region.stage == stage and region.rows is not None:
                    rows |= set(region.rows) if region.columns is None else set()
                    cells |= {(r, c) for r in region.rows for c in region.columns or ()}
        self.grid.set_highlight(rows, (), cells)

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._dice.setIcon(icon("randomise", theme))

    def _which(self) -> edits.Sequence:
        is_memory = self._sequence.value() == "memory" and self.store.experiment.memory is not None
        return "memory" if is_memory else "tokens"

    def _path(self) -> str:
        """Path of the shown vectors in the document."""
        return "memory.vectors" if self._which() == "memory" else "vectors"

    def _show(self) -> None:
        experiment, which = self.store.experiment, self._which()
        vectors = edits.vectors_of(experiment, which)
        values = vectors_array(vectors)
        tokens = edits.tokens_of(experiment, which)
        if tokens is not self._tokens:  # in a drag they stay
            shown = (shown_token(experiment.vocabulary, token) for token in tokens)
            self._tokens, self._labels = tokens, tuple(shown)
        self.grid.set_values(values, self._labels, numbered(values.shape[1]))
        self._width.set_value(values.shape[1])
        if isinstance(vectors, SeededVectors):
            self._seed.set_value(vectors.seed)

    @Slot(int, int, float)
    def _on_edited(self, row: int, column: int, value: float) -> None:
        self.store.edit(edits.set_vector_cell, row, column, value, self._which())

    @Slot(int, int, object)
    def _on_pasted(self, row: int, column: int, block: NDArray[np.float64]) -> None:
        present = vectors_array(edits.vectors_of(self.store.experiment, self._which()))
        values, complaint = laid_over(present, row, column, block)
        self.store.edit(edits.set_vectors, values, self._which())
        if complaint is not None:
            self.store.rejected.emit(complaint)

    @Slot(int, int)
    def _on_hovered(self, row: int, column: int) -> None:
        stage = "memory" if self._which() == "memory" else "tokens_embedded"
        self.store.set_hover(Cell(stage, row, column) if row >= 0 else None)

    @Slot(object)
    def _on_seed(self, seed: int) -> None:
        self.store.edit(edits.reseed_vectors, seed, self._which())

    @Slot()
    def _on_dice(self) -> None:
        self._on_seed(int(np.random.default_rng().integers(0, MOST_SEED + 1)))

    @Slot(object)
    def _on_width(self, width: int) -> None:
        self.store.edit(edits.set_d_model, width)

    @Slot(str)
    def _on_sequence(self, which: str) -> None:
        self._show()

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(0)  # a number has a margin of its own
        row.addWidget(self._width_label)
        row.addWidget(self._width)
        row.addStretch(1)
        row.addWidget(self._seed_label)
        row.addWidget(self._seed)
        row.addWidget(self._dice)
        column = in_column(self, spacing=GRID // 2)
        column.addWidget(self.grid, 1)
        column.addLayout(row)
