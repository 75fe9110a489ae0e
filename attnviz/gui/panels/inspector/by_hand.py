"""The line below the path: what is done by hand to the locked cell, or to its row."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QSizePolicy, QToolButton, QWidget

from attnviz.core.phrases import named
from attnviz.explain.arithmetic.cell import exists
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import composed, says
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_row
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.edit.by_hand import find_edit, put_edit, take_edit
from attnviz.model.reading import Reading, stage_symbol
from attnviz.model.spec.edit import EDITABLE, FROM_LATENT, OPERATIONS, Edit, Operation
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace

NEUTRAL: dict[Operation, float] = {"add": 0.0, "scale": 1.0}
"""The number by which an operation changes nothing."""

SIGNS: dict[Operation, str] = {"set": "=", "add": "+", "scale": "×"}


class ByHand(QWidget):
    """An operation, a number, the cell or its row, and removal; or why the cell is edited elsewhere.

    The choice of operation and extent changes nothing by itself until the number is moved or an edit exists.
    """

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.setObjectName("by_hand")
        self._store = store
        self._cell: Cell | None = None
        self._computed = 0.0
        operations = [(id_, SIGNS[id_], composed(named, title, hint)) for id_, title, hint in OPERATIONS]
        self._operation = Segmented((), "set")
        says(self._operation, id="by_hand_operation", name=N_("Operation by hand"), options=operations)
        self._operation.changed.connect(self._on_operation)
        self._number = DragNumber(decimals=3)
        says(self._number, id="by_hand_number", name=N_("Number by hand"))
        self._number.changed.connect(self._on_number)
        self._number.rejected.connect(store.rejected)
        self._number.gesture_started.connect(store.begin_gesture)
        self._number.gesture_finished.connect(store.end_gesture)
        extents = (
            ("cell", N_("cell"), N_("Edits this cell alone")),
            ("row", N_("row"), N_("Edits the whole row of this head")),
        )
        self._extent = Segmented((), "cell")
        says(self._extent, id="by_hand_extent", name=N_("Extent of the edit"), options=extents)
        self._extent.changed.connect(self._on_extent)
        tip = N_("The computed number stands here again")
        self._remove = says(QToolButton(), id="by_hand_remove", name=N_("Remove"), tip=tip)
        self._remove.setText("↺")
        self._remove.setAutoRaise(True)
        self._remove.clicked.connect(self._on_remove)
        self._refusal = ElidedLabel()
        self._refusal.setObjectName("by_hand_refusal")
        set_tone("muted", self._refusal)
        parts = self._operation, self._number, self._extent, self._remove
        row = in_row(self, *parts, spacing=GRID // 2)
        row.addWidget(self._refusal, 1)
        row.addStretch(0)
        # What is done to a cell does not widen the dock.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._parts: tuple[QWidget, ...] = parts

    def show_cell(self, site: SiteTrace, cell: Cell | None) -> None:
        """Show what is done to a cell of the selected attention; None hides the line."""
        here = cell is not None and cell.site in ("", self._store.document.site) and site.quantity == "value"
        self.setVisible(here)
        if cell is None or not here:
            self._cell = None
            return
        reason = self._why_not(site, cell)
        if cell != self._cell and not reason:
            self._begin(cell)
        self._cell = cell
        self._refusal.set_line(reason)
        for part in self._parts:
            part.setVisible(not reason)
        if not reason:
            self._show_edit(site, cell)

    def take_focus(self) -> None:
        """Put the focus on the number, ready to be typed over."""
        self._number.setFocus(Qt.FocusReason.ShortcutFocusReason)

    # --- showing

    def _begin(self, cell: Cell) -> None:
        """Begin with the edit that a newly locked cell has, of the cell itself or of its row."""
        site = self._store.attention
        for extent in ("cell", "row"):
            edit = find_edit(site, self._edit(cell, extent, 0.0))
            if edit is not None:
                self._extent.set_value(extent)
                self._operation.set_value(edit.operation)
                return
        self._extent.set_value("cell")
        self._operation.set_value("set")

    def _show_edit(self, site: SiteTrace, cell: Cell) -> None:
        edit = self._edit_here()
        self._remove.setVisible(edit is not None)
        if edit is not None:
            self._operation.set_value(edit.operation)
            self._number.set_value(edit.at(cell.column))
        else:
            stands = Reading(site).number(cell)
            operation: Operation = self._operation.value()  # type: ignore[assignment]
            self._number.set_value(NEUTRAL.get(operation, stands))

    def _why_not(self, site: SiteTrace, cell: Cell) -> str:
        """Why the cell cannot be edited, in one sentence; empty if it can."""
        if cell.stage in EDITABLE:
            if site.experiment.latent is None or cell.stage not in FROM_LATENT:
                return ""
            return _("Every step computes keys and values from the latent: edit latent or RoPE key.")
        origin = site.given.get(cell.stage)
        if origin is not None and origin.stage in EDITABLE:
            text = _("This is {stage} of {site}: edit it there.")
            return text.format(stage=stage_symbol(origin.stage), site=origin.site)
        return _("These are the given vectors: edit them among the token vectors.")

    # --- acting

    def _edit(self, cell: Cell, extent: str, value: float) -> Edit:
        operation: Operation = self._operation.value()  # type: ignore[assignment]
        head = cell.head if STAGE_BY_ID[cell.stage].per_head else None
        column = cell.column if extent == "cell" else None
        return Edit(cell.stage, cell.row, value, operation, head, column)

    def _edit_here(self) -> Edit | None:
        """The edit of the chosen extent."""
        if self._cell is None:
            return None
        return find_edit(self._store.attention, self._edit(self._cell, self._extent.value(), 0.0))

    @property
    def _present(self) -> Cell | None:
        """The cell, if the numbers have it: a moment ago an edit elsewhere may have removed it."""
        cell = self._cell
        return cell if cell is not None and exists(self._store.shown_site, cell) else None

    @Slot(object)
    def _on_number(self, value: float) -> None:
        cell = self._present
        if cell is not None:
            self._store.edit_here(put_edit, self._edit(cell, self._extent.value(), float(value)))

    @Slot(str)
    def _on_operation(self, operation: str) -> None:
        """Another operation begins with the number by which it changes nothing."""
        cell = self._present
        if cell is None:
            return
        if self._edit_here() is None:
            self._show_edit(self._store.shown_site, cell)
            return
        stands = Reading(self._store.shown_site).number(cell)
        value = NEUTRAL.get(operation, stands)  # type: ignore[call-overload]
        self._store.edit_here(put_edit, self._edit(cell, self._extent.value(), value))

    @Slot(str)
    def _on_extent(self, extent: str) -> None:
        cell = self._present
        if cell is not None:
            self._show_edit(self._store.shown_site, cell)

    @Slot()
    def _on_remove(self) -> None:
        edit = self._edit_here()
        if edit is not None:
            self._store.edit_here(take_edit, edit)
