"""An experiment's shapes; its counts against those of the decoder and of a run."""

from __future__ import annotations

from dataclasses import replace as core_replace

import pytest
from experiments import sited
from first_layer import stacked, with_fields
from msgspec.structs import replace

from attnviz.core.cost.architecture import pairs
from attnviz.core.cost.flops import decode_step, prefill
from attnviz.core.cost.lines import parameter_count, parameters, total
from attnviz.core.cost.memory import FORMAT_BY_ID, bytes_per_token, cache_bytes
from attnviz.core.cost.published_models import PUBLISHED
from attnviz.engines.decode.cost import StepCosts
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.explain.architectures import architecture_of, counts_every_mask
from attnviz.model.operands.latent import cached_numbers, expanded_numbers
from attnviz.model.spec.block import Norm
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.latent import Latent
from attnviz.model.spec.parts import (
    Causal,
    Heads,
    Identity,
    Memory,
    NoPosition,
    Padding,
    Prefix,
    Projections,
    Rope,
    Seeded,
    SeededVectors,
    Tied,
    Window,
)
from attnviz.model.spec.rows import DrawnRow
from attnviz.model.weights import weights_of

SEEDED = Projections(Seeded(0), Seeded(1), Seeded(2), Seeded(3))


def experiment(n: int = 7, **fields: object) -> Experiment:
    given = {"heads": Heads(4, 2, 4), "projections": SEEDED, "masks": (Causal(),), **fields}
    return stacked(tuple("abcdefghijkl"[:n]), SeededVectors(n, 8), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("step", [0, 1, 6])
@pytest.mark.parametrize(
    "projections", [SEEDED, Projections(), Projections(query=Seeded(0), key=Tied("query"))], ids=str
)
def test_a_step_costs_what_the_decoder_says_it_does(step: int, projections: Projections) -> None:
    heads = Heads(4, 4, 2) if isinstance(projections.key, Tied) else Heads(4, 2, 4)
    shown = experiment(projections=projections, heads=heads)
    cached, _uncached = StepCosts(shown, 4).step(step)
    described = architecture_of(shown)
    assert total(decode_step(described, step + 1)) == cached.flops
    assert cache_bytes(described, step + 1, FORMAT_BY_ID["float32"]) == cached.bytes_held


def test_steps_after_the_first_of_a_cross_attention() -> None:
    crossed = experiment(memory=Memory(("x", "y", "z"), SeededVectors(3, 5)), masks=())
    cached, _uncached = StepCosts(crossed, 4).step(4)
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


# --- latents ---------------------------------------------------------------------------------------


def latent(**fields: object) -> Experiment:
    given = {
        "heads": Heads(4, 4, 4),
        "latent": Latent(6, 3, 2, Norm("rms", gain=DrawnRow(1)), Norm("rms")),
        "projections": Projections(Seeded(0), output=Seeded(3)),
        "position": Rope(),
        **fields,
    }
    return experiment(**given)


@pytest.mark.parametrize(
    "shown",
    [
        latent(),
        latent(latent=Latent(6), position=NoPosition(), masks=(Causal(), Padding((1,)))),
        latent(latent=Latent(8, 8, 2, down=Identity(), query_down=Identity())),
        latent(memory=Memory(("x", "y", "z"), SeededVectors(3, 5)), masks=()),
    ],
)
def test_a_latent_costs_what_it_multiplies(shown: Experiment) -> None:
    described, n = architecture_of(shown), shown.n_queries
    assert described.latent is not None
    site = sited(shown)
    mine = {weight.path: weight for weight in weights_of(site)}
    kinds = {path: weight.source(site).__struct_config__.tag for path, weight in mine.items()}
    learned = sum(weight.array(site).size for path, weight in mine.items() if kinds[path] != "identity")
    assert parameter_count(described) == learned
    bare = with_fields(
        shown,
        latent=replace(shown.layers[0].latent, norm=None, query_norm=None),
        masks=shown.layers[0].masks[:1],
    )
    _cached, uncached = StepCosts(bare, 4).step(n - 1)
    assert total(prefill(described, n)) == uncached.flops
    cached, _uncached = StepCosts(shown, 4).step(n - 1)
    assert cache_bytes(described, n, FORMAT_BY_ID["float32"]) == cached.bytes_held


def test_deepseek_v3_as_an_experiment_keeps_70272_bytes_of_a_token() -> None:
    """61 layers of it, d_c 512 and d_rope 64 in fp16: 71.1 times less than 128 heads of 192 + 128 numbers."""
    published = next(model for model in PUBLISHED if model.id == "deepseek-v3").architecture
    gain = DrawnRow(0)
    shown = stacked(
        ("a",),
        SeededVectors(1, published.d_model),
        heads=Heads(128, 128, 128),
        projections=Projections(Seeded(), output=Seeded()),
        latent=Latent(512, 1536, 64, Norm("rms", gain=gain), Norm("rms", gain=gain)),
        position=Rope(),
    )
    described = architecture_of(shown)
    assert described.latent == published.latent
    mine, theirs = (
        [line.value for line in parameters(a) if line.label == "attention, one layer"]
        for a in (described, published)
    )
    assert len(mine) == 1 and mine == theirs
    layers = core_replace(described, layers=61)
    assert bytes_per_token(layers, FORMAT_BY_ID["float16"]) == 70_272 == 61 * 2 * cached_numbers(sited(shown))
    expanded = 61 * 2 * expanded_numbers(sited(shown))
    assert expanded == 61 * 2 * 128 * (192 + 128)
    assert round(expanded / 70_272, 1) == 71.1
