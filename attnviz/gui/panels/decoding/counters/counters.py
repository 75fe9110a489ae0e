"""The footer of a decoding: what it cost with a cache and without, and that both are equal."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QWidget

from attnviz.gui.look.theme import GRID, RADIUS, Theme
from attnviz.gui.panels.decoding.counters.line import LINE_PX, Counts
from attnviz.gui.panels.decoding.counts import verdict
from attnviz.gui.panels.decoding.part import DecodingPart
from attnviz.gui.player import Player
from attnviz.gui.store import Store
from attnviz.gui.widgets.elided_label import WholeLabel
from attnviz.gui.widgets.tone import set_tone


class CountersPanel(DecodingPart):
    """One line in its own frame: it has no room for a title."""

    measures = True

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._counts, self._parity = Counts(), WholeLabel()
        self._parity.setObjectName("decode_parity")
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID * 3 // 2, 3, GRID * 3 // 2, 3)
        row.setSpacing(2 * GRID)
        row.addWidget(self._counts, 1)
        row.addWidget(self._parity)

    def minimumSizeHint(self) -> QSize:
        return QSize(280, LINE_PX + 6)

    def show_step(self) -> None:
        decoded, player = self.decoded, self.store.player
        self._counts.setVisible(decoded is not None)
        if decoded is None:
            self._parity.set_line(self.why_empty)
            set_tone("muted", self._parity)
            return
        self._counts.show_step(decoded, self.step, player.measured(self.step), player.is_playing)
        parity = verdict(decoded)
        self._parity.set_line("● " + parity.text)
        set_tone(parity.tone, self._parity)
        self._parity.setToolTip(parity.stages)

    def on_player(self, old: Player, new: Player) -> None:
        if (old.is_playing, old.uncached) != (new.is_playing, new.uncached):
            self.show_step()

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self.show_step()

    def retranslate(self) -> None:
        self.show_step()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self.theme.line), 1))
        painter.setBrush(QColor(self.theme.panel))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
