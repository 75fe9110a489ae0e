"""Attention sinks, one number for each head."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from attnviz.gui.store import Store
from attnviz.gui.theme import GRID
from attnviz.gui.widgets.drag_number import DragNumber
from attnviz.i18n import _
from attnviz.model.materialise import sinks_array
from attnviz.model.switching import set_sink

MOST_SINKS = 64
COLUMNS = 2


class SinkNumbers(QWidget):
    """A number for each head (the first 64); shown where there are sinks."""

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._labels: list[QLabel] = []
        self._numbers: list[DragNumber] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(GRID)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnMinimumWidth(2, GRID)
        self.setObjectName("sink_numbers")

    def refresh(self) -> None:
        """Show the document's sinks."""
        experiment = self._store.attention
        self.setVisible(experiment.sinks is not None)
        if experiment.sinks is None:
            return
        values = sinks_array(experiment).tolist()
        while len(self._numbers) < min(len(values), MOST_SINKS):
            self._add(len(self._numbers))
        for head, (label, box) in enumerate(zip(self._labels, self._numbers, strict=True)):
            label.setVisible(head < len(values))
            box.setVisible(head < len(values))
            if head < len(values):
                box.set_value(values[head])

    def retranslate(self) -> None:
        for head, (label, box) in enumerate(zip(self._labels, self._numbers, strict=True)):
            label.setText(_("head {head}").format(head=head + 1))
            box.setAccessibleName(_("Sink of head {head}").format(head=head + 1))
            box.retranslate()

    def _add(self, head: int) -> None:
        label, box = QLabel(), DragNumber(decimals=3, step=0.02)
        box.setObjectName(f"sink_{head}")
        box.changed.connect(partial(self._on_sink, head))
        box.rejected.connect(self._store.rejected)
        box.gesture_started.connect(self._store.begin_gesture)
        box.gesture_finished.connect(self._store.end_gesture)
        row, column = divmod(head, COLUMNS)
        self._grid.addWidget(label, row, 3 * column)
        self._grid.addWidget(box, row, 3 * column + 1, Qt.AlignmentFlag.AlignRight)
        self._labels.append(label)
        self._numbers.append(box)
        self.retranslate()

    def _on_sink(self, head: int, value: float) -> None:
        self._store.edit_attention(set_sink, head, value)
        self.refresh()
