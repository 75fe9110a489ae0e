"""Shades of the tokens of a text: the probability that each had, or the weight that the step gives it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QLinearGradient, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.compute.decoding import Decoded
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import TEXT_PX, Theme
from attnviz.gui.panels.decoding.links import shown_step_site
from attnviz.gui.panels.decoding.names import names_of
from attnviz.gui.panels.decoding.story.text import shade_color
from attnviz.gui.widgets.control import active_theme
from attnviz.i18n import N_
from attnviz.model.spec.view import View

Shade = Callable[[int], float | None]
"""Position -> a number from 0 to 1, None where the token has none."""


@dataclass(frozen=True)
class ShadingRow:
    """One kind of shading: its id, its title, its sentence, the colour of the theme, and its function."""

    id: str
    title: str
    hint: str
    hue: str
    make: Callable[[Decoded, int, View], Shade]


def probability_then(decoded: Decoded, index: int) -> float | None:
    """The model's probability of a generated token at the step before it; None for one of the prompt."""
    steps, written = decoded.decoding.steps, decoded.decoding.steps[index - 1]
    if index < 1 or (index < len(steps) and not steps[index].generated):
        return None
    token = steps[index].token if index < len(steps) else written.next_token
    ids = names_of(decoded.decoding).ids
    if token is None or token not in ids:
        return None
    probability = float(written.probabilities[ids[token]])
    return probability if math.isfinite(probability) else None


def _probabilities(decoded: Decoded, step: int, view: View) -> Shade:
    known: dict[int, float | None] = {}

    def shade(index: int) -> float | None:
        if index not in known:
            known[index] = probability_then(decoded, index)
        return known[index]

    return shade


def _weights(decoded: Decoded, step: int, view: View) -> Shade:
    site = decoded.decoding.steps[step].site(shown_step_site(decoded, view.site))
    if site.experiment.memory is not None:  # its keys are not in the text
        return lambda index: None
    rows = site.weights if site.dropped is None else site.dropped
    row = rows[min(view.head, rows.shape[0] - 1)].tolist()
    weights: Mapping[int, float] = dict(zip(site.key_positions.tolist(), row, strict=True))

    def shade(index: int) -> float | None:
        weight = weights.get(index)
        return weight if weight is not None and math.isfinite(weight) else None

    return shade


SHADINGS: tuple[ShadingRow, ...] = (
    ShadingRow(
        "probability",
        N_("probability"),
        N_("Shade each generated token by the probability that the model gave it"),
        "accent",
        _probabilities,
    ),
    ShadingRow(
        "weight",
        N_("weight"),
        N_("Shade each token by the weight that the present step gives it in the selected head"),
        "key_mark",
        _weights,
    ),
)
SHADING_BY_ID = {row.id: row for row in SHADINGS}


class ShadeScale(QWidget):
    """The scale of the shades, from 0 to 1."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme, self._hue = active_theme(), "accent"
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_hue(self, hue: str) -> None:
        """Use a colour of the theme."""
        self._hue = hue
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(96, 20)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        bar = QRectF(14, 5, self.width() - 28, self.height() - 10)
        ramp = QLinearGradient(QPointF(bar.left(), 0), QPointF(bar.right(), 0))
        for value in (0.0, 1.0):
            ramp.setColorAt(value, shade_color(self._theme, self._hue, value))
        painter.fillRect(bar, ramp)
        painter.setFont(number_font(TEXT_PX - 1))
        painter.setPen(QColor(self._theme.muted))
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignLeft | middle, "0")
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignRight | middle, "1")
