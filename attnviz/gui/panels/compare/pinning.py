"""The pinned state A: pin, unpin, swap, and the undo of a swap; its trace is kept unless it is large."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec.structs import asdict
from PySide6.QtCore import QObject, Signal, Slot

from attnviz.gui.panels.compare.requests import Pinned
from attnviz.gui.store import Store
from attnviz.i18n import _
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment

if TYPE_CHECKING:
    from attnviz.model.trace import Trace


class Pinning(QObject):
    """Keeps what is pinned."""

    changed = Signal()
    """Another state is pinned, or none."""
    said = Signal(str)

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.pinned: Pinned | None = None
        """The state A; None if nothing is pinned."""
        self._other: Pinned | None = None
        """The state that was pinned before the last swap: undo goes back to it."""
        self.trace: Trace | None = None
        """That of A, where it is computed and small enough."""
        store.opened.connect(self._on_opened)
        store.changed.connect(self._on_changed)

    @property
    def comparable(self) -> Pinned | None:
        """The state A, unless the present document is unrelated."""
        pinned, present = self.pinned, self._store.chapters.present
        return pinned if pinned is not None and pinned.compares_with(present) else None

    def keep(self, pinned: Pinned, trace: Trace | None) -> None:
        """The trace of a state, unless another one was pinned meanwhile."""
        if pinned is self.pinned:
            self.trace = trace

    @Slot()
    def pin(self) -> None:
        """Keep what the panels show as A, with its trace where it is computed: also a step of the player."""
        self._other, step = None, self._store.followed
        if step is None:
            self._set(self._present(), self._store.current_trace)
            self.said.emit(_("Pinned the present state as A."))
            return
        self._set(replace(self._present(), document=step), self._store.shown_trace)
        said = _("Pinned step {step} of the generation as A.")
        self.said.emit(said.format(step=step.experiment.n_queries))

    @Slot()
    def unpin(self) -> None:
        """Release A and the memory of its trace."""
        self._other = None
        self._set(None, None)

    @Slot()
    def swap(self) -> None:
        """Open A as the document, and pin the present state; undo reverses both."""
        if self.pinned is None:
            return
        first, self._other = self.pinned, self._present()
        # Pinned first: the change of the document is then compared with the new A.
        self._set(self._other, self._store.current_trace)
        self._other = first
        if first.path == self._store.path and first.document.title == self._store.document.title:
            self._store.edit(become, first.experiment)
            self._store.look(**asdict(first.document.view))
        else:
            self._store.open(first.document, first.path)
        self._compute_on(first)

    def _present(self) -> Pinned:
        store = self._store
        chapter = store.chapters.present.number
        return Pinned(store.document, store.engine, store.device, store.path, chapter)

    def _set(self, pinned: Pinned | None, trace: Trace | None) -> None:
        self.pinned, self.trace = pinned, trace
        self.changed.emit()

    def _compute_on(self, pinned: Pinned) -> None:
        """Use the engine of a pinned state from now on."""
        if (pinned.engine, pinned.device) != (self._store.engine, self._store.device):
            self._store.choose_engine(pinned.engine, pinned.device)

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        """Undo and redo of a swap exchange A as well."""
        first, other = self.pinned, self._other
        if first is None or other is None:
            return
        if new.experiment is first.experiment and old.experiment is other.experiment:
            self._other = first
            self._set(other, None)
            self._compute_on(first)

    @Slot()
    def _on_opened(self) -> None:
        """Drop a state to which no undo of a swap leads."""
        chapters = self._store.chapters.chapters
        entries = (entry for chapter in chapters for entry in chapter.history.entries)
        if self._other is not None and all(one.experiment is not self._other.experiment for one in entries):
            self._other = None


def become(experiment: Experiment, other: Experiment) -> Experiment:
    """The edit that opens another experiment in the document."""
    return other
