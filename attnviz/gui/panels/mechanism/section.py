"""Common parts of the mechanism's cards: a title, forms, and notification of changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from PySide6.QtWidgets import QWidget

from attnviz.gui.forms.fields import FormField
from attnviz.gui.forms.form import Form
from attnviz.gui.forms.subject import selected_attention, whole_experiment
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.store import Store
from attnviz.gui.widgets.card import Card
from attnviz.i18n import _
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell
from attnviz.model.trace import Trace


class Section(Card):
    """One card of the panel. `heading` is its title's message id; `id` names the card."""

    id: ClassVar[str]
    heading: ClassVar[str]

    def __init__(self, store: Store) -> None:
        super().__init__("")
        self.store = store
        self.setObjectName(f"{self.id}_section")
        self.body.setSpacing(GRID - 2)
        self._forms: list[Form] = []

    def add_form(self, fields: Sequence[FormField[Site]]) -> Form:
        """Append a form of the selected attention."""
        return self._added(Form(fields, selected_attention(self.store), self.store))

    def add_whole_form(self, fields: Sequence[FormField[Experiment]]) -> Form:
        """Append a form of the whole experiment."""
        return self._added(Form(fields, whole_experiment(self.store), self.store))

    def _added(self, form: Form) -> Form:
        self._forms.append(form)
        self.body.addWidget(form)
        return form

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

    def retranslate(self) -> None:
        self.set_title(_(self.heading))
        for form in self._forms:
            form.retranslate()

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        for child in self.findChildren(QWidget):
            renew = getattr(child, "apply_theme", None)
            if renew is not None:
                renew(theme)
