"""The trace of one run: named, read-only arrays, addressed by site and stage.

A site is one attention of one layer, such as `layers.0.self`. Arrays come in public order: (head, query, key)
for scores, (head, token, feature) per head, (token, feature) for the rest. Score-shaped stages and those by
token that are not stored are computed for the requested window. Panels, figures and studies take them as a
window, as an overview, or as a matrix that they read in windows: the source of a long text may compute no
more at once.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from attnviz.core.matrix import AnyMatrix, Matrix
from attnviz.core.overview import overview
from attnviz.core.text import isolated, visible
from attnviz.errors import FieldError, Message, UnknownName, among, whole_number
from attnviz.i18n import _
from attnviz.model.binding import bind
from attnviz.model.notebook import html
from attnviz.model.operands.matrices import classes_of
from attnviz.model.sites.sites import shown_site
from attnviz.model.sites.stages import (
    axis_labels,
    head_and_token,
    map_of,
    n_matrices,
    raw_map_of,
    stage_shape,
)
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Quantity
from attnviz.model.spec.vocabulary import Vocabulary
from attnviz.model.stages import AXIS_NAMES, STAGE_BY_ID, Axis, since
from attnviz.model.text import written_tokens

Numbers = NDArray[Any]
Bools = NDArray[np.bool_]

MASKED_STAGES = since("masked")
"""Stages in which cells that a mask blocks have no number of their own."""

CUT_STAGES = since("added")
"""Stages in which cells that the additive mask blocks have none."""

ALL = slice(None)

ANY_CELLS = sys.maxsize
"""`most_cells` of a source whose windows may be of any size."""

KEPT_BYTES = 256 * 1024**2
"""Bytes of whole-head windows that a site remembers, so that looking again costs nothing."""


class StageSource(Protocol):
    """Source of a site's numbers: an engine that holds the arrays of a run."""

    stages: tuple[str, ...]
    """Ids of the stages, in data-flow order."""

    most_cells: int
    """Most cells of one head of a score-shaped stage that a window may have; a row or column always fits."""

    def window(self, stage: str, head: int, rows: slice, columns: slice) -> Numbers:
        """Part of one stage, (rows, columns) of one head, as a NumPy array."""

    def blocked(self, rows: slice, columns: slice) -> NDArray[np.bool_] | None:
        """Cells that the masks block, (query, key); None without masks."""


@dataclass(frozen=True)
class Origin:
    """A stage of another site that equals an input of this site, cell by cell."""

    site: str
    stage: str


class SiteTrace:
    """The stages of one attention.

    `given` says where a site has its `layer_input` and its encoded `memory` from, and which site begins with
    the token vectors (`tokens_embedded`) where this one does not. `quantity` says which numbers these are:
    the values of the stages, their gradients, or both multiplied.
    """

    quantity: Quantity = "value"
    vocabulary: Vocabulary | None = None
    """That of the experiment, which writes the tokens."""

    def __init__(
        self,
        name: str,
        site: Site,
        source: StageSource,
        given: Mapping[str, Origin] | None = None,
    ) -> None:
        self.name = name
        self.experiment = site
        self.given = dict(given or {})
        self._source = source
        self._kept: dict[tuple[str, int], Numbers] = {}
        self._overviews: dict[tuple[str, int], tuple[Numbers, Bools | None]] = {}
        self._means: dict[str, AnyMatrix] = {}
        self._matrices: dict[tuple[str, int], Matrix] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._hidden: Bools | None = None
        self._cuts: Bools | None = None
        self.stages = source.stages
        """Ids of the stages that this site has, in data-flow order."""
        self.most_cells = source.most_cells

    def is_signed(self, stage: str) -> bool:
        """True if numbers of a stage may have either sign: zero is the middle of their colours."""
        return STAGE_BY_ID[stage].signed

    def called(self, stage: str) -> str:
        """Name of the numbers of a stage."""
        return _(STAGE_BY_ID[stage].title)

    def called_at(self, stage: str, head: int) -> str:
        """The name of the numbers of one matrix: with its token where a head has one for each."""
        if not STAGE_BY_ID[stage].by_token:
            return self.called(stage)
        token = self.names("token")[self.head_and_token(stage, head)[1]]
        return _("{stage} at “{token}”").format(stage=self.called(stage), token=isolated(visible(token)))

    def has_shares(self, stage: str) -> bool:
        """True if the rows of a stage are shares of one, so that their sums inform."""
        return self.quantity == "value" and STAGE_BY_ID[stage].has_sums

    @property
    def map(self) -> str:
        """The stage that is the map: the coefficients with which the queries mix the values."""
        return map_of(self.stages)

    @property
    def raw_map(self) -> str:
        """The map as it is before a dropout or a difference: what panels open with and studies measure."""
        return raw_map_of(self.stages)

    @property
    def unmasked(self) -> str:
        """The last stage of the scores before a mask."""
        scores = (stage for stage in self.stages if STAGE_BY_ID[stage].phase == "scores")
        return [stage for stage in scores if stage not in MASKED_STAGES][-1]

    def shown_stage(self, wanted: str) -> str:
        """A stage, or the map where the site lacks it."""
        return wanted if wanted in self.stages else self.raw_map

    def shape(self, stage: str) -> tuple[int, ...]:
        """Public shape of a stage. Raises `KeyError` naming the existing stages."""
        shape = self._shapes.get(stage)
        if shape is None:
            shape = self._shapes[stage] = stage_shape(self.experiment, self._known(stage))
        return shape

    def n_matrices(self, stage: str) -> int:
        """The number of matrices of a stage: 1 without heads."""
        return n_matrices(self.experiment, self._known(stage))

    def number_of(self, stage: str, head: int, token: int) -> int:
        """The number of a matrix: the head, except where each head has one for every token."""
        n_tokens = self.shape(stage)[1]
        return head * n_tokens + min(token, n_tokens - 1) if STAGE_BY_ID[stage].by_token else head

    def head_and_token(self, stage: str, head: int) -> tuple[int, int]:
        """The head and the token of a matrix, by the number that `window` takes."""
        return head_and_token(self.experiment, stage, head)

    def window(self, stage: str, head: int = 0, rows: slice = ALL, columns: slice = ALL) -> Numbers:
        """One head's (rows, columns) of a stage, read-only; head is ignored without heads.

        For `kv_head` stages `head` counts key/value heads; of a stage by token it is the number of a matrix,
        head · tokens + token. Raises `KeyError`, `IndexError`.
        """
        n_heads = self.n_matrices(stage)
        head = head if STAGE_BY_ID[stage].per_head else 0
        if not 0 <= head < n_heads:
            raise IndexError(str(FieldError("head", head, whole_number(0, n_heads - 1))))
        if rows != ALL or columns != ALL:
            kept = self._kept.get((stage, head))
            part = kept[rows, columns] if kept is not None else self._read(stage, head, rows, columns)
            return part
        whole = self._kept.get((stage, head))
        return self._keep(stage, head) if whole is None else whole

    def _keep(self, stage: str, head: int) -> Numbers:
        """Read one head of a stage and keep it; drop the oldest ones past `KEPT_BYTES`."""
        whole = self._kept[stage, head] = self._read(stage, head, ALL, ALL)
        kept = list(self._kept.items())  # the window and its worker may both keep what they have read
        excess = sum(array.nbytes for _key, array in kept) - KEPT_BYTES
        for key, array in kept[:-1]:
            if excess <= 0:
                break
            self._kept.pop(key, None)
            excess -= array.nbytes
        return whole

    def __getitem__(self, stage: str) -> Numbers:
        """A whole stage in public order, read-only. Raises `KeyError` naming the existing stages."""
        if not STAGE_BY_ID[self._known(stage)].per_head:
            return self.window(stage)
        matrices = [self._read(stage, head, ALL, ALL) for head in range(self.n_matrices(stage))]
        whole = np.stack(matrices).reshape(self.shape(stage))
        whole.setflags(write=False)
        return whole

    def blocked(self, rows: slice = ALL, columns: slice = ALL) -> NDArray[np.bool_] | None:
        """Cells that the masks block, for every head; None without masks."""
        if rows != ALL or columns != ALL:
            return self._source.blocked(rows, columns)
        if self._hidden is None:
            self._hidden = self._source.blocked(ALL, ALL)
        return self._hidden

    def overview(self, stage: str, head: int = 0) -> tuple[Numbers, Bools | None]:
        """One head of a stage and its blocked cells, small enough for a thumbnail; cached."""
        if (stage, head) not in self._overviews:
            hidden = self.hatched(stage, head)
            self._overviews[stage, head] = overview(self.matrix(stage, head), hidden)
        return self._overviews[stage, head]

    def matrix(self, stage: str, head: int = 0, *, keep: bool = True) -> AnyMatrix:
        """One head's (rows, columns) of a stage, which is read in windows past `most_cells` of the source.

        `keep`: what is at hand stays so for the next reader; a worker that reads every head once keeps none.
        """
        n_rows, n_columns = self.shape(stage)[-2:]
        if not self._is_long(stage):
            return (
                self.window(stage, head)
                if keep
                else self.window(stage, head, slice(n_rows), slice(n_columns))
            )
        if (stage, head) not in self._matrices:
            read = partial(self.window, stage, head)
            dtype = read(slice(1), slice(1)).dtype
            self._matrices[stage, head] = Matrix((n_rows, n_columns), dtype, read, self.most_cells)
        return self._matrices[stage, head]

    def _is_long(self, stage: str) -> bool:
        n_rows, n_columns = self.shape(stage)[-2:]
        return STAGE_BY_ID[stage].score_shaped and n_rows * n_columns > self.most_cells

    def mean(self, stage: str, *, keep: bool = True) -> AnyMatrix:
        """Mean of a stage over its heads, (rows, columns), float64, read-only; `keep` as of `matrix`."""
        mean = self._means.get(stage)
        if mean is None:
            n_rows, n_columns = self.shape(stage)[1:]
            if self._is_long(stage):
                read = partial(self._mean_of, stage)
                mean = Matrix((n_rows, n_columns), np.dtype(np.float64), read, self.most_cells)
            else:
                mean = self._mean_of(stage, slice(n_rows), slice(n_columns))
            if keep:
                self._means[stage] = mean
        return mean

    def _mean_of(self, stage: str, rows: slice, columns: slice) -> Numbers:
        heads = range(self.shape(stage)[0])
        total = np.zeros(self.window(stage, 0, rows, columns).shape)
        for head in heads:
            total += self.window(stage, head, rows, columns)
        total /= len(heads)
        total.setflags(write=False)
        return total

    def hatched(self, stage: str, head: int | None = None) -> NDArray[np.bool_] | None:
        """Cells of a stage that are drawn as blocked in one head, or in all of them; None if all count.

        With a mask bias, blocked cells have small weights above 0: they are drawn. A −∞ of the additive mask
        blocks in the heads that have it.
        """
        counts = stage not in MASKED_STAGES or stage != MASKED_STAGES[0] and self.experiment.adds_to_blocked
        if stage not in CUT_STAGES:
            return None
        read: tuple[int, ...] = ()
        if head is not None:
            read = bind(self.experiment, stage).heads_with(head) or ()
        return self.unseen(*read, by_masks=not counts)

    def unseen(self, *heads: int, rows: slice = ALL, by_masks: bool = True) -> Bools | None:
        """Cells that the masks, unless not `by_masks`, or a −∞ of the additive mask in all of these heads
        (none: in all of the site) block, (query, key); None without any.
        """
        hidden, cuts = self.blocked(rows) if by_masks else None, self._cut()
        if cuts is None:
            return hidden
        cut = np.asarray((cuts[list(heads)] if heads and len(cuts) > 1 else cuts)[:, rows].all(axis=0))
        if not cut.any():
            return hidden
        return cut if hidden is None else np.logical_or(hidden, cut)

    def _cut(self) -> Bools | None:
        """True where the additive mask is −∞, (1 or head, query, key); None without one; cached."""
        mask = self.experiment.additive_mask
        if mask is not None and self._cuts is None:
            self._cuts = np.isneginf(mask.fitted(*self.shape(self.raw_map)))
        return self._cuts

    def later(self, stage: str) -> NDArray[np.bool_] | None:
        """Hatched cells of tokens that are not generated yet; None if all tokens are known."""
        return None

    def fully_masked(self) -> NDArray[np.bool_]:
        """True for the queries without a visible key, perhaps in one head alone; shape (query,)."""
        hidden, is_cut = self.blocked(), self._cut()
        if is_cut is not None:
            return np.asarray((is_cut if hidden is None else is_cut | hidden).all(axis=2).any(axis=0))
        if hidden is None:
            return np.zeros(self.experiment.n_queries, dtype=np.bool_)
        return np.asarray(hidden.all(axis=1))

    def labels(self, axis: str) -> tuple[str, ...]:
        """Names along one axis: tokens for tokens, queries, keys; the distinct tokens; else numbers."""
        return axis_labels(self.experiment, axis)

    def names(self, axis: str) -> tuple[str, ...]:
        """The labels of an axis as they are written in a text: " the" for a token "Ġthe" of a model."""
        return written_tokens(self.vocabulary, self.labels(axis))

    def axis_name(self, axis: Axis) -> str:
        """The name of an axis, in the present language."""
        is_of_classes = axis == "vocabulary" and classes_of(self.experiment) is not None
        return _("class") if is_of_classes else _(AXIS_NAMES[axis])

    def all_labels(self, axis: str) -> tuple[str, ...]:
        """The labels that an axis has in the end, while a sequence grows."""
        return self.labels(axis)

    def _read(self, stage: str, head: int, rows: slice, columns: slice) -> Numbers:
        values = self._source.window(stage, head, rows, columns)
        values.setflags(write=False)
        return values

    def _known(self, stage: str) -> str:
        if stage not in self.stages:
            raise UnknownName("stage", stage, among(self.stages))
        return stage


class Trace:
    """The result of one run. `engine` and `device` say where; `seconds` how long; `notices` what to know."""

    def __init__(
        self,
        experiment: Experiment,
        sites: tuple[SiteTrace, ...],
        *,
        engine: str,
        device: str,
        seconds: float,
        notices: tuple[Message, ...] = (),
    ) -> None:
        self.experiment = experiment
        self.engine = engine
        self.device = device
        self.seconds = seconds
        self.notices = notices
        self._sites = {site.name: site for site in sites}
        if experiment.vocabulary is not None:
            for site in sites:
                site.vocabulary = experiment.vocabulary

    def under(self, experiment: Experiment) -> Trace:
        """The same numbers for an experiment with the same ones, whose generation differs."""
        sites = tuple(self._sites.values())
        where = {"engine": self.engine, "device": self.device}
        return Trace(experiment, sites, **where, seconds=self.seconds, notices=self.notices)

    def noticed(self, notice: Message) -> Trace:
        """The same numbers with one more notice."""
        trace = self.under(self.experiment)
        trace.notices = (*self.notices, notice)
        return trace

    def _repr_html_(self) -> str | None:
        return html(self)

    @property
    def sites(self) -> tuple[str, ...]:
        """Names of the sites, in data-flow order."""
        return tuple(self._sites)

    def site(self, name: str) -> SiteTrace:
        """One site by name. Raises `KeyError` naming the existing sites."""
        if name not in self._sites:
            raise UnknownName("site", name, among(self._sites))
        return self._sites[name]

    def shown(self, name: str) -> SiteTrace:
        """The site of that name, or the main one if it does not exist: the selected site."""
        return self._sites[shown_site(self.experiment, name)]

    @property
    def only(self) -> SiteTrace:
        """The site of a trace with a single one. Raises `KeyError` if it has several."""
        if len(self._sites) != 1:
            raise UnknownName("site", None, among(self._sites))
        return next(iter(self._sites.values()))

    def having(self, stage: str) -> SiteTrace:
        """The only site that has a stage. Raises `KeyError` if none or several have it."""
        having = {name: site for name, site in self._sites.items() if stage in site.stages}
        if len(having) > 1:
            raise UnknownName("site", None, among(having))
        if not having:
            stages = dict.fromkeys(stage for site in self._sites.values() for stage in site.stages)
            raise UnknownName("stage", stage, among(stages))
        return next(iter(having.values()))

    def __getitem__(self, stage: str) -> Numbers:
        """A whole stage of the only site that has it."""
        return self.having(stage)[stage]

    def window(self, stage: str, head: int = 0, rows: slice = ALL, columns: slice = ALL) -> Numbers:
        """A window of the only site that has a stage; see `SiteTrace.window`."""
        return self.having(stage).window(stage, head, rows, columns)
