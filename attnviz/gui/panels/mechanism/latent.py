"""The latent drawn: a token's vector compressed into its cached numbers, and expanded to every head's k and
v.

All widths are to one scale, so that the small cache is visible. The strips have the real numbers of one
token; a strip has a colour of its own only if cells are too narrow to be distinguished.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.gui.look.colors import to_image
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.widgets.control import Control, draw_focus_ring
from attnviz.i18n import N_
from attnviz.model.operands.latent import cached_numbers, expanded_numbers, latent_of
from attnviz.model.spec.attention import Mixer
from attnviz.model.spec.parts import Heads
from attnviz.model.spec.site import Site

Numbers = NDArray[np.float64]

STRIP = 12.0
"""Height of a strip of numbers."""
BAR, _BAR_PITCH = 8.0, 16.0
_SQUEEZE, _FAN, _BETWEEN = 20.0, 38.0, 6.0
_ALPHA, _LIT_ALPHA = 22, 90
"""Opacity of bands, and of those of the chosen head."""

MOST_BANDS = 12
"""Heads with bands of their own; past that one band leads to all of them, and one to the chosen head."""

MOST_HEADS = 64
"""Heads whose numbers are drawn; more are narrower than a few pixels."""


@dataclass(frozen=True, eq=False)
class Strip:
    """One row of numbers in the picture: which stage and head it is, and where; `rect` is its outline."""

    stage: str
    head: int
    rect: QRectF
    size: int


@dataclass(frozen=True)
class LatentShapes:
    """The widths that the picture is drawn to."""

    source: str
    """The stage that the latent is projected from."""
    key: str
    """The stage of the keys as the scores read them."""
    d_in: int
    d_c: int
    d_rope: int
    heads: Heads

    @classmethod
    def of(cls, attention: Mixer, d_in: int, source: str, key: str) -> LatentShapes:
        """The shapes of an attention whose latent is projected from `d_in` features."""
        latent = latent_of(attention)
        return cls(source, key, d_in, latent.d_c, latent.d_rope, attention.heads)


@dataclass(frozen=True)
class Drawing:
    """Layout of the picture: the strips of each row, from the input to the values; the height."""

    given: tuple[Strip, ...]
    cached: tuple[Strip, ...]
    keys: tuple[Strip, ...]
    values: tuple[Strip, ...]
    unit: float
    left: float
    height: float

    @property
    def strips(self) -> tuple[Strip, ...]:
        return (*self.given, *self.cached, *self.keys, *self.values)


def lay_out(shapes: LatentShapes, left: float, right: float) -> Drawing:
    """The picture between two edges: `unit` pixels for each number, everywhere the same."""
    heads, d_qk = shapes.heads, shapes.heads.d_head + shapes.d_rope
    n = heads.n_heads
    gap = 4.0 if n <= 8 else 1.0 if n <= 32 else 0.0
    room = right - left - gap * (n - 1)
    unit = room / max(shapes.d_in, shapes.d_c + shapes.d_rope, n * d_qk)

    def row(stages: list[tuple[str, int, int]], top: float, between: float) -> tuple[Strip, ...]:
        """Strips side by side, in the middle of the picture."""
        widths = [max(size * unit, 1.0) for _stage, _head, size in stages]
        at = (left + right - sum(widths) - between * (len(widths) - 1)) / 2
        strips = []
        for (stage, head, size), width in zip(stages, widths, strict=True):
            strips.append(Strip(stage, head, QRectF(at, top, width, STRIP), size))
            at += width + between
        return tuple(strips)

    latent_top = 1.0 + STRIP + _SQUEEZE
    key_top = latent_top + STRIP + _FAN
    value_top = key_top + STRIP + _BETWEEN
    cached = [("latent", 0, shapes.d_c)] + ([("rope_key", 0, shapes.d_rope)] if shapes.d_rope else [])
    return Drawing(
        row([(shapes.source, 0, shapes.d_in)], 1.0, 0.0),
        row(cached, latent_top, 3.0),
        row([(shapes.key, head, d_qk) for head in range(n)], key_top, gap),
        row([("v", head, heads.d_head) for head in range(n)], value_top, gap + shapes.d_rope * unit),
        unit,
        left,
        value_top + STRIP + GRID + 2 * _BAR_PITCH,
    )


@dataclass
class _Shown:
    """Content of the picture: shapes, the numbers by (stage, head), the chosen head, bytes of one number."""

    shapes: LatentShapes
    numbers: dict[tuple[str, int], Numbers] = field(default_factory=dict)
    head: int = 0
    kept: int = 0
    expanded: int = 0


class LatentPicture(Control):
    """The picture. `hovered` carries (stage, feature, head) of the number under the mouse, or None.

    `chosen` is the head whose key or value was clicked, or that the arrow keys reached.
    """

    hovered = Signal(object)
    chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: _Shown | None = None
        self._drawing: Drawing | None = None
        name = N_("The latent: projected down from a token, then up to every head's k and v")
        says(self, id="latent_picture", name=name)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.retranslate()

    def set_attention(self, attention: Site, shapes: LatentShapes, head: int, itemsize: int) -> None:
        """Draw this attention, its numbers to come; `itemsize` bytes are kept of each number."""
        numbers = self._shown.numbers if self._shown is not None and self._shown.shapes == shapes else {}
        kept, expanded = cached_numbers(attention) * itemsize, expanded_numbers(attention) * itemsize
        self._shown = _Shown(shapes, numbers, head, kept, expanded)
        self._arrange()

    def set_numbers(self, numbers: dict[tuple[str, int], Numbers]) -> None:
        """Show the numbers of one token, by (stage, head)."""
        if self._shown is not None:
            self._shown.numbers = numbers
            self.update()

    def drawing(self) -> Drawing:
        """Layout of the picture."""
        assert self._drawing is not None
        return self._drawing

    def retranslate(self) -> None:
        self._arrange()

    def sizeHint(self) -> QSize:
        return QSize(200, 120)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()

    def _labels(self, shapes: LatentShapes) -> tuple[str, ...]:
        """Labels left of each row: its symbol and its width."""
        heads = shapes.heads
        rope = f" + {shapes.d_rope}" if shapes.d_rope else ""
        return (
            f"x  {shapes.d_in}",
            f"c  {shapes.d_c}{rope}",
            f"k  {heads.n_heads} × {heads.d_head + shapes.d_rope}",
            f"v  {heads.n_heads} × {heads.d_head}",
        )

    def _arrange(self) -> None:
        if self._shown is None:
            return
        metrics = QFontMetricsF(self.font())
        left = max(metrics.horizontalAdvance(label) for label in self._labels(self._shown.shapes)) + GRID
        self._drawing = lay_out(self._shown.shapes, left, max(float(self.width()) - 2, left + 40))
        self.setFixedHeight(round(self._drawing.height))
        self.update()

    # --- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        shown, drawing = self._shown, self._drawing
        if shown is None or drawing is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_flows(painter, drawing, shown)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        self._paint_strips(painter, drawing.strips, shown)
        self._paint_chosen(painter, drawing, shown)
        self._paint_labels(painter, drawing, shown)
        self._paint_bars(painter, drawing, shown)
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), self._theme)

    def _paint_flows(self, painter: QPainter, drawing: Drawing, shown: _Shown) -> None:
        """Data flow: bands from each row to the next, those of the chosen head over the others."""
        theme = self._theme
        (given,) = drawing.given
        for strip in drawing.cached:
            _band(painter, given.rect, strip.rect, theme.muted, _LIT_ALPHA)
        latent, *rope = (strip.rect for strip in drawing.cached)
        heads = list(zip(drawing.keys, drawing.values, strict=True))
        others = [pair for pair in heads if pair[0].head != shown.head]
        if len(heads) > MOST_BANDS:
            for row, hue in ((drawing.values, theme.value_mark), (drawing.keys, theme.key_mark)):
                _band(painter, latent, row[0].rect.united(row[-1].rect), hue, 2 * _ALPHA)
            others = []
        for key, value in (*others, *(pair for pair in heads if pair[0].head == shown.head)):
            alpha = _LIT_ALPHA if key.head == shown.head else _ALPHA
            content, beside = self._parts(key)
            _band(painter, latent, value.rect, theme.value_mark, alpha)
            _band(painter, latent, content, theme.key_mark, alpha)
            for shared in rope:
                _band(painter, shared, beside, theme.muted, alpha)

    def _parts(self, key: Strip) -> tuple[QRectF, QRectF]:
        """Rectangle of a key's content, and of the RoPE key beside it."""
        assert self._shown is not None
        share = self._shown.shapes.heads.d_head / key.size
        rect, width = key.rect, key.rect.width() * share
        return (
            QRectF(rect.left(), rect.top(), width, rect.height()),
            QRectF(rect.left() + width, rect.top(), rect.width() - width, rect.height()),
        )

    def _paint_strips(self, painter: QPainter, strips: tuple[Strip, ...], shown: _Shown) -> None:
        """Every strip with its numbers; they are one image, as making one costs as much as painting it."""
        theme = self._theme
        rows = {
            strip: _normalised(shown.numbers.get((strip.stage, strip.head)), strip.size) for strip in strips
        }
        known = [row for row in rows.values() if row is not None]
        image = to_image(np.concatenate(known)[None, :], "diverging", theme) if known else QImage()
        painter.setBrush(Qt.BrushStyle.NoBrush)
        at = 0
        for strip, row in rows.items():
            hue = {"v": theme.value_mark, shown.shapes.source: theme.muted}.get(strip.stage, theme.key_mark)
            if row is None:
                painter.fillRect(strip.rect, QColor(hue))
            else:
                painter.drawImage(strip.rect, image, QRectF(at, 0, strip.size, 1))
                at += strip.size
            if strip.rect.width() > 10:
                painter.setPen(QPen(QColor(hue), 1.0))
                painter.drawRect(strip.rect.adjusted(0, 0, -1, -1))

    def _paint_chosen(self, painter: QPainter, drawing: Drawing, shown: _Shown) -> None:
        if shown.head >= len(drawing.keys) or len(drawing.keys) == 1:
            return
        painter.setPen(QPen(QColor(self._theme.ink), 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for strip in (drawing.keys[shown.head], drawing.values[shown.head]):
            painter.drawRect(strip.rect.adjusted(-1, -1, 0, 0))

    def _paint_labels(self, painter: QPainter, drawing: Drawing, shown: _Shown) -> None:
        theme = self._theme
        hues = (theme.muted, theme.key, theme.key, theme.value)
        tops = (drawing.given, drawing.cached, drawing.keys, drawing.values)
        for label, hue, row in zip(self._labels(shown.shapes), hues, tops, strict=True):
            painter.setPen(QColor(hue))
            rect = QRectF(0, row[0].rect.top() - 3, drawing.left, STRIP + 6)
            painter.drawText(rect, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, label)

    def _paint_bars(self, painter: QPainter, drawing: Drawing, shown: _Shown) -> None:
        """Bytes of one token: with the latent, and with multi-head attention."""
        top = drawing.height - 2 * _BAR_PITCH + (_BAR_PITCH - BAR) / 2
        whole = max(shown.kept, shown.expanded, 1)
        texts = f"{shown.kept:,} B", f"{shown.expanded:,} B"
        room = (
            self.width()
            - drawing.left
            - QFontMetricsF(self.font()).horizontalAdvance(max(texts, key=len))
            - GRID
        )
        rows = (("MLA", shown.kept, self._theme.key_mark), ("MHA", shown.expanded, self._theme.muted))
        for index, ((name, size, hue), text) in enumerate(zip(rows, texts, strict=True)):
            line = QRectF(0, top + index * _BAR_PITCH - 3, self.width(), BAR + 6)
            width = max(room * size / whole, 1.0)
            painter.fillRect(QRectF(drawing.left, line.top() + 3, width, BAR), QColor(hue))
            painter.setPen(QColor(self._theme.muted))
            painter.drawText(line, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, name)
            line.setLeft(drawing.left + width + GRID / 2)
            painter.drawText(line, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)

    # --- mouse and keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if step is None or self._shown is None:
            super().keyPressEvent(event)
        else:
            self.chosen.emit((self._shown.head + step) % self._shown.shapes.heads.n_heads)

    def strip_at(self, point: QPointF) -> Strip | None:
        """The strip under `point`, or None."""
        strips = () if self._drawing is None else self._drawing.strips
        return next((strip for strip in strips if strip.rect.contains(point)), None)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        strip, pointed = self.strip_at(event.position()), None
        if strip is not None:
            share = (event.position().x() - strip.rect.left()) / strip.rect.width()
            pointed = strip.stage, min(int(share * strip.size), strip.size - 1), strip.head
        self.hovered.emit(pointed)

    def leaveEvent(self, event: QEvent) -> None:
        self.hovered.emit(None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        strip: Any = self.strip_at(event.position())
        drawing = self._drawing
        if drawing is not None and strip in (*drawing.keys, *drawing.values):
            self.chosen.emit(strip.head)


def _normalised(numbers: Numbers | None, size: int) -> Numbers | None:
    """Numbers as positions 0..1 on the colour map, zero in its middle; None if their count differs."""
    if numbers is None or len(numbers) != size:
        return None
    largest = float(np.max(np.abs(numbers[np.isfinite(numbers)]), initial=0.0)) or 1.0
    return np.asarray(np.clip(numbers / largest, -1.0, 1.0) / 2.0 + 0.5)


def _band(painter: QPainter, above: QRectF, below: QRectF, hue: str, alpha: int) -> None:
    """A band from the lower edge of one strip to the upper edge of another."""
    color = QColor(hue)
    color.setAlpha(alpha)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    corners = above.bottomLeft(), above.bottomRight(), below.topRight(), below.topLeft()
    painter.drawPolygon(QPolygonF(list(corners)))
