"""The gradients of the view's target, computed in the worker as numbers, engine, target or switch change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from attnviz.compute.scheduler import Scheduler
from attnviz.core.progress import Progress
from attnviz.gui.live.answer import Answer
from attnviz.gui.live.trace import Live, warm
from attnviz.gui.store import Store
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.view import View

if TYPE_CHECKING:
    from attnviz.model.gradient import Gradient


@dataclass(frozen=True)
class Question:
    """The experiment of the present numbers, the target, the engine and its device.

    The view and the stages with a picture in sight say what is computed for the paint.
    """

    experiment: Experiment
    target: str
    engine: str
    device: str
    view: View = field(compare=False)
    pictured: frozenset[str] | None = field(compare=False)


def compute(asked: Question, check: Progress) -> Gradient:
    """The gradient, and of its pictures what the window paints."""
    from attnviz.compute.execute import execute_backward

    found = execute_backward(asked.experiment, asked.target, asked.engine, asked.device, check)[1]
    drawn = found.product if asked.view.quantity == "product" else found
    warm(drawn.shown(asked.view.site), asked.view, check, asked.pictured)
    check()
    found.norms  # noqa: B018  # cached: the window paints them
    return found


class GradientLive(QObject):
    """Keeps `store.gradient` that of the view's target, while the view or a panel shows gradients."""

    def __init__(self, store: Store, live: Live, scheduler: Scheduler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._live = store, live
        self._answer = Answer("gradient", compute, self, in_turn=True)
        self._answer.serve(scheduler)
        self._answer.answered.connect(self._on_answered)
        self._is_between = False
        """True from another document until its numbers."""
        store.traced.connect(self._on_trace)
        store.changed.connect(self._on_changed)
        store.opened.connect(self._on_opened)

    @Slot()
    def _on_opened(self) -> None:
        """Release the arrays of the document that closes."""
        self._is_between = True
        self._update()

    @Slot(object)
    def _on_trace(self, trace: object) -> None:
        self._is_between = False
        self._update()

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        if (old.view.target, old.view.quantity) != (new.view.target, new.view.quantity):
            self._update()

    def _update(self) -> None:
        asked = self._question()
        self._answer.ask(asked)
        if asked is None:
            self._store.set_gradient(None)

    def _question(self) -> Question | None:
        store, view = self._store, self._store.document.view
        if view.target is None or store.trace is None or self._is_between:
            return None
        live, experiment = self._live, store.trace.experiment
        return Question(experiment, view.target, live.engine, live.device, view, store.pictured)

    @Slot()
    def _on_answered(self) -> None:
        self._store.set_gradient(self._answer.result, self._answer.problem)
