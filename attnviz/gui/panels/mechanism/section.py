"""Common parts of the mechanism's sections: a header that folds, forms, and notification of changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QGuiApplication, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from attnviz.gui.forms.fields import FormField
from attnviz.gui.forms.form import Form
from attnviz.gui.forms.marks import Mark
from attnviz.gui.forms.rows import Row
from attnviz.gui.forms.subject import selected_attention, whole_experiment
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.style import color
from attnviz.gui.look.theme import GRID, RADIUS, TEXT_PX
from attnviz.gui.look.words import plain_tooltip, retranslate, says
from attnviz.gui.panels.mechanism.terms import Term, terms_in
from attnviz.gui.store import Store
from attnviz.gui.widgets.button import PaintedButton
from attnviz.gui.widgets.control import Control, draw_focus_ring
from attnviz.i18n import _
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell
from attnviz.model.trace import Trace

HEIGHT = 36
_ARROW = 4.0
_TITLE_LEFT = 20


class SectionHeader(PaintedButton):
    """Opens and closes a section; the signals carry a click, and a click with Shift."""

    chosen = Signal()
    pinned = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._value, self._is_pinned, self._error, self._is_found = "", False, "", False
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.clicked.connect(self._on_clicked)

    def value(self) -> str:
        """The text at the right."""
        return self._value

    def is_pinned(self) -> bool:
        return self._is_pinned

    def set_title(self, title: str) -> None:
        self.setText(title)
        self.setAccessibleName(title)

    def set_value(self, value: str) -> None:
        """Show the present value of the section."""
        if value != self._value:
            self._value = value
            self.setAccessibleDescription(value)
            self.update()

    def set_state(self, *, is_open: bool, is_pinned: bool) -> None:
        """Show whether the section is open, and stays so."""
        self.setChecked(is_open)
        self._is_pinned = is_pinned
        self.update()

    def set_error(self, sentence: str) -> None:
        """Mark the header with the error of one of its fields; an empty sentence removes the mark."""
        if sentence != self._error:
            self._error = sentence
            self.update()

    def is_found(self) -> bool:
        """True if the title itself answers the search."""
        return self._is_found

    def set_found(self, is_found: bool) -> None:
        """Say that the title itself answers the search."""
        self._is_found = is_found
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(160, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(_TITLE_LEFT + GRID, HEIGHT)

    def title_rect(self) -> QRectF:
        """Rectangle of the painted title."""
        width = QFontMetricsF(self._title_font()).horizontalAdvance(self.text())
        return QRectF(_TITLE_LEFT, 0, min(width, self.width() - _TITLE_LEFT), self.height())

    def value_rect(self) -> QRectF:
        """Rectangle that the value is painted in, right-aligned and elided."""
        left = self.title_rect().right() + GRID
        return QRectF(left, 0, max(self.width() - left, 0), self.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme, row = self._theme, QRectF(self.rect())
        if self.underMouse():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.hover))
            painter.drawRoundedRect(row.adjusted(-GRID / 2, 3, GRID / 2, -3), RADIUS - 2, RADIUS - 2)
        self._paint_arrow(painter)
        painter.setFont(self._title_font())
        painter.setPen(QColor(theme.error if self._error else theme.accent if self._is_found else theme.ink))
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(self.title_rect(), middle | Qt.AlignmentFlag.AlignLeft, self.text())
        font, room = number_font(TEXT_PX - 1), self.value_rect()
        painter.setFont(font)
        painter.setPen(QColor(theme.muted))
        text = QFontMetricsF(font).elidedText(self._value, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, middle | Qt.AlignmentFlag.AlignRight, text)
        if self.hasFocus():
            draw_focus_ring(painter, row.adjusted(0, 2, 0, -2), theme, RADIUS - 2)

    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.HoverEnter, QEvent.Type.HoverLeave):
            self.update()
        elif event.type() == QEvent.Type.ToolTip:
            self._say()
        return super().event(event)

    def _paint_arrow(self, painter: QPainter) -> None:
        """An arrow to the right, or down while open; a filled one is pinned."""
        theme, center = self._theme, QPointF(6, self.height() / 2)
        painter.save()
        painter.translate(center)
        painter.rotate(90 if self.isChecked() else 0)
        pen = QPen(QColor(theme.muted), 1.5)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        painter.setPen(pen)
        points = [QPointF(-_ARROW / 2, -_ARROW), QPointF(_ARROW / 2, 0), QPointF(-_ARROW / 2, _ARROW)]
        if self._is_pinned:
            painter.setBrush(QColor(theme.accent))
            painter.setPen(QColor(theme.accent))
            painter.drawPolygon(points)
        else:
            painter.drawPolyline(points)
        painter.restore()

    def _title_font(self) -> QFont:
        return ui_font(TEXT_PX + 1)

    def _say(self) -> None:
        """The tooltip: the error, else the whole value and what a click does."""
        does = _("A click opens or closes the section; a click with Shift keeps it open beside others")
        whole = (
            _("{name}: {value}. {does}").format(name=self.text(), value=self._value, does=does)
            if self._value
            else does
        )
        self.setToolTip(plain_tooltip(self._error or whole))

    def _on_clicked(self) -> None:
        shift = QGuiApplication.keyboardModifiers() & Qt.KeyboardModifier.ShiftModifier
        (self.pinned if shift else self.chosen).emit()


class Section(Control):
    """One section of the panel. `heading` is its title's message id; `id` names it.

    `spoken` are the messages of controls outside of forms, by object name, for the search. The controls are
    made when the section opens first, or when the search or an error needs them: most sections stay closed.
    """

    id: ClassVar[str]
    heading: ClassVar[str]
    spoken: ClassVar[dict[str, tuple[str, ...]]] = {}

    def __init__(self, store: Store, parent: QWidget) -> None:
        super().__init__(parent)
        self.store = store
        self.setObjectName(f"{self.id}_section")
        self.header = says(SectionHeader(), self.heading, id=f"{self.id}_header")
        self.content = QWidget(self)
        self.content.setObjectName(f"{self.id}_content")
        self.body = QVBoxLayout(self.content)
        self.body.setContentsMargins(0, GRID // 2, 0, GRID + GRID // 2)
        self.body.setSpacing(GRID - 2)
        self.content.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 1)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addWidget(self.content)
        self._forms: list[Form] = []
        self.is_complete = False

    def fill(self) -> None:
        """Make the controls inside `content`."""
        raise NotImplementedError

    def complete(self) -> None:
        """Make the controls, unless they exist, and let them show the present state."""
        if self.is_complete:
            return
        self.is_complete = True
        self.fill()
        color(self.content.findChildren(QWidget), self._theme)
        retranslate(self.content)
        self.on_document(None, self.store.document)
        if self.store.trace is not None:
            self.on_trace(self.store.trace)

    def mark(self, error: Exception) -> None:
        """Mark the control of the wrong field: one that is younger than the error has not heard of it."""
        for form in self._forms:
            form.mark(error)
        for mark in self.content.findChildren(Mark):
            mark.mark(error)

    @property
    def is_open(self) -> bool:
        return not self.content.isHidden()

    def present(self, document: Document) -> str:
        """The present value of the section in a few words, for its header."""
        raise NotImplementedError

    def set_open(self, is_open: bool, *, is_pinned: bool) -> None:
        """Show the content, or the header alone."""
        if is_open:
            self.complete()
        self.header.set_state(is_open=is_open, is_pinned=is_pinned)
        self.content.setVisible(is_open)

    def add_form(self, fields: Sequence[FormField[Site]]) -> Form:
        """Append a form of the selected attention."""
        return self._added(Form(fields, selected_attention(self.store), self.store, self.content))

    def add_whole_form(self, fields: Sequence[FormField[Experiment]]) -> Form:
        """Append a form of the whole experiment."""
        return self._added(Form(fields, whole_experiment(self.store), self.store, self.content))

    def _added(self, form: Form) -> Form:
        self._forms.append(form)
        self.body.addWidget(form)
        return form

    def terms(self) -> Iterator[Term]:
        """The controls of the section, each with the messages that name and describe it."""
        self.complete()
        yield Term(self.header, (self.heading,))
        yield from terms_in(self.content)
        for name, texts in self.spoken.items():
            for widget in self.content.findChildren(QWidget, name):
                yield Term(widget, texts)

    def control_of(self, path: str) -> QWidget | None:
        """The control that edits the field at `path`, or the part around it; None if the section has none."""
        self.complete()
        rows: list[Any] = self.content.findChildren(Row)
        marks: list[Any] = self.content.findChildren(Mark)
        controls = [(len(row.field.path), row) for row in rows if row.is_about(path)]
        controls += [(max(map(len, mark.paths())), mark.control) for mark in marks if mark.is_about(path)]
        return max(controls, key=lambda one: one[0])[1] if controls else None

    def on_document(self, old: Document | None, new: Document) -> None:
        """The experiment changed; `old` is None if everything must be shown again."""
        for form in self._forms:
            form.refresh()

    def on_view(self, document: Document) -> None:
        """The selection changed."""

    def on_trace(self, trace: Trace) -> None:
        """The numbers of a run arrived."""

    def on_hover(self, cell: Cell | None) -> None:
        """The mouse is on this cell in some panel, or on none."""

    def paintEvent(self, event: QPaintEvent) -> None:
        """A line below every section."""
        painter = QPainter(self)
        painter.fillRect(QRectF(0, self.height() - 1, self.width(), 1), QColor(self._theme.line))
