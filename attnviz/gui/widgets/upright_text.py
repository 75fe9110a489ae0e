"""Text along a vertical line: wide characters, such as Chinese, stand upright one below the other."""

from __future__ import annotations

import itertools

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter

from attnviz.core.text import is_wide

LEADING = 1.15
"""Distance of two upright characters, as a multiple of their size."""


def draw_upright(painter: QPainter, text: str) -> None:
    """Draw `text` downwards, its middle at the origin; what is not wide is rotated by 90°."""
    painter.save()
    painter.rotate(90)
    metrics = QFontMetricsF(painter.font())
    runs = [(wide, "".join(run)) for wide, run in itertools.groupby(text, is_wide)]
    lengths = [metrics.horizontalAdvance(run) * (LEADING if wide else 1.0) for wide, run in runs]
    at, rise = -sum(lengths) / 2, (metrics.ascent() - metrics.descent()) / 2
    for (wide, run), length in zip(runs, lengths, strict=True):
        if wide:
            draw_column(painter, run, at, length)
        else:
            painter.drawText(QPointF(at, rise), run)
        at += length
    painter.restore()


def draw_beside(painter: QPainter, text: str) -> None:
    """Draw a name at the side of a picture, its middle at the origin: upwards, or downwards as
    `draw_upright` where it has wide characters.
    """
    painter.save()
    if not any(map(is_wide, text)):
        painter.rotate(180)
    draw_upright(painter, text)
    painter.restore()


def draw_column(painter: QPainter, text: str, start: float, length: float) -> None:
    """Draw characters upright, one below the other, on a painter that is rotated by 90°.

    They begin at `start` and are as high together as `length`.
    """
    painter.save()
    painter.rotate(-90)
    step = length / len(text)
    for index, character in enumerate(text):
        box = QRectF(-step, start + index * step, 2 * step, step)
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextDontClip, character)
    painter.restore()
