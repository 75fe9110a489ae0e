"""The weight matrices W_q, W_k, W_v and W_o, edited like the vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.theme import GRID, Theme
from attnviz.gui.widgets.number_grid import NumberGrid
from attnviz.gui.widgets.segmented import Segmented
from attnviz.i18n import _
from attnviz.model import edits
from attnviz.model.document import Document
from attnviz.model.experiment import Experiment
from attnviz.model.materialise import projection_array
from attnviz.model.parts import ROLES, Role, Tied
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.view import Cell

SYMBOLS: tuple[tuple[Role, str], ...] = (
    ("query", "W_Q"),
    ("key", "W_K"),
    ("value", "W_V"),
    ("output", "W_O"),
)


STAGE_OF_ROLE: dict[Role, str] = {"query": "q", "key": "k", "value": "v", "output": "attention_output"}


class MatricesPanel(Panel):
    """One matrix at a time. Editing a seeded, tied or identity matrix makes it an explicit one."""

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._role = Segmented([(role, symbol, "") for role, symbol in SYMBOLS], "query")
        self._role.setObjectName("matrix_segmented")
        self._role.changed.connect(self._on_role)
        self._facts = QLabel()
        self._facts.setObjectName("matrix_facts")
        self.grid = NumberGrid()
        self.grid.setObjectName("matrix_grid")
        self.grid.edited.connect(self._on_edited)
        self.grid.pasted.connect(self._on_pasted)
        self.grid.rejected.connect(store.rejected)
        self.grid.gesture_started.connect(store.begin_gesture)
        self.grid.gesture_finished.connect(store.end_gesture)
        row = QHBoxLayout()
        row.addWidget(self._role)
        row.addWidget(self._facts, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID)
        column.addLayout(row)
        column.addWidget(self.grid, 1)

    def on_document(self, old: Document | None, new: Document) -> None:
        if old is None or _shown_of(old.attention) != _shown_of(new.attention):
            self._show()

    def on_hover(self, cell: Cell | None) -> None:
        """Outline the column of W that makes the hovered cell."""
        column = -1
        if cell is not None and STAGE_OF_ROLE[self._chosen()] == cell.stage:
            per_head = STAGE_BY_ID[cell.stage].per_head
            column = cell.column + (cell.head * self.store.attention.heads.d_head if per_head else 0)
        self.grid.set_highlight((), (column,) if column >= 0 else (), ())

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._facts.setStyleSheet(f"color: {theme.muted}")

    def retranslate(self) -> None:
        self.setAccessibleName(_("Weight matrices"))
        self._role.setAccessibleName(_("Weight matrix"))
        self.grid.setAccessibleName(_("Numbers of the weight matrix"))
        self._show()

    def _chosen(self) -> Role:
        return self._role.value()  # type: ignore[return-value]

    def _show(self) -> None:
        experiment, role = self.store.attention, self._chosen()
        values = projection_array(experiment, role)
        rows, columns = values.shape
        self.grid.set_values(
            values, tuple(str(i) for i in range(rows)), tuple(str(i) for i in range(columns))
        )
        source = getattr(experiment.projections, role)
        kind = {
            "identity": _("identity"),
            "seeded": _("seeded"),
            "explicit": _("explicit"),
            "tied": _("tied"),
        }[source.__struct_config__.tag]
        if isinstance(source, Tied):
            kind += f" → {dict(SYMBOLS)[source.to]}"
        self._facts.setText(f"{rows} × {columns} · {kind}")

    @Slot(str)
    def _on_role(self, role: str) -> None:
        self._show()

    @Slot(int, int, float)
    def _on_edited(self, row: int, column: int, value: float) -> None:
        self.store.edit_attention(edits.set_weight_cell, self._chosen(), row, column, value)

    @Slot(int, int, object)
    def _on_pasted(self, row: int, column: int, block: NDArray[np.float64]) -> None:
        values = projection_array(self.store.attention, self._chosen()).copy()
        part = block[: values.shape[0] - row, : values.shape[1] - column]
        values[row : row + part.shape[0], column : column + part.shape[1]] = part
        self.store.edit_attention(edits.set_weights, self._chosen(), values)
        if part.shape != block.shape:
            message = _("pasted {rows} × {columns}; what is past the table's edge was left out")
            self.store.rejected.emit(message.format(rows=part.shape[0], columns=part.shape[1]))


def _shown_of(experiment: Experiment) -> tuple[object, ...]:
    """What the panel's numbers depend on: a drag of a vector changes none of it."""
    return (experiment.projections, experiment.heads, *map(experiment.projection_shape, ROLES))
