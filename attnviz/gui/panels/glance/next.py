"""The next tokens after the query as a few bars, without an offer: the buttons below have it."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy

from attnviz.core.phrases import enumerated, named
from attnviz.core.text import isolated, number
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import TEXT_PX
from attnviz.gui.panels.glance.seen import Next
from attnviz.gui.widgets.control import Control

ROW = 22
_NAME, _NUMBER, _GAP, _BAR = 58.0, 56.0, 6.0, 9.0


class NextBars(Control):
    """One row for each token, with its probability; the last ones are left out of a low place."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("glance_next")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self.rows: tuple[Next, ...] = ()

    def set_rows(self, rows: tuple[Next, ...]) -> None:
        """Show other tokens."""
        if rows != self.rows:
            is_new_height = len(rows) != len(self.rows)
            self.rows = rows
            said = (named(isolated(row.label), number(row.probability, 4)) for row in rows)
            self.setAccessibleName(enumerated(said))
            if is_new_height:
                self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(210, ROW * len(self.rows))

    def minimumSizeHint(self) -> QSize:
        return QSize(150, ROW * min(1, len(self.rows)))

    def bar_rect(self, place: int) -> QRectF:
        """The bar of a probability, of 1 at most."""
        room = max(8.0, self.width() - _NAME - _NUMBER - 2 * _GAP)
        length = max(1.0, room * min(1.0, self.rows[place].probability))
        return QRectF(_NAME + _GAP, place * ROW + (ROW - _BAR) / 2, length, _BAR)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        has_chosen = any(row.is_chosen for row in self.rows)
        for place, row in enumerate(self.rows[: self.height() // ROW]):
            is_main = row.is_chosen if has_chosen else place == 0
            top = place * ROW
            painter.setFont(ui_font(TEXT_PX, QFont.Weight.DemiBold if is_main else QFont.Weight.Normal))
            painter.setPen(QColor(theme.value if is_main else theme.ink))
            text = QFontMetricsF(painter.font()).elidedText(row.label, Qt.TextElideMode.ElideRight, _NAME)
            painter.drawText(QRectF(0, top, _NAME, ROW), right, text)
            painter.fillRect(self.bar_rect(place), QColor(theme.value_mark if is_main else theme.hatch))
            painter.setFont(number_font(TEXT_PX))
            painter.setPen(QColor(theme.ink if is_main else theme.muted))
            place_of_number = QRectF(self.width() - _NUMBER, top, _NUMBER, ROW)
            painter.drawText(place_of_number, right, number(row.probability, 4))
