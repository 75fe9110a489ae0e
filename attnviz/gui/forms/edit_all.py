"""The switch that lets an edit of one attention apply to those of all layers."""

from __future__ import annotations

from PySide6.QtCore import Slot

from attnviz.gui.look.words import says
from attnviz.gui.pointer import Pointer
from attnviz.gui.store import Store
from attnviz.gui.widgets.toggle import Toggle
from attnviz.i18n import N_
from attnviz.model.edit.layers import why_not_alike
from attnviz.model.spec.document import Document

EDIT_ALL = N_("Edits apply to this attention in every layer; seeds stay distinct")
"""The sentence of the switch in every panel that has it."""


class EditAll(Toggle):
    """Follows the store, whichever of these switches a person uses."""

    def __init__(self, store: Store, id_: str, text: str) -> None:
        super().__init__("")
        self._store = store
        says(self, text, id=id_, name=N_("Edit all layers"), tip=EDIT_ALL)
        self.changed.connect(store.set_edits_alike)
        store.pointer_changed.connect(self._on_pointer)

    def show_document(self, document: Document) -> None:
        """Show the present choice; grey with the reason where the layers of a document differ."""
        self.set_value(self._store.pointer.edits_alike)
        self.set_unavailable(why_not_alike(document.experiment, document.site) or None)

    @Slot(object, object)
    def _on_pointer(self, old: Pointer, new: Pointer) -> None:
        self.set_value(new.edits_alike)
