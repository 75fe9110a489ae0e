"""One claim as a line: the sign of its verdict, and its sentence over as many lines as it needs."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, RADIUS, TEXT_PX, Theme
from attnviz.gui.widgets.button import PaintedButton
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.i18n import _
from attnviz.study.claims.verdict import VERDICT_BY_ID, VerdictId

SIGN_WIDTH = 20
_FLAGS = int(Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)


class ClaimLine(PaintedButton):
    """A button with a sign and plain text; it stays down while its claim is open."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._heights: dict[int, int] = {}
        self.setCheckable(True)
        self.setFont(ui_font(TEXT_PX))
        self._sentence = self._sign = ""
        self._verdict: VerdictId | None = None
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    @property
    def verdict(self) -> VerdictId | None:
        """The shown verdict; None while it is not known."""
        return self._verdict

    @property
    def sentence(self) -> str:
        """The shown sentence."""
        return self._sentence

    def set_claim(self, sentence: str, verdict: VerdictId | None, says: str = "") -> None:
        """Show a sentence and its verdict; `says` is a reason in place of the verdict's name."""
        row = VERDICT_BY_ID[verdict] if verdict is not None else None
        self._sentence, self._verdict = sentence, verdict
        self._sign = row.sign if row is not None else "?" if says else "…"
        name = says or (_(row.title) if row is not None else _("computing"))
        self.setAccessibleName(f"{sentence} — {name}")
        self.setToolTip(name)
        self._heights.clear()
        self.updateGeometry()
        self.update()

    def heightForWidth(self, width: int) -> int:
        """Height of the sentence in a width; a layout wants it many times over."""
        if width not in self._heights:
            room = QRect(0, 0, max(width - SIGN_WIDTH - 2 * GRID, 1), 10_000)
            height = self.fontMetrics().boundingRect(room, _FLAGS, self._sentence).height()
            self._heights[width] = height + GRID
        return self._heights[width]

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.FontChange:
            self._heights.clear()
        super().changeEvent(event)

    def sizeHint(self) -> QSize:
        width = max(self.width(), 160)
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(80, self.heightForWidth(max(self.width(), 80)))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.underMouse() or self.isChecked():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self._theme.hover))
            painter.drawRoundedRect(QRectF(self.rect()), RADIUS - 1, RADIUS - 1)
        room = self.rect().adjusted(GRID, GRID // 2, -GRID, -GRID // 2)
        strong = QFont(self.font())
        strong.setWeight(QFont.Weight.DemiBold)
        painter.setFont(strong)
        painter.setPen(QColor(color_of(self._verdict, self._theme)))
        painter.drawText(room, _FLAGS, self._sign)
        painter.setFont(self.font())
        painter.setPen(QColor(self._theme.ink))
        painter.drawText(room.adjusted(SIGN_WIDTH, 0, 0, 0), _FLAGS, self._sentence)
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), self._theme)


def color_of(verdict: VerdictId | None, theme: Theme) -> str:
    """The colour of a verdict, beside its sign."""
    colors = {"right": theme.value, "setting": theme.key, "wrong": theme.error}
    return theme.muted if verdict is None else colors[verdict]
