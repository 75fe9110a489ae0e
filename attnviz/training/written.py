"""Words that a model writes after the beginnings of held-out texts, state by state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.training.record import Heads
from attnviz.training.run import Training
from attnviz.training.tasks import Texts

Ids = NDArray[np.int64]

WORDS, ENOUGH = 9, 5
"""Words that are written, over as many texts as have them; the first text alone, if it has enough."""
ROWS = 7
"""States with written words, at most."""


class Prompt(NamedTuple):
    """The beginnings of held-out texts, `ids` (text, token), and the `wanted` words behind them.

    Words are written at the places (text, position), one after the other; each is the target there.
    """

    ids: Ids
    places: tuple[tuple[int, int], ...]
    wanted: tuple[int, ...]

    @classmethod
    def of(cls, texts: Texts) -> Prompt:
        """The words behind the first position that a task asks about; behind the middle where it asks about
        all.
        """
        places = list[tuple[int, int]]()
        for text, targets in enumerate(texts.targets):
            asked = np.flatnonzero(targets >= 0)
            begin = int(asked[0]) or len(targets) // 2
            places += [(text, int(at)) for at in asked[asked >= begin][: WORDS - len(places)]]
            if len(places) >= (ENOUGH if text == 0 else WORDS):
                break
        ids = texts.ids[: places[-1][0] + 1].copy()
        for text, begin in reversed(places):
            ids[text, begin + 1 :] = ids[text, begin]  # what follows is not given
        return cls(ids, tuple(places), tuple(int(texts.targets[place]) for place in places))


class Written(NamedTuple):
    """The most probable words at a step, in the order of the places of a prompt."""

    step: int
    ids: tuple[int, ...]


def written(training: Training, prompt: Prompt, step: int, off: Heads | None = None) -> Written:
    """Write at the present step or a kept one: each word is read when the next one is written."""
    ids, found = prompt.ids.copy(), dict[tuple[int, int], int]()
    targets = np.zeros_like(ids)
    texts = np.array([text for text, _at in prompt.places])
    turns = np.arange(len(texts)) - np.searchsorted(texts, texts)
    for turn in range(int(turns.max()) + 1):
        predicted = training.predictions(training.outcome(Texts(ids, targets), step, off))
        for at in np.flatnonzero(turns == turn):
            text, position = place = prompt.places[at]
            found[place] = int(predicted[place])
            ids[text, position + 1 : position + 2] = found[place]
    return Written(step, tuple(found[place] for place in prompt.places))


def rows(steps: Sequence[int]) -> tuple[int, ...]:
    """The kept steps at which words are written: the first, and multiples of a distance that doubles."""
    if len(steps) < 2:
        return tuple(steps)
    every = min(step for step in steps if step > 0)
    while len(found := [step for step in steps if step % every == 0]) > ROWS:
        every *= 2
    return tuple(found)
