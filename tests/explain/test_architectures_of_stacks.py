"""A whole experiment as architectures: parameters counted in its arrays, FLOPs as engines count."""

from __future__ import annotations

import numpy as np
import pytest
from experiments import ALL_SEEDED, SPREAD, STACKS, block, sited, small
from first_layer import with_fields
from hypothesis import given
from msgspec.structs import replace
from stacks import stacks

from attnviz.core.cost import stack as cost_stack
from attnviz.core.cost.lines import Line, total
from attnviz.core.cost.memory import FORMAT_BY_ID
from attnviz.engines.decode.cost import StepCosts
from attnviz.engines.flops import around, site_flops, stage_flops
from attnviz.explain.architectures import architecture_of, stack_of
from attnviz.model.edit.layers import set_n_layers
from attnviz.model.sites.sites import at, places
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Causal, Heads, Identity, SeededSinks, Window
from attnviz.model.spec.positions import Learned
from attnviz.model.spec.rows import DrawnRow
from attnviz.model.spec.site import Site
from attnviz.model.spec.source import DrawnTable
from attnviz.model.spec.vocabulary import Transform, Vocabulary
from attnviz.model.weights import weights_of

FLOAT64 = FORMAT_BY_ID["float64"]
VOCABULARY = Vocabulary(
    ("a", "b", "c"),
    Matrix(np.ones((3, 6))),
    unembedding=Matrix(np.ones((6, 3))),
    transform=Transform(bias=DrawnRow(), norm=Norm("layer", gain=DrawnRow(), bias=DrawnRow())),
    bias=DrawnRow(),
)
ALL = {
    **SPREAD,
    **STACKS,
    "five equal layers": set_n_layers(
        small(block=block("pre"), position=Learned(9, table=DrawnTable(3)), final_norm=Norm(gain=DrawnRow())),
        5,
    ),
    "a head with a transform": small(vocabulary=VOCABULARY, sinks=SeededSinks(3), readout="vocabulary"),
    "a tied head": small(vocabulary=replace(VOCABULARY, unembedding=None, transform=None, bias=None)),
}


def numbers(experiment: Experiment) -> int:
    """Every number that could be learned, counted in the arrays themselves."""
    count = 0
    for place in places(experiment):
        site = at(experiment, place.name)
        for weight in weights_of(site):
            is_own = weight.origin(site) not in ("identity", "tied")
            is_counted = not weight.path.startswith(("additive_mask.", "position.slopes", "vocabulary."))
            count += weight.array(site).size if is_own and is_counted else 0
    vocabulary = experiment.vocabulary
    if vocabulary is not None:
        count += vocabulary.embedding.array.size
        count += 0 if vocabulary.unembedding is None else vocabulary.unembedding.array.size
        count += 0 if vocabulary.bias is None else vocabulary.n_logits
        transform = vocabulary.transform
        if transform is not None:
            norm = transform.norm
            rows = (transform.bias, *((norm.gain, norm.bias) if norm is not None else ()))
            features = vocabulary.logit_features(experiment.d_model)
            count += features * sum(row is not None for row in rows)
            count += 0 if isinstance(transform.weights, Identity) else experiment.d_model * features
    return count


@pytest.mark.parametrize("name", ALL)
def test_parameters_are_the_numbers_of_all_its_arrays(name: str) -> None:
    stack = stack_of(ALL[name])
    lines = cost_stack.parameters(stack)
    assert total(lines) == numbers(ALL[name]) == cost_stack.parameter_count(stack)


@given(stacks())
def test_parameters_of_any_stack_are_the_numbers_of_all_its_arrays(experiment: Experiment) -> None:
    stack = stack_of(experiment)
    assert total(cost_stack.parameters(stack)) == numbers(experiment)
    assert sum(a.layers for a in stack) == len(places(experiment))


def bare(experiment: Experiment, **changes: object) -> Experiment:
    return with_fields(experiment, masks=(Causal(),), readout="none", **changes)


FFN = FeedForward(5, "silu", gated=True)
CROSSED = bare(STACKS["encoder and decoder"], final_norm=None, encoder_norm=None, encoder_embedding_norm=None)
COUNTED = {
    "one": bare(small(block=Block(residual=False, norm_1=None, feed_forward=FFN))),
    "seven": set_n_layers(bare(small(block=Block(residual=False, norm_1=None, feed_forward=FFN))), 7),
    "heads differ": bare(
        STACKS["two layers, pre"],
        layers=tuple(replace(one, masks=(Causal(),)) for one in STACKS["two layers, pre"].layers),
    ),
    "an identity up": bare(
        small(block=Block(residual=False, norm_1=None, feed_forward=replace(FFN, d_hidden=6, up=Identity())))
    ),
    "encoder and decoder": replace(
        CROSSED, layers=tuple(replace(one, masks=(Causal(),)) for one in CROSSED.layers)
    ),
}


def linear(site: Site) -> int:
    """FLOPs of one token that the bill leaves out: norms, residuals, biases, the activation."""
    ffn = None if site.block is None else site.block.feed_forward
    if ffn is None:
        return around(sited(site))
    products = [
        2 * site.d_model * ffn.d_hidden
        for role in ("up", "down", *(("gate",) if ffn.gated else ()))
        if not (isinstance(getattr(ffn, role), Identity) and ffn.d_hidden == site.d_model)
    ]
    counted = stage_flops(sited(site))
    assert sum(counted[stage] for stage in counted if stage.startswith("ffn")) > sum(products)
    return around(sited(site)) - sum(products)


@pytest.mark.parametrize("name", COUNTED)
def test_operations_are_those_that_the_engines_count(name: str) -> None:
    """A pass and a step; the engines' estimates count what is linear in a token besides."""
    experiment, n = COUNTED[name], 5
    stack = stack_of(experiment)
    expected = cached = 0
    for place in places(experiment):
        site = at(experiment, place.name)
        own, keys = site.n_queries, site.n_keys
        pairs = own * keys if place.stack == "encoder" or site.memory is not None else n * (n + 1) // 2
        flops = site_flops(site)
        expected += flops.of(own, keys, 0, pairs, 0) - own * linear(site)
        if place.stack != "encoder":
            is_self = site.memory is None
            cached += flops.of(1, int(is_self), 0, n if is_self else keys, 0) - linear(site)
    assert total(cost_stack.prefill(stack, n)) == expected
    assert total(cost_stack.decode_step(stack, n)) == cached
    with_cache, _without = StepCosts(experiment, 8).step(n - 1)
    assert cost_stack.cache_bytes(stack, n, FLOAT64) == with_cache.bytes_held
    assert total(cost_stack.cache(stack, n, FLOAT64)) == with_cache.bytes_held


def test_equal_layers_are_one_line_times_their_number() -> None:
    experiment = ALL["five equal layers"]
    (a,) = stack_of(experiment)
    assert (a.layers, a.d_ff, a.gated, a.name) == (5, 5, True, "layers 1 to 5")
    labels = [line.label for line in cost_stack.parameters((a,))]
    assert "tables of positions" in labels and "biases, all layers" in labels
    assert architecture_of(experiment) == a


def named(experiment: Experiment) -> list[str]:
    return [str(a.name) for a in stack_of(experiment)]


def test_layers_are_named_by_their_numbers_from_1() -> None:
    five = COUNTED["seven"]
    one = replace(five.layers[1], masks=(Causal(), Window(2, 0)))

    def windowed(*indices: int, count: int) -> Experiment:
        layers = set_n_layers(five, count).layers
        return replace(five, layers=tuple(one if i in indices else layer for i, layer in enumerate(layers)))

    assert named(windowed(2, count=5)) == ["layers 1 to 2, 4 to 5", "layer 3"]
    assert named(windowed(1, 3, 5, 7, 9, count=10))[1] == "layers 2, 4, …, 10"


def test_the_layouts_of_layers_that_differ_have_all_their_labels() -> None:
    four = small(heads=Heads(4, 2, 4), behind=(Layer(heads=Heads(8, 4, 4), projections=ALL_SEEDED),))
    labels = {id_: label for id_, label, _stack in cost_stack.laid_out(stack_of(four))}
    assert labels["MHA"] == "MHA, 4 KV heads; MHA, 8 KV heads"
    assert labels["GQA"] == "GQA, 2 KV heads; GQA, 4 KV heads"
    assert labels["MQA"] == "MQA, 1 KV head"


def test_attentions_that_differ_are_billed_under_their_names() -> None:
    stack = stack_of(STACKS["encoder and decoder"])
    assert [a.name for a in stack] == [
        "encoder layer 1",
        "encoder layer 2",
        "decoder layer 1",
        "decoder layer 1 · cross",
        "decoder layer 2",
        "decoder layer 2 · cross",
    ]
    lines = cost_stack.prefill(stack, 5)
    titles = [line.label for line in lines if line.kind == "title"]
    assert titles == [*(a.name for a in stack), "Total"]
    assert [line.kind for line in lines].count("total") == 1
    notes = [line for line in lines if line.kind == "note"]
    assert len(notes) == len(set(notes)) and isinstance(notes[0], Line)


@pytest.mark.parametrize("room", [0, 100, 10_000, 123_457])
def test_the_longest_context_is_the_last_that_fits(room: int) -> None:
    for experiment in (STACKS["encoder and decoder"], STACKS["two layers, pre"], small()):
        stack = stack_of(experiment)
        longest = cost_stack.longest_context(stack, room, FLOAT64)
        assert longest is not None
        assert cost_stack.cache_bytes(stack, longest + 1, FLOAT64) > room
        assert longest == 0 or cost_stack.cache_bytes(stack, longest, FLOAT64) <= room


def test_what_fits_beside_the_weights_of_a_stack() -> None:
    stack = stack_of(STACKS["two layers, pre"])
    lines = {line.label: line for line in cost_stack.fits(stack, 5, 1, FLOAT64, FLOAT64, 8)}
    room = 8 * 10**9 - 8 * cost_stack.parameter_count(stack)
    assert lines["left for the cache"].value == room
    # One layer keeps 2 x 4 numbers of a token, the other 2 x 4 of its one KV head.
    assert lines["longest context, batch 1"].value == room // (8 * (2 * 4 + 2 * 4))
    assert lines["largest batch, 5 tokens"].value == room // (5 * 8 * 16)
