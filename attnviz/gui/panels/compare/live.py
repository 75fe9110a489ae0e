"""The comparison that the Compare panel asks for, and the pinned state A.

A worker computes it, and the newest request wins. One under way is finished and shown before the next begins,
so that a drag has pictures. The trace of A is kept while A is pinned, unless it is large.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal, Slot

from attnviz.compute.scheduler import CancelToken
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.live.trace import GUI_CORES, execute
from attnviz.gui.panels.compare.requests import OwnAnswer, OwnAsked, Pinned, PreparedAsked
from attnviz.i18n import _
from attnviz.model.errors.titles import in_words
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment

if TYPE_CHECKING:
    from attnviz.gui.panels.compare.panel import ComparePanel
    from attnviz.gui.services.services import Services
    from attnviz.model.trace import Trace

KEY = "compare"

MOST_KEPT = 2**30
"""Largest trace of A, in bytes, that is kept between two comparisons; a larger one is computed each time."""


class CompareLive(QObject):
    """Answers the panel's requests, and keeps what is pinned."""

    pinned_changed = Signal()
    """Another state is pinned, or none."""

    def __init__(self, panel: ComparePanel, services: Services) -> None:
        super().__init__(panel)
        self._panel, self._status, self._scheduler = panel, services.status, services.schedulers.answers
        self._store = services.store
        self._next: PreparedAsked | OwnAsked | None = None
        self._pinned: Pinned | None = None
        self._other: Pinned | None = None
        """The state that was pinned before the last swap: undo goes back to it."""
        self._trace: Trace | None = None
        panel.asked.connect(self._on_asked)
        panel.pin_wanted.connect(self.pin)
        panel.unpin_wanted.connect(self.unpin)
        panel.swap_wanted.connect(self.swap)
        self._store.opened.connect(self._on_opened)
        self._store.changed.connect(self._on_changed)

    @property
    def pinned(self) -> Pinned | None:
        """The state A; None if nothing is pinned."""
        return self._pinned

    @property
    def comparable(self) -> Pinned | None:
        """The state A, unless the present document is unrelated."""
        pinned, present = self._pinned, self._store.chapters.present
        return pinned if pinned is not None and pinned.compares_with(present) else None

    # --- A

    @Slot()
    def pin(self) -> None:
        """Keep what the panels show as A, with its trace where it is computed: also a step of the player."""
        self._other, step = None, self._store.followed
        if step is None:
            self._set_pinned(self._present(), self._present_trace())
            self._status.say(_("Pinned the present state as A."))
            return
        self._set_pinned(replace(self._present(), document=step), self._store.shown_trace)
        said = _("Pinned step {step} of the generation as A.")
        self._status.say(said.format(step=step.experiment.n_queries))

    @Slot()
    def unpin(self) -> None:
        """Release A and the memory of its trace."""
        self._other = None
        self._set_pinned(None, None)

    @Slot()
    def swap(self) -> None:
        """Open A as the document, and pin the present state; undo reverses both."""
        if self._pinned is None:
            return
        first, self._other = self._pinned, self._present()
        # Pinned first: the change of the document is then compared with the new A.
        self._set_pinned(self._other, self._present_trace())
        self._other = first
        if first.path == self._store.path and first.document.title == self._store.document.title:
            self._store.edit(_become, first.experiment)
            self._store.look(**_view(first.document))
        else:
            self._store.open(first.document, first.path)
        self._compute_on(first)

    def _present(self) -> Pinned:
        store = self._store
        chapter = store.chapters.present.number
        return Pinned(store.document, self._store.engine, self._store.device, store.path, chapter)

    def _present_trace(self) -> Trace | None:
        """The numbers of the document, unless they are on their way."""
        trace = self._store.trace
        return trace if trace is not None and trace.experiment == self._store.experiment else None

    def _set_pinned(self, pinned: Pinned | None, trace: Trace | None) -> None:
        self._pinned, self._trace = pinned, trace
        self._panel.set_pinned(pinned)
        self.pinned_changed.emit()

    def _compute_on(self, pinned: Pinned) -> None:
        """Use the engine of a pinned state from now on."""
        if (pinned.engine, pinned.device) != (self._store.engine, self._store.device):
            self._store.choose_engine(pinned.engine, pinned.device)

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        """Undo and redo of a swap exchange A as well."""
        first, other = self._pinned, self._other
        if first is None or other is None:
            return
        if new.experiment is first.experiment and old.experiment is other.experiment:
            self._other = first
            self._set_pinned(other, None)
            self._compute_on(first)

    # --- requests and answers

    @Slot(object)
    def _on_asked(self, asked: PreparedAsked | OwnAsked) -> None:
        self._next = asked
        if not self._scheduler.is_busy(KEY):
            self._begin()

    @Slot()
    def _on_opened(self) -> None:
        """Drop the pending request of the previous document, and a state to which no undo of a swap leads."""
        self._next = None
        chapters = self._store.chapters.chapters
        entries = (entry for chapter in chapters for entry in chapter.history.entries)
        if self._other is not None and all(one.experiment is not self._other.experiment for one in entries):
            self._other = None

    def _begin(self) -> None:
        asked, self._next = self._next, None
        if isinstance(asked, OwnAsked):
            self._scheduler.submit(self._own(asked), self._on_own, self._on_failed, key=KEY)
        elif asked is not None:
            self._scheduler.submit(self._prepared(asked), self._on_prepared, self._on_failed, key=KEY)

    def _prepared(self, asked: PreparedAsked) -> Any:
        engine, device = self._store.engine, self._store.device

        def job(token: CancelToken) -> Any:
            def run(experiment: Experiment, engine: str, device: str) -> Trace:
                return execute(experiment, engine, device, check=token.progress, reserve=GUI_CORES)

            return asked.answer(engine, device, run)

        return job

    def _own(self, asked: OwnAsked) -> Any:
        pinned = asked.pinned
        kept = self._trace if pinned is self._pinned else None

        def job(token: CancelToken) -> tuple[OwnAnswer, Trace | None]:
            first = kept or execute(
                pinned.experiment, pinned.engine, pinned.device, check=token.progress, reserve=GUI_CORES
            )
            drawn = first if asked.is_of_values else _gradient(asked, token)
            return asked.answer(first, drawn, token.check), first if _is_small(pinned.experiment) else None

        return job

    def _on_prepared(self, compared: Any) -> None:
        self._panel.show_compared(compared)
        self._begin()

    def _on_own(self, answered: tuple[OwnAnswer, Trace | None]) -> None:
        answer, trace = answered
        if answer.pinned is self._pinned:
            self._trace = trace
            self._panel.show_own(answer)
        self._begin()

    def _on_failed(self, error: BaseException) -> None:
        self._panel.show_reason(in_words(failure_message(error)))
        self._begin()
        if not is_expected(error):
            raise error


def _gradient(asked: OwnAsked, token: CancelToken) -> Trace:
    """The gradient of A that the view shows of B."""
    from attnviz.compute.execute import execute_shown

    pinned = asked.pinned
    return execute_shown(
        pinned.experiment, asked.document.view, pinned.engine, pinned.device, token.progress, GUI_CORES
    )


def _is_small(experiment: Experiment) -> bool:
    """True if the trace of an experiment may be kept."""
    from attnviz.compute.estimate import estimate
    from attnviz.engines.engine import ITEMSIZE

    return estimate(experiment, ITEMSIZE[experiment.dtype]).bytes <= MOST_KEPT


def _become(experiment: Experiment, other: Experiment) -> Experiment:
    """The edit that opens A."""
    return other


def _view(document: Document) -> dict[str, Any]:
    """The fields of a document's view."""
    return {name: getattr(document.view, name) for name in document.view.__struct_fields__}
