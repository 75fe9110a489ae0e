"""The map of patching that the panel asks for, computed in the worker; the newest request wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.errors import InputError, Message
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.live.subject import Subject
from attnviz.model.edit.edits import set_tokens
from attnviz.model.spec.experiment import Experiment
from attnviz.model.text import MODEL, likely_splitting, split_text, splittings

if TYPE_CHECKING:
    from attnviz.gui.panels.patching.panel import PatchingPanel
    from attnviz.study.patching import Recovered
    from attnviz.study.target import Target

KEY = "patching"


@dataclass(frozen=True)
class PatchAsked:
    """A requested map: the subject, which is corrupted, and the clean experiment or its text.

    An empty answer takes the most probable next token of each text.
    """

    subject: Subject
    clean: Experiment | str
    stage: str
    answer: str
    against: str
    each_head: bool

    @property
    def experiment(self) -> Experiment:
        return self.subject.experiment

    def clean_experiment(self) -> Experiment:
        """The document with the clean text, cut by the model's own rule where it has one.

        Raises `InputError` if it has not as many tokens as the document.
        """
        clean = self.clean if isinstance(self.clean, Experiment) else self._with_text(self.clean)
        if clean.n_queries != self.experiment.n_queries:
            as_long = Message(
                "The clean text must have as many tokens as the document, {n}; got {found}.",
                n=self.experiment.n_queries,
                found=clean.n_queries,
            )
            raise InputError(as_long)
        return clean

    def _with_text(self, text: str) -> Experiment:
        ways = [row.id for row in splittings(self.experiment)]
        way = MODEL.id if MODEL.id in ways else likely_splitting(self.experiment)
        return set_tokens(self.experiment, split_text(self.experiment, text, way, keeps_ends=True))

    def target(self) -> Target | None:
        """The target as written; None for that of the texts themselves."""
        from attnviz.study.target import Target

        return Target(self.answer, self.against or None) if self.answer else None


class PatchingLive(QObject):
    """Answers the panel's requests."""

    def __init__(self, panel: PatchingPanel, scheduler: Scheduler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._panel, self._scheduler = panel, scheduler
        panel.asked.connect(self._on_asked)

    @Slot(object)
    def _on_asked(self, asked: PatchAsked | None) -> None:
        """Compute another map; None stops."""
        if asked is None:
            self._scheduler.stop(KEY)
            return

        def job(token: CancelToken) -> tuple[PatchAsked, Recovered]:
            from attnviz.study.patching import patch

            found = patch(
                asked.clean_experiment(),
                asked.experiment,
                asked.target(),
                asked.stage,
                each_head=asked.each_head,
                engine=asked.subject.engine,
                device=asked.subject.device,
                check=token.progress,
            )
            return asked, found

        def failed(error: BaseException) -> None:
            self._panel.show_problem(asked, failure_message(error).text())
            if not is_expected(error):
                raise error

        self._scheduler.submit(job, self._on_done, failed, key=KEY)

    def _on_done(self, answered: tuple[PatchAsked, Recovered]) -> None:
        self._panel.show_recovered(*answered)
