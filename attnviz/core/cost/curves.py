"""A cost against the number of tokens."""

from __future__ import annotations

from functools import lru_cache

from attnviz.core.cost import stack as cost_stack
from attnviz.core.cost.lines import total
from attnviz.core.cost.memory import Format
from attnviz.core.cost.stack import Stack

POINTS = 28

Counts = tuple[tuple[int, int], ...]
"""(n, quantity) pairs."""


@lru_cache(maxsize=128)
def counts(stack: Stack, curve: str, format_: Format, batch: int, most: int) -> Counts:
    """(n, quantity) from one token to `most`, evenly spaced on a logarithmic axis; exact integers."""
    places = sorted({round(most ** (i / (POINTS - 1))) for i in range(POINTS)})
    if curve == "prefill":
        return tuple((n, total(cost_stack.prefill(stack, n, batch))) for n in places)
    if curve == "step":
        return tuple((n, total(cost_stack.decode_step(stack, n, batch))) for n in places)
    if curve == "stages":
        return tuple((n, cost_stack.stage_bytes(stack, n, format_, batch)) for n in places)
    return tuple((n, cost_stack.cache_bytes(stack, n, format_, batch)) for n in places)
