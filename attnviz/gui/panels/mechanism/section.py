"""Common parts of the mechanism's sections: a header that folds, forms, and notification of changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from attnviz.gui.forms.fields import FormField
from attnviz.gui.forms.form import Form
from attnviz.gui.forms.marks import Mark
from attnviz.gui.forms.rows import Row
from attnviz.gui.forms.subject import selected_attention, whole_experiment
from attnviz.gui.look.style import color
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import retranslate, says
from attnviz.gui.panels.mechanism.header import SectionHeader
from attnviz.gui.panels.mechanism.terms import Term, terms_in
from attnviz.gui.store import Store
from attnviz.gui.widgets.control import Control
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell
from attnviz.model.trace import Trace


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
