"""A caption: at most three lines of text with words that light and lock tokens, edited where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextLayout,
    QTextLine,
)
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolButton, QWidget

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.icons import icon
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.widgets.control import MOUSE_ONLY, Control, draw_focus_ring
from attnviz.gui.widgets.local_files import TextBox
from attnviz.gui.widgets.paragraph import Mark, broken, laid_out
from attnviz.gui.widgets.sentence import SPACE, MakeControl, room_of
from attnviz.i18n import N_
from attnviz.model.controls import Control as SpokenControl

TEXT_PX = 15
LINE = 22
HIGH_LINE = 28
"""Height of a line, and of one in a text with controls."""
MOST_LINES = 3
_ICON = QSize(16, 16)
_WASH = 0.16
"""Opacity of a link's colour behind it while the mouse is on it."""


@dataclass(frozen=True)
class Phrase:
    """Some text; `axis` is "query" or "key" for a link to a token, empty for plain text. `control` stands in
    the place of the text, or after it if it shows a number.
    """

    text: str
    axis: str = ""
    control: SpokenControl | None = None


class CaptionText(Control):
    """The text. `pointed` carries the phrase under mouse or keys (-1: none), `clicked` the chosen one.

    Left and Right go from link to link, Tab to the controls between them too; Enter chooses.
    """

    pointed = Signal(int)
    clicked = Signal(int)
    edit_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("caption_text")
        self.setFont(ui_font(TEXT_PX))
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.make_control: MakeControl | None = None
        self._phrases: tuple[Phrase, ...] = ()
        self._controls: dict[int, QWidget] = {}
        """The widgets of the phrases that are controls."""
        self._pointed, self._is_past = -1, False
        self._lines: list[tuple[int, QTextLayout]] = []
        """Position of the first character of each line in the whole text, and the line."""

    def set_phrases(self, phrases: tuple[Phrase, ...], *, is_past: bool = False) -> None:
        """Show a text, muted if it speaks of a past state."""
        if is_past != self._is_past:
            self._is_past = is_past
            self.update()
        if phrases != self._phrases:
            old, self._phrases = self._phrases, phrases
            self._point(-1)
            text = "".join(phrase.text for phrase in phrases)
            self.setAccessibleName(text)
            self._make_controls(old)
            has_stops = bool(self._controls) or any(phrase.axis for phrase in phrases)
            self.setFocusPolicy(Qt.FocusPolicy.TabFocus if has_stops else Qt.FocusPolicy.NoFocus)
            self._break_lines()

    def control(self, phrase: int) -> QWidget | None:
        """The widget of a phrase that is a control."""
        return self._controls.get(phrase)

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._break_lines()

    def link_at(self, at: QPointF) -> int:
        """The phrase at a point, if it is a link; else -1."""
        index = int(at.y() // self.line)
        if not 0 <= index < len(self._lines):
            return -1
        start, layout = self._lines[index]
        line = layout.lineAt(0)
        if not 0 <= at.x() < line.naturalTextWidth():
            return -1
        cursor = line.xToCursor(at.x(), line.CursorPosition.CursorOnCharacter)
        place = start + (cursor[0] if isinstance(cursor, tuple) else cursor)
        return next((i for i, first, last in self._spans() if first <= place < last), -1)

    def link_rects(self, link: int) -> tuple[QRectF, ...]:
        """Rectangles of a phrase on the widget, one for each line that it is on."""
        first, last = next((a, b) for i, a, b in self._spans(all_of_them=True) if i == link)
        return self._rects(first, last)

    def _rects(self, first: int, last: int) -> tuple[QRectF, ...]:
        """Rectangles of the characters first to last (exclusive)."""
        rects = []
        for index, (start, layout) in enumerate(self._lines):
            end = start + len(layout.text())
            if first < end and last > start:
                line = layout.lineAt(0)
                left, right = (_x(line, min(max(at - start, 0), end - start)) for at in (first, last))
                rects.append(QRectF(min(left, right), index * self.line, abs(right - left), self.line))
        return tuple(rects)

    # --- layout and paint

    @property
    def line(self) -> int:
        """Height of a line."""
        return HIGH_LINE if self._controls else LINE

    def _make_controls(self, old: tuple[Phrase, ...]) -> None:
        """A widget for each phrase that is a control; one that stays keeps its own, which may be dragged."""
        before, self._controls = self._controls, {}
        for index, phrase in enumerate(self._phrases):
            if phrase.control is None or self.make_control is None:
                continue
            if index in before and old[index] == phrase:
                self._controls[index] = before.pop(index)
                continue
            widget = self.make_control(phrase.control, phrase.text, TEXT_PX)
            widget.setParent(self)
            self._controls[index] = widget
        for widget in before.values():
            widget.hide()
            widget.deleteLater()

    def _words(self, index: int) -> str:
        """The words of a phrase: those of a pill stand on it."""
        phrase = self._phrases[index]
        if phrase.control is None or index not in self._controls:
            return phrase.text
        return f"{phrase.text}{SPACE}" if phrase.control.is_number else ""

    def _text(self, index: int) -> str:
        """The text of a phrase, with room for its control."""
        widget = self._controls.get(index)
        room = "" if widget is None else room_of(widget.sizeHint().width(), self.font())
        return self._words(index) + room

    def _spans(self, *, all_of_them: bool = False) -> list[tuple[int, int, int]]:
        """(index, first character, one past the last) of the links, or of all phrases."""
        spans, start = [], 0
        for index, phrase in enumerate(self._phrases):
            end = start + len(self._text(index))
            if phrase.axis or all_of_them:
                spans.append((index, start, end))
            start = end
        return spans

    def _break_lines(self) -> None:
        """Break the text into lines; what does not fit ends in dots, and is whole in the tooltip."""
        text = "".join(map(self._text, range(len(self._phrases))))
        lines = broken(text, self.font(), float(self.width()), MOST_LINES)
        marks = [Mark(first, last, self._link_color(index)) for index, first, last in self._spans()]
        self._lines = [(line.start, laid_out(line, self.font(), marks)) for line in lines]
        is_cut = bool(lines) and not text.endswith(lines[-1].text)
        self.setToolTip(plain_tooltip(self.accessibleName() if is_cut else ""))
        self.setFixedHeight(self.line * max(1, len(self._lines)))
        self._place_controls()
        self.update()

    def _place_controls(self) -> None:
        """Put each control over its spaces, or hide it with the rest of a text that is too long."""
        for index, start, end in self._spans(all_of_them=True):
            widget = self._controls.get(index)
            if widget is None:
                continue
            first = start + len(self._words(index))
            shown = "".join(
                layout.text()[max(first - at, 0) : max(end - at, 0)] for at, layout in self._lines
            )
            widget.setVisible(shown == SPACE * (end - first))
            if shown:
                room, rect = widget.sizeHint(), self._rects(first, end)[0]
                slack = (rect.width() - room.width()) / 2
                top = rect.center().y() - room.height() / 2
                widget.setGeometry(round(rect.left() + slack), round(top), room.width(), room.height())

    def _link_color(self, index: int) -> str:
        return self._theme.query if self._phrases[index].axis == "query" else self._theme.key

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._break_lines()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self._pointed >= 0:
            wash = QColor(self._link_color(self._pointed))
            wash.setAlphaF(_WASH)
            for rect in self.link_rects(self._pointed):
                painter.fillRect(rect.adjusted(-1, 2, 1, -2), wash)
        painter.setPen(QColor(self._theme.muted if self._is_past else self._theme.ink))
        top = (self.line - self.fontMetrics().height()) / 2
        for index, (_start, layout) in enumerate(self._lines):
            layout.draw(painter, QPointF(0.0, index * self.line + top))
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), self._theme)

    # --- mouse and keys

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._point(self.link_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._point(-1)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        link = self.link_at(event.position())
        if link >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self.clicked.emit(link)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self.link_at(event.position()) < 0 and event.button() == Qt.MouseButton.LeftButton:
            self.edit_wanted.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        links = [index for index, _first, _last in self._spans()]
        steps = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}
        if links and event.key() in steps:
            step = steps[Qt.Key(event.key())]
            at = links.index(self._pointed) + step if self._pointed in links else min(step, 0)
            self._point(links[at % len(links)])
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._pointed >= 0:
            self.clicked.emit(self._pointed)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        walks = {Qt.FocusReason.TabFocusReason: 0, Qt.FocusReason.BacktabFocusReason: -1}
        stops = self._stops()
        if event.reason() in walks and stops:
            self._go_to(stops[walks[event.reason()]], event.reason())

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._point(-1)

    def focusNextPrevChild(self, is_next: bool) -> bool:
        """Tab goes through the words and the controls in the order in which they are read."""
        stops = self._stops()
        focused = next(
            (index for index, widget in self._controls.items() if widget.hasFocus()), self._pointed
        )
        place = stops.index(focused) + (1 if is_next else -1) if focused in stops else -1
        tab = Qt.FocusReason.TabFocusReason
        if 0 <= place < len(stops):
            self._go_to(stops[place], tab if is_next else Qt.FocusReason.BacktabFocusReason)
            return True
        if focused in self._controls:  # the next stop of the window is counted from the text
            self.setFocus(Qt.FocusReason.OtherFocusReason)
        return super().focusNextPrevChild(is_next)

    def _stops(self) -> list[int]:
        """The phrases that Tab goes through: words of tokens, and controls that can be used."""
        usable = {index for index, one in self._controls.items() if one.isVisible() and one.isEnabled()}
        return [index for index, phrase in enumerate(self._phrases) if phrase.axis or index in usable]

    def _go_to(self, stop: int, reason: Qt.FocusReason) -> None:
        widget = self._controls.get(stop)
        if widget is not None:
            widget.setFocus(reason)
            return
        if not self.hasFocus():
            self.setFocus(Qt.FocusReason.OtherFocusReason)
        self._point(stop)

    def event(self, event: QEvent) -> bool:
        """A control that has grown needs more room."""
        if event.type() == QEvent.Type.LayoutRequest and self._controls:
            self._break_lines()
        return super().event(event)

    def show_chosen(self, link: int) -> None:
        """Mark a phrase as the mouse on it does, without a word to others."""
        self._pointed = link
        self.update()

    def _point(self, link: int) -> None:
        if link == self._pointed:
            return
        self._pointed = link
        self.setCursor(Qt.CursorShape.PointingHandCursor if link >= 0 else Qt.CursorShape.ArrowCursor)
        self.pointed.emit(link)
        self.update()


class CaptionEditor(TextBox):
    """The caption with its marks, edited: Enter or leaving takes the text, Esc does not."""

    finished = Signal(str)
    cancelled = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("caption_editor")
        self.setFont(ui_font(TEXT_PX))
        self.setTabChangesFocus(True)
        self.setFixedHeight(MOST_LINES * LINE + 2 * GRID)
        self.hide()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.finish()
        elif event.key() == Qt.Key.Key_Escape:
            self.hide()
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() not in (
            Qt.FocusReason.PopupFocusReason,
            Qt.FocusReason.ActiveWindowFocusReason,
        ):
            self.finish()

    def finish(self) -> None:
        """Take the text, as Enter does; a text that is refused stays open."""
        if not self.isHidden():
            self.hide()
            self.finished.emit(" ".join(self.toPlainText().split()))


class Caption(QWidget):
    """A caption with a pencil and a cross.

    `edited` carries the text when editing ends, the old one after Esc; `closed` asks to hide the caption.
    """

    edited = Signal(str)
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("caption")
        self.text, self._editor = CaptionText(), CaptionEditor()
        self._pencil, self._cross = QToolButton(), QToolButton()
        self._source = ""
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, GRID // 2)
        row.setSpacing(GRID // 2)
        row.addWidget(self.text, 1, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._editor, 1)
        says(self._pencil, id="caption_edit_button", name=N_("Edit the caption"), tip=True)
        says(self._cross, id="caption_close_button", name=N_("Hide the caption"), tip=True)
        says(
            self._editor,
            name=N_("Caption"),
            placeholder=N_("A sentence; [word] highlights its query, [word](key) its key"),
        )
        for button in (self._pencil, self._cross):
            button.setAutoRaise(True)
            button.setIconSize(_ICON)
            button.setFixedSize(LINE, LINE)
            button.setProperty(MOUSE_ONLY, True)
            row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.text.edit_wanted.connect(self._on_edit_wanted)
        self._pencil.clicked.connect(self._on_edit_wanted)
        self._cross.clicked.connect(self.closed)
        self._editor.finished.connect(self._on_finished)
        self._editor.cancelled.connect(self._on_cancelled)

    def set_caption(self, phrases: tuple[Phrase, ...], source: str, *, is_past: bool) -> None:
        """Show a caption, muted if it speaks of a past text; `source` is edited in its place."""
        self._source = source
        self.text.set_phrases(phrases, is_past=is_past)

    @Slot()
    def _on_edit_wanted(self) -> None:
        self.begin_edit()

    def begin_edit(self, text: str | None = None) -> None:
        """Edit the text where it stands, or another one in its place."""
        self._editor.setPlainText(self._source if text is None else text)
        self.text.hide()
        self._editor.show()
        self._editor.setFocus(Qt.FocusReason.OtherFocusReason)
        self._editor.selectAll()

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._pencil.setIcon(icon("edit", theme))
        self._cross.setIcon(icon("close", theme))

    @property
    def is_edited(self) -> bool:
        """True while the editor is open."""
        return not self._editor.isHidden()

    @Slot(str)
    def _on_finished(self, text: str) -> None:
        self.text.show()
        self.edited.emit(text)

    @Slot()
    def _on_cancelled(self) -> None:
        self._on_finished(self._source)


def _x(line: QTextLine, character: int) -> float:
    """Horizontal position of the cursor before a character; Qt returns the cursor with it."""
    x: Any = line.cursorToX(character)
    return float(x[0] if isinstance(x, tuple) else x)
