"""Words at the left and at the right, and lines between them: the weights of attention.

Vig 2019, "A Multiscale Visualization of Attention in the Transformer Model" (BertViz), draws attention so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip

from attnviz.core.phrases import named
from attnviz.core.shades import head_color
from attnviz.core.text import elide, isolated, number, visible
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import Theme
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.control import Control, draw_focus_ring
from attnviz.gui.widgets.heat.hatch import device_scale, is_vector
from attnviz.i18n import _
from attnviz.model.links import Links, WordLines

LEAST_ROW, MOST_ROW = 18.0, 44.0
HEADING = 24.0
MOST_GAP = 420.0
"""Largest distance of the two columns."""
PAD = 8.0
_NUMBER = 52.0
_MOST_WORD = 180.0


@dataclass(frozen=True)
class Columns:
    """The right end of the left words, the left end of the right ones, the height of a row, room for a word.

    `number` is the right end of the numbers behind the right words.
    """

    left: float
    right: float
    row: float
    word: float
    number: float

    def y(self, index: int) -> float:
        """The middle of a row."""
        return HEADING + (index + 0.5) * self.row

    def word_at(self, at: QPointF, n_left: int, n_right: int) -> tuple[int, int]:
        """(left, right) word under a point, −1 for the other side; (−1, −1) between the words."""
        index = int((at.y() - HEADING) // self.row)
        if index >= 0 and at.x() <= self.left + PAD:
            return (index, -1) if index < n_left else (-1, -1)
        if index >= 0 and at.x() >= self.right - PAD:
            return (-1, index) if index < n_right else (-1, -1)
        return -1, -1


def columns(size: QSizeF, n_rows: int, widest: float) -> Columns:
    """Lay out `n_rows` words a column, centred, with lines of at most `MOST_GAP` pixels between them.

    `widest` is the width of the widest word: the numbers stand close behind the right ones.
    """
    row = min(MOST_ROW, max(LEAST_ROW, (size.height() - HEADING) / max(1, n_rows)))
    gap = min(MOST_GAP, 0.46 * size.width())
    word = min(_MOST_WORD, max(40.0, (size.width() - gap - _NUMBER) / 2 - 2 * PAD))
    middle = (size.width() - _NUMBER) / 2
    right = middle + gap / 2
    end = min(size.width() - PAD, right + min(word, widest) + _NUMBER)
    return Columns(middle - gap / 2, right, row, word, end)


def least_height(n_rows: int) -> int:
    """Height in pixels that keeps the words apart."""
    return int(HEADING + LEAST_ROW * n_rows)


_WORD_PX, _SMALL_PX = 13, 11
_LONGEST = 24
_SHADE = 0.45
"""Opacity behind a word that takes all of the weight: its text stays legible."""
_THICK = 4.0
_LEAST_ALPHA = 0.03
_BEND = 0.4
_MUTED_BELOW = 0.1


def draw_links(
    painter: QPainter, places: Columns, several: tuple[Links, ...], first: QColor | None = None
) -> None:
    """Lines in the hue of their head; opacity and width grow with the weight, to full ones at the largest.

    `first` is the colour of thin lines to the first key, whose weights are left out; None: they count.
    """
    if first is not None:
        _draw_first(painter, places, several, first)
        several = tuple(links.part(links.keys > 0) for links in several)
    largest = max((float(links.weights.max(initial=0.0)) for links in several), default=0.0) or 1.0
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for links in several:
        color = QColor(head_color(links.head))
        ends = zip(links.queries.tolist(), links.keys.tolist(), links.weights.tolist(), strict=True)
        for query, key, weight in ends:
            strength = weight / largest
            color.setAlphaF(max(_LEAST_ALPHA, strength))
            painter.setPen(QPen(color, max(1.0, _THICK * strength)))  # wider than 1 is slow
            painter.drawPath(_link(places, query, key))


def _link(places: Columns, query: int, key: int) -> QPainterPath:
    """The curve from a left word to a right one."""
    left, right = places.left + PAD, places.right - PAD
    bend = QPointF((right - left) * _BEND, 0)
    start, end = QPointF(left, places.y(query)), QPointF(right, places.y(key))
    path = QPainterPath(start)
    path.cubicTo(start + bend, end - bend, end)
    return path


def _draw_first(painter: QPainter, places: Columns, several: tuple[Links, ...], color: QColor) -> None:
    """Dashed lines to the first key, all alike."""
    painter.setPen(QPen(color, 1.0, Qt.PenStyle.DashLine))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for query in sorted({*(query for links in several for query in links.queries[links.keys == 0].tolist())}):
        painter.drawPath(_link(places, query, 0))


def draw_headings(painter: QPainter, places: Columns, names: tuple[str, str, str], theme: Theme) -> None:
    """Names of the left words, the right words and the numbers."""
    painter.setFont(ui_font(_SMALL_PX))
    advance, y = QFontMetricsF(painter.font()).horizontalAdvance, HEADING - 8
    left, right, last = names
    for text, color, x in (
        (left, theme.query, places.left - advance(left)),
        (right, theme.key, places.right),
        (last, theme.muted, places.number - advance(last)),
    ):
        painter.setPen(QColor(color))
        painter.drawText(QPointF(x, y), text)


def draw_legend(painter: QPainter, places: Columns, heads: tuple[int, ...], theme: Theme) -> None:
    """A spot in the hue of each head with its number, counted from one, over the lines."""
    step = 26.0
    shown = heads[: max(1, int((places.right - places.left - 60) // step))]
    x, y = (places.left + places.right - len(shown) * step) / 2, HEADING - 8
    painter.setFont(ui_font(_SMALL_PX))
    painter.setPen(QColor(theme.muted))
    for head in shown:
        painter.fillRect(QRectF(x, y - 8, 8, 8), QColor(head_color(head)))
        painter.drawText(QPointF(x + 11, y), str(head + 1))
        x += step


def widest_word(words: tuple[str, ...]) -> float:
    """Width of the widest of the first words: of thousands, a few are measured."""
    advance = QFontMetricsF(ui_font(_WORD_PX, QFont.Weight.DemiBold)).horizontalAdvance
    longest = sorted({elide(visible(word), _LONGEST) for word in words[:512]}, key=len)[-16:]
    return max(map(advance, longest), default=0.0)


@dataclass(frozen=True)
class Word:
    """A word of a column: its text, its colour, and the tint of its ground, `share` 0..1 of the full one."""

    text: str
    color: str
    is_left: bool
    is_bold: bool = False
    share: float = 0.0


def draw_word(painter: QPainter, places: Columns, index: int, word: Word, hue: str) -> None:
    """Write a word at its place, over its ground tinted with `hue`."""
    font = ui_font(_WORD_PX, QFont.Weight.DemiBold if word.is_bold else QFont.Weight.Normal)
    metrics = QFontMetricsF(font)
    shown = elide(visible(word.text), _LONGEST)
    shown = metrics.elidedText(shown, Qt.TextElideMode.ElideRight, places.word)
    width = metrics.horizontalAdvance(shown)
    x = places.left - width if word.is_left else places.right
    if word.share > 0:
        height = min(places.row - 2, 22.0)
        tint = QColor(hue)
        tint.setAlphaF(_SHADE * min(1.0, word.share))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(tint)
        painter.drawRoundedRect(QRectF(x - 5, places.y(index) - height / 2, width + 10, height), 4, 4)
    painter.setFont(font)
    painter.setPen(QColor(word.color))
    painter.drawText(QPointF(x, _baseline(places, index, metrics)), shown)


def draw_number(painter: QPainter, places: Columns, index: int, value: float, theme: Theme) -> None:
    """Write a weight at the end of its row; small ones are muted."""
    font = number_font(_SMALL_PX)
    metrics, text = QFontMetricsF(font), number(value)
    painter.setFont(font)
    painter.setPen(QColor(theme.muted if value < _MUTED_BELOW else theme.ink))
    x = places.number - metrics.horizontalAdvance(text)
    painter.drawText(QPointF(x, _baseline(places, index, metrics)), text)


def _baseline(places: Columns, index: int, metrics: QFontMetricsF) -> float:
    return places.y(index) + (metrics.ascent() - metrics.descent()) / 2


_FAINT = 0.12
"""Opacity of the lines that are not pointed at."""
_STEPS = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
NOTHING = (-1, -1)


class WordLinesView(Control):
    """A click on a left word selects its query, one on a right word locks a cell; hovering previews both."""

    query_clicked = Signal(int)
    key_hovered = Signal(int, int)
    """(query, key), or (−1, −1) when the pointer left."""
    key_clicked = Signal(int, int)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("word_lines")
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._lines: WordLines | None = None
        self._links: tuple[Links, ...] = ()
        self._chosen = (0, -1)
        self._hovered = NOTHING
        self._widest = 0.0
        self._is_first_off = False
        self._base: QPixmap | None = None
        self._based_on = (QRect(), 0.0)

    @property
    def lines(self) -> WordLines | None:
        """The shown attention."""
        return self._lines

    @property
    def query(self) -> int:
        """The query whose weights are shown: under the pointer, else the selected one."""
        return self._hovered[0] if self._hovered[0] >= 0 else self._chosen[0]

    @property
    def chosen_query(self) -> int:
        """The emphasised query, wherever the pointer is."""
        return self._chosen[0]

    @property
    def key(self) -> int:
        """The key under the pointer, here or in another panel; −1: none."""
        return self._hovered[1] if self._hovered[1] >= 0 else self._chosen[1]

    @property
    def columns(self) -> Columns:
        """The places of the words in the present size."""
        lines = self._lines
        count = 1 if lines is None else max(len(lines.queries), len(lines.keys))
        return columns(QSizeF(self.size()), count, self._widest)

    def set_lines(self, lines: WordLines, title: str, *, is_first_off: bool = False) -> None:
        """Show the lines of another attention, head or query; `title` is read by screen readers.

        With `is_first_off`, lines to the first key are not in proportion to the others.
        """
        self._is_first_off = is_first_off
        self._lines, self._links, self._base = lines, lines.links(), None
        self._widest = widest_word(lines.keys)
        if self._hovered[0] >= len(lines.queries) or self._hovered[1] >= len(lines.keys):
            self._hovered = NOTHING
        self._chosen = min(self._chosen[0], len(lines.queries) - 1), min(self._chosen[1], len(lines.keys) - 1)
        self.setAccessibleName(title)
        self.setMinimumHeight(least_height(max(len(lines.queries), len(lines.keys))))
        self.update()

    def set_chosen(self, query: int, key: int) -> None:
        """Emphasise a query, and the key under the pointer in another panel; −1: none.

        A place beyond the shown words is the last one: the words may be those of a shorter text for a frame.
        """
        if self._lines is not None:
            query, key = min(query, len(self._lines.queries) - 1), min(key, len(self._lines.keys) - 1)
        if (query, key) != self._chosen:
            self._chosen = query, key
            self._describe()
            self.update()

    def lit_links(self) -> tuple[Links, ...]:
        """The lines that stand out: those of a hovered key, or of the emphasised query; all if none is."""
        lines = self._lines
        if lines is None:
            return ()
        is_all = lines.query is None
        if is_all and self._hovered[1] >= 0:
            return tuple(one.part(one.keys == self._hovered[1]) for one in self._links)
        if is_all and self._hovered[0] < 0 and self._chosen[1] < 0:
            return self._links
        links = self._links if is_all or self.query == lines.query else lines.of_query(self.query).links()
        return tuple(one.part(one.queries == self.query) for one in links)

    def sizeHint(self) -> QSize:
        return QSize(520, 320)

    def minimumSizeHint(self) -> QSize:
        return QSize(220, self.minimumHeight())

    # --- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the lines first, then the words beside their ends."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._lines is not None and self._lines.queries and self._lines.keys:
            self._paint_lines(painter)
            last = _("weight") if len(self._lines.heads) == 1 else _("mean")
            draw_headings(painter, self.columns, (_("query"), _("key"), last), self._theme)
            if len(self._lines.heads) > 1:
                draw_legend(painter, self.columns, self._lines.heads, self._theme)
            self._paint_words(painter, self._lines)
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.visibleRegion().boundingRect()), self._theme, 3)
        painter.end()

    def _paint_lines(self, painter: QPainter) -> None:
        """All lines from a kept picture, faint if some stand out, which come on top."""
        lit = self.lit_links()
        if is_vector(painter):
            draw_links(painter, self.columns, lit, self._first)
            return
        is_all = self._lines is not None and self._lines.query is None
        if is_all:
            painter.setOpacity(1.0 if lit is self._links else _FAINT)
            painter.drawPixmap(self._in_sight().topLeft(), self._picture(device_scale(painter)))
            painter.setOpacity(1.0)
        if not is_all or lit is not self._links:
            draw_links(painter, self.columns, lit, self._first)

    @property
    def _first(self) -> QColor | None:
        """The colour of lines to a first key that is left out."""
        return QColor(self._theme.hatch) if self._is_first_off else None

    def _picture(self, ratio: float) -> QPixmap:
        """The lines in sight as pixels, painted when first needed: hovering paints few on top."""
        area = self._in_sight()
        if self._base is None or self._based_on != (area, ratio):
            pixels = (area.size() * ratio).expandedTo(QSize(1, 1))  # nothing may be in sight
            self._base, self._based_on = QPixmap(pixels), (area, ratio)
            self._base.setDevicePixelRatio(ratio)
            self._base.fill(Qt.GlobalColor.transparent)
            painter = QPainter(self._base)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.translate(-area.topLeft())
            draw_links(painter, self.columns, self._links, self._first)
            painter.end()
        return self._base

    def _in_sight(self) -> QRect:
        """The part in sight; all of it if it is painted into a picture."""
        shown = self.visibleRegion().boundingRect()
        return self.rect() if shown.isEmpty() else shown

    def _paint_words(self, painter: QPainter, lines: WordLines) -> None:
        """Shade the right words by what they get, with numbers; the left ones by what a hovered key gets."""
        places, theme, key = self.columns, self._theme, self._hovered[1]
        hue = head_color(lines.heads[0]) if len(lines.heads) == 1 else theme.accent
        gives = _shares(lines.received(key).mean(axis=0)) if key >= 0 else [0.0] * len(lines.queries)
        for index in self._shown_rows(len(lines.queries)):
            text, is_bold = lines.queries[index], index == self.query
            draw_word(painter, places, index, Word(text, theme.query, True, is_bold, gives[index]), hue)
        weights, hidden = lines.given(self.query).mean(axis=0), lines.hidden(self.query)
        counted = weights.copy()
        counted[:1] *= not self._is_first_off
        gets = _shares(counted)
        for index in self._shown_rows(len(lines.keys)):
            text, is_bold = lines.keys[index], index == self.key
            is_off = hidden[index] or (index == 0 and self._is_first_off)
            color = theme.muted if is_off else theme.key
            draw_word(painter, places, index, Word(text, color, False, is_bold, gets[index]), hue)
            if not hidden[index]:
                draw_number(painter, places, index, float(weights[index]), theme)

    def _shown_rows(self, count: int) -> range:
        """The rows in sight: of thousands, few are painted."""
        shown, row = self._in_sight(), self.columns.row
        first = int((shown.top() - HEADING) // row)
        return range(max(0, first), min(count, int((shown.bottom() - HEADING) // row) + 1))

    # --- hands

    def word_at(self, at: QPointF) -> tuple[int, int]:
        """(query, key) of the word under a point, −1 for the other side; (−1, −1) between the words."""
        lines = self._lines
        return NOTHING if lines is None else self.columns.word_at(at, len(lines.queries), len(lines.keys))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(self.word_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(NOTHING)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        query, key = self.word_at(event.position())
        if event.button() != Qt.MouseButton.LeftButton:
            return
        if query >= 0:
            self.query_clicked.emit(query)
        elif key >= 0:
            self.key_clicked.emit(self._chosen[0], key)

    def takes_key(self, event: QKeyEvent) -> bool:
        return event.key() in _STEPS

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and down select the query."""
        step = _STEPS.get(Qt.Key(event.key()))
        if step is None or self._lines is None:
            super().keyPressEvent(event)
            return
        self.query_clicked.emit(min(max(self._chosen[0] + step, 0), len(self._lines.queries) - 1))

    def event(self, event: QEvent) -> bool:
        """Show exact weights when the system requests a tooltip."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            query, key = self.word_at(QPointF(event.pos()))
            text = self.weights_text(self._chosen[0], key) if key >= 0 else ""
            QToolTip.showText(event.globalPos(), plain_tooltip(text).replace("\n", "<br>"), self)
            return True
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._base = None

    def weights_text(self, query: int, key: int) -> str:
        """The weight from a query to a key, in full precision, one line for each head."""
        lines = self._lines
        assert lines is not None
        texts = [f"{isolated(visible(lines.queries[query]))} → {isolated(visible(lines.keys[key]))}"]
        part = slice(query, query + 1), slice(key, key + 1)
        for head in lines.heads:
            value = lines.site.window(lines.stage, head, *part)[0, 0]
            texts.append(_("head {head}: {value}").format(head=head + 1, value=str(value)))
        return "\n".join(texts)

    def _hover(self, word: tuple[int, int]) -> None:
        if word == self._hovered:
            return
        had_key, self._hovered = self._hovered[1] >= 0, word
        self._describe()
        self.update()
        if word[1] >= 0:
            self.key_hovered.emit(self._chosen[0], word[1])
        elif had_key:
            self.key_hovered.emit(*NOTHING)

    def _describe(self) -> None:
        """Say the greatest weight of the emphasised query to a screen reader."""
        lines = self._lines
        if lines is None or not 0 <= self.query < len(lines.queries):
            return
        weights = lines.given(self.query).mean(axis=0)
        best = int(weights.argmax())
        names = f"{visible(lines.queries[self.query])} → {visible(lines.keys[best])}"
        self.setAccessibleDescription(named(names, number(float(weights[best]))))


def _shares(weights: NDArray[np.float64]) -> list[float]:
    """Weights as shares of the largest."""
    shares: list[float] = (weights / (weights.max(initial=0.0) or 1.0)).tolist()
    return shares
