"""The state of the first glance: one query of one head, the sum of its values, and the next tokens."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from attnviz.core.levels import RANGE_BY_ID
from attnviz.core.text import SPACE
from attnviz.engines.decode.run import Decoding
from attnviz.explain.value_sum import word
from attnviz.gui.store import Store
from attnviz.gui.widgets.arcs import ArcsContent
from attnviz.model.links import word_lines
from attnviz.model.operands.matrices import classes_of
from attnviz.model.ranges import shown_range
from attnviz.model.spec.view import Cell, View, query_head
from attnviz.model.text import shown_token
from attnviz.model.trace import SiteTrace, Trace
from attnviz.model.value_sum import ValueSum, value_sum

MOST_NEXT = 4
NEXT_STAGE = "probabilities"
MOST_ROWS = 4
"""Keys of the list beside the query's own; the others are one row."""


@dataclass(frozen=True)
class Next:
    """A next token as it is shown, its probability, and whether it is the one that is generated."""

    label: str
    probability: float
    is_chosen: bool


@dataclass(frozen=True, eq=False)
class GlanceSeen:
    """The numbers of a run at the selected query; `decoding` is that of the player, if it has one."""

    trace: Trace
    site: SiteTrace
    view: View
    decoding: Decoding | None

    @classmethod
    def of(cls, store: Store, *, at_step: bool) -> GlanceSeen:
        """The present state; the store has a run.

        `at_step`: the word of the player's step asks where the panels show steps, as in those beside it.
        """
        assert store.shown_trace is not None
        decoded = store.player.decoded
        is_own = decoded is not None and store.is_of_document(store.trace)
        decoding = decoded.decoding if decoded is not None and is_own else None
        view, row = store.shown_view, store.played_row
        view = replace(view, query=row) if at_step and row >= 0 else view
        return cls(store.shown_trace, store.shown_site, view, decoding)

    @property
    def query(self) -> int:
        """The word that asks."""
        return min(self.view.query, self.last)

    @property
    def last(self) -> int:
        """The last word, after which the model writes."""
        return self.site.shape(self.site.map)[-2] - 1

    @property
    def head(self) -> int:
        """The shown head."""
        return query_head(self.site.experiment, self.view)

    @property
    def asker(self) -> str:
        """The word that asks, inside a sentence."""
        return word(self.site.names("query")[self.query])

    @property
    def is_last(self) -> bool:
        """True if the last word asks."""
        return self.query == self.last

    @cached_property
    def sum(self) -> ValueSum | None:
        """The values that the query mixes; None for weights alone."""
        return value_sum(self.site, self.head, self.query)

    @property
    def is_first_off(self) -> bool:
        """True if the first token is left out of the picture."""
        return RANGE_BY_ID[shown_range(self.site, self.view, self.site.map)].skips_first

    def arcs(self, part: float) -> ArcsContent:
        """The sentence, with the arcs of the weights at a part of the way."""
        lines = word_lines(self.site, self.view, self.site.map, (self.head,)).of_query(self.query)
        weights = None if self.sum is None or part == 1.0 else self.sum.mixed(part)[None]
        following = self.next[0].label if self.is_last and self.next else ""
        chosen = next((one.label for one in self.next if one.is_chosen), following)
        return ArcsContent(
            lines,
            chosen=(self.site.name, self.head),
            is_first_off=self.is_first_off,
            weights=weights,
            following=chosen,
            goes_on=bool(self.next),
        )

    @cached_property
    def next(self) -> tuple[Next, ...]:
        """The most probable tokens after the query; empty without a vocabulary."""
        last = self.trace.site(self.trace.sites[-1])
        row = self.query
        if NEXT_STAGE not in last.stages or classes_of(last.experiment) is not None:
            return ()
        if last.shape(NEXT_STAGE)[-2] <= row:
            return ()
        found = last.window(NEXT_STAGE, 0, slice(row, row + 1))[0]
        labels = last.labels("vocabulary")
        places = np.argsort(-np.asarray(found), kind="stable")[:MOST_NEXT].tolist()
        written = self.written
        if written is not None and written in labels and labels.index(written) not in places:
            places[-1] = labels.index(written)
        vocabulary = self.trace.experiment.vocabulary
        shown = [shown_token(vocabulary, labels[at]) for at in places]
        words = [_word(one) for one in shown]
        return tuple(
            Next(one if words.count(word) > 1 else word, float(found[at]), labels[at] == written)
            for at, one, word in zip(places, shown, words, strict=True)
        )

    @cached_property
    def written(self) -> str | None:
        """The token that the next step of the player generates after the last word; None if none does."""
        steps = () if self.decoding is None else self.decoding.steps
        return steps[self.query].next_token if self.is_last and self.query < len(steps) else None

    @property
    def is_drawn(self) -> bool:
        """True if the generated token is not the most probable one: it was drawn at random."""
        return any(one.is_chosen for one in self.next[1:])

    @property
    def can_write(self) -> bool:
        """True if the player has a step after the query."""
        return self.decoding is not None and self.is_last and self.query + 1 < len(self.decoding.steps)

    def weight_cell(self, key: int) -> Cell:
        """The cell of a weight."""
        return Cell(self.site.map, self.query, key, self.head)

    @property
    def result_cell(self) -> Cell:
        """A cell of the result: its first number."""
        return Cell("mixed", self.query, 0, self.head)

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """The keys of the list: all of few, else those with the largest weights and the query's own."""
        if self.sum is None:
            return ()
        if self.sum.has_few:
            return tuple(np.flatnonzero(~self.sum.hidden).tolist())
        most = self.sum.order[:MOST_ROWS]
        own = (self.sum.own,) if self.sum.own >= 0 and self.sum.own not in most else ()
        return (*most, *own)


def _word(shown: str) -> str:
    """A token without the sign of the space before it."""
    return shown.lstrip(SPACE) or shown
