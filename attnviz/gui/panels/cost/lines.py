"""Lines of arithmetic as text that can be selected and copied: label, product, and value."""

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

from attnviz.core.cost.lines import Line, rounded
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import GRID, LIGHT, TEXT_PX, Theme

_WORTH_ROUNDING = 10**6
"""Bytes from which a part is also shown in GB and GiB; totals always are."""

_LABEL_PX = 176
"""Width of the labels where a line has room for its product."""


class CostLines(QTextEdit):
    """Read-only text. A product is beside its label if it fits, else below it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lines: tuple[Line, ...] = ()
        self._theme = LIGHT
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
        width = self.viewport().width() - 2.0
        metrics = QFontMetricsF(self.font())
        value = f"{line.value:,}".replace("-", "−") + (f" {line.unit}" if line.unit else "")
        formula = " = ".join(part for part in (line.symbols, line.digits) if part)
        is_total = line.kind == "total"
        has_room = bool(formula) and metrics.horizontalAdvance(f"{formula}  {value}") < width - _LABEL_PX
        cursor.setBlockFormat(_block(_LABEL_PX if has_room else 0.0, width, gap=2 if is_total else 0))
        cursor.insertText(line.label, self._format(is_bold=is_total))
        if has_room:
            cursor.insertText(f"\t{formula}", self._format(is_muted=True))
        elif metrics.horizontalAdvance(f"{line.label}  {value}") > width:
            cursor.insertBlock(_block(0.0, width))  # its unit would go to the next line
        cursor.insertText(f"\t{value}", self._format(is_bold=is_total))
        if formula and not has_room:
            cursor.insertBlock(_block(0.0, 0.0, indent=GRID * 1.5))
            cursor.insertText(formula, self._format(is_muted=True))
        short = rounded(line.value, line.unit)
        if short and (is_total or (line.unit == "B" and abs(line.value) >= _WORTH_ROUNDING)):
            cursor.insertBlock(_block(0.0, width))
            cursor.insertText(f"\t= {short}", self._format(is_muted=True))

    def _format(self, is_muted: bool = False, *, is_bold: bool = False) -> QTextCharFormat:
        text = QTextCharFormat()
        text.setForeground(QColor(self._theme.muted if is_muted else self._theme.ink))
        if is_bold:
            text.setFontWeight(QFont.Weight.DemiBold)
        return text


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
