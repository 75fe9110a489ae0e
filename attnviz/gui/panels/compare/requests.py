"""Requests of the Compare panel and their answers: frozen records that a worker computes from.

`PreparedAsked` is a row of `WHY_NOTS`; `OwnAsked` is the pinned state A beside the present state B.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from attnviz.core.progress import Check, never_cancelled
from attnviz.model.edit.chapters import Chapter
from attnviz.model.sites.sites import at, site_names
from attnviz.model.sites.stages import Stages, site_stages
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.trace import Trace
from attnviz.model.why_not import WhyNot
from attnviz.study.claims.own import Answer, answers
from attnviz.study.claims.scope import Scope
from attnviz.study.contrast.contrast import Contrast, Shown, contrast
from attnviz.study.contrast.differences import Difference, differences
from attnviz.study.contrast.next_tokens import NextToken, next_tokens

if TYPE_CHECKING:
    from attnviz.engines.why_not import Compared

Run = Callable[[Experiment, str, str], Trace]
"""Computes an experiment on an engine and a device, by their ids."""

NEXT_TOKENS = 5


@dataclass(frozen=True, eq=False)
class Pinned:
    """The state A: its document with its view, the engine that computes it, its file and its chapter."""

    document: Document
    engine: str
    device: str
    path: Path | None = None
    chapter: int = 0

    @property
    def experiment(self) -> Experiment:
        """The experiment of A."""
        return self.document.experiment

    def compares_with(self, present: Chapter) -> bool:
        """True for a state of the same document, and for another document over the same tokens."""
        is_same = present.number == self.chapter
        return is_same or present.document.experiment.tokens == self.experiment.tokens


@dataclass(frozen=True)
class Where:
    """An attention and one of its heads."""

    site: str
    head: int


@dataclass(frozen=True)
class PreparedAsked:
    """A row of the table, the state, its place, and the order of shuffled tokens."""

    row: WhyNot
    experiment: Experiment
    site: str
    head: int
    seed: int

    def answer(self, engine: str, device: str, run: Run) -> Compared:
        """Compute both sides on the window's engine."""
        from attnviz.engines.why_not import compare

        def on_engine(experiment: Experiment) -> Trace:
            return run(experiment, engine, device)

        return compare(self.row, self.experiment, self.site, self.head, self.seed, on_engine)


@dataclass(frozen=True, eq=False)
class OwnAsked:
    """A beside the present document and its trace, at one stage.

    `drawn` has the numbers that pictures show of it: the trace, or a gradient of the view's target.

    With `follows`, A is shown at the layer and head of B, else at those where it was pinned.
    """

    pinned: Pinned
    document: Document
    trace: Trace
    drawn: Trace
    stage: str
    alignment: str
    follows: bool

    @property
    def where(self) -> tuple[Where, Where]:
        """The places of A and of B."""
        own = Where(self.document.site, self.document.view.head)
        first = self.pinned.document
        if not self.follows:
            return Where(first.site, first.view.head), own
        has_site = own.site in site_names(first.experiment)
        return Where(own.site if has_site else first.site, own.head), own

    @property
    def stages(self) -> tuple[Stages, Stages]:
        """The stages of A and of B at their places; a trace older than the document may lack the latter."""
        a, b = self.where
        return site_stages(at(self.pinned.experiment, a.site)), self.trace.shown(b.site).stages

    @property
    def is_of_values(self) -> bool:
        """True if values are compared, not gradients."""
        return self.drawn is self.trace

    def answer(self, first: Trace, drawn: Trace, check: Check = never_cancelled) -> OwnAnswer:
        """Compare A with B: the trace of A, and what is shown of it. Raises as `contrast` and `check` do."""
        a, b = self.where
        shown = Shown(drawn.site(a.site), a.head), Shown(self.drawn.site(b.site), b.head)
        return OwnAnswer(
            pinned=self.pinned,
            document=self.document,
            where=self.where,
            engines=(first.engine, self.trace.engine),
            contrast=contrast(*shown, self.stage, self.alignment),
            differences=differences(self.pinned.experiment, self.document.experiment),
            next_tokens=next_tokens(first, self.trace, NEXT_TOKENS),
            claims=self._claims(first, check),
        )

    def _claims(self, first: Trace, check: Check) -> tuple[tuple[Answer, Answer], ...]:
        """The claims of both documents, answered in A and in B."""
        claims = dict.fromkeys((*self.pinned.document.claims, *self.document.claims))
        if not claims:
            return ()
        sides = [
            answers(
                claims, Scope(trace, replace(self.document.view, site=where.site, head=where.head)), check
            )
            for trace, where in zip((first, self.trace), self.where, strict=True)
        ]
        return tuple(zip(*sides, strict=True))


@dataclass(frozen=True, eq=False)
class OwnAnswer:
    """The comparison of A and B, without their traces."""

    pinned: Pinned
    document: Document
    where: tuple[Where, Where]
    engines: tuple[str, str]
    contrast: Contrast
    differences: tuple[Difference, ...]
    next_tokens: tuple[NextToken, ...]
    claims: tuple[tuple[Answer, Answer], ...] = ()
