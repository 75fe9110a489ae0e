"""The maximum flow against the smallest cut, found by trying every cut."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from attnviz.core.max_flow import Network


def smallest_cut(layers: list[np.ndarray], source: int, sink: int) -> float:
    """The least capacity from a set of nodes with the source to the rest with the sink (max-flow min-cut)."""
    width, depth = len(layers[0]), len(layers)
    least = np.inf
    for bits in product((False, True), repeat=width * (depth + 1)):
        side = np.array(bits).reshape(depth + 1, width)
        if not side[depth, source] or side[0, sink]:
            continue
        cut = 0.0
        for layer, matrix in enumerate(layers):
            cut += float(matrix[np.ix_(side[layer + 1], ~side[layer])].sum())
        least = min(least, cut)
    return least


@pytest.mark.parametrize(("width", "depth"), [(3, 3), (2, 5), (4, 2)])
def test_a_flow_equals_the_smallest_cut(width: int, depth: int) -> None:
    random = np.random.default_rng(width)
    layers = [random.random((width, width)) * (random.random((width, width)) < 0.8) for _ in range(depth)]
    network = Network(layers)
    for source, sink in ((0, 0), (width - 1, 0), (1, width - 1)):
        assert network.flow(depth, source, sink) == pytest.approx(smallest_cut(layers, source, sink))
    assert network.flow(1, 1, 0) == pytest.approx(layers[0][1, 0])
