"""The columns of a table that are in sight, and a step to the next page of them."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QLabel, QToolButton, QWidget

from attnviz.gui.look.words import says
from attnviz.gui.widgets.boxes import in_row
from attnviz.gui.widgets.numbers.view import GridView
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _

ARROW = 18


class ColumnPager(QWidget):
    """`0–3 of 128 ‹ ›`; hidden while all columns are in sight."""

    def __init__(self, grid: GridView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = grid
        self._label, self._before, self._after = QLabel(), QToolButton(), QToolButton()
        self._label.setObjectName("columns_label")
        row = in_row(self, self._label, spacing=2)
        for button, text, id_, name in (
            (self._before, "‹", "columns_before", N_("Previous columns")),
            (self._after, "›", "columns_after", N_("Next columns")),
        ):
            says(button, id=id_, name=name, tip=True).setText(text)
            button.setFixedWidth(ARROW)
            button.setAutoRaise(True)
            row.addWidget(button)
        self._before.clicked.connect(self._on_before)
        self._after.clicked.connect(self._on_after)
        grid.set_paged()
        grid.columns_shown.connect(self._on_shown)
        self.hide()
        set_tone("muted", self._label)

    def text(self) -> str:
        """The columns in sight, in words."""
        return self._label.text()

    def retranslate(self) -> None:
        self._on_shown(*self._grid.columns_in_sight())

    @Slot(int, int, int)
    def _on_shown(self, first: int, shown: int, columns: int) -> None:
        self.setVisible(shown < columns)
        last = first + max(shown, 1) - 1
        self._label.setText(_("{first}–{last} of {n}").format(first=first, last=last, n=columns))
        self._before.setEnabled(first > 0)
        self._after.setEnabled(first + shown < columns)

    @Slot()
    def _on_before(self) -> None:
        self._grid.turn_page(-1)

    @Slot()
    def _on_after(self) -> None:
        self._grid.turn_page(1)
