"""Weights and cache in a memory, computed here from published numbers by hand."""

from __future__ import annotations

import pytest

from attnviz.core.cost.memory import FORMAT_BY_ID, MEMORIES
from attnviz.core.cost.memory_fit import fit, sentence, told_apart
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


LLAMA_3_8B = 2 * 8_030_261_248, 32 * TOKEN
"""Bytes of the weights and of one token of Llama 3 8B."""


@pytest.mark.parametrize(
    ("n", "batch", "gb", "expected"),
    [
        # 20·10⁹ − 16,060,522,496 = 3,939,477,504 B hold 30,055 tokens; 22,528 B lack for one more.
        (30_055, 1, 20, "30,055 tokens at batch 1 fit in 20 GB: 108.54 kB are free."),
        (
            30_056,
            1,
            20,
            "30,056 tokens at batch 1 need 20.00002 GB of 20 GB. "
            "30,055 tokens would fit, or 2 such devices would do.",
        ),
        (
            1,
            1,
            17,
            "1 token at batch 1 fits in 17 GB: 939.35 MB are free. 7,167 tokens or batch 7,167 would fit.",
        ),
        (1, 1, 16, "The weights alone need 16.06 GB of 16 GB. 2 such devices would do."),
    ],
)
def test_the_sentence_names_tokens_batch_and_devices(n: int, batch: int, gb: int, expected: str) -> None:
    stack = (PUBLISHED_BY_ID["llama-3-8b"].architecture,)
    assert sentence(fit(stack, n, batch, HALF, HALF, gb), n, batch, gb) == expected


def test_two_rounded_numbers_that_differ_look_different() -> None:
    assert told_apart(80_004_000_000, 80) == "80.004 GB"
    assert told_apart(79_995_608_000, 80) == "79.996 GB"
    assert told_apart(80_000_000_001, 80) == "80.000000001 GB"
    assert told_apart(1_000_001_000_000, 1000) == "1,000.001 GB"
    assert told_apart(80_010_000_000, 80) == "80.01 GB" and told_apart(80 * 10**9, 80) == "80.00 GB"
