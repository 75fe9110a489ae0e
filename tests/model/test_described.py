"""An experiment's shapes; its counts against those of the decoder and of a run."""

from __future__ import annotations

import pytest

from attnviz.core.architecture import pairs
from attnviz.core.cost import parameter_count, total
from attnviz.core.cost_flops import decode_step
from attnviz.core.cost_memory import FORMAT_BY_ID, cache_bytes
from attnviz.engines.decode_cost import step_costs
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.model.described import architecture_of, counts_every_mask
from attnviz.model.experiment import Experiment
from attnviz.model.parts import (
    Causal,
    Heads,
    Memory,
    Padding,
    Prefix,
    Projections,
    Seeded,
    SeededVectors,
    Tied,
    Window,
)

SEEDED = Projections(Seeded(0), Seeded(1), Seeded(2), Seeded(3))


def experiment(n: int = 7, **fields: object) -> Experiment:
    given = {"heads": Heads(4, 2, 4), "projections": SEEDED, "masks": (Causal(),), **fields}
    return Experiment(tuple("abcdefghijkl"[:n]), SeededVectors(n, 8), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("step", [0, 1, 6])
@pytest.mark.parametrize(
    "projections", [SEEDED, Projections(), Projections(query=Seeded(0), key=Tied("query"))], ids=str
)
def test_a_step_costs_what_the_decoder_says_it_does(step: int, projections: Projections) -> None:
    heads = Heads(4, 4, 2) if isinstance(projections.key, Tied) else Heads(4, 2, 4)
    shown = experiment(projections=projections, heads=heads)
    cached, _uncached = step_costs(shown, step, itemsize=4)
    described = architecture_of(shown)
    assert total(decode_step(described, step + 1)) == cached.flops
    assert cache_bytes(described, step + 1, FORMAT_BY_ID["float32"]) == cached.bytes_held


def test_steps_after_the_first_of_a_cross_attention() -> None:
    crossed = experiment(memory=Memory(("x", "y", "z"), SeededVectors(3, 5)), masks=())
    cached, _uncached = step_costs(crossed, 4, itemsize=4)
    described = architecture_of(crossed)
    assert total(decode_step(described, 5)) == cached.flops
    assert cache_bytes(described, 5, FORMAT_BY_ID["float32"]) == cached.bytes_held
    assert pairs(described, 7, windowed=False) == 21


@pytest.mark.parametrize(
    "masks", [(), (Causal(),), (Causal(), Window(2, 0)), (Window(1, 3),), (Causal(), Window(99, 0))], ids=str
)
def test_pairs_are_the_cells_that_the_run_leaves_open(masks: tuple) -> None:  # type: ignore[type-arg]
    shown = experiment(masks=masks)
    blocked = run(NumpyEngine("float64"), shown).only.blocked()
    described = architecture_of(shown)
    open_ = 49 - (0 if blocked is None else int(blocked.sum()))
    assert pairs(described, 7, windowed=described.windowed_layers == 1) == open_


@pytest.mark.parametrize("masks", [(Padding((0,)),), (Causal(), Padding((1,))), (Prefix(3),)], ids=str)
def test_cells_that_other_masks_block_count_as_open(masks: tuple) -> None:  # type: ignore[type-arg]
    shown = experiment(masks=masks)
    blocked = run(NumpyEngine("float64"), shown).only.blocked()
    assert blocked is not None
    assert pairs(architecture_of(shown), 7, windowed=False) > 49 - int(blocked.sum())
    assert not counts_every_mask(shown)
    assert counts_every_mask(experiment())


def test_parameters_are_the_numbers_in_its_own_matrices() -> None:
    assert parameter_count(architecture_of(experiment())) == 8 * 16 + 2 * 8 * 8 + 16 * 8
    assert parameter_count(architecture_of(experiment(projections=Projections()))) == 0
    tied = experiment(heads=Heads(2, 2, 4), projections=Projections(Seeded(0), Tied("query")))
    assert parameter_count(architecture_of(tied)) == 64
