"""Work around the numbers of a small run, counted in calls of functions instead of time."""

from __future__ import annotations

import gc
import sys
from types import FrameType
from typing import Any

import pytest
from cases import ENGINE_IDS

from attnviz.bench.cases import SIZES, experiment
from attnviz.compute.execute import execute
from attnviz.model.spec.parts import Causal

MOST_CALLS = {"numpy": 225, "torch": 255}
"""Calls of functions, in Python and below, of a run of 16 tokens with a causal mask."""


def calls(work: Any) -> int:
    found = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("engine", ENGINE_IDS)
def test_a_small_run_makes_few_calls(engine: str) -> None:
    given = experiment(SIZES[0], "seeded", masks=(Causal(),))

    def run() -> None:
        execute(given, engine, "cpu")

    for _warm_up in range(2):
        run()
    assert min(calls(run) for _time in range(3)) <= MOST_CALLS[engine]


@pytest.mark.parametrize("engine", ENGINE_IDS)
def test_a_run_leaves_no_cycles_to_the_collector(engine: str) -> None:
    given = experiment(SIZES[0], "seeded", masks=(Causal(),))
    execute(given, engine, "cpu")
    gc.collect()
    gc.disable()
    try:
        for _time in range(10):
            execute(given, engine, "cpu")
        assert gc.collect() == 0
    finally:
        gc.enable()
