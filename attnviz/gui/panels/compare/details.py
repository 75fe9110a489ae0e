"""Below the maps, or beside them in a low panel: what differs, the greatest changes, the next tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFontMetricsF, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from attnviz.core.phrases import sequenced
from attnviz.core.text import isolated, number, signed, visible
from attnviz.gui.look.colors import LEVELS, cell_colors
from attnviz.gui.look.fonts import number_font, section_title_font, ui_font
from attnviz.gui.look.theme import GRID, LIGHT, TEXT_PX, Theme
from attnviz.gui.look.words import composed, plain_tooltip, says
from attnviz.gui.panels.compare.picture import DIGITS, change_sentence
from attnviz.gui.panels.compare.shown import Comparison
from attnviz.gui.panels.compare.texts import Differs, differing
from attnviz.gui.widgets.button import Button, PaintedButton, rove
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.spec.experiment import Experiment
from attnviz.study.contrast.contrast import Change
from attnviz.study.contrast.next_tokens import NextToken

if TYPE_CHECKING:
    from attnviz.engines.why_not import Compared

TOKEN_HEIGHT = 28
BAR_HEIGHT = 8.0
_LABEL = 84.0
_NUMBER = 52.0
_DIGITS = 4


class NextBars(QWidget):
    """Above the bar of A, below that of B; a token that cannot follow is said to be absent."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._theme = LIGHT
        self._tokens: tuple[NextToken, ...] = ()

    def set_tokens(self, tokens: Sequence[NextToken]) -> None:
        """Show other tokens."""
        self._tokens = tuple(tokens)
        self.setAccessibleDescription(sequenced(map(_said, self._tokens)))
        self.updateGeometry()
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(240, TOKEN_HEIGHT * len(self._tokens))

    def minimumSizeHint(self) -> QSize:
        return QSize(180, self.sizeHint().height())

    def bar_rect(self, row: int, side: int) -> QRectF:
        """The bar of one token in A (side 0) or B (side 1); at least a pixel wide."""
        token = self._tokens[row]
        share = (token.first, token.second)[side]
        room = max(0.0, self.width() - _LABEL - _NUMBER - GRID)
        width = 0.0 if share is None or share != share else max(1.0, room * min(1.0, share))
        return QRectF(_LABEL, row * TOKEN_HEIGHT + 4 + side * (BAR_HEIGHT + 2), width, BAR_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        for row, token in enumerate(self._tokens):
            metrics = QFontMetricsF(ui_font(TEXT_PX))
            base = row * TOKEN_HEIGHT + (TOKEN_HEIGHT + metrics.ascent() - metrics.descent()) / 2
            painter.setFont(ui_font(TEXT_PX))
            painter.setPen(QColor(theme.ink))
            label = metrics.elidedText(visible(token.token), Qt.TextElideMode.ElideRight, _LABEL - GRID)
            painter.drawText(QPointF(0, base), label)
            for side, (share, color) in enumerate(((token.first, theme.muted), (token.second, theme.accent))):
                bar = self.bar_rect(row, side)
                painter.fillRect(bar, QColor(color))
                self._paint_number(painter, _share_text(share), bar.center().y())
        painter.end()

    def _paint_number(self, painter: QPainter, text: str, middle: float) -> None:
        font = number_font(TEXT_PX - 2)
        metrics = QFontMetricsF(font)
        painter.setFont(font)
        painter.setPen(QColor(self._theme.ink))
        base = middle + (metrics.ascent() - metrics.descent()) / 2
        painter.drawText(QPointF(self.width() - metrics.horizontalAdvance(text), base), text)


def _share_text(share: float | None) -> str:
    return _("absent") if share is None else number(share, _DIGITS)


def _said(token: NextToken) -> str:
    return f"{isolated(visible(token.token))} A {_share_text(token.first)} B {_share_text(token.second)}"


MOST_CHANGES = 12
ROW_HEIGHT = 24
NUMBER_WIDTH = 50.0
BAR_WIDTH = 72.0


@lru_cache(maxsize=1024)
def _advance(text: str, px: int) -> float:
    """Width of `text` in pixels: labels stay while their numbers change."""
    return QFontMetricsF(ui_font(px)).horizontalAdvance(text)


@lru_cache(maxsize=1024)
def _elided(text: str, px: int, most: float) -> str:
    """The part of `text` that `most` pixels hold."""
    return QFontMetricsF(ui_font(px)).elidedText(text, Qt.TextElideMode.ElideMiddle, most)


class ChangeRow(PaintedButton):
    """One changed cell; a click chooses it."""

    def __init__(self, index: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(f"compare_change_{index}")
        self.setProperty("index", index)
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._change: Change | None = None
        self._most = 1.0

    def set_change(self, change: Change, most: float) -> None:
        """Show another cell; a full half of the bar is `most`."""
        if (change, most) == (self._change, self._most):
            return
        self._change, self._most = change, most
        self.update()
        sentence = change_sentence(change)
        if sentence != self.text():
            self.setText(sentence)
            self.setAccessibleName(sentence)
            self.setToolTip(plain_tooltip(sentence))

    def nextCheckState(self) -> None:
        """A click only emits; the owner chooses."""

    def sizeHint(self) -> QSize:
        return QSize(300, ROW_HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(160, ROW_HEIGHT)

    def bar_rect(self) -> QRectF:
        """The bar of the difference; empty if it has no finite size."""
        change = self._change
        size = 0.0 if change is None else change.difference
        if not math.isfinite(size):
            size = math.copysign(self._most, size) if math.isinf(size) else 0.0
        half = BAR_WIDTH / 2
        length = half * max(-1.0, min(1.0, size / self._most))
        middle = self._bar_left() + half
        return QRectF(min(middle, middle + length), 6.0, abs(length), ROW_HEIGHT - 12.0)

    def _bar_left(self) -> float:
        return self.width() - NUMBER_WIDTH - BAR_WIDTH - 2 * GRID

    def paintEvent(self, event: QPaintEvent) -> None:
        change, theme = self._change, self._theme
        if change is None:
            return
        painter = QPainter(self)
        if self.isChecked() or self.underMouse():
            ground = QColor(theme.accent if self.isChecked() else theme.hover)
            ground.setAlphaF(0.12 if self.isChecked() else 1.0)
            painter.fillRect(self.rect(), ground)
        has_bar = self._bar_left() - 2 * NUMBER_WIDTH > 90
        right = self._bar_left() if has_bar else self.width() - NUMBER_WIDTH - GRID
        self._paint_cell(painter, change, right - 2 * NUMBER_WIDTH - 2 * GRID)
        painter.setFont(number_font(TEXT_PX))
        for text, edge in (
            (number(change.first, DIGITS), right - NUMBER_WIDTH - GRID),
            (number(change.second, DIGITS), right - GRID),
            (signed(change.difference, DIGITS), self.width() - GRID),
        ):
            self._paint_number(painter, text, edge)
        if has_bar:
            colors = cell_colors("diverging", theme)
            red, green, blue = colors[LEVELS // 8 if change.difference < 0 else -LEVELS // 8]
            painter.fillRect(self.bar_rect(), QColor(int(red), int(green), int(blue)))
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), theme, 4)
        painter.end()

    def _paint_cell(self, painter: QPainter, change: Change, room: float) -> None:
        """`query 21 → key 5`: labels in their colours, positions small."""
        theme, plain, small = self._theme, TEXT_PX, TEXT_PX - 2
        metrics = QFontMetricsF(ui_font(plain))
        base = (self.height() + metrics.ascent() - metrics.descent()) / 2
        x = float(GRID)
        query, key = visible(change.row_label), visible(change.column_label)
        query_width, key_width = _advance(query, plain), _advance(key, plain)
        has_positions = query_width + key_width + 76 <= room - x
        wide = room - x - (76 if has_positions else 32)  # what positions, arrow and gaps leave
        of_query = max(wide / 2, wide - key_width)
        parts: list[tuple[str, str, int, float]] = [
            (query, theme.query, plain, of_query),
            (str(change.row + 1), theme.muted, small, 40),
            ("→", theme.ink, plain, 40),
            (key, theme.key, plain, wide - min(of_query, query_width)),
            (str(change.column + 1), theme.muted, small, 40),
        ]
        for text, color, px, most in parts if has_positions else (parts[0], parts[2], parts[3]):
            shown = _elided(text, px, most)
            painter.setFont(ui_font(px))
            painter.setPen(QColor(color))
            painter.drawText(QPointF(x, base), shown)
            x += _advance(shown, px) + 5

    def _paint_number(self, painter: QPainter, text: str, edge: float) -> None:
        metrics = QFontMetricsF(painter.font())
        base = (self.height() + metrics.ascent() - metrics.descent()) / 2
        painter.setPen(QColor(self._theme.ink))
        painter.drawText(QPointF(edge - metrics.horizontalAdvance(text), base), text)


class ChangeRows(QWidget):
    """The greatest changes, one below the other."""

    chosen = Signal(int)
    """Index of the row that was clicked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = [ChangeRow(index) for index in range(MOST_CHANGES)]
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for row in self._rows:
            row.clicked.connect(self._on_clicked)
            row.hide()
            column.addWidget(row)
        column.addStretch(1)

    def set_changes(self, changes: Sequence[Change]) -> None:
        """Show the first of the changes."""
        sizes = [abs(one.difference) for one in changes if math.isfinite(one.difference)]
        most = max(sizes, default=1.0) or 1.0
        for index, row in enumerate(self._rows):
            row.setVisible(index < len(changes))
            row.setEnabled(index < len(changes))
            if index < len(changes):
                row.set_change(changes[index], most)
        rove(self._rows, -1)

    def set_chosen(self, index: int) -> None:
        """Mark one row; −1 for none."""
        for at, row in enumerate(self._rows):
            row.setChecked(at == index)
        if index >= 0:
            rove(self._rows, index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and down go from row to row; Tab stops once."""
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()), 0)
        at = next((index for index, row in enumerate(self._rows) if row.hasFocus()), -1)
        if not step or at < 0:
            super().keyPressEvent(event)
            return
        there = at + step
        if 0 <= there < len(self._rows) and self._rows[there].isEnabled():
            rove(self._rows, there)

    @Slot()
    def _on_clicked(self) -> None:
        self.chosen.emit(self.sender().property("index"))


HEIGHT = 176
"""Pixels of the details below the maps."""
WIDTH = 248
"""Pixels of the details beside the maps."""
OPEN = {"left": N_("Open left"), "right": N_("Open right")}
"""The buttons that open a side of a prepared comparison."""


class Details(QWidget):
    """Three sections side by side, or one below the other."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.sentence = QLabel()
        self.sentence.setObjectName("compare_sentence")
        self.sentence.setTextFormat(Qt.TextFormat.PlainText)
        self.sentence.setWordWrap(True)
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.sentence.setFont(ui_font(TEXT_PX))
        self.sentence.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        self.open = {side: says(Button(), label, id=f"compare_open_{side}") for side, label in OPEN.items()}
        for side, button in self.open.items():
            button.setProperty("side", side)
        changes, following = N_("Greatest change"), N_("Next token")
        self.differs = says(Differs(), id="compare_differs", name=N_("Differences"))
        self.changes = says(ChangeRows(), id="compare_changes", name=changes)
        self.next = says(NextBars(), id="compare_next", name=following)
        self._titles = [QLabel(), *(says(QLabel(), composed(str.upper, one)) for one in (changes, following))]
        box = QHBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(3 * GRID)
        self._sections = [
            self._section(0, self.sentence, self._buttons(), self.differs),
            self._section(1, self.changes),
            self._section(2, self.next),
        ]
        for section, stretch in zip(self._sections, (4, 6, 4), strict=True):
            box.addWidget(section, stretch)
        self._is_beside = self._has_changes = self._has_next = False
        set_tone("muted", *self._titles)

    def set_beside(self, is_beside: bool) -> None:
        """Stand beside the maps with the first section alone, or below them with all."""
        self._is_beside = is_beside
        self._show_sections()

    def show_comparison(self, shown: Comparison) -> None:
        """Show the changes, and what differs with the next tokens, or the sentence of a prepared row."""
        first = _("Differences") if shown.is_own else _("Consequences")
        self._titles[0].setText(first.upper())
        changes = () if shown.picture is None else shown.picture.changes
        self.changes.set_changes(changes)
        self._has_changes = bool(changes)
        self._has_next = shown.own is not None and bool(shown.own.next_tokens)
        self.differs.setVisible(shown.is_own)
        self.sentence.setHidden(shown.is_own)
        self._buttons_row.setHidden(shown.is_own)
        self._show_sections()
        if shown.own is not None:
            self.differs.set_lines(*differing(shown.own))
            self.next.set_tokens(shown.own.next_tokens)
        elif not shown.is_own:
            self._show_prepared(shown)

    def _show_prepared(self, shown: Comparison) -> None:
        text = shown.reason if shown.compared is None else shown.compared.sentence()
        self.sentence.setText(text)
        self.sentence.setToolTip(plain_tooltip(text))
        for index, button in enumerate(self.open.values()):
            button.setVisible(shown.compared is not None)
            if shown.compared is not None:
                _offer(button, shown.compared, index, shown.document.experiment)

    def _show_sections(self) -> None:
        self._sections[1].setVisible(self._has_changes and not self._is_beside)
        self._sections[2].setVisible(self._has_next and not self._is_beside)

    def _buttons(self) -> QWidget:
        self._buttons_row = QWidget()
        row = QHBoxLayout(self._buttons_row)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID // 2)
        for button in self.open.values():
            row.addWidget(button)
        row.addStretch(1)
        return self._buttons_row

    def _section(self, index: int, *content: QWidget) -> QWidget:
        """A title over a part that scrolls where it is longer."""
        section, inner = QWidget(), QWidget()
        self._titles[index].setFont(section_title_font())
        filled = QVBoxLayout(inner)
        filled.setContentsMargins(0, 0, 0, 0)
        filled.setSpacing(GRID // 2)
        for widget in content:
            filled.addWidget(widget)
        filled.addStretch(1)
        column = QVBoxLayout(section)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID // 2)
        column.addWidget(self._titles[index])
        column.addWidget(clear_scroll(inner, sideways=False), 1)
        return section


def _offer(button: Button, compared: Compared, index: int, present: Experiment) -> None:
    """Offer to open this side as the document, if it is a different one."""
    if not compared.row.opens[index]:
        reason = _("No experiment computes this: it has no weights.")
    elif compared.documents[index] == present:
        reason = _("This side is the document.")
    else:
        reason = ""
    button.setEnabled(not reason)
    button.setToolTip(plain_tooltip(reason or _("Open this side as the document (undoable)")))
    caption = _((compared.row.left, compared.row.right)[index])
    button.setAccessibleName(_("Open {side} as the document").format(side=caption))
