"""An explanation as text: every number that is a cell is a link to that cell.

The document is built run by run, never from markup, so a token such as `<img src=x>` is text by
construction.
"""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QFont,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
)
from PySide6.QtWidgets import QApplication, QTextBrowser, QTextEdit, QToolTip, QWidget

from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, LIGHT, TEXT_PX, Theme
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.numbers.text import full_precision
from attnviz.i18n import _
from attnviz.model.spec.view import Cell
from attnviz.operations.terms import (
    VALUE_DIGITS,
    Explanation,
    Gap,
    Hue,
    Line,
    Pieces,
    Term,
    Text,
    digits,
    flat,
    plain,
)

SCHEME = "term"
LINE_HEIGHT_PERCENT = 118.0
LONGEST_INDENT = 8
"""Characters by which a line that goes on is moved to the right at most."""
NARROW = 240
"""Width in pixels below which lines are moved to the right only a little: a product fits on one."""
_JOINER = "\u2060"
"""Keeps the two factors of a product on one line, and the two halves of a derivative."""


class ExplanationPage(QTextBrowser):
    """Shows one explanation; emits the source cell under the mouse, and the one to open."""

    pointed = Signal(object)
    """The Cell of the link under the mouse or the keyboard's focus, or None."""
    followed = Signal(object)
    """The Cell of a link that was clicked, or entered."""
    back_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = LIGHT
        self._explanation: Explanation | None = None
        self._terms: list[Term | Gap] = []
        self._places: list[tuple[int, int]] = []
        self._whole: set[int] = set()
        self._line = 0
        self._pointed = -1
        self._is_narrow = False
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setFrameShape(QTextBrowser.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setProperty("bare", True)
        self.document().setDocumentMargin(0)
        # The font of numbers has no bold: the result uses the other one, whose digits have equal widths, too.
        bold = ui_font(TEXT_PX, QFont.Weight.DemiBold)
        self._fonts = number_font(TEXT_PX), ui_font(TEXT_PX), bold
        self.highlighted.connect(self._on_highlighted)
        self.anchorClicked.connect(self._on_clicked)

    def set_explanation(self, explanation: Explanation) -> None:
        """Show an explanation; for the same cell, expanded sums and the scroll position stay."""
        is_same = self._explanation is not None and self._explanation.cell == explanation.cell
        if not is_same:
            self._whole.clear()
        self._explanation = explanation
        self._render(self.verticalScrollBar().value() if is_same else 0)

    def forget(self) -> None:
        """Show nothing: the terms of an explanation hold the experiment that they are of."""
        self._explanation = None
        self._whole.clear()
        self._render(0)

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        if theme != self._theme:
            self._theme = theme
            self._render(self.verticalScrollBar().value())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_narrow = self.width() < NARROW
        if is_narrow != self._is_narrow:
            self._is_narrow = is_narrow
            self._render(self.verticalScrollBar().value())

    # --- writing

    def _render(self, scrolled: int) -> None:
        self._terms, self._places, self._pointed = [], [], -1
        self.setExtraSelections([])
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.removeSelectedText()
        lines = self._explanation.lines if self._explanation is not None else ()
        for self._line, line in enumerate(lines):
            if self._line == 0:
                cursor.setBlockFormat(self._block_format(line))
            else:
                cursor.insertBlock(self._block_format(line))
            self._write_line(cursor, line)
        cursor.endEditBlock()
        # The widget's own cursor was pushed to the end, and Tab starts from it.
        self.setTextCursor(QTextCursor(self.document()))
        self.verticalScrollBar().setValue(scrolled)

    def _write_line(self, cursor: QTextCursor, line: Line) -> None:
        assert self._explanation is not None
        before = self._explanation.lines[self._line - 1].name if not line.name else ()
        # Under the equals sign of the line above, where that is not far to the right.
        is_near = len(plain(before)) <= LONGEST_INDENT and not self._is_narrow
        indent = len(plain(before)) if is_near else 0
        if line.name or line.steps:
            self._write(cursor, line.name or (Text("\u00a0" * indent),))
        for step in line.steps:
            cursor.insertText(" = ", self._format(self._theme.muted))
            self._write(cursor, step)
        if line.name:
            cursor.insertText(" = ", self._format(self._theme.muted))
            value = Term(line.value, digits(line.value, VALUE_DIGITS), plain(line.name))
            self._write_term(cursor, value, is_result=self._line == 0)
        for number, note in enumerate(line.notes):
            after = "   " if line.name or line.steps else ""
            cursor.insertText(_("; ") if number else after, self._note_format(self._theme.muted))
            self._write(cursor, note, is_note=True)

    def _write(self, cursor: QTextCursor, pieces: Pieces, is_note: bool = False) -> None:
        for piece in flat(pieces, self._line in self._whole):
            if isinstance(piece, Text):
                color = self._theme.muted if is_note else self._color(piece.hue)
                style = self._note_format(color) if is_note else self._format(color)
                text = piece.text.replace(" = ", "\u00a0=\u00a0") if is_note else piece.text
                held = text.replace(")(", f"){_JOINER}(").replace("∂/∂", f"∂/{_JOINER}∂")
                cursor.insertText(held, style)
            else:
                self._write_term(cursor, piece)

    def _write_term(self, cursor: QTextCursor, term: Term | Gap, is_result: bool = False) -> None:
        index, start = len(self._terms), cursor.position()
        style = self._format(self._term_color(term))
        if isinstance(term, Gap) or term.source not in (None, self._cell()):
            style.setAnchor(True)
            style.setAnchorHref(f"{SCHEME}:{index}:{self._line}")
            style.setUnderlineStyle(QTextCharFormat.UnderlineStyle.SingleUnderline)
            style.setUnderlineColor(QColor(self._theme.line))
        if is_result:
            style.setFont(self._fonts[2])
        cursor.insertText(term.text.replace(" ", "\u00a0"), style)
        self._terms.append(term)
        self._places.append((start, cursor.position()))

    def _block_format(self, line: Line) -> QTextBlockFormat:
        """The arithmetic goes on to the right of its name; notes alone are a paragraph."""
        indent = GRID if self._is_narrow else 3 * GRID
        if not line.name and not line.steps:
            indent = 0
        style = QTextBlockFormat()
        style.setLineHeight(LINE_HEIGHT_PERCENT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        style.setLeftMargin(indent)
        style.setTextIndent(-indent)
        style.setBottomMargin(GRID / 4)
        return style

    def _format(self, color: str) -> QTextCharFormat:
        style = QTextCharFormat()
        style.setFont(self._fonts[0])
        style.setForeground(QColor(color))
        return style

    def _note_format(self, color: str) -> QTextCharFormat:
        style = self._format(color)
        style.setFont(self._fonts[1])
        return style

    def _cell(self) -> Cell | None:
        return self._explanation.cell if self._explanation is not None else None

    def _term_color(self, term: Term | Gap) -> str:
        if isinstance(term, Gap):
            return self._theme.muted
        return self._theme.error if math.isnan(term.value) else self._color(term.hue)

    def _color(self, hue: Hue) -> str:
        names = {"query": self._theme.query, "key": self._theme.key, "value": self._theme.value}
        return names.get(hue, self._theme.ink)

    # --- pointing and following

    @Slot(QUrl)
    def _on_highlighted(self, url: QUrl) -> None:
        index = _index(url)
        if index == self._pointed or index >= len(self._terms):
            return
        self._pointed = index
        self._mark(index)
        term = self._terms[index] if index >= 0 else None
        self.pointed.emit(term.source if isinstance(term, Term) else None)

    @Slot(QUrl)
    def _on_clicked(self, url: QUrl) -> None:
        index = _index(url)
        if not 0 <= index < len(self._terms):
            return
        term = self._terms[index]
        if isinstance(term, Term):
            self.followed.emit(term.source)
            return
        self._whole.add(int(url.path().split(":")[1]))
        self._render(self.verticalScrollBar().value())

    def _mark(self, index: int) -> None:
        """Put a ground behind the link that is pointed at."""
        if index < 0:
            self.setExtraSelections([])
            return
        selection = QTextEdit.ExtraSelection()
        start, end = self._places[index]
        cursor = QTextCursor(self.document())
        cursor.setPosition(start)
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        selection.cursor = cursor  # type: ignore[attr-defined]
        selection.format.setBackground(QColor(self._theme.line))  # type: ignore[attr-defined]
        self.setExtraSelections([selection])

    def leaveEvent(self, event: QEvent) -> None:
        self._on_highlighted(QUrl())
        super().leaveEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._on_highlighted(QUrl())
        super().focusOutEvent(event)

    def focusNextPrevChild(self, next: bool) -> bool:
        # Qt's own signal tells of the mouse only.
        is_inside = super().focusNextPrevChild(next)
        cursor = self.textCursor()
        if is_inside and self.hasFocus() and cursor.hasSelection():
            self._on_highlighted(QUrl(cursor.charFormat().anchorHref()))
        return is_inside

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy) and not self.textCursor().hasSelection():
            QApplication.clipboard().setText(_clean(self.toPlainText()))
        elif event.key() == Qt.Key.Key_Backspace or event.matches(QKeySequence.StandardKey.Back):
            self.back_wanted.emit()
        else:
            super().keyPressEvent(event)

    def createMimeDataFromSelection(self) -> QMimeData:
        """Copy plain text: colours and links are meaningless elsewhere."""
        data = QMimeData()
        data.setText(_clean(self.textCursor().selection().toPlainText()))
        return data

    # --- tool tips

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), plain_tooltip(self.tooltip_at(event.pos())), self)
            return True
        return super().viewportEvent(event)

    def tooltip_at(self, position: QPoint) -> str:
        """Description of the number at a position of the viewport, in full precision; empty without one."""
        term = self._term_at(position)
        if term is None:
            return ""
        if isinstance(term, Gap):
            return _("Show all terms")
        return f"{term.name} = {full_precision(term.value)}"

    def source_at(self, position: QPoint) -> Cell | None:
        """The cell that a number at a position of the viewport comes from; None without one."""
        term = self._term_at(position)
        return term.source if isinstance(term, Term) else None

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        event.ignore()  # the panel's menu, not that of a text field

    def _term_at(self, position: QPoint) -> Term | Gap | None:
        offset = QPointF(self.horizontalScrollBar().value(), self.verticalScrollBar().value())
        at = self.document().documentLayout().hitTest(QPointF(position) + offset, Qt.HitTestAccuracy.ExactHit)
        here = [i for i, (start, end) in enumerate(self._places) if start <= at < end]
        return self._terms[here[0]] if here else None

    def place_of(self, source: Cell) -> QPoint:
        """The middle of the first link to a cell, in the viewport. Raises `LookupError`."""
        for term, (start, end) in zip(self._terms, self._places, strict=True):
            if isinstance(term, Term) and term.source == source:
                cursor = QTextCursor(self.document())
                cursor.setPosition((start + end) // 2)
                return self.cursorRect(cursor).center()
        raise LookupError(f"no link to {source}")


def _clean(text: str) -> str:
    """The text without what only holds its lines together."""
    return text.replace(_JOINER, "").replace("\u00a0", " ")


def _index(url: QUrl) -> int:
    """The number of the term that a link leads to; −1 for none."""
    return int(url.path().split(":")[0]) if url.scheme() == SCHEME else -1
