"""A framed part of the first glance: a title and what it says in one line, and the body below."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, RADIUS
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.control import Control
from attnviz.gui.widgets.elided_label import ElidedLabel, WholeLabel
from attnviz.gui.widgets.enlarge_button import EnlargeButton
from attnviz.gui.widgets.tone import set_tone

PADDING = 2 * GRID
TITLE_PX = 15


class Sheet(Control):
    """`head` has room for controls at the right of the title; the body is added to `column`.

    A part without a head has neither title nor the button `enlarge`.
    """

    def __init__(self, name: str, *, has_head: bool = True) -> None:
        super().__init__()
        self.setObjectName(name)
        self.title, self.said = WholeLabel(self), ElidedLabel(self)
        self.title.setObjectName(f"{name}_title")
        self.title.setFont(ui_font(TITLE_PX, QFont.Weight.DemiBold))
        self.said.setObjectName(f"{name}_said")
        set_tone("muted", self.said)
        self.enlarge = EnlargeButton()
        self.head = in_row(None, spacing=GRID + GRID // 2)
        self.column = in_column(self, spacing=GRID)
        self.column.setContentsMargins(PADDING, GRID + 2, PADDING, GRID + 2)
        if has_head:
            self.column.addLayout(self.head)
            self.head.addWidget(self.title)
            self.head.addWidget(self.said, 1)
            self.head.addWidget(self.enlarge)
        self.title.setVisible(has_head)
        self.said.setVisible(has_head)

    def add_to_head(self, *controls: QWidget) -> None:
        """Put controls at the right of the title, before the button that enlarges."""
        for control in controls:
            self.head.insertWidget(self.head.count() - 1, control)

    def set_texts(self, title: str, said: str) -> None:
        """Show another title and its sentence."""
        self.title.set_line(title)
        self.said.set_line(said)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.line), 1))
        painter.setBrush(QColor(self._theme.panel))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
