"""Shares of a job: parts of parts, told in order, to somebody or to nobody."""

from __future__ import annotations

import pytest
from experiments import STACKS
from first_layer import stacked

from attnviz.compute.decoding import decode_and_compare
from attnviz.core.progress import Progress, never_cancelled, progress_of
from attnviz.engines.decode.run import decode
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.model.spec.parts import Causal, Heads, SeededVectors


def test_a_part_of_a_part() -> None:
    told: list[float] = []
    whole = Progress(never_cancelled, told.append)
    whole.part(0.5, 1.0).step(1, 2).at(0.5)
    assert told == [0.875]
    assert progress_of(whole) is whole
    progress_of(never_cancelled).at(1.0)  # to nobody


def test_reporting_checks() -> None:
    def stop() -> None:
        raise InterruptedError

    for part in (Progress(stop), Progress(stop).part(0.0, 0.5)):
        with pytest.raises(InterruptedError):
            part()
        with pytest.raises(InterruptedError):
            part.at(0.5)


LONG = stacked(tuple(map(str, range(700))), SeededVectors(700, 8), heads=Heads(2, 2, 4), masks=(Causal(),))
"""Many blocks in one attention."""

LONG_ENOUGH = stacked(tuple("abcdefgh"), SeededVectors(8, 4), heads=Heads(1, 1, 4))

CASES = {**STACKS, "one long attention": LONG}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("job", ["run", "decode", "decode and compare"])
def test_jobs_report_what_is_done_in_many_parts(job: str, case: str) -> None:
    told: list[float] = []
    progress, experiment = Progress(never_cancelled, told.append), CASES[case]
    if job == "run":
        run(NumpyEngine("float32"), experiment, progress)
    elif job == "decode":
        decode(NumpyEngine("float32"), experiment, 6, progress)
    else:
        decode_and_compare(STACKS.get(case, LONG_ENOUGH), "numpy", "cpu", progress, 0)
    assert all(0.0 <= share <= 1.0 for share in told)
    assert told == sorted(told) and len(set(told)) >= 2
