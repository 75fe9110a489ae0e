"""Timing of contenders in turns, and statistics of the times."""

from __future__ import annotations

import gc
import math
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

WARM_UP = 3
ORDER_SEED = 0


def interleaved(
    contenders: Mapping[str, Callable[[], Any]], seconds: float, rounds: tuple[int, int]
) -> dict[str, list[float]]:
    """Seconds of each call of each contender. A round calls each once, in a new random order.

    Random, because the spinning threads of one library slow down whoever follows it.
    Rounds continue for `seconds`, within the bounds in `rounds`.
    """
    names = list(contenders)
    for name in names:
        for _count in range(WARM_UP):
            contenders[name]()
    times: dict[str, list[float]] = {name: [] for name in names}
    order = random.Random(ORDER_SEED)
    gc.collect()
    begun = time.perf_counter()
    for index in range(rounds[1]):
        if index >= rounds[0] and time.perf_counter() - begun > seconds:
            break
        for name in order.sample(names, len(names)):
            started = time.perf_counter()
            result = contenders[name]()
            times[name].append(time.perf_counter() - started)
            del result  # freeing counts for nobody
    return times


def paired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Median over rounds of ours / theirs: a slow machine slows both."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that a `share` of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
