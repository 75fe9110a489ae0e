"""A tile in the strip, behind which several stages are folded."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.core.phrases import enumerated, named
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import RADIUS, TEXT_PX
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.button import PaintedButton
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.i18n import _, ngettext
from attnviz.model.stages import STAGE_BY_ID

WIDTH = 32


class FoldTile(PaintedButton):
    """Says how many stages are folded here; `stages` are their ids."""

    def __init__(self, side: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._side = side
        self._is_pointed = False
        self.stages: tuple[str, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_stages(self, stages: tuple[str, ...]) -> None:
        """Stand for these stages."""
        self.stages = stages
        self.setObjectName(f"folded_{stages[0]}")
        self.setText(f"+{len(stages)}")
        self.retranslate()
        self.update()

    def clear(self) -> None:
        """Stand for nothing: the strip has no use for the tile now."""
        self.stages = ()
        for say in (self.setObjectName, self.setText, self.setAccessibleName, self.setToolTip):
            say("")

    def set_pointed(self, is_pointed: bool) -> None:
        """Mark the tile: the mouse is on one of its stages in another panel."""
        if is_pointed != self._is_pointed:
            self._is_pointed = is_pointed
            self.update()

    def retranslate(self) -> None:
        n = len(self.stages)
        if not n:
            return
        sentence = ngettext("Show {n} more stage", "Show {n} more stages", n).format(n=n)
        self.setAccessibleName(sentence)
        names = enumerated(_(STAGE_BY_ID[stage].title) for stage in self.stages)
        self.setToolTip(plain_tooltip(named(sentence, names)))

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, self._side + 8)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme, is_hot = self._theme, self.underMouse() or self._is_pointed
        painter.setPen(QColor(theme.accent if is_hot else theme.line))
        painter.setBrush(QColor(theme.hover if is_hot else theme.field))
        frame = QRectF(2.5, 4.5, self.width() - 5, self._side - 1)
        painter.drawRoundedRect(frame, RADIUS - 2, RADIUS - 2)
        painter.setFont(ui_font(TEXT_PX - 1))
        painter.setPen(QColor(theme.ink if is_hot else theme.muted))
        painter.drawText(frame, Qt.AlignmentFlag.AlignCenter, self.text())
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), theme)
