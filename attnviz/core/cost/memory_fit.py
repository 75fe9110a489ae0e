"""Weights and cache in the memory of a device: what is free, else the batch or the devices that would do."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.core.cost.lines import rounded
from attnviz.core.cost.memory import GB, Format
from attnviz.core.cost.stack import Stack, cache_bytes, parameter_count
from attnviz.i18n import _


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


def in_bytes(count: int) -> str:
    """A number of bytes, rounded where it is large."""
    return rounded(count, "B").split(" = ")[0] or f"{count:,} B"


def sentence(fit: Fit, n: int, batch: int, memory_gb: int) -> str:
    """The bytes that stay free, or the lack of them and the batch or the devices that would do."""
    memory, tokens = f"{memory_gb:,} GB", f"{n:,}"
    if fit.free >= 0:
        said = _("{n} tokens at batch {batch} fit in {memory}: {free} are free.")
        text = said.format(n=tokens, batch=f"{batch:,}", memory=memory, free=in_bytes(fit.free))
        if fit.batch is not None and fit.batch > batch:
            text += " " + _("Batch {most} would fit.").format(most=f"{fit.batch:,}")
        return text
    devices = _("{count} such devices would do.").format(count=f"{fit.devices:,}")
    if fit.weights > fit.memory:
        said = _("The weights alone need {weights} of {memory}.")
        return f"{said.format(weights=in_bytes(fit.weights), memory=memory)} {devices}"
    said = _("{n} tokens at batch {batch} need {used} of {memory}.")
    text = said.format(n=tokens, batch=f"{batch:,}", used=in_bytes(fit.used), memory=memory)
    if fit.batch:
        would = _("Batch {most} would fit, or {count} such devices would do.")
        return f"{text} {would.format(most=f'{fit.batch:,}', count=f'{fit.devices:,}')}"
    return f"{text} {devices}"
