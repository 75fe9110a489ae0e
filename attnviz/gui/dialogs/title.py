"""The title of the document, written anew."""

from __future__ import annotations

from PySide6.QtWidgets import QDialogButtonBox, QLineEdit, QWidget

from attnviz.gui.dialogs.dialog import Dialog, column_of
from attnviz.gui.look.words import says
from attnviz.gui.services.services import Services
from attnviz.i18n import N_
from attnviz.model.io.titles import as_shown
from attnviz.model.spec.field import LONGEST_NAME

WIDTH = 420


class TitleDialog(Dialog):
    """Enter takes the title; an empty one leaves the document without a name.

    That of a preset is shown in the language of the interface, and stays as it is unless it is changed.
    """

    def __init__(self, window: QWidget, services: Services) -> None:
        super().__init__(window, services, "title_dialog", N_("Title of the document"))
        self._line = says(QLineEdit(), id="title_line", name=N_("Title"))
        self._title = services.store.document.title
        self._line.setText(as_shown(self._title))
        self._line.setMaxLength(LONGEST_NAME)
        self._line.setMinimumWidth(WIDTH)
        self._line.selectAll()
        buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        column = column_of(self)
        column.addWidget(self._line)
        column.addWidget(buttons)

    @property
    def text(self) -> str:
        """The title that was written."""
        return self._line.text().strip() if self._line.isModified() else self._title
