"""Token labels around a heat map: plain text, elided, thinned out where they would collide."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter

from attnviz.core.text import elide, upright, visible
from attnviz.gui.widgets.heat.content import Pictures
from attnviz.gui.widgets.heat.layout import LABEL_LINE, MARGIN, Geometry
from attnviz.gui.widgets.upright_text import draw_column

_LONGEST = 24
_MEASURED = 12
_SLANTED_LIFT = 8.0
PICTURE = LABEL_LINE - 3
"""Side of a picture in the place of a label, in pixels."""


class Labels:
    """The labels of one axis as they are shown, with their widths."""

    def __init__(self, texts: tuple[str, ...], font: QFont, bold: QFont) -> None:
        self.texts = texts
        self.pictures: Pictures | None = None
        self._shown: dict[int, str] = {}
        self.font = font
        self.bold = bold
        self.metrics = QFontMetricsF(font)
        self._elided: dict[tuple[int, float], str] = {}
        self._advances: dict[tuple[str, bool], float] = {}
        measured: Iterable[int] = range(len(texts))
        if len(texts) > 4 * _MEASURED:  # measuring thousands takes longer than painting the matrix
            measured = heapq.nlargest(_MEASURED, measured, key=self._n_bytes)
        advance = self.metrics.horizontalAdvance
        self.width = max((advance(self.shown(index)) for index in measured), default=0.0)

    def _n_bytes(self, index: int) -> int:
        """Approximate width of a label: Chinese has more bytes, and is wider."""
        return len(self.texts[index].encode(errors="backslashreplace"))

    def picture(self, index: int) -> QImage | None:
        """The picture that stands for label `index` while it is not pointed at."""
        return None if self.pictures is None else self.pictures(index)

    def shown(self, index: int) -> str:
        """Text of label `index`, formatted on first use: of thousands few are shown."""
        if index not in self._shown:
            self._shown[index] = elide(visible(self.texts[index]), _LONGEST)
        return self._shown[index]

    def elided(self, index: int, width: float) -> str:
        """Label `index` cut to `width` pixels."""
        kept = self._elided.get((index, width))
        if kept is None:
            kept = self.metrics.elidedText(self.shown(index), Qt.TextElideMode.ElideRight, width)
            self._elided[index, width] = kept
        return kept

    def advance(self, text: str, bold: bool) -> float:
        """The width of `text`; asking Qt again for every frame of a drag adds up."""
        kept = self._advances.get((text, bold))
        if kept is None:
            metrics = QFontMetricsF(self.bold) if bold else self.metrics
            kept = self._advances[text, bold] = metrics.horizontalAdvance(text)
        return kept


def draw_down(
    painter: QPainter,
    geometry: Geometry,
    labels: Labels,
    color: str,
    only: int | None = None,
    ground: str | None = None,
) -> None:
    """Labels left of the rows; `only` draws one of them in bold on `ground`, even if it was thinned out."""
    first, last, _a, _b = geometry.visible()
    step = geometry.down_step
    chosen = range(-(-first // step) * step, last, step) if only is None else (only,)
    painter.setFont(labels.font if only is None else labels.bold)
    painter.setPen(QColor(color))
    width = geometry.down_room + 1
    for down in chosen:
        center = geometry.cell_rect(down, 0).center().y()
        if not geometry.plot.top() <= center <= geometry.plot.bottom():
            continue
        box = QRectF(geometry.plot.left() - 8 - width, center - LABEL_LINE / 2, width, LABEL_LINE)
        if ground is not None:
            covered = box.adjusted(-8 if box.left() >= 8 else -box.left(), 0, 0, 0)
            for beside in _neighbours(down, step, geometry.n_down):
                distance = (beside - down) * geometry.cell_h
                if abs(distance) < LABEL_LINE:
                    covered = covered.united(box.translated(0, distance))
            painter.fillRect(covered, QColor(ground))
        picture = labels.picture(down) if only is None else None
        if picture is not None:
            painter.drawImage(_square(box.right() - PICTURE / 2, center), picture)
            continue
        baseline = center + (labels.metrics.ascent() - labels.metrics.descent()) / 2
        text = labels.elided(down, width)
        drawn = labels.advance(text, bold=only is not None)
        painter.drawText(QPointF(box.right() - drawn, baseline), text)


def draw_across(
    painter: QPainter,
    geometry: Geometry,
    labels: Labels,
    color: str,
    only: int | None = None,
    ground: str | None = None,
) -> None:
    """Labels above the columns, level, slanted or rotated; `only` and `ground` as for `draw_down`."""
    _a, _b, first, last = geometry.visible()
    step = geometry.across_step
    chosen = range(-(-first // step) * step, last, step) if only is None else (only,)
    painter.setFont(labels.font if only is None else labels.bold)
    for across in chosen:
        x = geometry.cell_rect(0, across).center().x()
        if geometry.plot.left() <= x <= geometry.plot.right():
            _draw_across_one(painter, geometry, labels, across, x, color, ground)


def _draw_across_one(
    painter: QPainter,
    geometry: Geometry,
    labels: Labels,
    across: int,
    x: float,
    color: str,
    ground: str | None,
) -> None:
    picture = labels.picture(across) if ground is None else None
    if picture is not None:
        painter.drawImage(_square(x, geometry.plot.top() - 5 - PICTURE / 2), picture)
        return
    text = labels.elided(across, geometry.across_room_at(x) + 1)
    angle = 0 if len(text) == 1 else geometry.across_angle
    bottom = geometry.plot.top() - (_SLANTED_LIFT if angle == 45 else 5)
    metrics = labels.metrics
    width = labels.advance(text, bold=ground is not None)
    painter.save()
    painter.translate(x, bottom)
    if angle:
        painter.rotate(-angle)
        at = QPointF(0 if angle == 90 else -2, (metrics.ascent() - metrics.descent()) / 2)
    else:
        at = QPointF(-width / 2, -metrics.descent() + 1)
    if ground is not None:
        box = QRectF(at.x() - 3, at.y() - metrics.ascent(), width + 6, metrics.height())
        covered = QRectF(box)
        turn = math.radians(angle)
        for beside in _neighbours(across, geometry.across_step, geometry.n_across):
            distance = (beside - across) * geometry.cell_w
            other = box.translated(distance * math.cos(turn), distance * math.sin(turn))
            if other.intersects(box):
                covered = covered.united(other)
        painter.fillRect(covered, QColor(ground))
    painter.setPen(QColor(color))
    if angle == 90 and upright(text):
        painter.rotate(180)
        draw_column(painter, text, -width, width)
    else:
        painter.drawText(at, text)
    painter.restore()


def _square(x: float, y: float) -> QRectF:
    """The place of a picture around a point."""
    return QRectF(x - PICTURE / 2, y - PICTURE / 2, PICTURE, PICTURE)


def _neighbours(index: int, step: int, count: int) -> list[int]:
    """The labels drawn before and after `index`, if that was thinned out: it would overlap them."""
    before = index // step * step
    return [] if before == index else [other for other in (before, before + step) if other < count]


def draw_axis_names(
    painter: QPainter,
    geometry: Geometry,
    down: tuple[str, str],
    across: tuple[str, str],
    font: QFont,
    first: float,
) -> None:
    """Name and colour of each axis in the corner above the labels of the rows, where they fit.

    `first` is the width of the first label above the columns, which a level one extends into the corner.
    """
    painter.setFont(font)
    metrics = QFontMetricsF(font)
    level = max(0.0, (first - geometry.cell_w) / 2) if geometry.across_angle == 0 else 0.0
    room = geometry.plot.left() - 8 - level
    over_labels = max(0.0, (LABEL_LINE - geometry.cell_h) / 2)
    baseline = geometry.plot.top() - metrics.descent() - 2 - over_labels
    for (name, color), arrow in ((down, "\u2193"), (across, "\u2192")):
        text = f"{name} {arrow}"
        width = metrics.horizontalAdvance(text)
        if not name or width > room or baseline - metrics.ascent() < 0:
            return
        painter.setPen(QColor(color))
        painter.drawText(QPointF(room - width, baseline), text)
        baseline -= metrics.ascent() + 1


def across_label_at(geometry: Geometry, point: QPointF) -> int | None:
    """The column of the screen whose label is under `point`."""
    lift = geometry.plot.top() - point.y()
    if not 0 < lift <= point.y() + lift - MARGIN / 2:
        return None
    slant = lift - _SLANTED_LIFT if geometry.across_angle == 45 else 0.0
    cell = geometry.cell_at(QPointF(point.x() - max(0.0, slant), geometry.plot.center().y()))
    return None if cell is None else cell[1]


def down_label_at(geometry: Geometry, point: QPointF) -> int | None:
    """The row of the screen whose label is under `point`."""
    if not geometry.plot.left() - geometry.down_room - MARGIN <= point.x() < geometry.plot.left():
        return None
    cell = geometry.cell_at(QPointF(geometry.plot.center().x(), point.y()))
    return None if cell is None else cell[0]
