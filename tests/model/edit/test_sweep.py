"""Sweeps: the values of a range, and the documents that have them."""

from __future__ import annotations

import pytest
from experiments import MEMORY, SPREAD, STACKS, small

from attnviz.errors import FieldError
from attnviz.model.edit.sweep import Sweep, with_number
from attnviz.model.sites.sites import at, main_site
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Explicit, Heads, Projections, Seeded, Window

SITE = "layers.0.self"


def test_a_range_has_equal_steps_or_equal_ratios() -> None:
    assert Sweep.parsed("temperature=0.1:0.4:4").values == (0.1, 0.2, 0.3, 0.4)
    assert Sweep.parsed("position.base=10:1000:3:log").values == (10.0, 100.0, 1000.0)
    assert Sweep.parsed("cap=5:1:3").values == (5.0, 3.0, 1.0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("temperature", "decode, layers or a sweep"),
        ("temperature=1:2", "decode, layers or a sweep"),
        ("temperature=a:2:3", "a number"),
        ("temperature=1:2:1", "from 2 to 1,000"),
        ("temperature=1:2:x", "from 2 to 1,000"),
        ("cap=0:2:3:log", "above 0"),
    ],
)
def test_a_text_that_is_no_sweep_is_refused(text: str, says: str) -> None:
    with pytest.raises(FieldError, match=says):
        Sweep.parsed(text)


@pytest.mark.parametrize(
    ("experiment", "path", "read"),
    [
        (small(), "temperature", lambda e: main_site(e).temperature),
        (small(), "cap", lambda e: main_site(e).cap),
        (SPREAD["rope yarn"], "position.base", lambda e: main_site(e).position.base),
        (SPREAD["rope yarn"], "position.scaling.factor", lambda e: main_site(e).position.scaling.factor),
        (SPREAD["rope yarn"], "position.multipliers[1]", lambda e: main_site(e).position.multipliers[1]),
        (SPREAD["alibi slopes"], "position.slopes[0]", lambda e: main_site(e).position.slopes[0]),
        (small(), "vectors[3][0]", lambda e: e.vectors.values.array[3, 0]),
        (small(memory=MEMORY), "memory.vectors[1][2]", lambda e: e.memory.vectors.values.array[1, 2]),
        (SPREAD["sinks"], "sinks.values[1]", lambda e: main_site(e).sinks.values[1]),
        (SPREAD["dropout"], "dropout.p", lambda e: main_site(e).dropout.p),
        (
            STACKS["attentions alone"],
            "layers[1].temperature",
            lambda e: at(e, "layers.1.self").temperature,
        ),
        (
            STACKS["encoder and decoder"],
            "layers[0].cross.temperature",
            lambda e: at(e, "decoder.0.cross").temperature,
        ),
    ],
)
def test_a_number_is_replaced(experiment: Experiment, path: str, read) -> None:
    site = SITE if not experiment.has_cross else "decoder.0.self"
    value = 3.5 if path.endswith(("factor", "base")) else 0.75
    assert read(with_number(experiment, site, path, value)) == value


def test_a_number_of_a_matrix_is_replaced() -> None:
    written = Projections(Explicit(Matrix([[1.0, 2.0]] * 6)), Seeded(1), Seeded(2), Seeded(3))
    experiment = small(heads=Heads(1, 1, 2), projections=written)
    changed = with_number(experiment, SITE, "projections.query.values[2][1]", 9.0)
    assert main_site(changed).projections.query.values.array[2].tolist() == [1.0, 9.0]


def test_whole_numbers_are_rounded_and_stand_once() -> None:
    experiment = small(masks=(Window(1, 0),))
    frames = list(Sweep.parsed("masks.window.left=0:2:9").frames(experiment, SITE))
    assert [value for value, _experiment in frames] == [0, 1, 2]
    assert [main_site(made).masks[0].left for _value, made in frames] == [0, 1, 2]


@pytest.mark.parametrize(
    "path",
    [
        "nothing",
        "tokens",
        "position.base",
        "vectors[9][0]",
        "memory.vectors[0][0]",
        "heads",
        "dropout.training",
    ],
)
def test_what_is_no_number_of_the_document_is_refused(path: str) -> None:
    with pytest.raises(FieldError, match="the path of a number of the document"):
        with_number(small(), SITE, path, 1.0)


def test_a_value_that_the_document_refuses_is_named() -> None:
    with pytest.raises(FieldError, match="temperature must be a finite number above 0"):
        list(Sweep.parsed("temperature=-1:1:3").frames(small(), SITE))
