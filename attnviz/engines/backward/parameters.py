"""The gradients by the parameters of a document, each computed when it is read, and then kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from operator import add
from typing import Any

from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines.engine import Engine

Terms = list[Callable[[], Array]]
"""The summands of a parameter, one for each use of it."""


class Parameters(Mapping[str, NDArray[Any]]):
    """By name, read-only. xᵀ g of a matrix takes as long as its part of the pass, and few are read."""

    def __init__(self, engine: Engine, terms: dict[str, Terms]) -> None:
        self._engine, self._terms = engine, terms
        self._made: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._made:
            terms = self._terms[name]
            with self._engine.active():
                found = self._engine.to_numpy(reduce(add, (term() for term in terms))).view()
            found.setflags(write=False)
            self._made[name] = found
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._terms)

    def __len__(self) -> int:
        return len(self._terms)
