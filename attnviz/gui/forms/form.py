"""A form: the rows of a table of fields below each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from attnviz.errors import FieldError, message_of
from attnviz.gui.forms.fields import FormField
from attnviz.gui.forms.rows import Row, SliderRow, make_row
from attnviz.gui.forms.subject import S, Subject
from attnviz.gui.look.theme import GRID
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.model.spec.document import Document


class Form(QWidget):
    """Rows for `fields` of `subject`; `refresh` shows the present values without editing them."""

    def __init__(
        self, fields: Sequence[FormField[S]], subject: Subject[S], store: Store, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.rows: tuple[Row[Any], ...] = tuple(make_row(field, subject, store) for field in fields)
        self._store, self._is_marked = store, False
        store.rejected.connect(self.mark)
        column = in_column(self, spacing=GRID - 2)
        for row in self.rows:
            row.hide()  # until `refresh` knows which apply: a first layout must not make room for all
            column.addWidget(row)

    def refresh(self) -> None:
        """Show the document's values."""
        for row in self.rows:
            row.refresh()
        # A form without rows would still take a gap of its own.
        self.setVisible(not all(row.isHidden() for row in self.rows))

    def retranslate(self) -> None:
        for row in self.rows:
            row.show_error()
        align_sliders([row for row in self.rows if isinstance(row, SliderRow)])

    @Slot(object)
    def mark(self, error: Exception | None) -> None:
        """Mark the rows of the field that is wrong, or of the nearest part around it, and no others."""
        path = error.path if isinstance(error, FieldError) else ""
        about = [row.field.path for row in self.rows if path and row.is_about(path)]
        nearest = max(about, key=len, default="")
        for row in self.rows:
            row.mark(message_of(error) if error and nearest and row.field.path == nearest else None)
        self._await_edit(bool(nearest))

    def _await_edit(self, is_marked: bool) -> None:
        """Listen to edits only while a row is marked: the window has many forms."""
        if is_marked and not self._is_marked:
            self._store.changed.connect(self._on_changed)
        elif self._is_marked and not is_marked:
            self._store.changed.disconnect(self._on_changed)
        self._is_marked = is_marked

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        """An error is over with the next edit that is taken."""
        if old.experiment is not new.experiment:
            for row in self.rows:
                row.mark(None)
            self._await_edit(False)


def align_sliders(rows: Sequence[SliderRow[Any]]) -> None:
    """Make the labels of sliders equally wide, so that the sliders begin below each other."""
    labels = [row.slider_label() for row in rows]
    width = max((label.sizeHint().width() for label in labels), default=0)
    for label in labels:
        label.setMinimumWidth(width)
