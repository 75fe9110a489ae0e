"""`IMPLEMENTATIONS`: three ways to compute the same causal attention, timed side by side on equal numbers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.bench.cases import VECTORS_SEED, Size
from attnviz.bench.plain_torch import fused_torch, torch_threads
from attnviz.bench.timing import interleaved
from attnviz.core.progress import Check, never_cancelled
from attnviz.i18n import N_

Floats = NDArray[Any]
Call = Callable[[], Floats]

SECONDS, ROUNDS = 1.5, (3, 200)
"""Time for all of them together, and the bounds of the rounds."""


@dataclass(frozen=True)
class Implementation:
    """One way: title, description, a call over q, k and v (head, token, feature), and what it can compute.

    It is timed up to `most` products of a query, a key and a feature, on `threads` threads; `needs` is a
    package, or empty.
    """

    id: str
    title: str
    hint: str
    make: Callable[[Floats, Floats, Floats], Call]
    most: float
    needs: str = ""
    threads: Callable[[], int] = lambda: 1

    def omits(self, size: Size) -> bool:
        """True if it is not timed at a size: it would take too long, or its package is missing."""
        is_missing = bool(self.needs) and find_spec(self.needs) is None
        return is_missing or size.n**2 * size.heads * size.d_head > self.most


@dataclass(frozen=True)
class Timed:
    """Median seconds of a call, its threads, and the greatest difference of its output from the matrices'."""

    implementation: Implementation
    seconds: float
    threads: int
    difference: float


def _loops(q: Floats, k: Floats, v: Floats) -> Call:
    lists = [part.tolist() for part in (q, k, v)]

    def call() -> Floats:
        return np.array([_head(*(part[head] for part in lists)) for head in range(len(lists[0]))])

    return call


def _head(q: list[list[float]], k: list[list[float]], v: list[list[float]]) -> list[list[float]]:
    """One head, number by number."""
    divisor, output = math.sqrt(len(q[0])), []
    for i, query in enumerate(q):
        scores = [sum(a * b for a, b in zip(query, key, strict=True)) / divisor for key in k[: i + 1]]
        largest = max(scores)
        raised = [math.exp(score - largest) for score in scores]
        whole = sum(raised)
        row = [0.0] * len(v[0])
        for weight, value in zip(raised, v, strict=False):
            for feature, number in enumerate(value):
                row[feature] += weight / whole * number
        output.append(row)
    return output


def _matrices(q: Floats, k: Floats, v: Floats) -> Call:
    later = np.triu(np.ones((q.shape[1], q.shape[1]), dtype=bool), 1)
    factor = np.float32(1 / math.sqrt(q.shape[-1]))

    def call() -> Floats:
        scores = q @ k.transpose(0, 2, 1) * factor
        scores[:, later] = -np.inf
        raised = np.exp(scores - scores.max(-1, keepdims=True))
        return np.asarray(raised / raised.sum(-1, keepdims=True) @ v)

    return call


IMPLEMENTATIONS: tuple[Implementation, ...] = (
    Implementation(
        "loops",
        N_("loops in Python"),
        N_("One number at a time; blocked keys are skipped"),
        _loops,
        most=4e6,
    ),
    Implementation(
        "matrices",
        N_("matrices in NumPy"),
        N_("Two matrix products; the mask discards half of the scores computed"),
        _matrices,
        most=4e9,
    ),
    Implementation(
        "fused",
        N_("fused in torch"),
        N_("scaled_dot_product_attention: no score is stored, the softmax is updated tile by tile"),
        fused_torch,
        most=4e10,
        needs="torch",
        threads=torch_threads,
    ),
)


def timed(size: Size, check: Check = never_cancelled) -> tuple[Timed, ...]:
    """Each implementation that can compute this size, over the same random numbers in float32."""
    chance = np.random.default_rng(VECTORS_SEED)
    shape = (3, size.heads, size.n, size.d_head)
    q, k, v = chance.standard_normal(shape, dtype=np.float32)
    rows = [row for row in IMPLEMENTATIONS if not row.omits(size)]
    calls = {row.id: _checked(row.make(q, k, v), check) for row in rows}
    outputs = {id_: call() for id_, call in calls.items()}
    seconds = interleaved(calls, SECONDS, ROUNDS)
    reference = outputs.get("matrices", next(iter(outputs.values()), None))
    return tuple(
        Timed(
            row,
            statistics.median(seconds[row.id]),
            row.threads(),
            float(np.abs(outputs[row.id] - reference).max()),
        )
        for row in rows
    )


def _checked(call: Call, check: Check) -> Call:
    """The call, which the check may cancel before it begins."""

    def checked() -> Floats:
        check()
        return call()

    return checked
