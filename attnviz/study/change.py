"""The change that heads switched off and numbers by hand make: next token, loss, scores and maps.

Both runs are compared as a whole: the document's, and that of the document with all heads on and no number by
hand (`intact`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from attnviz.compute.execute import execute
from attnviz.core.head_scores import HEAD_SCORE_BY_ID, HeadScore
from attnviz.core.matrix import windows
from attnviz.core.progress import Check, never_cancelled, progress_of
from attnviz.engines.engine import Engine
from attnviz.engines.patches import Patch
from attnviz.engines.run import trace_of
from attnviz.errors import InputError, Message
from attnviz.model.edit.intact import intact, off_heads, switch_all_on
from attnviz.model.masks import sees_later
from attnviz.model.operands.matrices import classes_of
from attnviz.model.sites.sites import at
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.view import View
from attnviz.model.trace import SiteTrace, Trace
from attnviz.study.ablation import PART_BY_ID, REPLACEMENT_BY_ID
from attnviz.study.claims.scope import Scope, value_of
from attnviz.study.contrast.next_tokens import NextToken, next_tokens
from attnviz.study.heads.tiles import score_of
from attnviz.study.passes import Passes, on_engine

NAMED = 3
"""Next tokens and maps that are named."""


@dataclass(frozen=True)
class OfHead:
    """A number of one head of one attention."""

    site: str
    head: int
    value: float


@dataclass(frozen=True, eq=False)
class Change:
    """Before and after. What is absent is None or empty, for the reason in `why_no_text` or `why_no_score`.

    `tokens` are the most probable next tokens of either run. `losses` are means over the `n_predicted` tokens
    that follow another. `best` are the heads with the largest `score`; heads that are off do not count after.
    `maps` have the largest change of a weight, the most changed ones first.
    """

    tokens: tuple[NextToken, ...]
    losses: tuple[float, float] | None
    n_predicted: int
    why_no_text: Message | None
    score: str
    best: tuple[OfHead, OfHead] | None
    why_no_score: Message | None
    maps: tuple[OfHead, ...]


def change(
    now: Trace,
    by: str = "zero",
    score: str = "induction",
    *,
    check: Check = never_cancelled,
    reserve: int = 0,
) -> Change:
    """Compare a run with that of its intact experiment, on the same engine.

    `by` is an id of `REPLACEMENTS` that needs no other text: with "mean", each head that is off adds its mean
    over the positions of the intact run in the place of zero. `score` is an id of `HEAD_SCORES`.
    """
    progress, experiment = progress_of(check), now.experiment
    whole = intact(experiment)
    before = execute(whole, now.engine, now.device, check=progress.part(0.0, 0.3), reserve=reserve)
    off = off_heads(experiment)
    if off and by != "zero":
        now = _replaced(before, switch_all_on(experiment), off, by, now)
    tokens, losses, why_no_text = _texts(before, now)
    row = HEAD_SCORE_BY_ID[score]
    best, maps = _of_heads(before, now, row, frozenset(off), progress.part(0.3, 1.0))
    asks_more = Message("The text has nothing that this score measures, such as a token said twice.")
    return Change(
        tokens=tokens,
        losses=losses,
        n_predicted=experiment.n_queries - 1,
        why_no_text=why_no_text,
        score=score,
        best=best,
        why_no_score=None if best is not None else asks_more,
        maps=maps,
    )


def _replaced(
    before: Trace, experiment: Experiment, off: tuple[tuple[str, int], ...], by: str, now: Trace
) -> Trace:
    """The run with numbers of the intact run in the place of what these heads add."""
    stage = PART_BY_ID["heads"].stage
    patches = [
        Patch(name, stage, REPLACEMENT_BY_ID[by].of(before.site(name).window(stage, head), None), (head,))
        for name, head in off
    ]

    def job(engine: Engine) -> Trace:
        passes = Passes(engine, experiment)
        return trace_of(engine, experiment, passes.patched(patches), 0.0)

    return on_engine(experiment, job, now.engine, now.device, passes=3)


def _texts(
    before: Trace, now: Trace
) -> tuple[tuple[NextToken, ...], tuple[float, float] | None, Message | None]:
    """The next tokens and the losses, or why both are absent."""
    last = at(now.experiment, now.sites[-1])
    if "probabilities" not in now.site(now.sites[-1]).stages:
        return (), None, Message("The document has no vocabulary to predict tokens from.")
    if classes_of(now.site(now.sites[-1]).experiment) is not None:
        return (), None, Message("A classifier predicts no next token.")
    own = (at(now.experiment, name) for name in now.sites)
    if any(sees_later(site) for site in own if site.memory is None and site.place.stack == last.place.stack):
        return (), None, Message("Each token sees later ones, so the model predicts no next token.")
    tokens = next_tokens(before, now, NAMED)
    try:
        losses = _loss(before), _loss(now)
    except InputError as error:
        return tokens, None, error.message
    return tokens, losses, None


def _loss(trace: Trace) -> float:
    return value_of("loss", Scope(trace, View()))


def _of_heads(
    before: Trace, now: Trace, row: HeadScore, off: frozenset[tuple[str, int]], check: Check
) -> tuple[tuple[OfHead, OfHead] | None, tuple[OfHead, ...]]:
    """The heads with the largest score before and after, and the maps that changed most."""
    progress = progress_of(check)
    scores: tuple[list[OfHead], list[OfHead]] = ([], [])
    maps = list[OfHead]()
    for index, name in enumerate(now.sites):
        progress.at(index / len(now.sites))
        first, second = before.site(name), now.site(name)
        for head in range(second.experiment.heads.n_heads):
            maps.append(OfHead(name, head, largest_change(first, second, head)))
            scores[0].append(OfHead(name, head, score_of(first, head, row)))
            if (name, head) not in off:
                scores[1].append(OfHead(name, head, score_of(second, head, row)))
    best = [max(filter(_is_known, of), key=_value, default=None) for of in scores]
    changed = sorted((one for one in maps if one.value > 0), key=_value, reverse=True)
    both = None if best[0] is None or best[1] is None else (best[0], best[1])
    return both, tuple(changed[:NAMED])


def largest_change(first: SiteTrace, second: SiteTrace, head: int) -> float:
    """The largest |Δ| of one head's weights; 0 where none is a number."""
    return max(_changes(first, second, head), default=0.0)


def _changes(first: SiteTrace, second: SiteTrace, head: int) -> Iterator[float]:
    sides = [windows(site.matrix(site.raw_map, head, keep=False)) for site in (first, second)]
    for (_rows, a), (_same, b) in zip(*sides, strict=True):
        with np.errstate(invalid="ignore"):
            yield float(np.nan_to_num(np.abs(np.subtract(b, a, dtype=np.float64)), nan=0.0).max(initial=0.0))


def _value(one: OfHead) -> float:
    return one.value


def _is_known(one: OfHead) -> bool:
    return not math.isnan(one.value)
