"""The question of the circuits panel: the head, the kind of circuit, and the first token of its pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnviz.core.progress import Progress
from attnviz.gui.live.subject import Subject
from attnviz.study.circuit_texts import MOST_PAIRS

if TYPE_CHECKING:
    from attnviz.study.circuits import Pair

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


@dataclass(frozen=True, eq=False)
class Question:
    """An empty token asks for the pairs of all. Another text of the same model asks the same."""

    subject: Subject
    site: str
    head: int
    kind: str
    token: str = ""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Question):
            return NotImplemented
        own, others = self.subject.experiment, other.subject.experiment
        same = all(getattr(own, name) is getattr(others, name) for name in _READ)
        return same and self._chosen == other._chosen

    __hash__ = None  # type: ignore[assignment]

    @property
    def _chosen(self) -> tuple[object, ...]:
        return self.subject.engine, self.subject.device, self.site, self.head, self.kind, self.token


def compute(asked: Question, check: Progress) -> tuple[Pair, ...]:
    """The pairs with the largest numbers, in a worker."""
    from attnviz.study.circuits import circuit

    return circuit(
        asked.subject.experiment,
        asked.site,
        asked.head,
        asked.kind,
        MOST_PAIRS,
        asked.token or None,
        engine=asked.subject.engine,
        device=asked.subject.device,
        check=check,
    )
