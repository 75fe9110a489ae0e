"""The sentence that says what is seen of a run: when its layers began to attend to what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.i18n import _
from attnviz.model.sites.sites import place_of
from attnviz.model.sites.titles import layer_title
from attnviz.model.spec.experiment import Experiment
from attnviz.training.record import Measures, first_above

PREVIOUS, INDUCTION = 0.3, 0.6
"""Scores above which a head is said to attend to the word before, and to what followed last time."""


GAP = 0.1
"""A difference of the shares of right answers from which on two runs have parted."""
SOLVED = 0.9
"""The share of right answers whose first step is told of two runs."""


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
        if measures and measures[-1].accuracy > SOLVED:
            return _("The document knows the task already: {share:.0%} of the answers are right.").format(
                share=measures[-1].accuracy
            )
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


def parted(first: Sequence[Measures], second: Sequence[Measures]) -> tuple[Measures, Measures] | None:
    """The first measures of two runs at the same step whose accuracies differ by more than `GAP`."""
    known = {one.step: one for one in second}
    pairs = ((one, known[one.step]) for one in first if one.step in known)
    return next((pair for pair in pairs if abs(pair[0].accuracy - pair[1].accuracy) > GAP), None)


def compared(first: Sequence[Measures], second: Sequence[Measures]) -> str:
    """The step by which runs A and B part, and which of them first passes `SOLVED`, in words."""
    reached = min((measures[-1].step for measures in (first, second) if measures), default=0)
    if not reached:
        return _("Neither run has taken a step: press Space.")
    apart = parted(first, second)
    if apart is None:
        said = _("A and B are alike up to step {step}.").format(step=reached)
    else:
        said = _("A and B part by step {step}: {a:.0%} and {b:.0%} right.").format(
            step=apart[0].step, a=apart[0].accuracy, b=apart[1].accuracy
        )
    return f"{said} {_passed(first_above(first, SOLVED), first_above(second, SOLVED), reached)}"


def _passed(a: int | None, b: int | None, reached: int) -> str:
    """The run that first passes `SOLVED`, in words."""
    if a is None and b is None:
        return _("Neither passes {share} in {n} steps.").format(share=SOLVED, n=reached)
    if a is not None and b is not None:
        if a == b:
            return _("Both pass {share} by step {a}.").format(share=SOLVED, a=a)
        names = ("A", a, "B", b) if a < b else ("B", b, "A", a)
        said = _("{first} passes {share} first, by step {step}; {second} by step {later}.")
        return said.format(
            share=SOLVED, **dict(zip(("first", "step", "second", "later"), names, strict=True))
        )
    name, step, other = ("A", a, "B") if a is not None else ("B", b, "A")
    said = _("{first} passes {share} first, by step {step}; {second} has not in {n} steps.")
    return said.format(first=name, share=SOLVED, step=step, second=other, n=reached)


def thinned(rows: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Rows of numbers; of more than `most`, means of as many in a row."""
    width = -(-len(rows) // most)
    if width <= 1:
        return rows
    starts = np.arange(0, len(rows), width)
    counts = np.diff(np.append(starts, len(rows)))
    means: NDArray[np.float64] = np.add.reduceat(rows, starts, axis=0) / counts[:, None]
    return means
