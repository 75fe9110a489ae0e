"""Weights and cache in the memory of a device: what is free, else the batch or the devices that would do."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.core.cost.lines import rounded
from attnviz.core.cost.memory import GB, Format
from attnviz.core.cost.stack import Stack, cache_bytes, longest_context, parameter_count
from attnviz.i18n import _, ngettext


@dataclass(frozen=True)
class Fit:
    """Bytes of the weights, of the cache of the whole batch, and of the memory of one device.

    `batch` is the largest number of sequences whose cache fits beside the weights; None without a cache.
    `tokens` is the longest context of the batch that fits there; None if any does.
    """

    weights: int
    cache: int
    memory: int
    batch: int | None
    tokens: int | None

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
    room = max(memory - held, 0)
    most = room // one if one else None
    return Fit(held, cache_bytes(stack, n, kv, batch), memory, most, longest_context(stack, room, kv, batch))


def in_bytes(count: int) -> str:
    """A number of bytes, rounded where it is large."""
    return rounded(count, "B").split(" = ")[0] or f"{count:,} B"


def told_apart(count: int, memory_gb: int) -> str:
    """A number of bytes with as many digits as tell it from the memory: 80.001 GB beside 80 GB."""
    if in_bytes(count) != in_bytes(memory_gb * GB) or count == memory_gb * GB:
        return in_bytes(count)
    for digits in range(3, 10):
        places = 10**digits
        shown = (2 * count * places + GB) // (2 * GB)
        if shown != memory_gb * places:
            break
    return f"{shown // places:,}.{shown % places:0{digits}} GB"


def sentence(fit: Fit, n: int, batch: int, memory_gb: int) -> str:
    """The bytes that stay free, or the lack of them; the tokens, the batch or the devices that would do."""
    memory, of = f"{memory_gb:,} GB", {"n": f"{n:,}", "batch": f"{batch:,}"}
    if fit.weights > fit.memory:
        said = _("The weights alone need {weights} of {memory}.")
        text = said.format(weights=told_apart(fit.weights, memory_gb), memory=memory)
    elif fit.free < 0:
        said = ngettext(
            "{n} token at batch {batch} needs {used} of {memory}.",
            "{n} tokens at batch {batch} need {used} of {memory}.",
            n,
        )
        text = said.format(used=told_apart(fit.used, memory_gb), memory=memory, **of)
    else:
        said = ngettext(
            "{n} token at batch {batch} fits in {memory}: {free} are free.",
            "{n} tokens at batch {batch} fit in {memory}: {free} are free.",
            n,
        )
        text = said.format(memory=memory, free=told_apart(fit.free, memory_gb), **of)
    would = _would(fit, n, batch)
    return f"{text} {would}" if would else text


def _would(fit: Fit, n: int, batch: int) -> str:
    """The tokens, the batch or the devices that would do, or the more that would fit."""
    tokens = fit.tokens if fit.tokens is not None and fit.tokens != n else 0
    batches = fit.batch if fit.batch is not None and fit.batch != batch else 0
    longest = ngettext("{n} token", "{n} tokens", tokens).format(n=f"{tokens:,}")
    given = {"tokens": longest, "most": f"{batches:,}", "count": f"{fit.devices:,}"}
    if fit.free < 0:
        said = _("{count} such devices would do.")
        if tokens and batches:
            said = _("{tokens} or batch {most} would fit, or {count} such devices would do.")
        elif tokens:
            said = _("{tokens} would fit, or {count} such devices would do.")
        elif batches:
            said = _("Batch {most} would fit, or {count} such devices would do.")
    elif tokens and batches:
        said = _("{tokens} or batch {most} would fit.")
    elif tokens:
        said = _("{tokens} would fit.")
    else:
        said = _("Batch {most} would fit.") if batches else ""
    return said.format(**given)
