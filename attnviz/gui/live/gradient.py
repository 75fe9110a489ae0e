"""The gradients of the view's target, computed in the worker as numbers, engine, target or switch change.

A pass under way is finished and shown before the next begins, so that pictures move during a drag.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.live.trace import Live, warm
from attnviz.gui.store import Store
from attnviz.model.spec.document import Document

if TYPE_CHECKING:
    from attnviz.model.gradient import Gradient
    from attnviz.model.spec.experiment import Experiment

KEY = "gradient"

Wanted = tuple["Experiment", str, str, str]
"""The experiment of the present numbers, the target, the engine and its device."""


class GradientLive(QObject):
    """Keeps `store.gradient` that of the view's target, while the view or a panel shows gradients."""

    def __init__(self, store: Store, live: Live, scheduler: Scheduler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._live, self._scheduler = store, live, scheduler
        self._done: Wanted | None = None
        """The request that `store.gradient` answers, also by a reason why it has none."""
        self._running: Wanted | None = None
        self._is_between = False
        """True from another document until its numbers."""
        store.traced.connect(self._on_trace)
        store.changed.connect(self._on_changed)
        store.opened.connect(self._on_opened)

    @Slot()
    def _on_opened(self) -> None:
        """Release the arrays of the document that closes."""
        self._scheduler.stop(KEY)
        self._running = self._done = None
        self._is_between = True
        self._store.set_gradient(None)

    @Slot(object)
    def _on_trace(self, trace: object) -> None:
        self._is_between = False
        self._update()

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        if (old.view.target, old.view.quantity) != (new.view.target, new.view.quantity):
            self._update()

    def _update(self) -> None:
        """Compute what is wanted, after what is under way."""
        wanted = self._wanted()
        if wanted is None:
            self._scheduler.stop(KEY)
            self._running = self._done = None
            self._store.set_gradient(None)
        elif self._running is None and wanted != self._done:
            self._begin(wanted)

    def _wanted(self) -> Wanted | None:
        view, trace = self._store.document.view, self._store.trace
        if view.target is None or trace is None or self._is_between:
            return None
        return trace.experiment, view.target, self._live.engine, self._live.device

    def _begin(self, wanted: Wanted) -> None:
        self._running = wanted
        view, pictured = self._store.document.view, self._store.pictured

        def job(token: CancelToken) -> Gradient:
            from attnviz.compute.execute import execute_backward

            found = execute_backward(*wanted, token.progress)[1]
            drawn = found.product if view.quantity == "product" else found
            warm(drawn.shown(view.site), view, token.check, pictured)
            token.check()
            found.norms  # noqa: B018  # cached: the window paints them
            return found

        def done(found: Gradient) -> None:
            self._answer(wanted)
            self._store.set_gradient(found)
            self._update()

        def failed(error: BaseException) -> None:
            self._answer(wanted)
            self._store.set_gradient(None, failure_message(error))
            if not is_expected(error):
                raise error
            self._update()

        self._scheduler.submit(job, done, failed, key=KEY)

    def _answer(self, wanted: Wanted) -> None:
        self._running, self._done = None, wanted
