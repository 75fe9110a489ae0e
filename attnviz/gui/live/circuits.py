"""The circuit of a head that the panel asks for, computed in the worker; the newest request wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.live.subject import Subject
from attnviz.study.circuit_texts import MOST_PAIRS

if TYPE_CHECKING:
    from attnviz.gui.panels.circuits.panel import CircuitsPanel
    from attnviz.study.circuits import Pair

KEY = "circuits"
_READ = (
    "layers",
    "encoder",
    "vocabulary",
    "embedding_norm",
    "embedding_projection",
    "encoder_embedding_norm",
    "final_norm",
)
"""Fields of an experiment that the numbers depend on."""


@dataclass(frozen=True)
class CircuitAsked:
    """A requested circuit: the head, the kind, and the first token of its pairs (empty: all)."""

    subject: Subject
    site: str
    head: int
    kind: str
    token: str = ""

    def is_like(self, other: CircuitAsked | None) -> bool:
        """True if both have the same pairs, which no text changes."""
        if other is None:
            return False
        own, others = self.subject.experiment, other.subject.experiment
        same = all(getattr(own, name) is getattr(others, name) for name in _READ)
        return same and self._chosen == other._chosen

    @property
    def _chosen(self) -> tuple[object, ...]:
        return self.subject.engine, self.subject.device, self.site, self.head, self.kind, self.token


class CircuitsLive(QObject):
    """Answers the panel's requests."""

    def __init__(self, panel: CircuitsPanel, scheduler: Scheduler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._panel, self._scheduler = panel, scheduler
        panel.asked.connect(self._on_asked)

    @Slot(object)
    def _on_asked(self, asked: CircuitAsked | None) -> None:
        """Compute another circuit; None stops."""
        if asked is None:
            self._scheduler.stop(KEY)
            return

        def job(token: CancelToken) -> tuple[CircuitAsked, tuple[Pair, ...]]:
            from attnviz.study.circuits import circuit

            pairs = circuit(
                asked.subject.experiment,
                asked.site,
                asked.head,
                asked.kind,
                MOST_PAIRS,
                asked.token or None,
                engine=asked.subject.engine,
                device=asked.subject.device,
                check=token.progress,
            )
            return asked, pairs

        def failed(error: BaseException) -> None:
            self._panel.show_problem(asked, failure_message(error).text())
            if not is_expected(error):
                raise error

        self._scheduler.submit(job, self._on_done, failed, key=KEY)

    def _on_done(self, answered: tuple[CircuitAsked, tuple[Pair, ...]]) -> None:
        self._panel.show_pairs(*answered)
