"""The text of a decoding as it is generated: the prompt, the new tokens, and the player's position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal, Slot
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

from attnviz.core.text import SPACE, isolated, visible
from attnviz.core.tokens import token_bytes
from attnviz.engines.decode.run import Decoding
from attnviz.gui.widgets.chip_editor import ChipEditor
from attnviz.gui.widgets.control import Control, draw_focus_ring, plain_tooltip
from attnviz.gui.widgets.flow_layout import flow
from attnviz.model.spec.pieces import byte_pairs

LINE_PX = 22
_GAP = 5
_PADDING = 2
_FUTURE = 0.4
"""Opacity of tokens behind the step: the text is written up to there."""

_KEYS = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Home, Qt.Key.Key_End)


class Names:
    """Display of a decoding's tokens: bytes as bytes, spaces as spaces, nothing hidden."""

    def __init__(self, decoding: Decoding) -> None:
        experiment = decoding.experiment
        is_read_out = experiment.readout == "vocabulary"
        self.ids = {token: id_ for id_, token in enumerate(decoding.vocabulary)}
        self._labels: dict[str, str] = {}
        self._pairs = byte_pairs(experiment.vocabulary) if is_read_out else None
        texts = (text for text in decoding.vocabulary if len(text) > 1)
        self.are_joined = is_read_out and any(self.label(text).startswith(SPACE) for text in texts)
        """Whether tokens bring their own spaces, so that none are put between them."""

    def label(self, token: str) -> str:
        """The token with its spaces as signs."""
        if token not in self._labels:
            self._labels[token] = visible(self._shown(token))
        return self._labels[token]

    def _shown(self, token: str) -> str:
        one = self.ids.get(token)
        if self._pairs is None or one is None or not self._pairs.token_bytes(one):
            return token
        return self._pairs.shown(one)

    def written(self, token: str) -> str:
        """The token inside a text: the spaces around a word are spaces."""
        label = self.label(token)
        return label.replace(SPACE, " ") if self.are_joined else label

    def tokens_of(self, text: str) -> tuple[str, ...]:
        """The tokens of a text: the one that is written so, or those of the model's tokenisation."""
        shown = visible(text)
        one = next((token for token in self.ids if self.label(token) == shown), None)
        if one is not None or self._pairs is None:
            return (text if one is None else one,)
        return tuple(self._pairs.tokens[id_] for id_ in self._pairs.encode_inside(text))

    def described(self, token: str) -> str:
        """“text”, its id and its bytes in hexadecimal digits."""
        one = self.ids.get(token)
        data = (
            self._pairs.token_bytes(one)
            if self._pairs is not None and one is not None
            else token_bytes(token)
        )
        words = [
            f"“{isolated(self.label(token))}”",
            "" if one is None else f"id {one}",
            data.hex(" ").upper(),
        ]
        return " · ".join(word for word in words if word)


_names: WeakKeyDictionary[Decoding, Names] = WeakKeyDictionary()


def names_of(decoding: Decoding) -> Names:
    """The names of a decoding's tokens, cached for its life."""
    found = _names.get(decoding)
    if found is None:
        found = _names[decoding] = Names(decoding)
    return found


def written_tokens(decoding: Decoding) -> list[str]:
    """The text of a decoding: the computed tokens, and the last one, which was sampled but not computed."""
    drawn = None if decoding.experiment.writing is None else decoding.steps[-1].next_token
    return [step.token for step in decoding.steps] + ([] if drawn is None else [drawn])


class TextLine(Control):
    """Tokens in reading order, in as many lines as fit; the line of the current one is visible.

    `chosen` carries the token that was clicked, or reached by keys; `rewritten` the one that was
    double-clicked (or F2 on the current one), and the text typed in its place.
    """

    chosen = Signal(int)
    rewritten = Signal(int, str)
    wrapped = Signal()
    """The text takes another number of lines than before."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: tuple[str, ...] = ()
        self._joins = False
        self._n_given, self._current = 0, -1
        self._rects: list[QRect] = []
        self._describe: Callable[[int], str] = str
        self._edited = -1
        self._editor = ChipEditor(self)
        self._editor.setObjectName("decode_text_editor")
        self._editor.committed.connect(self._on_committed)
        self._editor.closed.connect(self.setFocus)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)

    def set_tokens(
        self, tokens: Sequence[str], n_given: int, *, are_joined: bool, describe: Callable[[int], str]
    ) -> None:
        """The prompt's `n_given` tokens, as written, and those after it; `describe` says all of one."""
        self._editor.close_editor(take=False)
        self._shown = tuple(tokens)
        self._joins, self._n_given, self._describe = are_joined, n_given, describe
        self._lay_out()

    def set_current(self, index: int) -> None:
        """The token computed at the selected step; the token after it is the one that the step generates."""
        self._current = index
        if 0 <= index < len(self._shown):
            self.setAccessibleDescription(self._describe(index))
        self.update()

    @property
    def n_lines(self) -> int:
        """Lines that the whole text takes, one at least."""
        return 1 + (self._rects[-1].y() // LINE_PX if self._rects else 0)

    def token_rect(self, index: int) -> QRect:
        """Rectangle of a token on the widget."""
        return self._rects[index].translated(0, -self._first_line() * LINE_PX)

    def sizeHint(self) -> QSize:
        return QSize(200, LINE_PX)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, LINE_PX)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    def _lay_out(self) -> None:
        metrics, before = self.fontMetrics(), self.n_lines
        widest = max(self.width(), 1)
        padding = 0 if self._joins else _PADDING
        widths = [min(metrics.horizontalAdvance(text) + 2 * padding, widest) for text in self._shown]
        self._rects = flow(widths, LINE_PX, widest, 0 if self._joins else _GAP)
        if not self._joins:
            # `flow` leaves the gap below lines, too.
            self._rects = [rect.translated(0, -_GAP * (rect.y() // (LINE_PX + _GAP))) for rect in self._rects]
        self.update()
        if self.n_lines != before:
            self.wrapped.emit()

    def _first_line(self) -> int:
        """The first line that shows: the next token's line is the last one, where not all fit."""
        if not self._rects:
            return 0
        n_shown = max(self.height() // LINE_PX, 1)
        wanted = min(max(self._current, 0) + 1, len(self._rects) - 1)
        current = self._rects[min(max(self._current, 0), wanted)].y() // LINE_PX
        return max(min(self._rects[wanted].y() // LINE_PX - n_shown + 1, current), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme = self._theme
        for index, text in enumerate(self._shown):
            rect = self.token_rect(index)
            if rect.bottom() < 0 or rect.bottom() > self.height() + 2:
                continue
            painter.setOpacity(_FUTURE if index > self._current + 1 else 1.0)
            painter.setPen(QColor(theme.muted if index < self._n_given else theme.ink))
            shown, room = text, rect.width()
            if room == self.width():  # a token of more than a line
                shown = self.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room)
            # Each token is isolated: its direction does not reorder its neighbours.
            inside = rect.adjusted(0 if self._joins else _PADDING, 0, 2, 0)
            painter.drawText(inside, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)
            painter.setOpacity(1.0)
            if index == self._current:
                painter.setPen(QPen(QColor(theme.accent), 1.5))
                out = 1.5 if self._joins else -0.5  # outside of a letter that stands alone
                painter.drawRoundedRect(QRectF(rect).adjusted(-out, 2, out, -2), 3, 3)
            elif index == self._current + 1:
                painter.fillRect(
                    QRectF(rect.left() + 1, rect.bottom() - 2.5, rect.width() - 2, 2), theme.value
                )
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), theme, 3)

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
        rect = self.token_rect(index)
        rect.setWidth(max(rect.width() + 16, 72))
        rect.moveRight(min(rect.right(), self.width() - 1))
        self._edited = index
        self._editor.setAccessibleName(self._describe(index))
        self._editor.open_editor(self._shown[index], rect)

    @Slot(str)
    def _on_committed(self, text: str) -> None:
        self.rewritten.emit(self._edited, text)

    def takes_key(self, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_F2:
            return True
        return event.key() in _KEYS and not event.modifiers() & Qt.KeyboardModifier.ControlModifier

    def keyPressEvent(self, event: QKeyEvent) -> None:
        last = len(self._shown) - 1
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
            QToolTip.showText(
                event.globalPos(), plain_tooltip(self._describe(index) if index >= 0 else ""), self
            )
            return True
        return super().event(event)

    def _index_at(self, point: QPoint) -> int:
        moved = point + QPoint(0, self._first_line() * LINE_PX)
        return next((index for index, rect in enumerate(self._rects) if rect.contains(moved)), -1)
