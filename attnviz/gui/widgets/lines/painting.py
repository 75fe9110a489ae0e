"""Painting of words in two columns and of the lines between them."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen

from attnviz.core.shades import head_color
from attnviz.core.text import elide, number, visible
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.lines.layout import HEADING, PAD, Columns
from attnviz.model.links import Links

_WORD_PX, _SMALL_PX = 13, 11
_LONGEST = 24
_SHADE = 0.45
"""Opacity behind a word that takes all of the weight: its text stays legible."""
_THICK = 4.0
_LEAST_ALPHA = 0.03
_BEND = 0.4
_MUTED_BELOW = 0.1


def draw_links(painter: QPainter, places: Columns, several: tuple[Links, ...]) -> None:
    """Lines in the hue of their head; opacity and width grow with the weight, to full ones at the largest."""
    largest = max((float(links.weights.max(initial=0.0)) for links in several), default=0.0) or 1.0
    left, right = places.left + PAD, places.right - PAD
    bend = QPointF((right - left) * _BEND, 0)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for links in several:
        color = QColor(head_color(links.head))
        ends = zip(links.queries.tolist(), links.keys.tolist(), links.weights.tolist(), strict=True)
        for query, key, weight in ends:
            strength = weight / largest
            color.setAlphaF(max(_LEAST_ALPHA, strength))
            painter.setPen(QPen(color, max(1.0, _THICK * strength)))  # wider than 1 is slow
            start, end = QPointF(left, places.y(query)), QPointF(right, places.y(key))
            path = QPainterPath(start)
            path.cubicTo(start + bend, end - bend, end)
            painter.drawPath(path)


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
