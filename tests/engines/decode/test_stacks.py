"""Decoding through layers, blocks, encoders and vocabularies equals the full pass at every site."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import ENGINE_IDS
from experiments import DECODED, STACKS
from first_layer import with_fields
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from stacks import stacks

from attnviz.engines.decode.cost import Cost, StepCosts
from attnviz.engines.decode.decodable import causal_experiment
from attnviz.engines.decode.run import NOT_FINITE, Decoding, decode
from attnviz.engines.engine import Engine
from attnviz.engines.flops import around, stage_flops
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.parity import Compared, compared, parity
from attnviz.engines.run import run
from attnviz.engines.torch_engine import TorchEngine, torch_status
from attnviz.model.caches import Cache, FullCache, RingCache, SinkCache
from attnviz.model.sites.sites import at, place_of, record_at, site_names
from attnviz.model.spec import parts as p
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.positions import Learned
from attnviz.model.spec.sampling import Sampling, StopConditions

TOLERANCE = {"float64": 1e-12, "float32": 2e-5}
CASES = {**DECODED, **STACKS}
NEAR: dict[str, Any] = {"rtol": 1e-8, "atol": 1e-9}

MOST_SCORE = 1e4
"""Past it the softmax's rounding is no longer small: its exponential turns 1e-16 · 1e4 into 1e-12."""


def make(engine: str, dtype: str = "float64") -> Engine:
    return NumpyEngine(dtype) if engine == "numpy" else TorchEngine(dtype, "cpu")


def pairs(engine: Engine, given: Experiment, steps: int | None) -> tuple[Decoding, dict[str, Compared]]:
    """A decoding beside the full pass, with every stage of every site of that pass."""
    decoding = decode(engine, given, steps)
    trace = run(engine, decoding.experiment)
    found = compared(decoding, trace)
    prefix = {name: f"{name}." if len(trace.sites) > 1 else "" for name in trace.sites}
    assert list(found) == [prefix[name] + stage for name in trace.sites for stage in trace.site(name).stages]
    return decoding, found


def assert_equal(found: dict[str, Compared], tolerance: float) -> None:
    apart = {
        stage: (one.difference, one.size)
        for stage, one in found.items()
        if not one.difference <= tolerance * max(1.0, one.size)
    }
    assert not apart


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("engine", ENGINE_IDS)
@pytest.mark.parametrize("case", CASES)
def test_every_stage_of_every_site_equals_the_full_pass(case: str, engine: str, dtype: str) -> None:
    experiment = CASES[case]
    if isinstance(experiment.layers[0].position, Learned):
        steps = min(experiment.layers[0].position.length - experiment.layers[0].position.start, 8)
    else:
        steps = 8
    decoding, found = pairs(make(engine, dtype), experiment, steps)
    is_cut = bool(np.isnan(decoding.steps[-1].probabilities).all())  # nothing can be sampled after NaN
    assert (len(decoding.steps) < steps) == is_cut == bool(decoding.stopped)
    assert_equal(found, TOLERANCE[dtype])


@settings(max_examples=150)
@given(stacks(), st.integers(0, 3))
def test_any_stack_equals_the_full_pass(experiment: Experiment, more: int) -> None:
    decoding, found = pairs(NumpyEngine("float64"), experiment, experiment.n_queries + more)
    assume(all(one.size < MOST_SCORE for one in found.values()))
    if NOT_FINITE not in decoding.notices:
        assert_equal(found, 1e-11)


@pytest.mark.skipif(bool(torch_status()), reason="no torch")
@given(stacks(), st.integers(0, 3))
def test_any_stack_is_the_same_on_torch(experiment: Experiment, more: int) -> None:
    steps = experiment.n_queries + more
    ours, found = pairs(NumpyEngine("float64"), experiment, steps)
    assume(all(one.size < MOST_SCORE for one in found.values()))
    torch = TorchEngine("float64", "cpu")
    theirs = decode(torch, experiment, steps)
    for mine, their in zip(ours.steps, theirs.steps, strict=True):
        assert mine.token == their.token
        for name, site in mine.sites.items():
            for stage in site.stages:
                np.testing.assert_allclose(site[stage], their.site(name)[stage], **NEAR, err_msg=stage)
    trace, other = run(NumpyEngine("float64"), experiment), run(torch, experiment)
    for name in trace.sites:
        for stage in trace.site(name).stages:
            np.testing.assert_allclose(
                trace.site(name)[stage], other.site(name)[stage], **NEAR, err_msg=stage
            )


# --- what goes through the stack -------------------------------------------------------------------


def test_the_memory_is_encoded_once_and_projected_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from attnviz.engines import projecting

    tokens: list[int] = []
    plain = projecting.key_value_heads

    def counted(engine, experiment, features, positions):  # type: ignore[no-untyped-def]
        tokens.append(len(positions))
        plain(engine, experiment, features, positions)

    monkeypatch.setattr(projecting, "key_value_heads", counted)
    decode(NumpyEngine("float64"), STACKS["encoder and decoder"], 4)
    # Two encoder layers and two cross attentions read three memory tokens; then two layers a token a step.
    assert tokens == [3, 3, 3, 3] + [1, 1] * 4


def test_a_site_of_a_step_is_the_row_of_that_site() -> None:
    experiment = STACKS["encoder and decoder"]
    decoding = decode(NumpyEngine("float64"), experiment)
    trace = run(NumpyEngine("float64"), decoding.experiment)
    step = decoding.steps[3]
    assert tuple(step.sites) == site_names(experiment)[2:]
    for name in step.sites:
        np.testing.assert_allclose(
            step.site(name).weights, trace.site(name)["weights"][:, 3, : step.site(name).seen], atol=1e-14
        )
    np.testing.assert_array_equal(step.weights, step.site("decoder.0.self").weights)
    assert step.site("decoder.0.cross").k is None and step.site("decoder.1.self").k is not None
    last = trace.site("decoder.1.cross")
    np.testing.assert_allclose(step.probabilities, last["probabilities"][3], atol=1e-14)
    np.testing.assert_allclose(step.site("decoder.1.self").x, trace.site("decoder.1.self")["layer_input"][3])
    with pytest.raises(
        KeyError, match=r"site must be one of 'decoder.0.self', 'decoder.0.cross'.*; got 'encoder.0.self'"
    ):
        step.site("encoder.0.self")


def test_each_site_has_its_own_cache() -> None:
    decoding = decode(NumpyEngine("float64"), STACKS["encoder and decoder"])
    trace = run(NumpyEngine("float64"), decoding.experiment)
    for name in decoding.steps[0].sites:
        for kept, stage in zip(decoding.cache(name), ("k", "v"), strict=True):
            np.testing.assert_allclose(kept, trace.site(name)[stage], atol=1e-14)


def test_an_earlier_step_still_sees_the_cache_of_its_time() -> None:
    decoding = decode(NumpyEngine("float64"), STACKS["two layers, pre"], 9)
    assert decoding.steps[2].site("layers.1.self")["scores"].shape == (2, 3)
    short = decode(NumpyEngine("float64"), STACKS["two layers, pre"], 3)
    for stage in ("scores", "scaled", "masked", "weights", "ffn_hidden"):
        np.testing.assert_array_equal(
            decoding.steps[2].site("layers.1.self")[stage], short.steps[2].site("layers.1.self")[stage]
        )


def test_generated_tokens_are_the_vocabularys_with_its_vectors() -> None:
    experiment = STACKS["two layers, post"]
    known = experiment.vocabulary
    assert known is not None
    experiment = replace(experiment, vocabulary=replace(known, embedding_scale=0.5))
    decoding = decode(NumpyEngine("float64"), experiment, 9)
    assert decoding.vocabulary == known.tokens
    fed = decoding.experiment.tokens[5:]
    assert fed == tuple(step.next_token for step in decoding.steps[4:8]) and set(fed) <= set(known.tokens)
    rows = [known.embedding.array[known.tokens.index(token)] * 0.5 for token in fed]
    vectors = decoding.experiment.vectors
    assert isinstance(vectors, p.ExplicitVectors)
    np.testing.assert_array_equal(vectors.values.array[5:], rows)
    for step in decoding.steps[5:]:
        np.testing.assert_array_equal(step["tokens_embedded"], rows[step.index - 5])


def test_a_vocabulary_is_read_out_where_nothing_else_is_asked_for() -> None:
    experiment = replace(STACKS["two layers, post"], readout="none")
    assert causal_experiment(experiment).readout == "vocabulary"
    assert causal_experiment(replace(experiment, readout="similarity")).readout == "similarity"
    assert causal_experiment(replace(experiment, vocabulary=None)).readout == "similarity"


def test_every_layer_becomes_causal_and_nothing_else_does() -> None:
    given_ = STACKS["encoder and decoder"]
    causal = causal_experiment(given_)
    for name in site_names(causal):
        place = place_of(causal, name)
        is_decoded = place.stack == "decoder" and place.kind == "self"
        assert (p.Causal() in record_at(causal, place).masks) == is_decoded, name
    assert causal.encoder == given_.encoder and causal.layers[0].cross == given_.layers[0].cross
    late = with_fields(
        STACKS["attentions alone"], masks=(p.Padding((1,)),), mask_placement="after_softmax", mask_bias=-2.0
    )
    notices = decode(NumpyEngine("float64"), late).notices
    assert [str(notice).split(":")[0] for notice in notices] == [
        "Decoding adds a causal mask",
        "Decoding masks before the softmax",
        "Decoding blocks with −∞",
        *(["The document has no read-out"] if late.readout == "none" else []),
    ]


def test_a_table_that_ends_in_a_later_layer_ends_the_steps() -> None:
    assert len(decode(NumpyEngine("float64"), STACKS["attentions alone"], 9).steps) == 9
    with pytest.raises(ValueError, match="position.length"):
        decode(NumpyEngine("float64"), STACKS["attentions alone"], 10)


def test_nan_that_a_full_pass_spreads_backwards_is_said() -> None:
    hidden = (p.Causal(), p.Painted(((2, 0), (2, 1), (2, 2))))
    experiment = with_fields(STACKS["two layers, pre"], masks=hidden, fully_masked_row="nan")
    decoding = decode(NumpyEngine("float64"), experiment)
    assert decoding.notices[-1] == NOT_FINITE
    found = parity(decoding, run(NumpyEngine("float64"), decoding.experiment))
    assert found["layers.0.self.weights"] < 1e-12 and found["layers.1.self.mixed"] == np.inf


@pytest.mark.parametrize("cache", [FullCache(), RingCache(1), SinkCache(1, 1)], ids=["full", "ring", "sink"])
def test_nan_is_said_by_every_cache_and_of_steps_that_were_taken_over(cache: Cache) -> None:
    """The ring no longer has the value of the row of NaN; the second decoding takes all steps over."""
    hidden = (p.Causal(), p.Painted(((2, 0), (2, 1), (2, 2))))
    experiment = with_fields(
        STACKS["two layers, pre"],
        masks=hidden,
        fully_masked_row="nan",
        readout="similarity",
        writing=Writing(Sampling(stop=StopConditions(length=1)), cache),
    )
    first = decode(NumpyEngine("float64"), experiment)
    again = decode(NumpyEngine("float64"), experiment, earlier=first)
    assert again.reused == len(again.steps) == len(first.steps)
    assert first.notices == again.notices and again.notices[-1] == NOT_FINITE
    finite = decode(NumpyEngine("float64"), with_fields(experiment, fully_masked_row="zeros"))
    assert NOT_FINITE not in finite.notices


# --- counts ----------------------------------------------------------------------------------------


def test_the_counts_of_two_layers_by_hand() -> None:
    experiment = causal_experiment(STACKS["two layers, pre"])
    first, second = (at(experiment, name) for name in site_names(experiment))
    # Norms of 6 features: layer with gain and bias 6·7, rms with gain 6·4. Feed-forward 3·2·6·5, biases
    # 5 + 5 + 6, silu and product 2·5. Two residual connections.
    block = 42 + 24 + 180 + 16 + 10 + 12
    assert (around(first), around(second)) == (block, block + 24)  # and the norm after the last layer
    assert sum(flops for stage, flops in stage_flops(first).items() if stage.startswith("ffn")) == 206
    cached, uncached = StepCosts(experiment, 8).step(2)
    # Projections 2·6·4 each of one head of 4; then q and output 2·6·8, k and v 2·6·4; a pair 4·4 + 5 a head.
    logits = 4 * (2 * 6 + 5)
    tokens, readout = 96 + block + 192 + block + 24, logits
    projected, per_pair = 96 + 96, 21 + 42
    row = 2 * 4 * 8
    assert cached == Cost(
        2, 6, 2 * 3 * row, 2 * row, 2 * 3 * row, tokens + projected + 3 * per_pair + readout
    )
    assert uncached == Cost(
        6, 12, 2 * 3 * row, 2 * 3 * row, 0, 3 * (tokens + projected) + 6 * per_pair + readout
    )


def test_an_encoder_is_counted_once() -> None:
    experiment = causal_experiment(STACKS["encoder and decoder"])
    first, again = StepCosts(experiment, 8).step(0)[0], StepCosts(experiment, 8).step(1)[0]
    # Three memory tokens: two encoder sites, two cross attentions; a token for each of two self-attentions.
    assert (first.kv_projections, again.kv_projections) == (3 * 4 + 2, 2)
    assert (first.score_pairs, again.score_pairs) == (2 * 9 + 2 * 3 + 2 * 1, 2 * 3 + 2 * 2)
    without = StepCosts(experiment, 8).step(1)[1]
    assert (without.kv_projections, without.score_pairs, without.bytes_held) == (
        2 * 3 + 2 * 2,
        2 * 6 + 2 * 3,
        0,
    )


@pytest.mark.parametrize("case", STACKS)
def test_what_is_held_is_what_the_caches_weigh(case: str) -> None:
    for engine in (NumpyEngine("float32"), NumpyEngine("float64")):
        step = decode(engine, STACKS[case]).steps[-1]
        assert step.cached.bytes_held == sum(site.cache.held_bytes for site in step.sites.values())
