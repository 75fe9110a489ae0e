"""The three maps of a comparison, A, B and B − A, with cells of one size, and a line of numbers below."""

from __future__ import annotations

import math

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QLabel, QWidget

from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import GRID, LIGHT, TEXT_PX, Theme
from attnviz.gui.panels.compare.picture import Picture
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.heat.compare_map import CompareMap
from attnviz.gui.widgets.heat.content import NO_HIGHLIGHT, Highlight
from attnviz.gui.widgets.heat.layout import LABEL_MAX
from attnviz.model.spec.view import View

SIDES = ("left", "right", "difference")

AROUND_MAPS, LEAST_MAPS = 100, 200
"""Pixels of captions, ranges and margins around the cells; and the least height of the maps."""
OWN_LABELS_FROM = 1300
"""Width from which each map has labels beside it; below it, those of the first serve all."""
NO_LIMIT = 2**24 - 1
"""Height of a widget without a limit."""
BLINK_MS = 700
"""Time for which each of A and B is shown while they blink; slower than three flashes a second."""


class CompareMaps(QWidget):
    """Shows a picture; the maps point at cells of the common axes and choose them."""

    cell_hovered = Signal(int, int)
    cell_clicked = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: tuple[Picture, View] | None = None
        self._theme = LIGHT
        self._lit = NO_HIGHLIGHT
        self._shares_labels = self._is_low = False
        self._shows_first = False
        """Whether the map of B shows A."""
        self.sides = {side: CompareMap(f"compare_{side}") for side in SIDES}
        for one in self.sides.values():
            one.map.cell_hovered.connect(self.cell_hovered)
            one.map.cell_clicked.connect(self.cell_clicked)
            one.map.says = self._cell_text
        self._readout = QLabel()
        self._readout.setObjectName("compare_readout")
        self._readout.setTextFormat(Qt.TextFormat.PlainText)
        self._readout.setFont(number_font(TEXT_PX))
        self._readout.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._readout.setSizePolicy(self.sizePolicy().Policy.Ignored, self.sizePolicy().Policy.Fixed)
        self._blink = QTimer(self)
        self._blink.setInterval(BLINK_MS)
        self._blink.timeout.connect(self.blink)
        self._row = in_row(None, spacing=GRID)
        for one in self.sides.values():
            self._row.addWidget(one, 1)
        self._row.addStretch(0)
        column = in_column(self, spacing=2)
        column.addLayout(self._row, 1)
        column.addWidget(self._readout)

    @property
    def is_blinking(self) -> bool:
        return self._blink.isActive()

    def show_picture(self, picture: Picture | None, view: View, theme: Theme) -> None:
        """Show another comparison, or none."""
        self._shown, self._theme = None if picture is None else (picture, view), theme
        for one in self.sides.values():
            one.setVisible(picture is not None)
        self._fill()

    def light(self, cell: tuple[int, int] | None, *, is_locked: bool, says: str) -> None:
        """Outline a cell in all three, and say its numbers."""
        self._lit = NO_HIGHLIGHT
        if cell is not None:
            self._lit = Highlight(cell, frozenset({cell[0]}), frozenset({cell[1]}), locked=is_locked)
        for one in self.sides.values():
            one.map.set_highlight(self._lit)
        self._readout.setText(says)

    def fit(self, width: int, *, is_low: bool) -> None:
        """In a narrow panel, all maps share labels; in a low one, they have its whole height."""
        shares_labels, self._is_low = width < OWN_LABELS_FROM, is_low
        if shares_labels != self._shares_labels:
            self._shares_labels = shares_labels
            self._fill()
        else:
            self._align()

    def set_blinking(self, is_on: bool) -> None:
        """Show A and B in turn in the map of B, or B alone again."""
        if is_on:
            self._blink.start()
            self.blink()
        elif self.is_blinking:
            self._blink.stop()
            self._show_first(False)

    @Slot()
    def blink(self) -> None:
        """Show the other one in the map of B."""
        self._show_first(not self._shows_first)

    def _show_first(self, is_first: bool) -> None:
        self._shows_first = is_first
        self._fill_side("right", 0 if is_first else 1)
        self.sides["right"].map.set_highlight(self._lit)

    def _fill(self) -> None:
        for index, side in enumerate(SIDES):
            self._fill_side(side, index)
        self._align()

    def _fill_side(self, side: str, index: int) -> None:
        """Show one of the three sheets in a map."""
        if self._shown is None:
            return
        picture, view = self._shown
        sheet = picture.sheets[index]
        content = picture.content(index, view, self._theme, shares_labels=self._shares_labels)
        self.sides[side].set_content(sheet.badge, sheet.caption, content, sheet.kind, is_accented=index == 1)

    def _cell_text(self, row: int, column: int) -> str:
        return "" if self._shown is None else self._shown[0].cell_text((row, column))

    def _align(self) -> None:
        """Cells of one size in all three maps: the room for labels is common, or the first map is wider."""
        if self._shown is None:
            return
        widths = [one.map.label_widths() for one in self.sides.values()]
        above = max(width[1] for width in widths)
        free = self.width() - 3 * self._row.spacing()
        # A map gives its labels at most a quarter of its width.
        most_label = min(LABEL_MAX, free / (10 if self._shares_labels else 12))
        widest = widths[0][0] if self._shares_labels else max(width[0] for width in widths)
        label = math.floor(min(widest, most_label))
        beside = [label, 0, 0] if self._shares_labels else [label] * 3
        room = int(free - sum(beside)) // 3
        for one, label in zip(self.sides.values(), beside, strict=True):
            one.map.set_label_room((label, above))
            one.setMaximumWidth(max(72, label + room))
        # Maps are at most square: the details get the rest of a high panel.
        self._row.activate()  # the angle of the labels follows from the widths
        angle = self.sides["left"].map.layout_shown.across_angle
        most = round(room + (above if angle else 0) + AROUND_MAPS)
        self.setMaximumHeight(NO_LIMIT if self._is_low else max(most, LEAST_MAPS))
