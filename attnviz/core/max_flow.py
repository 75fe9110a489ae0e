"""The maximum flow through layers of nodes: Dinic's algorithm.

Dinic 1970, "Algorithm for solution of a problem of maximum flow in networks with power estimation".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LEAST = 1e-12
"""A capacity below it is none: rounding leaves such rests."""


class Network:
    """Layers of as many nodes; `capacities[l][i, j]` lead from node i of layer l + 1 to node j of layer l."""

    def __init__(self, capacities: Sequence[NDArray[np.float64]]) -> None:
        self._width = len(capacities[0])
        self._to: list[int] = []
        self._capacities: list[float] = []
        self._edges: list[list[int]] = [[] for _node in range((len(capacities) + 1) * self._width)]
        for layer, matrix in enumerate(capacities):
            for row, column in zip(*np.nonzero(matrix > LEAST), strict=True):
                above, below = (layer + 1) * self._width + int(row), layer * self._width + int(column)
                for node, other, room in ((above, below, float(matrix[row, column])), (below, above, 0.0)):
                    self._edges[node].append(len(self._to))
                    self._to.append(other)
                    self._capacities.append(room)

    def flow(self, layer: int, source: int, sink: int) -> float:
        """The maximum flow from node `source` of a layer to node `sink` of layer 0."""
        begin, room, total = layer * self._width + source, self._capacities.copy(), 0.0
        while (levels := self._levels(room, begin, sink)) is not None:
            total += self._blocking(room, levels, begin, sink)
        return total

    def _levels(self, room: list[float], begin: int, end: int) -> list[int] | None:
        """The distance of each node from the first one, −1 beyond the last; None if that is not reached."""
        levels = [-1] * len(self._edges)
        levels[begin], front = 0, [begin]
        to, edges = self._to, self._edges
        while front and levels[end] < 0:
            following = []
            for node in front:
                depth = levels[node] + 1
                for edge in edges[node]:
                    other = to[edge]
                    if levels[other] < 0 and room[edge] > LEAST:
                        levels[other] = depth
                        following.append(other)
            front = following
        return levels if levels[end] >= 0 else None

    def _blocking(self, room: list[float], levels: list[int], begin: int, end: int) -> float:
        """Fill paths along the levels until none is left; their sum."""
        to, edges, total = self._to, self._edges, 0.0
        tried = [0] * len(edges)
        path: list[int] = []
        node = begin
        while True:
            if node == end:
                least = min(room[edge] for edge in path)
                total += least
                first = len(path)
                for at in range(len(path) - 1, -1, -1):
                    edge = path[at]
                    room[edge] -= least
                    room[edge ^ 1] += least
                    if room[edge] <= LEAST:
                        first = at
                node = to[path[first] ^ 1]
                del path[first:]
                continue
            own, at, depth = edges[node], tried[node], levels[node] + 1
            while at < len(own) and not (room[own[at]] > LEAST and levels[to[own[at]]] == depth):
                at += 1
            tried[node] = at
            if at < len(own):
                path.append(own[at])
                node = to[own[at]]
            elif not path:
                return total
            else:
                edge = path.pop()
                node = to[edge ^ 1]
                tried[node] += 1
