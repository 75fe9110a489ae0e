"""What follows from an experiment alone, found once for those that are asked about again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from attnviz.model.experiment import Experiment

KEPT = 64
"""Experiments that are remembered: the sites of a deep stack, asked in turn at every step of a decoding."""

Found = TypeVar("Found")


class Remembered(Generic[Found]):
    """`find`, remembered for the very experiments that were asked about last.

    By identity: an experiment never changes, and comparing one by value takes longer than most answers.
    """

    def __init__(self, find: Callable[[Experiment], Found]) -> None:
        self._find = find
        self._found: dict[int, tuple[Experiment, Found]] = {}

    def __call__(self, experiment: Experiment) -> Found:
        known = self._found.get(id(experiment))
        if known is None or known[0] is not experiment:
            # The experiment is kept as well: its id must not become another one's.
            known = self._found[id(experiment)] = experiment, self._find(experiment)
            for oldest in list(self._found)[: max(0, len(self._found) - KEPT)]:
                self._found.pop(oldest, None)
        return known[1]
