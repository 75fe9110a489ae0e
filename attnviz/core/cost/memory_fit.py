"""Weights and cache in the memory of a device: what is free, else the batch or the devices that would do."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.core.cost.memory import GB, Format
from attnviz.core.cost.stack import Stack, cache_bytes, parameter_count


@dataclass(frozen=True)
class Fit:
    """Bytes of the weights, of the cache of the whole batch, and of the memory of one device.

    `batch` is the largest number of sequences whose cache fits beside the weights; None without a cache.
    """

    weights: int
    cache: int
    memory: int
    batch: int | None

    @property
    def used(self) -> int:
        """Bytes of weights and cache."""
        return self.weights + self.cache

    @property
    def free(self) -> int:
        """Bytes that are left; negative past the memory."""
        return self.memory - self.used

    @property
    def devices(self) -> int:
        """Number of devices whose memories together hold weights and cache."""
        return -(-self.used // self.memory)


def fit(stack: Stack, n: int, batch: int, weights: Format, kv: Format, memory_gb: int) -> Fit:
    """Weights and n tokens of each of `batch` sequences in a memory of `memory_gb` · 10⁹ bytes.

    Activations, workspace and fragmentation are not counted.
    """
    held, memory = weights.stored(parameter_count(stack)), memory_gb * GB
    one = cache_bytes(stack, n, kv)
    most = max(memory - held, 0) // one if one else None
    return Fit(held, cache_bytes(stack, n, kv, batch), memory, most)
