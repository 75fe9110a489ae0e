"""The arithmetic of a bill: labels, products and values in columns as wide as they need."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QResizeEvent,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextOption,
)
from PySide6.QtWidgets import QFrame, QTextEdit, QWidget

from attnviz.core.cost.lines import Line, rounded, valued
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import GRID, LIGHT, TEXT_PX, Theme

_WORTH_ROUNDING = 10**6
"""Bytes from which a part is also shown in GB and GiB; totals always are."""

_CHARACTERS = 100
"""Greatest width of the arithmetic: a value further from its label would be hard to find."""

_GAP = 2
"""Characters between a label, its product and its value."""


class CostLines(QTextEdit):
    """Read-only text. A product is beside its label if it fits, else below it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lines: tuple[Line, ...] = ()
        self._theme = LIGHT
        self._label_px = 0.0
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setProperty("bare", True)
        self.setFont(number_font(TEXT_PX))
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setWordWrapMode(QTextOption.WrapMode.WordWrap)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(0)
        self.setMinimumWidth(150)

    def set_lines(self, lines: Sequence[Line]) -> None:
        """Show these lines; the place of the scroll bar stays where the bill is as long as before."""
        if tuple(lines) != self._lines:
            is_same = [line.label for line in lines] == [line.label for line in self._lines]
            self._lines = tuple(lines)
            place = self.verticalScrollBar().value() if is_same else 0
            self._write()
            self.verticalScrollBar().setValue(place)

    def plain_lines(self) -> str:
        """Every line as tab-separated text: label, symbols, digits, value, unit."""
        rows = []
        for line in self._lines:
            value = "" if line.kind in ("title", "note") else f"{line.value}"
            rows.append("\t".join((line.label, line.symbols, line.digits, value, line.unit)).rstrip("\t"))
        return "\n".join(rows) + "\n"

    def set_px(self, px: int) -> None:
        """The size of the letters, and with it the greatest width."""
        if px == self.font().pixelSize() and self.maximumWidth() == self._most_px():
            return
        self.setFont(number_font(px))
        self.setMaximumWidth(self._most_px())
        self._write()

    def _most_px(self) -> int:
        return round(_CHARACTERS * self._advance("0")) + self.verticalScrollBar().sizeHint().width()

    def apply_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._write()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._write()

    # --- writing

    def _write(self) -> None:
        self.clear()
        self._label_px = self._label_column()
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        for index, line in enumerate(self._lines):
            if index:
                cursor.insertBlock()
            self._write_line(cursor, line, is_first=index == 0)
        cursor.endEditBlock()

    def _write_line(self, cursor: QTextCursor, line: Line, *, is_first: bool) -> None:
        if line.kind in ("title", "note"):
            cursor.setBlockFormat(_block(0.0, 0.0, gap=0 if is_first or line.kind == "note" else GRID - 2))
            cursor.insertText(line.label, self._format(line.kind == "note", is_bold=line.kind == "title"))
            return
        width, (formula, value) = self._width(), _formula_and_value(line)
        is_total = line.kind == "total"
        label, rest = self._sizes(line)
        has_room = bool(formula) and label <= self._label_px and self._label_px + rest <= width
        cursor.setBlockFormat(_block(self._label_px if has_room else 0.0, width, gap=2 if is_total else 0))
        cursor.insertText(line.label, self._format(is_bold=is_total))
        if has_room:
            cursor.insertText(f"\t{formula}", self._format(is_muted=True))
        elif self._advance(f"{line.label}  {value}", is_bold=is_total) > width:
            cursor.insertBlock(_block(0.0, width))  # its unit would go to the next line
        cursor.insertText(f"\t{value}", self._format(is_bold=is_total))
        if formula and not has_room:
            cursor.insertBlock(_block(0.0, 0.0, indent=GRID * 1.5))
            cursor.insertText(formula, self._format(is_muted=True))
        short = rounded(line.value, line.unit)
        if short and (is_total or (line.unit == "B" and abs(line.value) >= _WORTH_ROUNDING)):
            cursor.insertBlock(_block(0.0, width))
            cursor.insertText(f"\t= {short}", self._format(is_muted=True))

    def _width(self) -> float:
        return self.viewport().width() - 2.0

    def _advance(self, text: str, *, is_bold: bool = False) -> float:
        weight = QFont.Weight.DemiBold if is_bold else QFont.Weight.Normal
        return QFontMetricsF(number_font(self.font().pixelSize(), weight)).horizontalAdvance(text)

    def _sizes(self, line: Line) -> tuple[float, float]:
        """Widths of the label, and of the product with the value."""
        gap, is_bold = " " * _GAP, line.kind == "total"
        formula, value = _formula_and_value(line)
        label = self._advance(line.label + gap, is_bold=is_bold)
        return label, self._advance(formula + gap) + self._advance(value, is_bold=is_bold)

    def _label_column(self) -> float:
        """The least width of the labels at which the most products stand beside theirs."""
        sizes = [self._sizes(line) for line in self._lines if line.symbols or line.digits]
        room = self._width()

        def beside(column: float) -> tuple[int, float]:
            return sum(label <= column and column + rest <= room for label, rest in sizes), -column

        return max((label for label, _rest in sizes), key=beside, default=0.0)

    def _format(self, is_muted: bool = False, *, is_bold: bool = False) -> QTextCharFormat:
        text = QTextCharFormat()
        text.setForeground(QColor(self._theme.muted if is_muted else self._theme.ink))
        if is_bold:
            text.setFontWeight(QFont.Weight.DemiBold)
        return text


def _formula_and_value(line: Line) -> tuple[str, str]:
    return line.formula, valued(line.value, line.unit)


def _block(label: float, width: float, *, indent: float = 0.0, gap: float = 0.0) -> QTextBlockFormat:
    """A paragraph with a tab after the labels (0: none) and one whose text ends at `width` (0: none)."""
    block = QTextBlockFormat()
    tabs = [QTextOption.Tab(label, QTextOption.TabType.LeftTab)] if label else []
    if width:
        tabs.append(QTextOption.Tab(width, QTextOption.TabType.RightTab))
    block.setTabPositions(tabs)
    block.setLeftMargin(indent)
    block.setTopMargin(gap)
    return block
