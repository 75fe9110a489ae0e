"""The controls that stand in sentences: a pill that is pressed, and a number that is dragged and typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QPen, QPolygonF, QShowEvent
from PySide6.QtWidgets import QWidget

from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.store import Store
from attnviz.gui.widgets.button import PaintedButton
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.sentence import ABOVE, RADIUS
from attnviz.model.controls import Control, Setting
from attnviz.model.edit.switching import LastOfKind
from attnviz.model.errors.titles import in_words
from attnviz.model.fields import field_at
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site

_SIDE = 7
"""Pixels between the frame of a control and its text."""
_ARROWS = 13
"""Room for the arrows at the right of a number."""
_LARGEST = 2**16
"""The most that a size without bounds of its own is dragged to."""


class StoreHand:
    """Presses controls in the window's document."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.remembered = LastOfKind()

    @property
    def document(self) -> Document:
        return self._store.document

    def edit(self, function: Callable[[Experiment], Experiment]) -> None:
        self._store.edit(function)

    def edit_attention(self, function: Callable[[Site], Site]) -> None:
        self._store.edit_attention(function)

    def look(self, *, head: int) -> None:
        self._store.look(head=head)


class Pill(PaintedButton):
    """A word that is pressed; filled while the document is as the press makes it."""

    def __init__(self, control: Control, word: str, px: int, store: Store, hand: StoreHand) -> None:
        super().__init__()
        self._control, self._store, self._hand = control, store, hand
        self.setObjectName("sentence_pill")
        self.setFont(ui_font(px))
        self.setText(word.replace("&", "&&"))
        self.setAccessibleName(word)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the sentence around it walks its words and controls
        self.setCheckable(True)
        self.clicked.connect(self._on_clicked)
        store.changed.connect(self._on_changed)
        self.refresh()

    def refresh(self) -> None:
        """Show whether the document is as the press makes it, and why it cannot be."""
        document = self._store.document
        reason = self._control.why_not(document)
        self.setEnabled(reason is None)
        self.setChecked(reason is None and self._control.is_on(document))
        said = self._control.said() if reason is None else in_words(reason)
        if said != self.accessibleDescription():
            self.setAccessibleDescription(said)
            self.setToolTip(plain_tooltip(said))

    def retranslate(self) -> None:
        self.refresh()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Left and Right belong to the text around it."""
        if event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            event.ignore()
        else:
            super().keyPressEvent(event)

    def nextCheckState(self) -> None:
        """The document says whether the pill is filled, not the press."""

    @Slot()
    def _on_clicked(self) -> None:
        self._control.press(self._hand)
        self.refresh()

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        if self.isVisible() and (old.experiment is not new.experiment or old.view != new.view):
            self.refresh()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    def sizeHint(self) -> QSize:
        width = self.fontMetrics().horizontalAdvance(self.accessibleName())
        return QSize(width + 2 * _SIDE, self.font().pixelSize() + ABOVE)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        theme, is_on = self._theme, self.isChecked()
        frame = theme.filled if is_on else theme.accent
        _paint_frame(painter, self, QColor(frame), theme.filled if is_on else "", self.underMouse())
        painter.setPen(QColor(theme.on_filled if is_on else theme.accent))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self.accessibleName())
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), theme, RADIUS)


class SentenceNumber(DragNumber):
    """The live number of a field, with its bounds and its steps; without steps of its own, those of the last
    written decimal.
    """

    def __init__(self, control: Setting, word: str, px: int, store: Store, hand: StoreHand) -> None:
        row = field_at(control.path)
        least, most = (1.0, float(_LARGEST)) if row is None else row.bounds
        step = None if row is None else row.field.step
        is_logarithmic = row is not None and row.field.logarithmic
        is_integer = row is None or row.kind is int
        self._room, self._px, self._written = 0, px, control.digits
        super().__init__(
            float(control.value),
            minimum=least,
            maximum=most,
            decimals=control.digits if row is None else max(row.field.digits, control.digits),
            step=10.0**-control.digits if step is None and not is_logarithmic else step,
            integer=is_integer,
            logarithmic=is_logarithmic,
            name=word,
        )
        self._control, self._store, self._hand = control, store, hand
        self.setObjectName("sentence_number")
        self.setFont(number_font(px - 1))
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)  # the sentence around it walks its controls
        self.gesture_started.connect(store.begin_gesture)
        self.gesture_finished.connect(store.end_gesture)
        self.rejected.connect(store.rejected)
        self.changed.connect(self._on_entered)
        store.changed.connect(self._on_changed)
        self.refresh()

    def refresh(self) -> None:
        """Show the field's value, and why it cannot be changed."""
        document = self._store.document
        now, reason = self._control.number(document), self._control.why_not(document)
        if now is not None:
            self.set_value(now)
        self.set_unavailable(None if reason is None else in_words(reason))

    def retranslate(self) -> None:
        self.refresh()

    @staticmethod
    def _pixels(way: QPointF) -> float:
        """In a line of text a drag along it is at hand, too: right is up."""
        return way.x() - way.y()

    @Slot(object)
    def _on_entered(self, value: Any) -> None:
        self._control.enter(self._hand, value)
        self.refresh()

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        if self.isVisible() and (old.experiment is not new.experiment or old.site != new.site):
            self.refresh()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    def text(self) -> str:
        """The number without zeros behind its written decimals."""
        whole, point, decimals = super().text().partition(".")
        if not point or not decimals.isdecimal():
            return f"{whole}{point}{decimals}"
        shown = decimals[: self._written] + decimals[self._written :].rstrip("0")
        return f"{whole}.{shown}" if shown else whole

    def sizeHint(self) -> QSize:
        """As wide as the widest number that it has shown, so that a drag moves no words."""
        width = QFontMetrics(self.font()).horizontalAdvance(self.text())
        self._room = max(self._room, width)
        return QSize(self._room + 2 * _SIDE + _ARROWS, self._px + ABOVE)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        theme, rect = self._theme, QRectF(self.rect())
        is_lit = self.underMouse() or self.gesture.is_active
        color = QColor(theme.error if self._complaint else theme.accent)
        _paint_frame(painter, self, color, "", is_lit)
        painter.setPen(QColor(theme.accent))
        room = rect.adjusted(_SIDE, 0, -_SIDE - _ARROWS, 0)
        painter.drawText(room, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, self.text())
        painter.setPen(QPen(QColor(theme.accent), 1.4, c=Qt.PenCapStyle.RoundCap))
        x, y = rect.right() - _SIDE - 3.5, rect.center().y()
        for way in (-1, 1):
            tip, foot = y + way * 6, y + way * 2.5
            painter.drawPolyline(QPolygonF([QPointF(x - 3.5, foot), QPointF(x, tip), QPointF(x + 3.5, foot)]))
        if self.hasFocus():
            draw_focus_ring(painter, rect, theme, RADIUS)


class SentenceControls:
    """Makes the controls of sentences for the document of a store."""

    def __init__(self, store: Store) -> None:
        self._store, self._hand = store, StoreHand(store)

    def __call__(self, control: Control, word: str, px: int) -> QWidget:
        """A control in a text of `px` pixels."""
        if isinstance(control, Setting) and control.is_number:
            return SentenceNumber(control, word, px, self._store, self._hand)
        return Pill(control, word, px, self._store, self._hand)


def _paint_frame(painter: QPainter, control: QWidget, frame: QColor, ground: str, is_lit: bool) -> None:
    """The rounded frame of a control; its ground is a tint of the frame, or a colour."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setOpacity(1.0 if control.isEnabled() else 0.45)
    fill = QColor(ground or frame)
    if not ground:
        fill.setAlphaF(_LIT if is_lit and control.isEnabled() else _TINT)
    painter.setBrush(fill)
    painter.setPen(QPen(frame, 1))
    painter.drawRoundedRect(QRectF(control.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)


_TINT, _LIT = 0.07, 0.16
"""Opacity of a control's ground, at rest and under the mouse."""
