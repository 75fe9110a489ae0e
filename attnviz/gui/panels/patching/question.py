"""The question of the patching panel, and its answer: the map of one stage, from a clean text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnviz.core.progress import Progress
from attnviz.errors import InputError, Message
from attnviz.gui.live.subject import Subject
from attnviz.model.edit.edits import set_tokens
from attnviz.model.spec.experiment import Experiment
from attnviz.model.text import MODEL, likely_splitting, split_text, splittings

if TYPE_CHECKING:
    from attnviz.study.patching import Recovered


@dataclass(frozen=True)
class Question:
    """The subject, which is corrupted, and the clean experiment or its text.

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


def compute(asked: Question, check: Progress) -> Recovered:
    """The shares of every site and position, in a worker. Raises as `patch`, and for texts of one answer."""
    from attnviz.study.patching import patch
    from attnviz.study.target import Target

    patched = patch(
        asked.clean_experiment(),
        asked.experiment,
        Target(asked.answer, asked.against or None) if asked.answer else None,
        asked.stage,
        each_head=asked.each_head,
        engine=asked.subject.engine,
        device=asked.subject.device,
        check=check,
    )
    if patched.clean == patched.corrupted:
        raise InputError(Message("The two texts must have different answers; both have the same one."))
    return patched
