"""A run says where its numbers leave the range of the precision, and nothing where they stay inside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from experiments import SPREAD, STACKS
from first_layer import stacked

from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.errors import verbatim
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Causal, ExplicitVectors, Heads, Padding
from attnviz.model.trace import Trace

FIRST = verbatim("first")
BEGINS = "Numbers exceed the range of float32: the first stage that is not finite is "


def huge(size: float, **changes: Any) -> Experiment:
    numbers = np.random.default_rng(1).standard_normal((4, 4)) * size
    return stacked(tuple("abcd"), ExplicitVectors(numbers), heads=Heads(2, 2, 2), **changes)


@pytest.mark.parametrize(
    ("size", "changes", "stage"),
    [
        (1e20, {}, "scores"),
        (1e20, {"masks": (Causal(),)}, "scores"),
        (1e39, {}, "token vectors"),
        (1e10, {"behind": (Layer(heads=Heads(1, 1, 4)),)}, ""),
        (1.0, {}, ""),
    ],
)
def test_the_first_stage_that_overflows_is_named(size: float, changes: dict[str, Any], stage: str) -> None:
    trace = run(NumpyEngine("float32"), huge(size, **changes), notices=(FIRST,))
    assert trace.notices[0] == FIRST
    if stage:
        assert str(trace.notices[1]).startswith(BEGINS) and str(trace.notices[1]).casefold().endswith(
            f"{stage}."
        )
    else:
        assert trace.notices == (FIRST,)
    assert run(NumpyEngine("float64"), huge(size, **changes)).notices == ()


def test_of_several_attentions_the_one_is_named() -> None:
    layers = (Layer(heads=Heads(1, 1, 4), temperature=1e-30),)
    trace = run(NumpyEngine("float32"), huge(1e9, behind=layers))
    assert "layer 2" in str(trace.notices[0]).casefold()


def test_a_row_that_is_nan_on_purpose_is_no_overflow() -> None:
    given = huge(1.0, masks=(Causal(), Padding((0,))), fully_masked_row="nan")
    trace = run(NumpyEngine("float32"), given)
    assert np.isnan(trace["weights"]).any() and _of_range(trace) == []


@pytest.mark.parametrize("case", [*SPREAD, *STACKS])
def test_finite_runs_say_nothing(case: str) -> None:
    assert _of_range(run(NumpyEngine("float32"), {**SPREAD, **STACKS}[case])) == []


def _of_range(trace: Trace) -> list[str]:
    """Its notices but those of queries that attend to nothing."""
    return [text for text in map(str, trace.notices) if "is the mask inverted?" not in text]
