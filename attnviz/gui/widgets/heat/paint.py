"""The cells of a heat map: colours, marks, and the numbers in them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QGlyphRun, QPainter, QPainterPath, QPen, QRawFont

from attnviz.core.color_maps import Kind
from attnviz.core.matrix import AnyMatrix
from attnviz.core.text import numbers as formatted
from attnviz.gui.look.colors import (
    BLOCKED,
    LEVELS,
    NAN,
    PLUS_INF,
    Indices,
    cell_colors,
    indexed_image,
    inks,
    pool,
)
from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.heat.hatch import device_scale, draw_blocked, draw_infinite, draw_lacking, is_vector
from attnviz.gui.widgets.heat.layout import Geometry

Start = tuple[float, float]


def draw_texts(painter: QPainter, font: QFont, starts: Sequence[Start], texts: Sequence[str]) -> None:
    """Draw each text from its start on its base line, as `drawText` does, in half of the time.

    A text stays a text in an SVG or a PDF, and Qt finds the font of a character that `font` lacks.
    """
    raw = QRawFont.fromFont(font)
    glyphs = [] if is_vector(painter) else raw.glyphIndexesForString("".join(texts))
    if not glyphs or 0 in glyphs:
        painter.setFont(font)
        for start, text in zip(starts, texts, strict=True):
            painter.drawText(QPointF(*start), text)
        return
    advance = QFontMetricsF(font).horizontalAdvance("0")
    places = (_places(*start, len(text), advance) for start, text in zip(starts, texts, strict=True))
    run = QGlyphRun()
    run.setRawFont(raw)
    run.setGlyphIndexes(glyphs)
    run.setPositions(list(chain.from_iterable(places)))
    painter.drawGlyphRun(QPointF(), run)


@lru_cache(maxsize=8192)
def _places(x: float, y: float, count: int, advance: float) -> tuple[QPointF, ...]:
    """The places of the characters of one text; they stay while the numbers of a map change."""
    return tuple(QPointF(x + index * advance, y) for index in range(count))


NUMBERS_FROM_WIDTH = 34.0
NUMBERS_FROM_HEIGHT = 16.0
NEAR_ZERO = "≈0"
LEAST_SHARE = 1e-3
"""Part of the largest number in sight below which one that is too long shows as `NEAR_ZERO`."""
_MARKS_FROM = 8.0
_RECTANGLES_UP_TO = 128 * 128


def draw_cells(painter: QPainter, geometry: Geometry, indices: Indices, kind: Kind, theme: Theme) -> None:
    """The visible cells of `indices` (down, across) in their colours; masked ones hatched, others marked."""
    top, bottom, left, right = geometry.visible()
    shown = indices[top:bottom, left:right]
    if shown.size == 0:
        return
    painter.save()
    painter.setClipRect(geometry.plot, Qt.ClipOperation.IntersectClip)
    if bool((shown == BLOCKED).any()):
        draw_blocked(painter, geometry.plot, theme)
    if is_vector(painter) and shown.size <= _RECTANGLES_UP_TO:
        _draw_rectangles(painter, geometry, shown, kind, theme)
    else:
        _draw_image(painter, geometry, indices, kind, theme)
    if min(geometry.cell_w, geometry.cell_h) >= _MARKS_FROM and shown.max() >= PLUS_INF:
        _draw_marks(painter, geometry, shown, theme)
    painter.restore()


def _draw_image(painter: QPainter, geometry: Geometry, indices: Indices, kind: Kind, theme: Theme) -> None:
    ratio = 1.0 if is_vector(painter) else device_scale(painter)
    down, across = (max(1, math.ceil(1 / (c * ratio) - 1e-6)) for c in (geometry.cell_h, geometry.cell_w))
    top, bottom, left, right = geometry.visible()
    top, left = top // down * down, left // across * across  # so that blocks stay put while panning
    image = indexed_image(pool(indices[top:bottom, left:right], (down, across), kind), kind, theme)
    target = geometry.block_rect(top, left, image.height() * down, image.width() * across)
    painter.drawImage(target, image)


def _draw_rectangles(painter: QPainter, geometry: Geometry, shown: Indices, kind: Kind, theme: Theme) -> None:
    top, bottom, left, right = geometry.visible()
    area = geometry.block_rect(top, left, bottom - top, right - left)
    fill_rectangles(painter, area, shown, kind, theme, geometry.plot)


def fill_rectangles(
    painter: QPainter, area: QRectF, shown: Indices, kind: Kind, theme: Theme, within: QRectF
) -> None:
    """Paint cells as shapes that fill `area`, cut to `within`: an SVG would blur an enlarged image."""
    rows, columns = shown.shape
    width, height = area.width() / columns, area.height() / rows
    colors = [QColor(int(r), int(g), int(b)) for r, g, b in cell_colors(kind, theme)]
    for (down, across), index in np.ndenumerate(shown):
        if index < LEVELS:
            rect = QRectF(area.left() + across * width, area.top() + down * height, width, height)
            painter.fillRect(rect.intersected(within), colors[index])


def _draw_marks(painter: QPainter, geometry: Geometry, shown: Indices, theme: Theme) -> None:
    top, _bottom, left, _right = geometry.visible()
    for down, across in np.argwhere(shown >= PLUS_INF):
        rect = geometry.cell_rect(top + int(down), left + int(across)).intersected(geometry.plot)
        if shown[down, across] == NAN:
            draw_lacking(painter, rect, theme, theme.error)
        else:
            draw_infinite(painter, rect, theme, theme.warning)


CORNER = 14.0
"""Largest side of the mark of an edited cell."""


def draw_edited(
    painter: QPainter, geometry: Geometry, cells: Sequence[tuple[int, int]], theme: Theme
) -> None:
    """A corner of every cell that is edited by hand, in the accent's colour on the card's."""
    if not cells:
        return
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setClipRect(geometry.plot, Qt.ClipOperation.IntersectClip)
    painter.setPen(QPen(QColor(theme.panel), 1.2))
    painter.setBrush(QColor(theme.accent))
    for cell in cells:
        rect = geometry.cell_rect(*cell)
        side = max(3.0, min(CORNER, rect.width() / 2, rect.height() / 2))
        corner = rect.topRight()
        painter.drawPolygon([corner, corner - QPointF(side, 0), corner + QPointF(0, side)])
    painter.restore()


def draw_numbers(
    painter: QPainter,
    geometry: Geometry,
    values: AnyMatrix,
    indices: Indices,
    kind: Kind,
    theme: Theme,
    font: QFont,
    ink: str = "",
) -> None:
    """Paint the numbers of the visible cells, if cells are large enough; masked cells have none.

    In `ink`; without it, in that of each cell's colour.
    """
    if geometry.cell_w < NUMBERS_FROM_WIDTH or geometry.cell_h < NUMBERS_FROM_HEIGHT:
        return
    top, bottom, left, right = geometry.visible()
    shown = indices[top:bottom, left:right]
    numbered = np.argwhere(shown != BLOCKED)
    numbers: list[float] = values[top:bottom, left:right][tuple(numbered.T)].tolist()
    metrics = QFontMetricsF(font)
    advance = metrics.horizontalAdvance("0")
    texts = fitting_texts(numbers, int((geometry.cell_w - 4) / advance))
    painter.save()
    painter.setClipRect(geometry.plot, Qt.ClipOperation.IntersectClip)
    rise, plot = (metrics.ascent() - metrics.descent()) / 2, geometry.plot
    first = geometry.cell_rect(top, left).center()
    xs = first.x() + numbered[:, 1] * geometry.cell_w
    ys = first.y() + numbered[:, 0] * geometry.cell_h
    bytes_shown, widths = shown[tuple(numbered.T)], advance * np.fromiter(map(len, texts), np.float64)
    is_inside = (plot.left() <= xs) & (xs <= plot.right()) & (plot.top() <= ys) & (ys <= plot.bottom())
    starts = list(zip((xs - widths / 2).tolist(), (ys + rise).tolist(), strict=True))
    for i in np.flatnonzero(is_inside & (widths > 0) & (bytes_shown >= LEVELS)).tolist():
        x, y = starts[i]
        painter.fillRect(
            QRectF(x - 2, y - metrics.ascent(), widths[i] + 4, metrics.height()), QColor(theme.panel)
        )
    is_drawn = is_inside & (widths > 0)
    inked = {ink: np.flatnonzero(is_drawn).tolist()} if ink else _by_ink(bytes_shown, is_drawn, kind, theme)
    for color, chosen in inked.items():
        painter.setPen(QColor(color))
        draw_texts(painter, font, [starts[i] for i in chosen], [texts[i] for i in chosen])
    painter.restore()


def _by_ink(
    bytes_shown: Indices, is_wanted: NDArray[np.bool_], kind: Kind, theme: Theme
) -> dict[str, list[int]]:
    """Wanted cells grouped by the ink of their text: changing the pen for every number is slow."""
    ink_of, cells = _inks(kind, theme), defaultdict[str, list[int]](list)
    for i, byte in zip(np.flatnonzero(is_wanted).tolist(), bytes_shown[is_wanted].tolist(), strict=True):
        cells[ink_of[byte]].append(i)
    return cells


@lru_cache(maxsize=8)
def _inks(kind: Kind, theme: Theme) -> tuple[str, ...]:
    """For every byte, the ink of its text: on its colour, or on the card beside a mark."""
    marks = (theme.error if byte == NAN else theme.warning for byte in range(LEVELS, 256))
    return *inks(kind, theme), *marks


def fitting_texts(numbers: list[float], characters: int) -> list[str]:
    """All numbers with the most decimals (3 to 1) with which the fewest are too long; none if any stays so.

    A long one beside a number a thousand times larger is `NEAR_ZERO`, so that one long exponent, as gradients
    have, costs the others nothing; without numbers in every cell, those that show seem to be all.
    """
    fitting: list[str] = []
    fewest = len(numbers) + 1
    most = max(1, min(3, characters - 2))  # “0.0” is two characters longer than its decimals
    for digits in range(most, 0, -1):
        texts = formatted(numbers, digits)
        n_long = sum(len(text) > characters for text in texts)
        if n_long < fewest:
            fitting, fewest = texts, n_long
        if fewest == 0:
            return fitting
    least = LEAST_SHARE * max((abs(value) for value in numbers if math.isfinite(value)), default=0.0)
    replaced = [
        NEAR_ZERO if len(text) > characters and abs(value) < least else text
        for value, text in zip(numbers, fitting, strict=True)
    ]
    return replaced if all(len(text) <= characters for text in replaced) else [""] * len(numbers)


def faded_path(geometry: Geometry, kept: Iterable[tuple[int, int, int, int]]) -> QPainterPath:
    """All cells but some blocks of them: first row and column, and the number of rows and columns."""
    whole = QPainterPath()
    whole.addRect(geometry.block_rect(0, 0, geometry.n_down, geometry.n_across))
    bright = QPainterPath()
    for block in kept:
        bright.addRect(geometry.block_rect(*block))
    return whole.subtracted(bright)


def cover(painter: QPainter, geometry: Geometry, cell: tuple[int, int], theme: Theme) -> None:
    """Hide a cell behind a question mark."""
    rect = geometry.block_rect(*cell, 1, 1)
    painter.fillRect(rect, QColor(theme.panel))
    painter.setPen(QPen(QColor(theme.accent), 2.0))
    painter.drawRect(rect.adjusted(1, 1, -1, -1))
    painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, "?")
