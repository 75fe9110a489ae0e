"""Questions of the Compare panel and their answers: frozen records that a worker computes from.

`PreparedAsked` is a row of `WHY_NOTS`; `OwnAsked` is the pinned state A beside the present state B.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import ref

from msgspec.structs import replace

from attnviz.core.progress import Check, Progress
from attnviz.gui.live.answer import Outdated
from attnviz.gui.live.trace import GUI_CORES, execute
from attnviz.model.edit.chapters import Chapter
from attnviz.model.sites.sites import at, site_names
from attnviz.model.sites.stages import Stages, site_stages
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import Trace
from attnviz.model.why_not import WhyNot
from attnviz.study.claims.own import Answer, answers
from attnviz.study.claims.scope import Scope
from attnviz.study.contrast.contrast import Contrast, Shown, contrast
from attnviz.study.contrast.differences import Difference, differences
from attnviz.study.contrast.next_tokens import NextToken, next_tokens

if TYPE_CHECKING:
    from attnviz.engines.why_not import Compared

NEXT_TOKENS = 5

MOST_KEPT = 2**30
"""Largest trace of A, in bytes, that is kept between two comparisons; a larger one is computed each time."""


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
    """A row of the table, the state, its place, the order of shuffled tokens, and where both are computed."""

    row: WhyNot
    experiment: Experiment
    site: str
    head: int
    seed: int
    engine: str
    device: str

    def answer(self, check: Progress) -> Compared:
        """Both sides, computed on the window's engine."""
        from attnviz.engines.why_not import compare

        def run(experiment: Experiment) -> Trace:
            return execute(experiment, self.engine, self.device, check=check, reserve=GUI_CORES)

        return compare(self.row, self.experiment, self.site, self.head, self.seed, run)


@dataclass(frozen=True)
class OwnAsked:
    """A beside the present document and its trace, at one stage.

    `drawn` has the numbers that pictures show of it: the trace, or a gradient of the view's target. Both are
    held weakly: newer numbers take their place. `kept` is the trace of A where it is at hand.

    With `follows`, A is shown at the layer and head of `own`, the place of B, else at those where it was
    pinned.
    """

    pinned: Pinned
    drawn: ref[Trace]
    stage: str
    alignment: str
    follows: bool
    own: Where
    claims: tuple[str, ...]
    document: Document = field(compare=False)
    trace: ref[Trace] = field(compare=False)
    kept: Trace | None = field(compare=False)

    @property
    def where(self) -> tuple[Where, Where]:
        """The places of A and of B."""
        own, first = self.own, self.pinned.document
        if not self.follows:
            return Where(first.site, first.view.head), own
        has_site = own.site in site_names(first.experiment)
        return Where(own.site if has_site else first.site, own.head), own

    @property
    def stages_of_a(self) -> Stages:
        """The stages of A at its place."""
        return site_stages(at(self.pinned.experiment, self.where[0].site))

    def answer(self, check: Progress) -> OwnAnswer:
        """Compare A with B, both by values or both by gradients. Raises as `contrast` and `check` do."""
        from attnviz.compute.execute import execute_shown

        trace, drawn, pinned = self.trace(), self.drawn(), self.pinned
        if trace is None or drawn is None:  # newer numbers took their place
            raise Outdated
        where = pinned.experiment, pinned.engine, pinned.device
        first = drawn_of_a = self.kept or execute(*where, check=check, reserve=GUI_CORES)
        if drawn is not trace:
            experiment, engine, device = where
            drawn_of_a = execute_shown(experiment, self.document.view, engine, device, check, GUI_CORES)
        a, b = self.where
        shown = Shown(drawn_of_a.site(a.site), a.head), Shown(drawn.site(b.site), b.head)
        return OwnAnswer(
            pinned=pinned,
            document=self.document,
            where=self.where,
            engines=(first.engine, trace.engine),
            contrast=contrast(*shown, self.stage, self.alignment),
            differences=differences(pinned.experiment, self.document.experiment),
            next_tokens=next_tokens(first, trace, NEXT_TOKENS),
            claims=self._claims(first, trace, check),
            kept=first if _is_small(pinned.experiment) else None,
        )

    def _claims(self, first: Trace, second: Trace, check: Check) -> tuple[tuple[Answer, Answer], ...]:
        """The claims of both documents, answered in A and in B."""
        claims = dict.fromkeys((*self.pinned.document.claims, *self.document.claims))
        if not claims:
            return ()
        sides = [
            answers(
                claims, Scope(trace, replace(self.document.view, site=where.site, head=where.head)), check
            )
            for trace, where in zip((first, second), self.where, strict=True)
        ]
        return tuple(zip(*sides, strict=True))


@dataclass(frozen=True, eq=False)
class OwnAnswer:
    """The comparison of A and B, without their traces; `kept` is that of A, if the next one is to read it."""

    pinned: Pinned
    document: Document
    where: tuple[Where, Where]
    engines: tuple[str, str]
    contrast: Contrast
    differences: tuple[Difference, ...]
    next_tokens: tuple[NextToken, ...]
    claims: tuple[tuple[Answer, Answer], ...] = ()
    kept: Trace | None = None

    def place(self, cell: Cell | None) -> tuple[int, int] | None:
        """A cell of B on the common axes; None for one of another stage or head."""
        second, where = self.contrast.second, self.where[1]
        if cell is None or cell.stage != self.contrast.stage or (cell.site or where.site) != where.site:
            return None
        if STAGE_BY_ID[cell.stage].per_head and cell.head != second.head:
            return None
        if cell.row not in second.rows or cell.column not in second.columns:
            return None
        return second.rows.index(cell.row), second.columns.index(cell.column)

    def cell(self, row: int, column: int) -> Cell | None:
        """The cell of B at a place of the common axes; None if it has none there."""
        second = self.contrast.second
        own_row, own_column = second.rows[row], second.columns[column]
        if own_row is None or own_column is None:
            return None
        return Cell(self.contrast.stage, own_row, own_column, second.head, self.where[1].site)


def _is_small(experiment: Experiment) -> bool:
    """True if the trace of an experiment may be kept."""
    from attnviz.compute.estimate import estimate
    from attnviz.engines.engine import ITEMSIZE

    return estimate(experiment, ITEMSIZE[experiment.dtype]).bytes <= MOST_KEPT
