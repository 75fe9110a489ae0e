"""One sentence in a line, arcs from one word to the words that it attends to, and its row in every head.

Over 500 lines because Qt delivers all events of a widget to one class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
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
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip

from attnviz.core.arcs import STRONG, Arcs, Measures, Place, Word, arrange, marked_key, sentence
from attnviz.core.levels import levels, normalise
from attnviz.core.phrases import named
from attnviz.core.shades import head_color
from attnviz.core.text import elide, isolated, number, visible
from attnviz.gui.look.colors import cell_colors, to_indices
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import Theme
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.control import Control, draw_focus_ring
from attnviz.gui.widgets.heat.hatch import draw_blocked
from attnviz.i18n import _
from attnviz.model.links import HeadRow, WordLines

PAD = 8.0
LABEL = 46.0
"""Room at the left for the numbers of layer and head."""
WORD_PX = (16, 15, 14, 13)
"""Sizes of words: the largest with which they have one line, else the smallest."""
MOST_WORD, _WORD_PART = 26, 56
"""Size of words in a wide picture, and the part of its width that they are."""
LEAST_LARGE, MOST_LARGE = 19, 34
"""Sizes of words of a large picture, and the part of its width that they are."""
_LARGE_PART = 50
TEXT_PX, SMALL_PX = 12, 11
HEADING, FOOT = 30.0, 24.0
LEAST_PITCH, USUAL_PITCH, MOST_PITCH, LAYER_GAP = 5.0, 15.0, 24.0, 4.0
_FOLLOWING = 3.4
"""Room that is kept for the word that comes next, in heights of a word: most words then move nothing."""
LEAST_RISE, MOST_RISE = 44.0, 240.0
REACH = 7.0
"""Distance in pixels at which an arc is still the one under the pointer."""
_LABELLED = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextDontClip
"""Place of the label of a row, which is whole also where the row is lower."""
_STRIP = QSize(96, 8)
_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
_CHOOSE = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
NOTHING = (-1, -1)


@dataclass(frozen=True, eq=False)
class ArcsContent:
    """`lines` are the arcs of one query; `rows` are its rows in every head, each under the name of its layer.

    `chosen` is (attention, head); `is_first_off`: the weight of the first key is neither coloured nor in
    proportion to the others. `layer` names the present layer if `rows` are those of it alone.
    `weights` (heads, keys) stand in the place of those of the lines; `following` is the word that comes next,
    whose room is kept wherever the text `goes_on`.
    """

    lines: WordLines
    rows: tuple[HeadRow, ...] = ()
    labels: tuple[str, ...] = ()
    chosen: tuple[str, int] = ("", 0)
    is_first_off: bool = False
    layer: str = ""
    weights: NDArray[np.float64] | None = None
    following: str = ""
    goes_on: bool = False

    @property
    def query(self) -> int:
        """The query from which the arcs start."""
        assert self.lines.query is not None
        return self.lines.query


@dataclass(frozen=True)
class _Look:
    """State of a word: the query, the key in focus or the strongest one, a masked key, one left out."""

    is_query: bool = False
    is_key: bool = False
    is_hidden: bool = False
    is_off: bool = False

    @property
    def is_framed(self) -> bool:
        return self.is_query or self.is_key


class ArcsView(Control):
    """A click on a word selects its query, one on an arc locks its cell, one on a row takes its head.

    The words of one that is `large` grow with its width.
    """

    query_clicked = Signal(int)
    key_hovered = Signal(int, int)
    """(query, key), or (−1, −1) when the pointer left."""
    key_clicked = Signal(int, int)
    head_clicked = Signal(str, int)
    layer_stepped = Signal(int)

    def __init__(self, *, large: bool = False) -> None:
        super().__init__()
        self._is_large = large
        self.setObjectName("arcs")
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._content: ArcsContent | None = None
        self._words: tuple[tuple[Word, ...], tuple[Word, ...]] = ((), ())
        self._weights: NDArray[np.float64] = np.zeros((0, 0))
        self._hidden: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._places: Arcs | None = None
        self._about = -1
        self._arranged_for: tuple[object, ...] = ()
        self._word_px = WORD_PX[0]
        self._hovered, self._lit, self._cursor = -1, -1, -1
        self._told = NOTHING
        self._row_under = -1

    @property
    def content(self) -> ArcsContent | None:
        """The shown attention."""
        return self._content

    @property
    def arcs(self) -> Arcs | None:
        """Places of words and arcs in the present size."""
        if self._places is None and self._content is not None:
            self._places = self._arranged(self._content)
            self._arranged_for = self._arrangement(self._content)
        return self._places

    @property
    def key(self) -> int:
        """The key under the pointer, at the keyboard's cursor, or lit by another panel; −1: none."""
        return next((key for key in (self._hovered, self._cursor, self._lit) if key >= 0), -1)

    @property
    def strongest(self) -> int:
        """The key whose word has a frame and whose arc has its number."""
        if not self._weights.size:
            return -1
        is_off = self._content is not None and self._content.is_first_off
        return marked_key(self._weights, self._hidden, is_first_off=is_off)

    def set_content(self, content: ArcsContent, title: str) -> None:
        """Show another attention, head or query; `title` is read by screen readers."""
        before = self._content
        if before is None or before.query != content.query or before.lines.keys != content.lines.keys:
            self._about = self._cursor = self._hovered = -1
        self._content, lines = content, content.lines
        if before is None or (before.lines.queries, before.lines.keys) != (lines.queries, lines.keys):
            self._words = sentence(lines.queries), sentence(lines.keys)
        self._weights = lines.given(content.query) if content.weights is None else content.weights
        self._hidden = lines.hidden(content.query)
        if self._arrangement(content) != self._arranged_for:
            self._places = None
        self.setAccessibleName(title)
        self._describe()
        self.update()

    def forget(self) -> None:
        """Show nothing, and hold no numbers of a document that was left."""
        self._content, self._places = None, None
        self._about = self._cursor = self._hovered = self._lit = -1
        self._words, self._weights, self._hidden = ((), ()), np.zeros((0, 0)), np.zeros(0, np.bool_)
        self.update()

    def set_lit(self, key: int) -> None:
        """Emphasise the key in focus, here or in another panel; −1: none."""
        if key != self._lit:
            self._lit = key
            self._describe()
            self.update()

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._places = None

    def retranslate(self) -> None:
        self._places = None
        self._describe()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(520, 360)

    def minimumSizeHint(self) -> QSize:
        return QSize(220, 112)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._places = None

    # --- places

    def _font(self, *, is_bold: bool = False) -> QFont:
        return ui_font(self._word_px, QFont.Weight.DemiBold if is_bold else QFont.Weight.Normal)

    def _sizes(self) -> tuple[int, ...]:
        """Sizes of words that are tried, the largest first."""
        if not self._is_large:
            most = min(MOST_WORD, self.width() // _WORD_PART)
            return (*range(most, WORD_PX[0], -1), *WORD_PX)
        most = min(MOST_LARGE, max(LEAST_LARGE, self.width() // _LARGE_PART))
        return (*range(most, LEAST_LARGE, -2), LEAST_LARGE)

    def _arranged(self, content: ArcsContent) -> Arcs:
        """The words in one line, if a size of letters allows it."""
        for px in self._sizes():
            self._word_px = px
            arcs = self._arranged_at(content)
            if arcs.is_whole:
                break
        return arcs

    @staticmethod
    def _is_one(content: ArcsContent) -> bool:
        lines = content.lines
        return lines.site.experiment.memory is None and lines.queries == lines.keys

    def _chosen(self, content: ArcsContent) -> tuple[int, int]:
        """The words that stay in sight: the one that asks or was clicked, and the key in focus."""
        return (
            self._about if self._about >= 0 else content.query,
            self.key if self.key >= 0 else self.strongest,
        )

    def _arrangement(self, content: ArcsContent) -> tuple[object, ...]:
        """All that the places depend on, beside the size and the fonts: an edit often changes none of it."""
        rows = len(content.rows), self._n_gaps(content)
        after = content.following, content.goes_on
        return self._words, self._is_one(content), self._chosen(content), rows, after

    def _arranged_at(self, content: ArcsContent) -> Arcs:
        """Words over the rows: the arcs have what the rows leave."""
        px = self._word_px
        metrics = QFontMetricsF(self._font())
        small = QFontMetricsF(ui_font(SMALL_PX))
        widths = tuple(
            [(small if word.is_sign else metrics).horizontalAdvance(word.text) for word in words]
            for words in self._words
        )
        is_one, chosen = self._is_one(content), self._chosen(content)
        left = LABEL if content.rows else PAD
        room = max(60.0, self.width() - left - PAD - self._following_width(content))
        keys = None if is_one else self._words[1]

        def arranged(rise: float) -> Arcs:
            measures = Measures(
                line=metrics.height() + 6,
                space=0.44 * px,
                rise=rise,
                thick=(0.6 if self._is_large else 0.94) * px,
                cut=2.6 * px,
                widest_space=5.0 * px,
            )
            return arrange(self._words[0], keys, (widths[0], widths[1]), chosen, left, room, measures)

        low = arranged(LEAST_RISE)
        rows = self._rows_height(content, USUAL_PITCH)
        free = self.height() - FOOT - rows - low.height - PAD + LEAST_RISE
        most = free if self._is_large else min(free, 0.45 * self.height(), MOST_RISE)
        rise = max(LEAST_RISE, most)
        return arranged(rise)

    def _following_width(self, content: ArcsContent) -> float:
        """Room for the word that comes next, and for as much at the other side of the sentence."""
        if not content.following and not content.goes_on:
            return 0.0
        usual = _FOLLOWING * self._word_px if content.goes_on else 0.0
        width = QFontMetricsF(self._font()).horizontalAdvance(content.following)
        return max(usual, width) + 1.5 * self._word_px

    def following_rect(self) -> QRectF:
        """Rectangle of the word that comes next, after the last one; empty where none is shown."""
        arcs, content = self.arcs, self._content
        if arcs is None or content is None or not content.following or arcs.keys.after:
            return QRectF()
        last = arcs.keys.places[-1]
        width = QFontMetricsF(self._font()).horizontalAdvance(content.following) + 0.6 * self._word_px
        left = min(last.right + 0.7 * self._word_px, self.width() - width - 2)
        return QRectF(left, arcs.tops[last.row], width, arcs.measures.line)

    def _rows_height(self, content: ArcsContent, pitch: float) -> float:
        count = len(content.rows)
        return HEADING + count * pitch + self._n_gaps(content) * LAYER_GAP if count else 0.0

    def _n_gaps(self, content: ArcsContent) -> int:
        return len({row.site for row in content.rows}) - 1 if content.rows else 0

    @property
    def _rows_top(self) -> float:
        arcs = self.arcs
        return (0.0 if arcs is None else arcs.height + arcs.measures.line * 0.2) + HEADING

    def row_rects(self) -> list[QRectF]:
        """Rectangle of each head's row, its label included: those around the chosen one where all have no
        room.
        """
        content = self._content
        if content is None or not content.rows:
            return []
        top, bottom = self._rows_top, self.height() - FOOT
        free = bottom - top - self._n_gaps(content) * LAYER_GAP
        pitch = min(MOST_PITCH, max(LEAST_PITCH, free / len(content.rows)))
        shift = (
            min(0.0, free - pitch * len(content.rows)) * self._chosen_row() / max(1, len(content.rows) - 1)
        )
        rects, y, before = [], top + shift, content.rows[0].site
        for row in content.rows:
            y += LAYER_GAP if row.site != before else 0.0
            before = row.site
            rect = QRectF(0, y, self.width(), pitch)
            rects.append(rect if rect.top() >= top - 0.5 and rect.bottom() <= bottom + 0.5 else QRectF())
            y += pitch
        return rects

    def _chosen_row(self) -> int:
        content = self._content
        assert content is not None
        found = (i for i, row in enumerate(content.rows) if (row.site, row.head) == content.chosen)
        return next(found, 0)

    def cell_span(self, key: int) -> tuple[float, float] | None:
        """Left end and width of the cells of a key: under its word, or in equal parts below two lines."""
        arcs, content = self.arcs, self._content
        if arcs is None or content is None:
            return None
        places = arcs.keys.places
        if len({place.row for place in places}) <= 1:
            place = arcs.keys.at(key)
            return None if place is None else (place.left - 1, place.right - place.left + 2)
        index = key - arcs.keys.first
        if not 0 <= index < len(places):
            return None
        step = (self.width() - LABEL - PAD) / len(places)
        return LABEL + index * step, max(1.0, step - 1)

    def cut_rects(self) -> tuple[QRectF, QRectF]:
        """Rectangles of the signs of the words that are left out before and after the shown ones."""
        arcs = self.arcs
        if arcs is None:
            return QRectF(), QRectF()
        keys, cut = arcs.keys, arcs.measures.cut
        rects = [QRectF(), QRectF()]
        for end, count, place in ((0, keys.first, keys.places[:1]), (1, keys.after, keys.places[-1:])):
            if count and place:
                left = place[0].left - cut if end == 0 else place[0].right + 4
                rects[end] = QRectF(left, arcs.tops[place[0].row], cut - 4, arcs.measures.line)
        return rects[0], rects[1]

    def _stepper_rects(self) -> tuple[QRectF, QRectF]:
        """Rectangles of the arrows to the layers before and after, beside the heading of the rows."""
        content = self._content
        if content is None or not content.layer:
            return QRectF(), QRectF()
        y = self._rows_top - HEADING + 4
        right = self.width() - PAD
        return QRectF(right - 44, y, 20, 20), QRectF(right - 20, y, 20, 20)

    # --- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint arcs from the thinnest to the thickest, the words over them, and the rows below."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._content is not None and self.arcs is not None and self._weights.size:
            self._paint_arcs(painter, self._content, self.arcs)
            self._paint_sentences(painter, self._content, self.arcs)
            self._paint_numbers(painter, self._content, self.arcs)
            if self._content.rows:
                self._paint_rows(painter, self._content)
            self._paint_foot(painter, self._content)
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), self._theme, 3)
        painter.end()

    def _arcs_in_order(self, content: ArcsContent) -> Iterator[tuple[int, int, float]]:
        """(head, key, weight) of each visible key, the thickest last."""
        n_heads, n_keys = self._weights.shape
        for place in np.argsort(self._weights, axis=None, kind="stable").tolist():
            index, key = divmod(place, n_keys)
            if not self._hidden[key] and not self._is_off(key):
                yield content.lines.heads[index % n_heads], key, float(self._weights[index, key])

    def _paint_arcs(self, painter: QPainter, content: ArcsContent, arcs: Arcs) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if content.is_first_off and not self._hidden[0]:
            pen = QPen(QColor(self._theme.hatch), 1.0, Qt.PenStyle.DashLine)
            self._paint_arc(painter, arcs, content.query, [0], pen)
        faint = QColor(self._theme.hatch if self._theme.is_dark else self._theme.line)
        shown = range(arcs.keys.first, arcs.keys.first + len(arcs.keys.places))
        pens = (
            (QColor(head_color(head)) if weight >= STRONG or key == self.key else faint, weight, key)
            for head, key, weight in self._arcs_in_order(content)
            if key in shown
        )
        for (color, thickness), alike in groupby(pens, lambda pen: (pen[0], arcs.thickness(pen[1]))):
            pen = QPen(color, thickness, c=Qt.PenCapStyle.FlatCap)
            self._paint_arc(painter, arcs, content.query, [key for _color, _weight, key in alike], pen)

    def _paint_arc(self, painter: QPainter, arcs: Arcs, query: int, keys: list[int], pen: QPen) -> None:
        path = QPainterPath()
        for key in keys:
            curve = arcs.curve(query, key)
            if curve is not None:
                start, one, two, end = (QPointF(*point) for point in curve.tolist())
                path.moveTo(start)
                path.cubicTo(one, two, end)
        painter.setPen(pen)
        painter.drawPath(path)

    def _paint_sentences(self, painter: QPainter, content: ArcsContent, arcs: Arcs) -> None:
        """The words; of two sequences, those of the keys in their line."""
        if not arcs.is_one:
            for index, place in enumerate(arcs.queries.places, arcs.queries.first):
                look = _Look(is_query=index == content.query)
                self._paint_word(painter, arcs, place, self._words[0][index], look)
        strong = {self.key, self.strongest}
        for index, place in enumerate(arcs.keys.places, arcs.keys.first):
            is_query = arcs.is_one and index == content.query
            look = _Look(is_query, index in strong, bool(self._hidden[index]), self._is_off(index))
            self._paint_word(painter, arcs, place, self._words[1][index], look)
        self._paint_following(painter, content)
        for rect, count, part in self._cuts(arcs):
            painter.setFont(ui_font(SMALL_PX))
            painter.setPen(QColor(self._theme.accent))
            painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, f"… {count}")
            painter.setPen(QColor(self._theme.muted))
            above = rect.translated(0, -rect.height() * 0.8)
            painter.setFont(number_font(SMALL_PX - 1))
            painter.drawText(above, Qt.AlignmentFlag.AlignCenter, number(part))

    def _paint_following(self, painter: QPainter, content: ArcsContent) -> None:
        """The word that comes next, in a frame of dashes: it is not in the text."""
        box = self.following_rect()
        if not box.isEmpty():
            painter.setPen(QPen(QColor(self._theme.value), 1.2, Qt.PenStyle.DashLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(0, 0.5, 0, -0.5), 5, 5)
            painter.setFont(self._font())
            painter.setPen(QColor(self._theme.value))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, content.following)

    def _cuts(self, arcs: Arcs) -> Iterator[tuple[QRectF, int, float]]:
        """Place, number of words and their share of the row, for the words left out at each end."""
        weights, keys = self._weights.mean(axis=0), arcs.keys
        ends = (0, keys.first), (keys.first + len(keys.places), len(weights))
        for rect, (start, stop) in zip(self.cut_rects(), ends, strict=True):
            if rect.isValid() and stop > start:
                yield rect, stop - start, float(weights[start:stop].sum())

    def _is_off(self, key: int) -> bool:
        """True for the first key where its weight is left out."""
        return key == 0 and self._content is not None and self._content.is_first_off

    def _paint_word(self, painter: QPainter, arcs: Arcs, place: Place, word: Word, look: _Look) -> None:
        """A word: the query and the strongest key in their colours over a tinted ground."""
        theme, font = self._theme, self._font(is_bold=look.is_framed)
        color = theme.muted if look.is_hidden or look.is_off else theme.ink
        color = theme.query if look.is_query else theme.key if look.is_key and not look.is_off else color
        if word.is_sign:
            font = ui_font(SMALL_PX)
        box = QRectF(place.left, arcs.tops[place.row], place.right - place.left, arcs.measures.line)
        if look.is_framed:
            tint = QColor(color)
            tint.setAlphaF(0.14)
            painter.setPen(QPen(QColor(color), 1.2))
            painter.setBrush(QColor(theme.panel))
            pad = min(4.0, arcs.measures.space * 0.35) if word.is_apart else 1.0
            rounded = box.adjusted(-pad, 0.5, pad, -0.5)
            painter.drawRoundedRect(rounded, 5, 5)
            painter.setBrush(tint)
            painter.drawRoundedRect(rounded, 5, 5)
        painter.setFont(font)
        painter.setPen(QColor(color))
        painter.drawText(box.adjusted(-4, 0, 4, 0), Qt.AlignmentFlag.AlignCenter, word.text)

    def _paint_numbers(self, painter: QPainter, content: ArcsContent, arcs: Arcs) -> None:
        """The weight at the thickest arc, and at the one in focus."""
        weights = self._weights.max(axis=0)
        for key in dict.fromkeys((self.strongest, self.key)):
            at = arcs.peak(content.query, key) if 0 <= key < len(weights) else None
            if at is None or self._hidden[key]:
                continue
            font = number_font(TEXT_PX + 1)
            text = number(float(weights[key]))
            width = QFontMetricsF(font).horizontalAdvance(text) + 14
            x = min(max(at[0] - width / 2, 2.0), self.width() - width - 2)
            up = 22 if key == content.query and arcs.is_one else 11  # a loop is not to be covered
            box = QRectF(x, max(1.0, at[1] - up), width, 22)
            head = content.lines.heads[int(self._weights[:, key].argmax())]
            edge = self._theme.muted if self._is_off(key) else head_color(head)
            painter.setPen(QPen(QColor(edge), 1.2))
            painter.setBrush(QColor(self._theme.panel))
            painter.drawRoundedRect(box, 5, 5)
            painter.setFont(font)
            painter.setPen(QColor(self._theme.ink))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    def _paint_rows(self, painter: QPainter, content: ArcsContent) -> None:
        """The rows of all heads, a cell under each word; the chosen row is framed."""
        self._paint_heading(painter, content)
        rects, ends = self.row_rects(), self._ends(content)
        palette = cell_colors("sequential", self._theme)
        font, bold = ui_font(SMALL_PX), ui_font(SMALL_PX, QFont.Weight.DemiBold)
        named = self._named_rows(content, rects)
        for place, (row, label, rect) in enumerate(zip(content.rows, content.labels, rects, strict=True)):
            if not rect.isValid():
                continue
            is_chosen = (row.site, row.head) == content.chosen
            if place in named:
                painter.setFont(bold if is_chosen else font)
                painter.setPen(QColor(self._theme.ink if is_chosen else self._theme.muted))
                room = QRectF(16, rect.top(), LABEL - 18, rect.height())
                painter.drawText(room, int(_LABELLED), label)
            spot = min(7.0, rect.height() - 2)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(head_color(row.head)))
            painter.drawEllipse(QRectF(6, rect.center().y() - spot / 2, spot, spot))
            colors = palette[to_indices(normalise(row.weights[None], "head", ends))[0]]
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            for key in range(len(row.weights)):
                self._paint_cell(painter, content, row, key, rect, QColor(*map(int, colors[key])))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
            if is_chosen:
                painter.setPen(QPen(QColor(self._theme.accent), 2))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(rect.adjusted(1, -1, -1, 1), 4, 4)

    def _named_rows(self, content: ArcsContent, rects: list[QRectF]) -> set[int]:
        """The rows with a label: all, or where they are lower than letters those of the first heads and the
        chosen one.
        """
        rows, chosen = content.rows, self._chosen_row()
        if all(rect.height() > SMALL_PX for rect in rects if rect.isValid()):
            return set(range(len(rows)))
        first = {at for at, row in enumerate(rows) if at == 0 or row.site != rows[at - 1].site}
        middle = rects[chosen].center().y()
        return {at for at in first if abs(rects[at].center().y() - middle) > SMALL_PX} | {chosen}

    def _paint_cell(
        self, painter: QPainter, content: ArcsContent, row: HeadRow, key: int, rect: QRectF, color: QColor
    ) -> None:
        span = self.cell_span(key)
        if span is None or self._hidden[key]:
            return
        cell = QRectF(span[0], rect.top() + 1, span[1], max(2.0, rect.height() - 2))
        if self._is_off(key):
            draw_blocked(painter, cell, self._theme, 4.0)
            share = QRectF(cell.left(), cell.top(), cell.width() * min(1.0, row.weights[0]), cell.height())
            painter.fillRect(share, QColor(self._theme.muted))
        else:
            painter.fillRect(cell, color)
        if key == self.key:
            painter.setPen(QPen(QColor(self._theme.key), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(cell.adjusted(-1, 0, 0, 0))

    def _ends(self, content: ArcsContent) -> tuple[float, float]:
        """One scale for the rows of all heads."""
        values = np.stack([row.weights for row in content.rows])
        return levels(values, "without_first" if content.is_first_off else "head", False)

    def _paint_heading(self, painter: QPainter, content: ArcsContent) -> None:
        token = isolated(elide(visible(content.lines.queries[content.query].strip()), 16))
        text = _("Where “{token}” attends in every head").format(token=token)
        if content.layer:
            text = _("Where “{token}” attends in {layer}").format(token=token, layer=content.layer)
        font = ui_font(TEXT_PX, QFont.Weight.DemiBold)
        y = self._rows_top - HEADING + 4
        painter.setFont(font)
        painter.setPen(QColor(self._theme.ink))
        line = QRectF(6, y, self.width() - 12, 20)
        painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, text)
        start = QFontMetricsF(font).horizontalAdvance(text) + 12
        painter.setFont(ui_font(TEXT_PX))
        painter.setPen(QColor(self._theme.muted))
        room = line.adjusted(start, 0, -56 if content.layer else 0, 0)
        said = _("a click takes the head")
        if QFontMetricsF(painter.font()).horizontalAdvance(said) <= room.width():
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, said)
        for rect, sign in zip(self._stepper_rects(), "‹›", strict=True):
            if rect.isValid():
                painter.setPen(QColor(self._theme.accent))
                painter.setFont(ui_font(WORD_PX[0]))
                painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, sign)

    def _paint_foot(self, painter: QPainter, content: ArcsContent) -> None:
        """The share of the first token where it is left out, and the scale of the rows."""
        y = self.height() - FOOT + 4
        painter.setFont(ui_font(TEXT_PX))
        painter.setPen(QColor(self._theme.muted))
        right, top = self.width() - PAD, number(self._ends(content)[1]) if content.rows else ""
        width = QFontMetricsF(number_font(SMALL_PX)).horizontalAdvance(top)
        if content.is_first_off:
            taken = width + _STRIP.width() + 32 if content.rows else 0.0
            left = QRectF(6, y, max(0.0, right - 6 - taken), 18)
            share = number(float(self._weights[:, 0].mean()))
            whole = _("without the first token, whose share is {share}").format(share=share)
            metrics = QFontMetricsF(painter.font())
            has_room = metrics.horizontalAdvance(whole) <= left.width()
            said = whole if has_room else _("first token: {share}").format(share=share)
            said = metrics.elidedText(said, Qt.TextElideMode.ElideRight, left.width())
            painter.drawText(left, Qt.AlignmentFlag.AlignVCenter, said)
        if not content.rows:
            return
        painter.setFont(number_font(SMALL_PX))
        painter.drawText(QRectF(right - width, y, width, 18), Qt.AlignmentFlag.AlignVCenter, top)
        strip = QRectF(right - width - 6 - _STRIP.width(), y + 5, _STRIP.width(), _STRIP.height())
        colors = cell_colors("sequential", self._theme)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for step in range(_STRIP.width()):
            color = colors[step * (len(colors) - 1) // (_STRIP.width() - 1)]
            painter.fillRect(
                QRectF(strip.left() + step, strip.top(), 1, strip.height()), QColor(*map(int, color))
            )
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        zero = QRectF(strip.left() - 14, y, 10, 18)
        painter.drawText(zero, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, "0")

    # --- hands

    def place_at(self, at: QPointF) -> tuple[int, int, int]:
        """(query, key, row of a head) under a point, each −1 where none is."""
        arcs, content = self.arcs, self._content
        if arcs is None or content is None:
            return -1, -1, -1
        for index, rect in enumerate(self.row_rects()):
            if rect.isValid() and rect.contains(at):
                return -1, self._key_of_column(at.x()), index
        query, key = arcs.word_at(at.x(), at.y())
        if query >= 0 or key >= 0:
            return query, key, -1
        open_keys = np.flatnonzero(~self._hidden).tolist()
        return -1, arcs.arc_at(at.x(), at.y(), content.query, open_keys, REACH), -1

    def _key_of_column(self, x: float) -> int:
        for key in range(self._weights.shape[1]):
            span = self.cell_span(key)
            if span is not None and span[0] <= x <= span[0] + span[1] and not self._hidden[key]:
                return key
        return -1

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        _query, key, row = self.place_at(event.position())
        is_key = key >= 0 and not self._hidden[key]
        self._hover(key if is_key else -1, row)
        is_hand = max(_query, key, row) >= 0 or self._cut_at(event.position()) >= 0
        self.setCursor(Qt.CursorShape.PointingHandCursor if is_hand else Qt.CursorShape.ArrowCursor)

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(-1)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        content, at = self._content, event.position()
        if event.button() != Qt.MouseButton.LeftButton or content is None:
            return
        for rect, step in zip(self._stepper_rects(), (-1, 1), strict=True):
            if rect.contains(at):
                self.layer_stepped.emit(step)
                return
        cut = self._cut_at(at)
        query, key, row = self.place_at(at)
        if cut >= 0:
            self._about, self._places = cut, None
            self.update()
        elif row >= 0 and (content.rows[row].site, content.rows[row].head) != content.chosen:
            self.head_clicked.emit(content.rows[row].site, content.rows[row].head)
        elif query >= 0:
            self.query_clicked.emit(query)
        elif key >= 0:
            self.key_clicked.emit(content.query, key)

    def _cut_at(self, at: QPointF) -> int:
        """The word to show in the middle after a click on the sign of words left out; −1 elsewhere."""
        arcs = self.arcs
        if arcs is None:
            return -1
        before, after = self.cut_rects()
        if before.contains(at):
            return max(0, arcs.keys.first - 1)
        return arcs.keys.first + len(arcs.keys.places) if after.contains(at) else -1

    def takes_key(self, event: QKeyEvent) -> bool:
        return event.key() in (*_STEPS, Qt.Key.Key_Up, Qt.Key.Key_Down, *_CHOOSE)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Left and right select the query; up and down walk its keys by their weight, and Enter locks one."""
        content, key = self._content, Qt.Key(event.key())
        if content is None or not self.takes_key(event):
            super().keyPressEvent(event)
        elif key in _STEPS:
            last = len(content.lines.queries) - 1
            self.query_clicked.emit(min(max(content.query + _STEPS[key], 0), last))
        elif key in _CHOOSE:
            self.key_clicked.emit(content.query, self.key if self.key >= 0 else self.strongest)
        else:
            order = [key for _head, key, _weight in self._arcs_in_order(content)][::-1]
            order = list(dict.fromkeys(order))
            at = order.index(self._cursor) if self._cursor in order else -1
            step = 1 if key == Qt.Key.Key_Down else -1
            self._cursor = order[min(max(at + step, 0), len(order) - 1)] if order else -1
            self._describe()
            self.update()
            self.key_hovered.emit(content.query, self._cursor)

    def event(self, event: QEvent) -> bool:
        """Show exact weights when the system requests a tooltip."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), plain_tooltip(self.tip_at(QPointF(event.pos()))), self)
            return True
        return super().event(event)

    def tip_at(self, at: QPointF) -> str:
        """The weight under a point in full precision, and whose it is; empty elsewhere."""
        content = self._content
        _query, key, row = self.place_at(at)
        if content is None or key < 0 or self._hidden[key]:
            return ""
        names = content.lines.queries[content.query], content.lines.keys[key]
        pair = " → ".join(isolated(visible(name)) for name in names)
        if row >= 0:
            return f"{content.labels[row]} · {pair}: {content.rows[row].weights[key]!s}"
        return f"{pair}: {self._weights[:, key].max()!s}"

    def _hover(self, key: int, row: int = -1) -> None:
        """Light a key; other panels are told of it unless it is in the row of another head than theirs."""
        content = self._content
        if content is None:
            return
        if key != self._hovered:
            self._hovered = key
            self._describe()
            self.update()
        is_theirs = row < 0 or (content.rows[row].site, content.rows[row].head) == content.chosen
        told = (content.query, key) if key >= 0 and is_theirs else NOTHING
        if told != self._told:
            self._told = told
            self.key_hovered.emit(*told)

    def _describe(self) -> None:
        """Say the greatest weight, or that of the key in focus, to a screen reader."""
        content, key = self._content, self.key if self.key >= 0 else self.strongest
        if content is None or not 0 <= key < self._weights.shape[1]:
            return
        names = content.lines.queries[content.query], content.lines.keys[key]
        pair = " → ".join(visible(name) for name in names)
        self.setAccessibleDescription(named(pair, number(float(self._weights[:, key].max()))))
