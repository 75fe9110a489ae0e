"""The sentence that says what is seen of a run: when its layers began to attend to what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from attnviz.i18n import _
from attnviz.model.sites.sites import place_of
from attnviz.model.sites.titles import layer_title
from attnviz.model.spec.experiment import Experiment
from attnviz.training.run import Measures

PREVIOUS, INDUCTION = 0.3, 0.6
"""Scores above which a head is said to attend to the word before, and to what followed last time."""


class Birth(NamedTuple):
    """A site with a head whose score passed its threshold, and the measured step from which on it did."""

    site: str
    step: int


def births(measures: Sequence[Measures], sites: Sequence[str]) -> tuple[Birth | None, Birth | None]:
    """The first site with a head on the previous token, and the first one behind it with an induction head.

    `sites` are in data-flow order. Each has the step of the first measure from which on its score is above
    the threshold in all measures; None where the last one is not.
    """
    previous = _first(measures, "previous", PREVIOUS, sites)
    later = () if previous is None else sites[sites.index(previous.site) + 1 :]
    return previous, _first(measures, "induction", INDUCTION, later)


def _first(measures: Sequence[Measures], score: str, threshold: float, sites: Sequence[str]) -> Birth | None:
    for site in sites:
        step = None
        for one in reversed(measures):
            of_site = [value for (id_, at, _head), value in one.scores.items() if (id_, at) == (score, site)]
            if not any(value > threshold for value in of_site):  # NaN, of no meaning, is not above
                break
            step = one.step
        if step is not None:
            return Birth(site, step)
    return None


def sentence(experiment: Experiment, measures: Sequence[Measures], sites: Sequence[str]) -> str:
    """The pattern at the last of the measures, in words."""
    if not measures or measures[-1].step == 0:
        return _("Nothing is learned yet: press Space, and watch the maps form.")
    previous, induction = births(measures, sites)
    if previous is None:
        return _("No head attends to the word before, and none can find what followed last time.")
    first = layer_title(place_of(experiment, previous.site))
    if induction is None:
        said = _(
            "{layer} attends to the word before (from step {step} on); no later layer finds what followed."
        )
        return said.format(layer=first, step=previous.step)
    said = _(
        "{first} attends to the word before (from step {first_step} on); {second} finds what followed "
        "(from step {second_step} on)."
    )
    second = layer_title(place_of(experiment, induction.site))
    second = second[:1].lower() + second[1:]
    return said.format(first=first, first_step=previous.step, second=second, second_step=induction.step)
