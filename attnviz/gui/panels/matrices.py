"""Every weight of the selected attention, edited like the vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from attnviz.explain.parameters import explain_parameter
from attnviz.gui.forms.marks import Mark
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.look.words import says
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.combo import DropDown
from attnviz.gui.widgets.explanation_page import ExplanationPage
from attnviz.gui.widgets.heat.stages import numbered
from attnviz.gui.widgets.numbers.block import laid_over
from attnviz.gui.widgets.numbers.grid import NumberGrid
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.sites.stages import stage_shape
from attnviz.model.spec.arrays import in_float64
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import ROLES
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import Trace
from attnviz.model.weights import Weight, weights_of

ADDED = "additive_mask.values"
"""The path of the numbers among which −∞ may stand."""

LEAST_PX = 56
"""Least height of the arithmetic of the current cell."""


class MatricesPanel(Panel):
    """One weight at a time. Editing a seeded, tied or identity matrix makes it an explicit one.

    Below the grid stands where the number of the current cell comes from, and, where gradients are drawn, its
    gradient.
    """

    follows = ()
    draws_gradients = True

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._known: tuple[str, ...] = ()
        self._is_entering = False
        """True while the grid's own edit is on its way: it shows the number already."""
        says(self, name=N_("Weight matrices"))
        self._choice = says(DropDown(), id="matrix_choice", name=N_("Weight matrix"))
        self._choice.currentIndexChanged.connect(self._on_chosen)
        self._facts = QLabel()
        self._facts.setObjectName("matrix_facts")
        self.grid = says(NumberGrid(), id="matrix_grid", name=N_("Numbers of the weight matrix"))
        self.grid.edited.connect(self._on_edited)
        self.grid.pasted.connect(self._on_pasted)
        self.grid.rejected.connect(store.rejected)
        self.grid.gesture_started.connect(store.begin_gesture)
        self.grid.gesture_finished.connect(store.end_gesture)
        Mark(store, self.grid, lambda: self._chosen().path)
        self.page = says(ExplanationPage(), id="matrix_cell", name=N_("Arithmetic of the cell"))
        self.page.setMinimumHeight(LEAST_PX)
        self.page.hide()
        self.page.followed.connect(self._on_followed)
        self.page.pointed.connect(self._on_pointed)
        self.grid.current_changed.connect(self._explain)
        row = QHBoxLayout()
        row.addWidget(self._choice)
        row.addWidget(self._facts, 1)
        column = in_column(self, spacing=GRID)
        column.addLayout(row)
        column.addWidget(self.grid, 3)
        column.addWidget(self.page, 2)
        set_tone("muted", self._facts)

    def on_document(self, old: Document | None, new: Document) -> None:
        if old is None or _shown_of(old.attention) != _shown_of(new.attention):
            self._show()

    def on_trace(self, trace: Trace) -> None:
        self._explain()

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self.page.apply_theme(theme)

    def on_hover(self, cell: Cell | None) -> None:
        """Outline the column of W that makes the hovered cell."""
        column, weight = -1, self._chosen()
        if cell is not None and weight.stage == cell.stage and cell.site in ("", self.store.document.site):
            attention = self.store.attention
            is_shared = weight.path.startswith("qk_norm") and not (
                attention.qk_norm is not None and attention.qk_norm.across
            )
            per_head = STAGE_BY_ID[cell.stage].per_head and not is_shared
            own = cell.stage in ("q", "gate")
            width = stage_shape(attention, cell.stage)[-1] if own else attention.heads.d_head
            is_beside = cell.stage == "k" and cell.column >= width  # the RoPE key has a matrix of its own
            column = -1 if is_beside else cell.column + (cell.head * width if per_head else 0)
        self.grid.set_highlight((), (column,) if column >= 0 else (), ())

    def retranslate(self) -> None:
        self._show()

    def _chosen(self) -> Weight:
        """The weight that is shown: the first one where the chosen one is not used any more."""
        weights = weights_of(self.store.attention)
        path = self._choice.currentData()
        return next((weight for weight in weights if weight.path == path), weights[0])

    def _fill(self) -> None:
        """Offer the weights that the attention uses; the chosen one stays chosen if it still exists."""
        weights = weights_of(self.store.attention)
        paths = tuple(weight.path for weight in weights)
        if paths == self._known:
            return
        chosen, self._known = self._chosen().path, paths
        self._choice.blockSignals(True)
        self._choice.clear()
        for weight in weights:
            self._choice.addItem(weight.symbol, weight.path)
        self._choice.setCurrentIndex(paths.index(chosen))
        self._choice.blockSignals(False)

    def _show(self) -> None:
        self._fill()
        attention, weight = self.store.attention, self._chosen()
        self.grid.takes_minus_infinity = weight.path == ADDED
        rows, columns = weight.shape(attention)
        if not self._is_entering:
            self.grid.set_values(weight.array(attention), numbered(rows), numbered(columns))
        kind = {
            "identity": _("identity"),
            "seeded": _("seeded"),
            "explicit": _("explicit"),
            "tied": _("tied"),
            "alibi": _("published"),
        }[weight.origin(attention)]
        if weight.tied_to(attention):
            kind += f" → {weight.tied_to(attention)}"
        self._facts.setText(f"{rows} × {columns} · {kind}")
        self._explain()

    @Slot()
    def _explain(self) -> None:
        """The number of the current cell, in words and digits."""
        cell, weight = self.grid.current_cell(), self._chosen()
        site = None if self.store.trace is None else self.store.drawn_site
        is_shown = cell is not None and site is not None and weight.source(site.experiment) is not None
        self.page.setVisible(is_shown)
        if cell is None or site is None or not is_shown:
            self.page.forget()
            return
        rows, columns = weight.shape(site.experiment)
        if cell[0] < rows and cell[1] < columns:
            self.page.set_explanation(explain_parameter(site, weight, *cell))

    @Slot(object)
    def _on_pointed(self, cell: Cell | None) -> None:
        """Light the cell whose gradient is pointed at."""
        self.store.set_hover(cell)

    @Slot(object)
    def _on_followed(self, cell: Cell) -> None:
        """Open a cell of the gradient: its stage, its head, and the arithmetic of the cell."""
        self.store.look_at(cell)

    @Slot(int)
    def _on_chosen(self, index: int) -> None:
        self._show()

    @Slot(int, int, float)
    def _on_edited(self, row: int, column: int, value: float) -> None:
        rows, columns = self._chosen().shape(self.store.attention)
        if row >= rows or column >= columns:
            return  # behind another tab the grid may have an older shape
        self._is_entering = True
        try:
            self.store.edit_here(self._chosen().put_cell, row, column, value)
        finally:
            self._is_entering = False

    @Slot(int, int, object)
    def _on_pasted(self, row: int, column: int, block: NDArray[np.float64]) -> None:
        present = in_float64(self._chosen().array(self.store.attention))
        values, complaint = laid_over(present, row, column, block)
        self.store.edit_here(self._chosen().put, values)
        if complaint is not None:
            self.store.rejected.emit(complaint)


def _shown_of(attention: Site) -> tuple[object, ...]:
    """Dependencies of the panel's numbers: a drag of a vector changes none of them."""
    around = attention.layer
    norms = around.embedding_norm, around.final_norm
    shapes = attention.projections, attention.latent, attention.heads
    parts = attention.qk_norm, attention.position, around.block, attention.gate
    more = attention.sinks, attention.differential, around.vocabulary, attention.additive_mask
    return (*shapes, *parts, *more, *norms, *map(attention.projection_shape, ROLES))
