"""Weights and cache in a memory, computed here from published numbers by hand."""

from __future__ import annotations

import pytest

from attnviz.core.cost.memory import FORMAT_BY_ID, MEMORIES
from attnviz.core.cost.memory_fit import fit
from attnviz.core.cost.published_models import PUBLISHED_BY_ID

HALF = FORMAT_BY_ID["float16"]
TOKEN = 2 * 8 * 128 * 2
"""Bytes of one token in one layer of Llama 3, in 16 bits."""


@pytest.mark.parametrize(
    ("model", "layers", "parameters", "n", "batch", "gb"),
    [
        ("llama-3-8b", 32, 8_030_261_248, 8192, 1, 24),
        ("llama-3-8b", 32, 8_030_261_248, 8192, 16, 20),
        ("llama-3-70b", 80, 70_553_706_496, 8192, 4, 80),
        ("llama-3-70b", 80, 70_553_706_496, 131_072, 2, 192),
    ],
)
def test_weights_and_cache_of_a_batch(
    model: str, layers: int, parameters: int, n: int, batch: int, gb: int
) -> None:
    found = fit((PUBLISHED_BY_ID[model].architecture,), n, batch, HALF, HALF, gb)
    weights, one, memory = 2 * parameters, layers * n * TOKEN, gb * 10**9
    assert (found.weights, found.cache, found.memory) == (weights, batch * one, memory)
    assert found.free == memory - weights - batch * one
    assert found.batch == max(0, (memory - weights) // one)
    assert (found.devices - 1) * memory < weights + batch * one <= found.devices * memory


def test_memories_stand_from_the_smallest_to_the_largest() -> None:
    sizes = [memory.gb for memory in MEMORIES]
    assert sizes == sorted(set(sizes)) and all(memory.devices for memory in MEMORIES)
