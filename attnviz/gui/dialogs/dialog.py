"""Base of the dialogs: one gets the services of its window, as a panel does."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog, QWidget

from attnviz.gui.look.words import Words, says
from attnviz.gui.services.services import Services


class Dialog(QDialog):
    """A dialog over a window, with its object name and its title."""

    def __init__(self, window: QWidget, services: Services, id_: str, title: Words) -> None:
        super().__init__(window)
        self.services = services
        says(self, title, id=id_)

    def ask(self) -> bool:
        """Show the dialog until it closes, and delete it; True if its choices are to be taken."""
        is_taken = self.exec() == QDialog.DialogCode.Accepted
        self.deleteLater()
        return is_taken
