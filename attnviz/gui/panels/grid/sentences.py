"""The sentence below the grid of heads: of one head, or of those that matter most."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from attnviz.core.head_scores import HEAD_SCORE_BY_ID
from attnviz.core.phrases import enumerated
from attnviz.core.text import isolated, number, signed, visible
from attnviz.i18n import _
from attnviz.model.text import shown_token
from attnviz.model.trace import Trace
from attnviz.study.heads.search import Found
from attnviz.study.heads.tiles import Facts

if TYPE_CHECKING:
    from attnviz.study.ablation import Effects

MOST_NAMED = 3
"""Heads that are named by their score or their effect."""

Named = Callable[[str, int], str]
"""The title of a head, by its site and its number."""


def of_facts(facts: Facts | None, first: str) -> list[str]:
    """The key that gets most weight, and the scores; nothing before they arrive.

    `first` is the score that stands before all others, since the end of the line may be cut.
    """
    if facts is None:
        return []
    scores = {
        id_: f"{_(HEAD_SCORE_BY_ID[id_].title)} {number(score, 2)}"
        for id_, score in facts.scores.items()
        if not math.isnan(score)
    }
    parts = [scores.pop(first)] if first in scores else []
    if facts.look is not None:
        attends = _("attends most to “{key}”: {weight} on average")
        key = isolated(visible(facts.look.key))
        parts.append(attends.format(key=key, weight=number(facts.look.weight, 3)))
    return parts + list(scores.values())


def of_best(score: str, heads: Sequence[tuple[str, int, float]], named: Named) -> str:
    """The heads with the largest values of a score."""
    best = sorted(heads, key=lambda one: -one[2])[:MOST_NAMED]
    titles = [f"{named(site, head)} {number(value, 3)}" for site, head, value in best]
    title = _(HEAD_SCORE_BY_ID[score].title)
    return _("Largest {score}: {heads}").format(score=title, heads=enumerated(titles))


def of_effects(effects: Effects, trace: Trace, only: tuple[str, int] | None, named: Named) -> str:
    """The change of the logit without one head, else without those that change it most."""
    changes = [
        (float(change), site, head)
        for site, values in effects.values.items()
        for head, change in enumerate(values)
        if only in (None, (site, head))
    ]
    changes.sort(key=lambda one: -abs(one[0]))
    titles = [f"{named(site, head)} {signed(change)}" for change, site, head in changes[:MOST_NAMED]]
    return _("The logit of “{token}” is {base}; without the head: {changes}").format(
        token=isolated(shown_token(trace.experiment.vocabulary, effects.target.token)),
        base=number(effects.base, 3),
        changes=enumerated(titles),
    )


def of_found(hit: Found, trace: Trace, named: Named) -> str:
    """The head, the two words and the weight between them."""
    site = trace.site(hit.site)
    query, key = site.names("query")[hit.query], site.names("key")[hit.key]
    words = f"{isolated(visible(query))} → {isolated(visible(key))} {number(hit.weight, 3)}"
    return f"{named(hit.site, hit.head)} · {words}"
