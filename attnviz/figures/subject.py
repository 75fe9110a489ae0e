"""The subject of a figure: a trace with its view, and what was chosen of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from attnviz.errors import FieldError, among
from attnviz.explain.score_pair import Pair, pair_in_focus
from attnviz.figures.content import Head, SharedEnds
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import View
from attnviz.model.trace import SiteTrace, Trace

if TYPE_CHECKING:
    from attnviz.engines.decode.run import Decoding
    from attnviz.training.run import Run


ALL_SITES = "all"
"""Stands for the name of a site: all of them side by side."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A trace, its view, and the chosen stage, head, site and step; None leaves them to the view.

    `title` names the document. `decoding` computes its decoding; `other` is the state A of a comparison, in
    which this one is B, with tokens beside each other by `alignment`. `shared` are the ends of the colours of
    a sequence. The numbers of `covered` cells (row, column) of the stage stay hidden.
    `run` returns the training whose curves, or kept states, are drawn.
    `part` is that of the way of a sum of values, from the query alone at 0 to its weights at 1.
    """

    trace: Trace
    view: View = View()
    stage: str | None = None
    head: Head = None
    site: str | None = None
    title: str = ""
    caption: str = ""
    decoding: Callable[[], Decoding] | None = None
    other: Subject | None = None
    alignment: str = "position"
    shared: SharedEnds | None = None
    covered: frozenset[tuple[int, int]] = frozenset()
    part: float = 1.0
    run: Callable[[], Run] | None = None

    @property
    def shown_site(self) -> SiteTrace:
        """The chosen attention. Raises `ValueError` naming the existing sites."""
        if self.site in (None, ALL_SITES):
            return self.trace.shown(self.view.site)
        if self.site not in self.trace.sites:
            raise FieldError("site", self.site, among(self.trace.sites))
        return self.trace.site(str(self.site))

    def document(self, whole: Document) -> Document:
        """`whole` as it opens at this picture."""
        site = self.view.site if self.site in (None, ALL_SITES) else self.site
        head = self.head if isinstance(self.head, int) else self.view.head
        seen = replace(self.view, site=site, stage=self.shown_stage, head=head)
        return replace(whole, view=seen)

    @property
    def shown_view(self) -> View:
        """The view with what was chosen."""
        return self.document(Document(self.trace.experiment, self.view)).view

    @property
    def pair(self) -> Pair:
        """The query, the key and the head in focus: the chosen head, else those of the locked cell, or of the
        view.
        """
        seen = self.document(Document(self.trace.experiment, self.view))
        focus = pair_in_focus(replace(seen, view=replace(seen.view, site=self.shown_site.name)), None)
        last = self.shown_site.experiment.heads.n_heads - 1
        return Pair(min(self.head, last), focus.query, focus.key) if isinstance(self.head, int) else focus

    @property
    def checked_stage(self) -> str:
        """The chosen stage. Raises `ValueError` if the chosen attention lacks it."""
        site, stage = self.shown_site, self.shown_stage
        if stage not in site.stages:
            raise FieldError("stage", stage, among(site.stages))
        return stage

    @property
    def shown_stage(self) -> str:
        """The chosen stage."""
        return self.stage or self.view.stage
