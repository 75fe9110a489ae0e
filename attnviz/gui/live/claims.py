"""Verdicts on claims: on those of textbooks once, on own ones with each run.

They have a worker of their own: a claim may take seconds, and nothing else in the window waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from attnviz.checkpoints.presets import load_preset
from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.panels.claims.panel import Group
from attnviz.study.claims.own import Answer, answers
from attnviz.study.claims.scope import Scope
from attnviz.study.lessons.judging import judged
from attnviz.study.lessons.scene import document_of
from attnviz.study.lessons.table import CLAIMS, shipped_claims

if TYPE_CHECKING:
    from attnviz.gui.panels.claims.panel import ClaimsPanel, OwnAsked
    from attnviz.gui.window.window import Window
    from attnviz.model.spec.document import Document
    from attnviz.study.lessons.lesson import Scene

TABLE_KEY, OWN_KEY, OPEN_KEY = "claims", "own_claims", "lesson"
MOST_STEPS_BACK = 100

_GROUPS: dict[str, Group] = {}
"""Textbooks' claims with their verdicts, in every language: they depend on no document of a window."""


class ClaimsLive(QObject):
    """Answers the wishes of the claims panel."""

    def __init__(self, panel: ClaimsPanel, scheduler: Scheduler, window: Window) -> None:
        super().__init__(window)
        self._panel, self._scheduler, self._window = panel, scheduler, window
        self._left = list(CLAIMS)
        self._before: Document | None = None
        panel.table_asked.connect(self._next_group)
        panel.own_asked.connect(self._on_own)
        panel.scene_wanted.connect(self._on_scene)
        panel.return_wanted.connect(self._on_return)
        window.store.changed.connect(self._on_changed)
        panel.set_left(False)

    # --- textbooks

    @Slot()
    def _next_group(self) -> None:
        """Compute the next group, if no other window has; an edit goes between two of them."""
        if not self._left:
            return
        id_ = self._left.pop(0)

        def job(token: CancelToken) -> Group:
            from attnviz.compute.execute import execute

            if id_ not in _GROUPS:
                lesson = shipped_claims(id_)
                _GROUPS[id_] = Group(lesson, judged(lesson, load_preset, execute, token.check))
            return _GROUPS[id_]

        self._scheduler.submit(job, self._show_group, self._on_failed, key=TABLE_KEY)

    def _show_group(self, group: Group) -> None:
        self._panel.show_group(group)
        self._next_group()

    # --- the document's

    @Slot(object)
    def _on_own(self, asked: OwnAsked | None) -> None:
        """Answer the claims of another run; None stops."""
        if asked is None:
            self._scheduler.stop(OWN_KEY)
            return

        def job(token: CancelToken) -> tuple[Answer, ...]:
            return answers(asked.claims, Scope(asked.trace, asked.view), token.check)

        self._scheduler.submit(job, self._panel.show_answers, self._on_failed, key=OWN_KEY)

    def _on_failed(self, error: BaseException) -> None:
        if not is_expected(error):
            raise error

    # --- going

    @Slot(object)
    def _on_scene(self, scene: Scene) -> None:
        """Have the worker read the document of a claim, then open it."""
        if not self._window.documents.may_leave():
            return

        def job(token: CancelToken) -> Document:
            return document_of(scene, load_preset)

        self._window.services.schedulers.run.submit(job, self._open, self._on_unread, key=OPEN_KEY)

    def _open(self, document: Document) -> None:
        store = self._window.store
        before = self._before if self._before is not None else store.document
        store.open(document)
        store.stand_in()
        self._before = before
        self._panel.set_left(True)

    def _on_unread(self, error: BaseException) -> None:
        self._window.status.warn(failure_message(error))
        if not is_expected(error):
            raise error

    @Slot()
    def _on_return(self) -> None:
        """Undo until the document before the claims is back."""
        store, before = self._window.store, self._before
        for _step in range(MOST_STEPS_BACK):
            if before is None or store.document == before or not store.can_undo:
                break
            store.undo()
        if before is not None and store.document != before:
            store.open(before)
        self._forget()

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        if self._before is not None and new == self._before:
            self._forget()

    def _forget(self) -> None:
        self._before = None
        self._panel.set_left(False)
