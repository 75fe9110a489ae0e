"""The lowest part of the first glance: the way of the sum in frames, and its button."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPolygonF
from PySide6.QtWidgets import QLabel, QWidget

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import DARK, GRID, RADIUS, TEXT_PX
from attnviz.gui.look.words import says
from attnviz.gui.panels.glance.scrubber import Scrubber
from attnviz.gui.panels.glance.seen import GlanceSeen
from attnviz.gui.panels.glance.sheet import Sheet
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.button import PaintedButton
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_

_SIDE = 104
"""Width of the column with the button."""


class PlayButton(PaintedButton):
    """Plays or pauses; its sign says which."""

    def __init__(self) -> None:
        super().__init__()
        self.is_playing = False
        self.setFixedSize(64, 32)

    def set_playing(self, is_playing: bool) -> None:
        """Show the sign of the other act."""
        self.is_playing = is_playing
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(64, 32)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme, rect = QPainter(self), self._theme, QRectF(self.rect())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setOpacity(1.0 if self.isEnabled() else 0.45)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.filled))
        painter.drawRoundedRect(rect, RADIUS, RADIUS)
        painter.setBrush(QColor(theme.on_filled))
        x, y = rect.center().x(), rect.center().y()
        if self.is_playing:
            for left in (x - 6, x + 2):
                painter.drawRect(QRectF(left, y - 7, 4, 14))
        else:
            painter.drawPolygon(QPolygonF([QPointF(x - 5, y - 8), QPointF(x + 8, y), QPointF(x - 5, y + 8)]))
        if self.hasFocus():
            draw_focus_ring(painter, rect.adjusted(3, 3, -3, -3), DARK)  # on a filled ground


class WaySheet(Sheet):
    """The frames; `play_wanted` asks to play or to pause."""

    play_wanted = Signal()

    def __init__(self) -> None:
        super().__init__("glance_way", has_head=False)
        self.scrubber = Scrubber()
        self.scrubber.toggled.connect(self.play_wanted)
        tip = N_("Play the way from the word alone to its sum (Space)")
        self.button = says(PlayButton(), id="glance_play", name=N_("Play the sum"), tip=tip)
        self.button.clicked.connect(self.play_wanted)
        self._part = QLabel()
        self._part.setObjectName("glance_part")
        tip = N_(
            "Every frame is a sum of the model’s own values, with weights (1 − t) × itself + t × its row. "
            "The model has t = 1"
        )
        self._only = says(QLabel(), N_("0: the word alone\n1: its weights"), id="glance_only", tip=tip)
        for label in (self._part, self._only):
            label.setFont(ui_font(TEXT_PX - 1))
        set_tone("muted", self._part, self._only)
        side = QWidget()
        side.setFixedWidth(_SIDE)
        in_column(side, self.button, self._part, self._only, spacing=GRID // 2).addStretch(1)
        self.column.addLayout(in_row(None, side, self.scrubber, spacing=GRID))

    def show_state(self, seen: GlanceSeen, part: float) -> None:
        """Show the frames of the sum at a part of the way."""
        self.scrubber.set_sum(seen.sum, seen.asker, part, is_first_off=seen.is_first_off)
        self._part.setText(f"t = {part:.2f}")
