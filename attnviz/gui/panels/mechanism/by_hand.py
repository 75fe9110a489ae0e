"""Every edit by hand, in one list: a click leads to its cell, and each is removed by itself."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from attnviz.gui.forms.marks import Mark
from attnviz.gui.forms.rows import Note
from attnviz.gui.look.words import says
from attnviz.gui.panels.mechanism.section import Section
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.link_line import LinkLine
from attnviz.i18n import N_, _
from attnviz.model.edit.by_hand import all_edits, as_text, take_all, take_edit
from attnviz.model.sites.sites import at, put, site_names
from attnviz.model.spec.document import Document
from attnviz.model.spec.edit import Edit
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.view import Cell

MOST_SHOWN = 40
"""Edits in the list; of more, the first."""


class ByHandSection(Section):
    """The edits of all attentions, in data-flow order."""

    id = "by_hand"
    heading = N_("Numbers by hand")

    def fill(self) -> None:
        self._note = Note("by_hand_note")
        self._list = QWidget(self.content)
        self._column = in_column(self._list, spacing=2)
        Mark(self.store, self._list, "edits")
        self._all = says(Button(), N_("Remove all"), id="by_hand_remove_all")
        says(self._all, name=N_("Remove all numbers by hand"))
        self._all.clicked.connect(partial(self.store.edit, take_all))
        for part in (self._note, self._list, self._all):
            self.body.addWidget(part)
        self._shown: tuple[tuple[str, Edit], ...] | None = None

    def present(self, document: Document) -> str:
        count = len(all_edits(document.experiment))
        return str(count) if count else _("none")

    def on_document(self, old: Document | None, new: Document) -> None:
        super().on_document(old, new)
        edits = all_edits(new.experiment)
        if old is not None and edits == self._shown:
            return
        self._shown = edits
        while self._column.count():
            item = self._column.takeAt(0)
            row = None if item is None else item.widget()
            if row is not None:
                row.hide()
                row.deleteLater()
        has_sites = len(site_names(new.experiment)) > 1
        for name, edit in edits[:MOST_SHOWN]:
            text = f"{name}.{as_text(edit)}" if has_sites else as_text(edit)
            self._column.addWidget(self._row(name, edit, text))
        self._list.setVisible(bool(edits))
        self._all.setVisible(len(edits) > 1)
        self._say()

    def _say(self) -> None:
        nothing = _("Lock a cell and set its number in the inspector: all that follows is computed from it.")
        left_out = max(0, len(self._shown or ()) - MOST_SHOWN)
        more = _("and {n} more").format(n=left_out) if left_out else ""
        self._note.setText(more if self._shown else nothing)
        self._note.setVisible(bool(more) or not self._shown)

    def _row(self, site: str, edit: Edit, text: str) -> QWidget:
        row = QWidget(self._list)
        line, remove = LinkLine(row), QToolButton(row)
        line.set_text(text)
        line.setToolTip(_("Show the cell"))
        line.clicked.connect(partial(self._show, site, edit))
        remove.setText("×")
        remove.setAutoRaise(True)
        remove.setAccessibleName(_("Remove {edit}").format(edit=text))
        remove.setToolTip(_("The computed number stands here again"))
        remove.clicked.connect(partial(self.store.edit, _without, site, edit))
        placed = QHBoxLayout(row)
        placed.setContentsMargins(0, 0, 0, 0)
        placed.setSpacing(0)
        placed.addWidget(line, 1)
        placed.addWidget(remove)
        return row

    def _show(self, site: str, edit: Edit) -> None:
        self.store.look_at(Cell(edit.stage, edit.position, edit.column or 0, edit.head or 0, site=site))


def _without(experiment: Experiment, site: str, edit: Edit) -> Experiment:
    """The experiment without one edit."""
    return put(experiment, take_edit(at(experiment, site), edit))
