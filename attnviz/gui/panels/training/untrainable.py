"""`Untrainable`: why a document has no run, and the ways to one that has."""

from __future__ import annotations

from PySide6.QtCore import Slot

from attnviz.errors import InputError
from attnviz.gui.panels.training.choices import Choices
from attnviz.gui.services.documents import title_of
from attnviz.gui.services.services import Services
from attnviz.gui.store import Store
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.i18n import _
from attnviz.training.trainable import check_trainable, with_length
from attnviz.training.words import with_words

PRESET = "induction-birth"
"""The document that is proposed where the present one cannot train."""


class Untrainable(EmptyState):
    """Gives the document the words of the chosen task, or opens another one."""

    def __init__(self, store: Store, choices: Choices) -> None:
        super().__init__("")
        self._store, self._choices = store, choices
        self.triggered.connect(self._on_words)
        self.chosen.connect(self._on_preset)

    def serve(self, services: Services) -> None:
        """Take the services of the window."""
        self._documents = services.documents

    def show_reason(self, said: str) -> None:
        """Say why the document cannot train."""
        self.set_text(_("This document cannot train: {reason}").format(reason=said))
        self.set_action(_("Give it the words of the task") if self._can_get_words() else "")
        hint = _("A small model that learns this task in some seconds")
        links = ((PRESET, _(title_of(PRESET)), hint),)
        self.set_links(_("Or train this one:"), links)

    def _can_get_words(self) -> bool:
        """True if a vocabulary made for the task is all that the document lacks."""
        try:
            words = self._choices.words()
            if len(words) < 2:
                return False
            made = with_words(self._store.experiment, words)
            check_trainable(made)
            with_length(made, self._choices.sampler(made).n_tokens)
        except InputError:
            return False
        return True

    @Slot()
    def _on_words(self) -> None:
        """Give the document the words of the task."""
        words, seed = self._choices.words(), int(self._choices.numbers["seed"].value())
        self._store.edit(lambda experiment: with_words(experiment, words, seed))

    @Slot(str)
    def _on_preset(self, link: str) -> None:
        self._documents.open_preset(link)
