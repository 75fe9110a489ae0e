"""ALiBi's slopes, one number for each head."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from attnviz.gui.field_rows import Note
from attnviz.gui.store import Store
from attnviz.gui.theme import GRID
from attnviz.gui.widgets.drag_number import DragNumber
from attnviz.i18n import _
from attnviz.model.experiment import Experiment
from attnviz.model.parts import Alibi
from attnviz.model.positions import slopes_of
from attnviz.model.switching import set_slope

MOST_SLOPES = 64
COLUMNS = 2


def _publish(experiment: Experiment) -> Experiment:
    return replace(experiment, position=Alibi(None))


class AlibiSlopes(QWidget):
    """A number for each head (the first 64), and a way back to the published slopes."""

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._labels: list[QLabel] = []
        self._numbers: list[DragNumber] = []
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(GRID)
        self._grid.setVerticalSpacing(2)
        for gap in range(2, 3 * COLUMNS - 1, 3):
            self._grid.setColumnMinimumWidth(gap, GRID)
        self._rest = Note("alibi_rest_label")
        self._reset = QPushButton()
        self._reset.setObjectName("alibi_reset_button")
        self._reset.clicked.connect(self._on_reset)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID - 2)
        column.addLayout(self._grid)
        column.addWidget(self._rest)
        column.addWidget(self._reset, 0, Qt.AlignmentFlag.AlignRight)

    def refresh(self) -> None:
        """Show the document's slopes."""
        experiment = self._store.attention
        position = experiment.position
        self.setVisible(isinstance(position, Alibi))
        if not isinstance(position, Alibi):
            return
        slopes = slopes_of(experiment)
        if len(self._numbers) != min(len(slopes), MOST_SLOPES):
            self._make(min(len(slopes), MOST_SLOPES))
            self.retranslate()
        for box, slope in zip(self._numbers, slopes, strict=False):
            box.set_value(slope)
        self._rest.setVisible(len(slopes) > MOST_SLOPES)
        self._rest.setText(_("first {n} of {all} heads").format(n=MOST_SLOPES, all=len(slopes)))
        self._reset.setVisible(position.slopes is not None)

    def retranslate(self) -> None:
        for head, (label, box) in enumerate(zip(self._labels, self._numbers, strict=True)):
            label.setText(_("head {head}").format(head=head + 1))
            box.setAccessibleName(_("Slope of head {head}").format(head=head + 1))
            box.retranslate()
        self._reset.setText(_("published slopes"))
        self._reset.setAccessibleName(_("Back to the published slopes"))

    def _make(self, count: int) -> None:
        for widget in (*self._labels, *self._numbers):
            self._grid.removeWidget(widget)
            widget.hide()
            widget.setParent(None)
            widget.deleteLater()
        self._labels = [QLabel() for _head in range(count)]
        self._numbers = [DragNumber(decimals=4, step=0.002) for _head in range(count)]
        for head, (label, box) in enumerate(zip(self._labels, self._numbers, strict=True)):
            box.setObjectName(f"alibi_slope_{head}")
            box.changed.connect(partial(self._on_slope, head))
            box.rejected.connect(self._store.rejected)
            box.gesture_started.connect(self._store.begin_gesture)
            box.gesture_finished.connect(self._store.end_gesture)
            row, column = divmod(head, COLUMNS)
            self._grid.addWidget(label, row, 3 * column)
            self._grid.addWidget(box, row, 3 * column + 1, Qt.AlignmentFlag.AlignRight)

    def _on_slope(self, head: int, slope: float) -> None:
        self._store.edit_attention(set_slope, head, slope)
        self.refresh()

    @Slot()
    def _on_reset(self) -> None:
        self._store.edit_attention(_publish)
