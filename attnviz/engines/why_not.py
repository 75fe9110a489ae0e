"""Result of a row of `WHY_NOTS`: two matrices, their difference, and the numbers of its sentence."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core import why_not as core
from attnviz.core.matrix import taken
from attnviz.core.text import elide, number, visible
from attnviz.errors import InputError, Message
from attnviz.i18n import N_, _
from attnviz.model.positions import changes
from attnviz.model.sites.sites import alone, at, put, shown_site
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID, inputs
from attnviz.model.trace import SiteTrace, Trace
from attnviz.model.why_not import MASK_BIAS, WIDE, WhyNot, permuted

Floats = NDArray[np.float64]
Run = Callable[[Experiment], Trace]
Facts = Mapping[str, str]

MOST_TOKENS = 512
"""Largest number of tokens in a comparison: a larger one is neither legible nor fast."""

STEPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""The distance from 1 to the next number."""

LONGEST_TOKEN, LONGEST_TEXT = 14, 40


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two matrices, (rows, columns): its blocked cells, and its attention."""

    values: Floats
    blocked: NDArray[np.bool_] | None
    site: Site


@dataclass(frozen=True, eq=False)
class Compared:
    """The answer for one row. Labels are those of both sides.

    `facts` are the numbers of the sentence, `words` messages in it, translated when it is read.
    """

    row: WhyNot
    left: Side
    right: Side
    row_labels: tuple[str, ...]
    column_labels: tuple[str, ...]
    facts: Facts
    words: Facts
    is_equal: bool
    documents: tuple[Experiment, Experiment] = field(repr=False)

    @property
    def difference(self) -> Floats:
        """Right minus left."""
        with np.errstate(invalid="ignore"):  # infinite on both sides: NaN, as it is shown
            return np.asarray(self.right.values - self.left.values)

    @property
    def is_undefined(self) -> bool:
        """True if a side has numbers that are not finite, apart from the NaN of the row itself."""
        sides = (self.left,) if self.row.shows_nan else (self.left, self.right)
        return not all(np.isfinite(side.values).all() for side in sides)

    @property
    def greatest(self) -> float:
        """The greatest size of a difference; NaN where one of the two is."""
        return float(np.max(np.abs(self.difference), initial=0.0))

    def greatest_text(self) -> str:
        """The greatest difference as it is written."""
        return shown(self.greatest)

    def sentence(self) -> str:
        """Meaning of the difference, in the active language."""
        row = self.row
        if self.is_undefined:
            says = _(
                "Nothing can be concluded: {left} (left) and {right} (right) of {n} numbers are not finite."
            )
            counts = [int(np.count_nonzero(~np.isfinite(side.values))) for side in (self.left, self.right)]
            return says.format(left=counts[0], right=counts[1], n=self.left.values.size)
        text = row.when_equal if self.is_equal and row.when_equal else row.sentence
        words = {name: _(word) for name, word in self.words.items()}
        return _(text).format(**self.facts, **words, difference=self.greatest_text())


def shown(value: float) -> str:
    """A difference with three digits: fixed if it is large enough, else with an exponent."""
    if value == 0:
        return "0"
    if math.isfinite(value) and 0 < abs(value) < 1e-3:
        return f"{value:.1e}".replace("-", "\N{MINUS SIGN}")
    return number(value, 3)


def compare(row: WhyNot, experiment: Experiment, site: str, head: int, seed: int, run: Run) -> Compared:
    """Compute one row from the site `site` of `experiment`; `seed` chooses the order of shuffled tokens.

    Raises `ValueError` for more than `MOST_TOKENS` tokens, and as `run` does.
    """
    site = shown_site(experiment, site)
    attention = at(experiment, site)
    most = max(attention.n_queries, attention.n_keys)
    if most > MOST_TOKENS:
        raise InputError(
            Message("A comparison must have at most {most} tokens; got {n}.", most=MOST_TOKENS, n=most)
        )
    left, right = row.pair(attention)
    if row.is_alone:
        documents = alone(left), alone(right)
        pair = alone(_lonely(left)), alone(_lonely(right))
        site = ""
    else:
        pair = documents = put(experiment, left), put(experiment, right)
    case = _Case(row, pair, documents, site, min(head, left.heads.n_heads - 1), seed, run)
    with np.errstate(all="ignore"):  # non-finite numbers are shown as they are
        return _HOW[row.how](case)


def _lonely(site: Site) -> Site:
    """The attention without what stands around it."""
    return site.changed(block=None, readout="none", final_norm=None)


@dataclass(frozen=True)
class _Case:
    """Common inputs of all comparisons: two whole experiments, the selected site and head."""

    row: WhyNot
    pair: tuple[Experiment, Experiment]
    documents: tuple[Experiment, Experiment]
    site: str
    head: int
    seed: int
    run: Run

    def traced(self, experiment: Experiment) -> SiteTrace:
        return self.run(experiment).shown(self.site)

    def window(self, site: SiteTrace, stage: str) -> Floats:
        """One head of a stage in float64; of key/value heads the one that the chosen head reads."""
        by_group = STAGE_BY_ID[stage].axes[0] == "kv_head"
        heads = site.experiment.heads
        head = min(self.head, heads.n_heads - 1)
        head = head // heads.group_size if by_group else head
        return np.asarray(taken(site.matrix(stage, head)), np.float64)  # of at most `MOST_TOKENS` tokens

    def scores(self, site: SiteTrace) -> Floats:
        """The scores as they are before any mask."""
        return self.window(site, site.unmasked)

    def answer(
        self, left: Side, right: Side, columns: tuple[str, ...], facts: Facts, words: Facts | None = None
    ) -> Compared:
        eps = STEPS[self.pair[0].dtype]
        size = np.nanmax(np.abs(left.values), initial=1.0)
        differ = np.abs(right.values - left.values)
        is_equal = bool((differ <= 64 * eps * size).all())
        labels = right.site.tokens
        return Compared(self.row, left, right, labels, columns, facts, words or {}, is_equal, self.documents)


def _of_stage(case: _Case) -> Compared:
    """The same stage of both."""
    sites = [case.traced(experiment) for experiment in case.pair]
    left, right = (
        Side(case.window(site, case.row.stage), site.hatched(case.row.stage), site.experiment)
        for site in sites
    )
    facts = _FACTS[case.row.id](case, sites[0], sites[1], left.values, right.values)
    return case.answer(left, right, sites[0].experiment.key_tokens, facts)


def _of_product(case: _Case) -> Compared:
    """softmax(S) V, and softmax over the features of S V."""
    site = case.traced(case.pair[0])
    values = case.window(site, inputs("mixed", site.stages)[-1])
    left = Side(case.window(site, "mixed"), None, site.experiment)
    right = Side(core.softmax_of_product(case.scores(site), values), None, site.experiment)
    features = tuple(map(str, range(values.shape[1])))
    n, d = left.values.shape
    return case.answer(left, right, features, {"n": str(n), "m": str(len(values)), "d": str(d)})


def _of_rounding(case: _Case) -> Compared:
    """Weights with −∞, and with a number added to scores that are held in float16."""
    site = case.traced(case.pair[0])
    hidden, scores = site.blocked(), case.scores(site)
    assert hidden is not None  # the pair has a mask
    half = core.add_to_blocked(scores, hidden, MASK_BIAS, np.float16)
    left = Side(case.window(site, site.raw_map), site.blocked(), site.experiment)
    right = Side(core.softmax_in(half), None, site.experiment)
    row = int(np.argmax(hidden.all(axis=1)))
    single = core.add_to_blocked(scores, hidden, MASK_BIAS, np.float32)
    facts = {
        "token": token(site.experiment, row),
        "before": str(len(np.unique(scores[row]))),
        "after": str(len(np.unique(half[row]))),
        "single": str(len(np.unique(single[row]))),
    }
    return case.answer(left, right, site.experiment.key_tokens, facts)


def _of_order(case: _Case) -> Compared:
    """The output with its rows moved, and the output of the tokens in that order."""
    plain = case.pair[0]
    order = core.shuffled(plain.n_queries, case.seed)
    moved = permuted(plain, order)
    here, there = case.traced(plain), case.traced(moved)
    stage = case.row.stage
    left = Side(case.window(here, stage)[list(order)], None, here.experiment)
    right = Side(case.window(there, stage), None, there.experiment)
    facts = {"text": elide(" ".join(map(visible, moved.tokens)), LONGEST_TEXT)}
    what = N_("The mask") if changes(here.experiment.position) == "nothing" else N_("The position")
    features = tuple(map(str, range(left.values.shape[1])))
    documents = case.documents[0], permuted(case.documents[0], order)
    case = dataclasses.replace(case, documents=documents)
    return case.answer(left, right, features, facts, {"what": what})


_HOW: dict[str, Callable[[_Case], Compared]] = {
    "stage": _of_stage,
    "product": _of_product,
    "rounded": _of_rounding,
    "permuted": _of_order,
}


# --- the numbers of the sentences ------------------------------------------------------------------


def token(site: Site, row: int) -> str:
    """A query's token, short."""
    return elide(visible(site.tokens[row]), LONGEST_TOKEN)


def _late(case: _Case, left: SiteTrace, right: SiteTrace, early: Floats, late: Floats) -> dict[str, str]:
    sums = late.sum(axis=1)
    row = int(np.argmin(sums))
    return {
        "least": shown(float(sums.min())),
        "most": shown(float(sums.max())),
        "lost": shown(float(early[row].sum() - sums[row])),
        "token": token(left.experiment, row),
    }


def _empty(case: _Case, left: SiteTrace, right: SiteTrace, zeros: Floats, nan: Floats) -> dict[str, str]:
    rows = np.isnan(np.asarray(right.window("attention_output"))).any(axis=1)
    return {
        "token": token(left.experiment, int(np.argmax(right.fully_masked()))),
        "count": str(int(rows.sum())),
        "n": str(len(rows)),
    }


def _scale(case: _Case, left: SiteTrace, right: SiteTrace, even: Floats, sharp: Floats) -> dict[str, str]:
    raw = case.window(left, "scores")
    return {
        "wide": number(float(raw.std()), 1),
        "narrow": number(float(raw.std()) / math.sqrt(WIDE), 2),
        "left_bits": number(float(core.entropy_bits(even).mean()), 2),
        "right_bits": number(float(core.entropy_bits(sharp).mean()), 2),
        "most_bits": number(math.log2(even.shape[1]), 2),
    }


def _both(case: _Case, left: SiteTrace, right: SiteTrace, shared: Floats, own: Floats) -> dict[str, str]:
    """Of the row whose second-best weight is the greatest."""
    if shared.shape[1] < 2:
        order, row = np.array([0, 0]), 0
    else:
        row = int(np.argmax(np.sort(shared, axis=1)[:, -2]))
        order = np.argsort(shared[row])[::-1][:2]
    first, second = (int(index) for index in order)
    return {
        "token": token(left.experiment, row),
        "first": shown(float(shared[row, first])),
        "second": shown(float(shared[row, second])),
        "own_first": shown(float(own[row, first])),
        "own_second": shown(float(own[row, second])),
    }


_FACTS: dict[str, Callable[[Any, SiteTrace, SiteTrace, Floats, Floats], dict[str, str]]] = {
    "late-mask": _late,
    "empty-row": _empty,
    "scale": _scale,
    "both-near-one": _both,
}
