"""`ENTRIES`: ways to begin, one row each, as large buttons at the left of the start page."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.icons import icon
from attnviz.gui.look.theme import DARK, RADIUS
from attnviz.gui.look.words import says
from attnviz.gui.widgets.button import PaintedButton
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.i18n import N_, _

_HEIGHT = 64
_TEXT_LEFT = 56


@dataclass(frozen=True)
class Entry:
    """A way to begin: the command that it runs, its name, and a sentence; the first one is filled."""

    action: str
    icon: str
    title: str
    hint: str
    is_filled: bool = False


ENTRIES: tuple[Entry, ...] = (
    Entry("workspace_learn", "learn", N_("Learn"), N_("Short lessons on the live program"), is_filled=True),
    Entry("import_model", "model", N_("Open a model"), N_("A folder of safetensors, or a GGUF file")),
    Entry("empty", "new", N_("Empty document"), N_("Your text, random numbers")),
)


class EntryButton(PaintedButton):
    """A row of `ENTRIES` as a button."""

    def __init__(self, entry: Entry) -> None:
        super().__init__()
        self.entry = entry
        self._note = ""
        says(self, id=f"entry_{entry.action}", name=entry.title)
        self.setFixedHeight(_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.retranslate()

    def retranslate(self) -> None:
        """Update the texts to the active language."""
        self.setAccessibleDescription(self._note or _(self.entry.hint))
        self.update()

    def set_note(self, note: str) -> None:
        """Show a sentence in the place of the hint."""
        self._note = note
        self.retranslate()

    def sizeHint(self) -> QSize:
        return QSize(240, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme, is_filled = self._theme, self.entry.is_filled
        edge = theme.accent if self.underMouse() or is_filled else theme.line
        ground = theme.filled if is_filled else theme.panel
        first, second = (theme.on_filled,) * 2 if is_filled else (theme.ink, theme.muted)
        painter.setPen(QPen(QColor(edge), 1))
        painter.setBrush(QColor(theme.hover if self.isDown() and not is_filled else ground))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        icon(self.entry.icon, DARK if is_filled else theme).paint(painter, 18, 13, 20, 20)
        room = QRectF(self.rect()).adjusted(_TEXT_LEFT, 12, -8, -12)
        painter.setFont(ui_font(15, QFont.Weight.DemiBold))
        painter.setPen(QColor(first))
        painter.drawText(room, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft, _(self.entry.title))
        painter.setFont(ui_font(12))
        painter.setPen(QColor(second))
        painter.drawText(
            room, Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft, self._note or _(self.entry.hint)
        )
        if self.hasFocus():
            inner = 3 if is_filled else 0
            draw_focus_ring(
                painter,
                QRectF(self.rect()).adjusted(inner, inner, -inner, -inner),
                DARK if is_filled else theme,
            )
