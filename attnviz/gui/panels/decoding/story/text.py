"""The text of a decoding: the prompt plain, generated tokens as shaded chips, the future hidden."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import Theme
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.chip_editor import ChipEditor
from attnviz.gui.widgets.control import Control, draw_focus_ring

STORY_PX, LARGE_PX = 20, 24
"""Height of the letters, and in a large panel."""
LINE_PX = 36
"""Height of a line of `STORY_PX`; that of larger letters is larger by their ratio."""
_CHIP = 24 / 28
"""Height of a chip in lines."""
_PADDING = 3
_NARROW_PX = 11
"""Width of the narrowest frame: its lines leave the letter free."""
_BLANK_PX = 24
"""Length of the dashes in the place of the next token."""
DEEPEST = 0.48
"""Opacity of the shade of 1: text on it keeps its contrast."""

_KEYS = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Home, Qt.Key.Key_End)


@dataclass(frozen=True)
class Chip:
    """One token: its text, and how it came into the text."""

    text: str
    is_given: bool = False
    is_forced: bool = False
    ends_line: bool = False


def shade_color(theme: Theme, hue: str, value: float) -> QColor:
    """The ground of a chip: `hue` names a colour of the theme, `value` is from 0 to 1."""
    color = QColor(getattr(theme, hue))
    color.setAlphaF(DEEPEST * min(max(value, 0.0), 1.0))
    return color


class StoryText(Control):
    """Tokens in reading order, wrapped; as high as its lines.

    `chosen` carries the token that was clicked, or reached by keys; `hovered` the one under the mouse, −1 for
    none; `rewritten` the one that was double-clicked (or F2 on the current one), and the text typed for it.
    """

    chosen = Signal(int)
    hovered = Signal(int)
    rewritten = Signal(int, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._chips: tuple[Chip, ...] = ()
        self._joins, self._current, self._under_mouse = False, -1, -1
        self._shows_rest = False
        self._rects: list[QRect] = []
        self._describe: Callable[[int], str] = str
        self._shade: Callable[[int], float | None] = _unshaded
        self._hue = "accent"
        self._edited = -1
        self.line_px = LINE_PX
        self.setFont(ui_font(STORY_PX))
        self._editor = ChipEditor(self)
        self._editor.setObjectName("decode_text_editor")
        self._editor.committed.connect(self._on_committed)
        self._editor.closed.connect(self.setFocus)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)

    def set_chips(self, chips: Sequence[Chip], *, are_joined: bool, describe: Callable[[int], str]) -> None:
        """Show these tokens; `describe` says all of one. Joined ones bring their own spaces."""
        self._editor.close_editor(take=False)
        self._chips, self._joins, self._describe = tuple(chips), are_joined, describe
        self._lay_out()

    def clear(self) -> None:
        """Show nothing, and keep nothing of what was shown."""
        self._shade = _unshaded
        self.set_chips((), are_joined=False, describe=str)
        self.setAccessibleDescription("")

    def set_current(self, index: int) -> None:
        """The token computed at the selected step."""
        self._current = index
        if 0 <= index < len(self._chips):
            self.setAccessibleDescription(self._describe(index))
        self.update()

    def set_shades(self, shade: Callable[[int], float | None], hue: str) -> None:
        """Shade each token by `shade(index)` from 0 to 1, None for none, in a colour of the theme."""
        self._shade, self._hue = shade, hue
        self.update()

    def set_shows_rest(self, shows: bool) -> None:
        """Show the tokens after the step as well."""
        self._shows_rest = shows
        self.update()

    def set_text_px(self, px: int) -> None:
        """Use letters of this height."""
        if self.font().pixelSize() != px:
            self.line_px = round(LINE_PX * px / STORY_PX)
            self.setFont(ui_font(px))
            self._lay_out()

    @property
    def n_lines(self) -> int:
        """Lines that the whole text takes, one at least."""
        return 1 + (self._rects[-1].y() // self.line_px if self._rects else 0)

    def token_rect(self, index: int) -> QRect:
        """Rectangle of a token on the widget."""
        return self._rects[index]

    def is_shown(self, index: int) -> bool:
        """True if the token is visible: the prompt, what was played, at the end the last sampled one."""
        is_played = self._chips[index].is_given or index <= self._current
        return is_played or self._shows_rest or self._current >= len(self._chips) - 2

    def sizeHint(self) -> QSize:
        return QSize(320, self.n_lines * self.line_px)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, LINE_PX)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._lay_out()

    def _lay_out(self) -> None:
        metrics, room = self.fontMetrics(), max(self.width(), 1)
        self._rects, x, y = [], 0, 0
        for chip in self._chips:
            width = min(metrics.horizontalAdvance(chip.text) + self._margins(chip), room)
            if x and x + width > room:
                x, y = 0, y + self.line_px
            self._rects.append(QRect(x, y, width, self.line_px))
            x += width
            if chip.ends_line:
                x, y = 0, y + self.line_px
        self.setMinimumHeight(self.n_lines * self.line_px)
        self.updateGeometry()
        self.update()

    def _margins(self, chip: Chip) -> int:
        """Room beside the letters: a prompt that brings its own spaces has none."""
        return 0 if chip.is_given and self._joins else 2 * _PADDING

    # --- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        top, bottom = event.rect().top(), event.rect().bottom()
        for index, rect in enumerate(self._rects):
            if rect.bottom() >= top and rect.top() <= bottom and self.is_shown(index):
                self._paint_token(painter, index)
        if 0 <= self._current < len(self._chips) - 1 and not self.is_shown(self._current + 1):
            self._paint_blank(painter)
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.visibleRegion().boundingRect()), self._theme, 3)

    def _paint_token(self, painter: QPainter, index: int) -> None:
        theme, chip, rect = self._theme, self._chips[index], self._rects[index]
        body = self.chip_rect(index)
        is_played = chip.is_given or index <= self._current
        shade = self._shade(index) if is_played else None
        painter.setPen(Qt.PenStyle.NoPen)
        if index == self._under_mouse:
            painter.setBrush(QColor(theme.hover))
            painter.drawRoundedRect(body, 4, 4)
        if shade is not None:
            painter.setBrush(shade_color(theme, self._hue, shade))
            painter.drawRoundedRect(body, 4, 4)
        painter.setPen(QColor(theme.ink if is_played else theme.muted))
        shown, left = chip.text, 0 if self._joins and chip.is_given else _PADDING
        if rect.width() == self.width():  # a token of more than a line
            shown = self.fontMetrics().elidedText(shown, Qt.TextElideMode.ElideRight, rect.width())
        # Each token is isolated: its direction does not reorder its neighbours.
        inside = rect.adjusted(left, 0, 4, 0)
        painter.drawText(inside, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)
        if chip.is_forced:  # by a mark, so that its shade stays what it is
            mark = QRectF(body.left() + 3, body.bottom() - 4, body.width() - 6, 3)
            painter.fillRect(mark, QColor(theme.key_mark))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if index == self._current:
            painter.setPen(QPen(QColor(theme.accent), 2))
            painter.drawRoundedRect(self.frame_rect(index), 4, 4)
        elif index == self._current + 1:
            painter.fillRect(QRectF(body.left() + 2, body.bottom() - 2, body.width() - 4, 2), theme.value)

    def _paint_blank(self, painter: QPainter) -> None:
        """Dashes in the place of the token that comes next."""
        rect = self._rects[self._current + 1]
        painter.setPen(QPen(QColor(self._theme.accent), 2, Qt.PenStyle.DashLine))
        y = rect.bottom() - 4.0
        painter.drawLine(QPointF(rect.left() + 4, y), QPointF(rect.left() + _BLANK_PX, y))

    def chip_rect(self, index: int) -> QRectF:
        """The shaded part of a token: without the space that it begins with."""
        chip, rect = self._chips[index], QRectF(self._rects[index])
        word = chip.text.lstrip(" ")
        if word and self._joins:
            rect.setLeft(rect.left() + self.fontMetrics().horizontalAdvance(chip.text[: -len(word)]))
        aside = self.line_px * (1 - _CHIP) / 2
        return rect.adjusted(0.5, aside, -0.5, -aside)

    def frame_rect(self, index: int) -> QRectF:
        """Middle of the frame of the current token: a narrow one, such as a full stop, has it outside."""
        body = self.chip_rect(index)
        if body.width() >= _NARROW_PX:
            return body.adjusted(1, 1, -1, -1)
        return QRectF(body.left() - 1, body.top() + 1, _NARROW_PX, body.height() - 2)

    # --- mouse and keys

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(self._index_at(event.position().toPoint()))

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(-1)

    def _hover(self, index: int) -> None:
        if index != self._under_mouse:
            self._under_mouse = index
            self.setCursor(Qt.CursorShape.PointingHandCursor if index >= 0 else Qt.CursorShape.ArrowCursor)
            self.hovered.emit(index)
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self._index_at(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and index >= 0:
            self.chosen.emit(index)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        index = self._index_at(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and index >= 0:
            self.open_editor(index)

    def open_editor(self, index: int) -> None:
        """Write another text in the place of a token."""
        rect = self.chip_rect(index).toAlignedRect()
        rect.setWidth(max(rect.width() + 16, 72))
        rect.moveRight(min(rect.right(), self.width() - 1))
        self._edited = index
        self._editor.setAccessibleName(self._describe(index))
        self._editor.open_editor(self._chips[index].text, rect)

    @Slot(str)
    def _on_committed(self, text: str) -> None:
        self.rewritten.emit(self._edited, text)

    def takes_key(self, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_F2:
            return True
        return event.key() in _KEYS and not event.modifiers() & Qt.KeyboardModifier.ControlModifier

    def keyPressEvent(self, event: QKeyEvent) -> None:
        last = len(self._chips) - 1
        targets = dict(zip(_KEYS, (self._current - 1, self._current + 1, 0, last), strict=True))
        target = targets.get(Qt.Key(event.key()))
        if event.key() == Qt.Key.Key_F2 and 0 <= self._current <= last:
            self.open_editor(self._current)
        elif target is None:
            super().keyPressEvent(event)
        elif 0 <= target <= last:
            self.chosen.emit(target)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            index = self._index_at(event.pos())
            words = self._describe(index) if 0 <= index < self._n_plain() else ""
            QToolTip.showText(event.globalPos(), plain_tooltip(words), self)
            return True
        return super().event(event)

    def _n_plain(self) -> int:
        """Length of the prompt: of the other tokens, whoever hears `hovered` tells more than a tooltip."""
        return sum(chip.is_given for chip in self._chips)

    def _index_at(self, point: QPoint) -> int:
        under = (i for i, rect in enumerate(self._rects) if rect.contains(point) and self.is_shown(i))
        return next(under, -1)


def _unshaded(_index: int) -> float | None:
    return None
