"""The table of the logit lens: the most probable token after each layer, tinted by its probability."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.analysis.lens import Lens
from attnviz.core.text import visible
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.canvas import Canvas
from attnviz.gui.widgets.control import draw_focus_ring

ROW, GAP = 24, 2
"""Height of a cell with its gap, in pixels."""
NARROWEST, WIDEST = 56, 112
"""Width of a cell with its gap: what the room gives, within these."""
LABELS, TITLES = 32, 24
"""Width of the layers' numbers, height of the tokens' line."""
DEEPEST = 0.45
"""Share of the accent in the cell of a certain token, on which ink is still readable."""
_PX = 11

At = tuple[int, int]
"""(layer, position)."""


class LensCanvas(Canvas):
    """Layers upwards, tokens across; a ring marks the token that follows in the text. Its places are `At`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("lens_canvas")
        self.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Minimum)
        self._lens: Lens | None = None
        self._tokens: tuple[str, ...] = ()

    def show_lens(self, lens: Lens | None, tokens: tuple[str, ...]) -> None:
        """Show another lens over the tokens of the text; None for none."""
        self._lens, self._tokens = lens, tokens
        if self._current is not None and not self._has(self._current):
            self._current = None
        self.updateGeometry()
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self.update()

    def text_at(self, at: At) -> str:
        """The token that is shown in a cell."""
        assert self._lens is not None
        return visible(self._lens.vocabulary[self._lens.tokens[at][0]])

    def is_right(self, at: At) -> bool:
        """True if the cell's token is the one that follows in the text."""
        assert self._lens is not None
        following = self._tokens[at[1] + 1 : at[1] + 2]
        return following == (self._lens.vocabulary[self._lens.tokens[at][0]],)

    def cell(self, at: At) -> QRectF:
        """The cell of a layer and a position; the last layer is on top."""
        row = self._n_layers - 1 - at[0]
        return QRectF(LABELS + at[1] * self._column, TITLES + row * ROW, self._column - GAP, ROW - GAP)

    @property
    def _column(self) -> float:
        """Width of a column; narrow ones scroll."""
        room = (self.width() - LABELS) / max(1, len(self._tokens))
        return min(max(room, NARROWEST), WIDEST)

    @property
    def _n_layers(self) -> int:
        return 0 if self._lens is None else len(self._lens.sites)

    def sizeHint(self) -> QSize:
        return QSize(LABELS + len(self._tokens) * NARROWEST, TITLES + self._n_layers * ROW)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    # --- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._lens is None:
            return
        painter = QPainter(self)
        painter.setFont(ui_font(_PX))
        metrics, seen = QFontMetricsF(painter.font()), QRectF(event.rect())
        for position in range(len(self._tokens)):
            column = QRectF(LABELS + position * self._column, 0, self._column, self.height())
            if column.intersects(seen):
                self._paint_column(painter, metrics, position, seen)
        painter.setPen(QColor(self._theme.muted))
        for layer in range(self._n_layers):
            box = self.cell((layer, 0))
            right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(QRectF(0, box.top(), LABELS - 8, box.height()), right, str(layer + 1))
        if self._is_focus_shown:
            draw_focus_ring(painter, QRectF(self.visibleRegion().boundingRect()), self._theme)
        painter.end()

    def _paint_column(self, painter: QPainter, metrics: QFontMetricsF, position: int, seen: QRectF) -> None:
        painter.setPen(QColor(self._theme.muted))
        title = QRectF(LABELS + position * self._column + 4, 0, self._column - GAP - 8, TITLES)
        token = metrics.elidedText(
            visible(self._tokens[position]), Qt.TextElideMode.ElideRight, title.width()
        )
        painter.drawText(title, Qt.AlignmentFlag.AlignVCenter, token)
        for layer in range(self._n_layers):
            if self.cell((layer, position)).intersects(seen):
                self._paint_cell(painter, metrics, (layer, position))

    def _paint_cell(self, painter: QPainter, metrics: QFontMetricsF, at: At) -> None:
        assert self._lens is not None
        box, theme = self.cell(at), self._theme
        tint = QColor(theme.accent)
        tint.setAlphaF(DEEPEST * min(1.0, float(self._lens.probabilities[at][0])))
        painter.fillRect(box, tint)
        painter.setPen(QColor(theme.ink))
        inside = box.adjusted(4, 0, -4, 0)
        text = metrics.elidedText(self.text_at(at), Qt.TextElideMode.ElideRight, inside.width())
        painter.drawText(inside, Qt.AlignmentFlag.AlignVCenter, text)
        if self.is_right(at):
            self._outline(painter, box, theme.value, 2.0)
        if at == self._current:
            self._outline(painter, box, theme.accent, 1.5)
        if at == self._chosen:
            self._outline(painter, box, theme.ink, 2.0)

    def _outline(self, painter: QPainter, box: QRectF, color: str, width: float) -> None:
        painter.setPen(QPen(QColor(color), width))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(box.adjusted(1, 1, -1, -1))

    # --- mouse and keys

    def _has(self, at: At) -> bool:
        return 0 <= at[0] < self._n_layers and 0 <= at[1] < len(self._tokens)

    def place_at(self, point: QPointF) -> At | None:
        if point.x() < LABELS or point.y() < TITLES:
            return None
        at = self._n_layers - 1 - int((point.y() - TITLES) // ROW), int((point.x() - LABELS) // self._column)
        return at if self._has(at) else None

    def walked(self, across: int, down: int) -> At | None:
        """Layers grow upwards."""
        if not self._n_layers:
            return None
        layer, position = self._current or self._chosen or (0, 0)
        there = layer - down, position + across
        return there if self._has(there) else (layer, position)
