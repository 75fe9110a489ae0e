"""What follows from an experiment alone, found once for those that are asked about again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import ref

from attnviz.model.spec.experiment import Experiment

Found = TypeVar("Found")


class Remembered(Generic[Found]):
    """`find`, remembered for every experiment as long as that lives.

    By identity: an experiment never changes, and comparing one by value takes longer than most answers.
    """

    def __init__(self, find: Callable[[Experiment], Found]) -> None:
        self._find = find
        self._found: dict[int, tuple[ref[Experiment], Found]] = {}

    def __call__(self, experiment: Experiment) -> Found:
        key = id(experiment)
        known = self._found.get(key)
        if known is None:
            # The id becomes another experiment's only after this one has gone, and what is known with it.
            gone = ref(experiment, lambda _gone: self._found.pop(key, None))
            known = self._found[key] = gone, self._find(experiment)
        return known[1]
