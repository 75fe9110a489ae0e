"""Lines of what differs between A and B: one per field, from the table of fields."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.tone import set_tone

Line = tuple[str, str, str]
"""A title, and its values in A and in B."""

MOST_LINES = 40


class Differs(QWidget):
    """A table of three columns: the field, its value in A, its value in B."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(GRID)
        self._grid.setVerticalSpacing(4)
        for column, stretch in enumerate((5, 3, 3)):
            self._grid.setColumnStretch(column, stretch)
        self._labels: list[tuple[ElidedLabel, ElidedLabel, ElidedLabel]] = []
        self._note = QLabel()
        self._note.setObjectName("compare_note")
        self._note.setTextFormat(Qt.TextFormat.PlainText)
        self._note.setWordWrap(True)
        self._note.setFont(ui_font(TEXT_PX))
        self._note.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        self._grid.addWidget(self._note, MOST_LINES + 1, 0, 1, 3)
        self._grid.setRowStretch(MOST_LINES + 2, 1)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The shown lines."""
        shown = [row for row in self._labels if not row[0].isHidden()]
        return tuple((one.text(), a.text(), b.text()) for one, a, b in shown)

    def set_lines(self, lines: Sequence[Line], note: str) -> None:
        """Show other lines, and a sentence below them."""
        lines = lines[:MOST_LINES]
        while len(self._labels) < len(lines):
            self._add_row()
        for index, row in enumerate(self._labels):
            for column, label in enumerate(row):
                label.setVisible(index < len(lines))
                if index < len(lines):
                    label.set_line(lines[index][column])
        self._note.setText(note)
        self._note.setVisible(bool(note))

    def _add_row(self) -> None:
        row = ElidedLabel(), ElidedLabel(), ElidedLabel()
        for column, label in enumerate(row):
            label.setFont(ui_font(TEXT_PX, QFont.Weight.DemiBold if column == 2 else QFont.Weight.Normal))
            self._grid.addWidget(label, len(self._labels), column)
        set_tone("muted", row[1])
        set_tone("accent", row[2])
        self._labels.append(row)
