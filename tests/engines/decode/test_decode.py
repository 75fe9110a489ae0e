"""Decoding with a cache equals the full causal pass in value, and counts what it saves."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import numpy as np
import pytest
from cases import ENGINE_IDS, HEADS, MASKS, MEMORY, POSITIONS, TOKENS, experiment
from experiments import sited
from first_layer import with_fields

from attnviz.engines import program, projecting
from attnviz.engines.decode.cost import Cost, StepCosts
from attnviz.engines.decode.decodable import CHANGES, MAX_STEPS, causal_experiment
from attnviz.engines.decode.run import Decoding, decode
from attnviz.engines.engine import Engine
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.parity import parity
from attnviz.engines.run import run
from attnviz.engines.torch_engine import TorchEngine
from attnviz.model.spec import parts as p
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment, one_layer
from attnviz.model.spec.generation import Writing

READ_OUT = CHANGES["readout"]

TOLERANCE = {"float64": 1e-12, "float32": 1e-5}


def make(engine: str, dtype: str = "float64") -> Engine:
    return NumpyEngine(dtype) if engine == "numpy" else TorchEngine(dtype, "cpu")


def assert_equal(engine: Engine, given: Experiment, steps: int | None = None) -> Decoding:
    decoding = decode(engine, given, steps)
    trace = run(engine, decoding.experiment)
    differences = parity(decoding, trace)
    assert set(differences) == set(trace.only.stages) >= {"q", "scores", "weights", "mixed", "probabilities"}
    assert max(differences.values()) <= TOLERANCE[engine.dtype], (engine.id, engine.dtype, differences)
    return decoding


# --- equal in value --------------------------------------------------------------------------------


@pytest.mark.pairwise
@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("masks", MASKS)
def test_steps_equal_the_full_pass(masks: str, position: str, heads: str) -> None:
    given = experiment(masks, position, heads)
    for engine, dtype in itertools.product(ENGINE_IDS, TOLERANCE):
        decoding = assert_equal(make(engine, dtype), given)
        assert [step.token for step in decoding.steps] == list(TOKENS), (engine, dtype)


@pytest.mark.pairwise
@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("masks", MASKS)
def test_cross_attention_steps_equal_the_full_pass(masks: str, position: str, heads: str) -> None:
    given = experiment(masks, position, heads, memory=MEMORY)
    for engine in ENGINE_IDS:
        decoding = assert_equal(make(engine), given, steps=9)
        assert decoding.experiment.layers[0].masks == given.layers[0].masks, engine
        shapes = {(step.weights.shape, step.k is None) for step in decoding.steps}
        assert shapes == {((4, 5), True)}, engine


@pytest.mark.parametrize("engine", ENGINE_IDS)
@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize(
    "extra",
    [
        {"dropout": p.Dropout(0.4, seed=11)},
        {"dropout": p.Dropout(0.4, seed=11, rescale=False), "cap": 1.5},
        {"temperature": 0.3, "scale": p.ScaleValue(0.7)},
        {"masks": "nothing_left", "fully_masked_row": "nan"},
        {"masks": "all", "mask_placement": "after_softmax"},
        {"masks": "nothing_left", "mask_bias": -4.0},
        {"memory": MEMORY, "masks": "padding", "mask_bias": -4.0, "normaliser": "sigmoid"},
        {"qk_norm": p.QKNorm("rms"), "scale": p.ScaleValue(2.0)},
        {"qk_norm": p.QKNorm("l2", 0.0), "memory": MEMORY},
        {"heads": p.Heads(4, 2, 4, (0, 3)), "dropout": p.Dropout(0.4)},
        {"normaliser": "sigmoid", "masks": "window"},
        {"normaliser": "relu_squared", "masks": "nothing_left", "cap": 1.5},
        {"normaliser": "sigmoid", "memory": MEMORY, "mask_placement": "after_softmax"},
        {"sinks": p.SeededSinks(3), "masks": "nothing_left", "fully_masked_row": "nan"},
        {"sinks": p.ExplicitSinks((0.0, -2.0, 5.0, 1.5)), "masks": "window"},
        {"memory": MEMORY, "mask_placement": "after_softmax", "dropout": p.Dropout(0.4)},
    ],
)
def test_options_and_generated_tokens_equal_the_full_pass(
    extra: dict[str, Any], position: str, engine: str
) -> None:
    decoding = assert_equal(make(engine), experiment(position=position, **extra), steps=13)
    assert len(decoding.experiment.tokens) == len(decoding.steps) == 13
    assert ("dropped" in parity(decoding, run(make(engine), decoding.experiment))) == ("dropout" in extra)


@pytest.mark.parametrize(
    ("stage_function", "case"),
    [
        ("query_heads", {"position": "rope"}),
        ("key_value_heads", {"position": "rope"}),
        ("enter", {"position": "sinusoidal"}),
        ("attend", {"position": "alibi"}),
        ("attend", {"masks": "window"}),
        ("attend", {"masks": "painted"}),
        ("attend", {"dropout": p.Dropout(0.4)}),
    ],
)
def test_a_wrong_position_would_be_seen(
    monkeypatch: pytest.MonkeyPatch, stage_function: str, case: dict[str, Any]
) -> None:
    given = causal_experiment(experiment(**{"position": "none", **case}))
    trace = run(NumpyEngine("float64"), given)
    module = program if stage_function == "attend" else projecting
    plain = getattr(module, stage_function)

    def at_position_zero(*args: Any, **named: Any) -> Any:
        place = 4 if stage_function == "enter" else 3
        return plain(*args[:place], 0 * args[place], *args[place + 1 :], **named)

    assert max(parity(decode(NumpyEngine("float64"), given), trace).values()) < 1e-12
    monkeypatch.setattr(module, stage_function, at_position_zero)
    assert max(parity(decode(NumpyEngine("float64"), given), trace).values()) > 1e-3


@pytest.mark.parametrize("engine", ENGINE_IDS)
def test_one_head_of_nan_is_no_difference(engine: str) -> None:
    """Queries of nothing but zeros have no direction: with ε = 0 their norm is NaN, in one of four heads."""
    given = experiment("none", "none", "gqa", qk_norm=p.QKNorm("l2", 0.0))
    weights = np.random.default_rng(2).standard_normal(sited(given).projection_shape("query"))
    weights[:, given.layers[0].heads.d_head : 2 * given.layers[0].heads.d_head] = 0.0
    projections = msgspec.structs.replace(given.layers[0].projections, query=p.Explicit(Matrix(weights)))
    decoding = assert_equal(make(engine), with_fields(given, projections=projections))
    assert np.isnan(decoding.steps[-1].weights).any(axis=-1).tolist() == [False, True, False, False]


def test_parity_sees_weights_of_later_keys_and_nan_on_one_side() -> None:
    given = experiment("none", "none")
    decoding = decode(NumpyEngine("float64"), given)
    not_causal = run(NumpyEngine("float64"), msgspec.structs.replace(given, readout="similarity"))
    assert parity(decoding, not_causal)["weights"] > 0.01
    nan_rows = experiment("nothing_left", "none", fully_masked_row="nan")
    decoding = decode(NumpyEngine("float64"), nan_rows)
    zeros = with_fields(decoding.experiment, fully_masked_row="zeros")
    assert parity(decoding, run(NumpyEngine("float64"), zeros))["weights"] == np.inf


# --- what a step holds -----------------------------------------------------------------------------


def test_layouts_are_the_public_ones() -> None:
    decoding = decode(NumpyEngine("float64"), experiment("none", "rope", "gqa", dropout=p.Dropout(0.5)))
    absent = ("v_rotated", "q_normed", "k_normed")
    step = decoding.steps[4]
    shapes = {name: step[name].shape for name in step.main.stages}
    assert shapes == {
        "tokens_embedded": (8,),
        "q": (4, 4),
        "k": (2, 4),
        "v": (2, 4),
        "q_rotated": (4, 4),
        "k_rotated": (2, 4),
        "mixed": (4, 4),
        "scores": (4, 5),
        "scaled": (4, 5),
        "masked": (4, 5),
        "weights": (4, 5),
        "dropped": (4, 5),
        "concatenated": (16,),
        "attention_output": (8,),
        "logits": (6,),
        "probabilities": (6,),
    }
    assert all(getattr(step, name) is None for name in absent)
    np.testing.assert_array_equal(step.x, step["tokens_embedded"])
    with pytest.raises(KeyError, match=r"stage must be a stage of this step; got 'ffn_up'\."):
        step["ffn_up"]
    assert decoding.vocabulary == ("the", "dog", "bites", "man", "again", "today")


@pytest.mark.parametrize("engine", ENGINE_IDS)
def test_a_step_is_not_changed_by_later_ones_nor_by_its_reader(engine: str) -> None:
    short, long = (decode(make(engine), experiment(), steps) for steps in (3, 7))
    for stage in ("k", "v", "k_rotated", "weights", "mixed"):
        np.testing.assert_array_equal(getattr(short.steps[2], stage), getattr(long.steps[2], stage))
        with pytest.raises(ValueError, match="read-only"):
            getattr(long.steps[2], stage)[...] = 0.0


def test_the_cache_holds_the_rotated_keys_of_every_step() -> None:
    decoding = decode(NumpyEngine("float64"), experiment("all", "rope_half_split"))
    assert decoding.keys.shape == decoding.values.shape == (2, 7, 4)
    for step in decoding.steps:
        np.testing.assert_array_equal(decoding.keys[:, step.index], step.k_rotated)
        np.testing.assert_array_equal(decoding.values[:, step.index], step.v_rotated)


def test_read_and_appended() -> None:
    alone = decode(NumpyEngine("float64"), experiment())
    assert [(step.read, step.appended) for step in alone.steps] == [(t, 1) for t in range(7)]
    cross = decode(NumpyEngine("float64"), experiment(memory=MEMORY))
    assert [(step.read, step.appended) for step in cross.steps] == [(5, 5)] + [(5, 0)] * 6


# --- the next token --------------------------------------------------------------------------------


def test_generated_tokens_are_the_most_probable_ones() -> None:
    decoding = decode(NumpyEngine("float64"), experiment(), 12)
    for before, after in itertools.pairwise(decoding.steps):
        assert before.next_token == decoding.vocabulary[int(np.argmax(before.probabilities))]
        if after.generated:
            assert after.token == before.next_token
    assert [step.generated for step in decoding.steps] == [False] * 7 + [True] * 5
    assert decoding.experiment.tokens == tuple(step.token for step in decoding.steps)


def test_the_first_of_equals_is_fed() -> None:
    flat = one_layer(("b", "a", "b"), p.ExplicitVectors([[0.0, 0.0]] * 3), heads=p.Heads(1, 1, 2))
    decoding = decode(NumpyEngine("float64"), flat, 5)
    assert decoding.experiment.tokens == ("b", "a", "b", "b", "b")
    np.testing.assert_allclose(decoding.steps[0].probabilities, [0.5, 0.5])


@pytest.mark.parametrize("generation", [None, Writing()], ids=["most probable", "sampled"])
def test_logits_of_nan_end_the_text_at_a_step_that_is_named(generation: Writing | None) -> None:
    """The steps before it are kept, with their numbers; no token is invented."""
    padded = with_fields(
        experiment(), masks=(p.Padding((0, 1, 2, 3, 4, 5, 6)),), fully_masked_row="nan", writing=generation
    )
    decoding = decode(NumpyEngine("float64"), padded, 8)
    assert len(decoding.steps) == 7 and decoding.experiment.tokens == TOKENS
    assert np.isnan(decoding.steps[6].probabilities).all() and decoding.steps[6].next_token is None
    assert np.isfinite(decoding.steps[6]["q"]).all()
    assert str(decoding.stopped).startswith("The logits of step 7 (“today”) must be finite")


def test_a_later_step_without_finite_logits_keeps_the_tokens_before_it() -> None:
    """Token c repeats itself; at position 4 no key is left, and the row of a mask of nothing is NaN."""
    masks = (p.Painted(((4, 4),)), p.Window(0, 0))
    vectors = p.ExplicitVectors([[1.0, 0.0], [0.0, 1.0], [4.0, 4.0]])
    experiment_ = one_layer(
        tuple("abc"),
        vectors,
        heads=p.Heads(1, 1, 2),
        masks=masks,
        fully_masked_row="nan",
        readout="similarity",
    )
    decoding = decode(NumpyEngine("float32"), experiment_, 9)
    assert [step.token for step in decoding.steps] == ["a", "b", "c", "c", "c"]
    assert [step.next_token for step in decoding.steps[2:]] == ["c", "c", None]
    assert str(decoding.stopped).startswith("The logits of step 5 (“c”) must be finite")
    assert decode(NumpyEngine("float32"), experiment_, 4).stopped is None


def test_a_document_that_is_fed_to_its_end_samples_nothing_and_is_not_cut() -> None:
    padded = with_fields(experiment(), masks=(p.Padding((0, 1, 2, 3, 4, 5, 6)),), fully_masked_row="nan")
    assert decode(NumpyEngine("float64"), padded).stopped is None


def test_fewer_steps_than_tokens() -> None:
    decoding = assert_equal(NumpyEngine("float64"), experiment(), steps=2)
    assert len(decoding.steps) == 2
    assert decoding.experiment.tokens == TOKENS
    assert decoding.vocabulary == ("the", "dog", "bites", "man", "again", "today")


# --- the experiment that is decoded ----------------------------------------------------------------


def test_a_causal_mask_is_added_once_and_only_to_self_attention() -> None:
    assert causal_experiment(experiment("padding")).layers[0].masks == (p.Padding((0, 3)), p.Causal())
    assert causal_experiment(experiment("all")).layers[0].masks == MASKS["all"]
    assert causal_experiment(experiment("none", memory=MEMORY)).layers[0].masks == ()


def test_masks_that_never_look_ahead_are_decoded_as_they_are() -> None:
    for masks in ("strided", "any_of", "any_of_strided"):
        decoding = decode(NumpyEngine("float64"), experiment(masks))
        assert (decoding.experiment.layers[0].masks, decoding.notices) == (MASKS[masks], ())
    prefix = decode(NumpyEngine("float64"), experiment("prefix"))
    assert prefix.experiment.layers[0].masks == (p.Prefix(3), p.Causal())
    assert "adds a causal mask" in str(prefix.notices[0]) and len(prefix.notices) == 1


def test_what_decoding_adds_to_a_document_is_said() -> None:
    """An encoder has no mask and no read-out: both are said, whether it has other masks or none."""
    plain = msgspec.structs.replace(experiment("none"), readout="none")
    decoding = decode(NumpyEngine("float64"), plain)
    assert decoding.changed == {"masks", "readout"}
    assert decoding.notices == (CHANGES["masks"], READ_OUT)
    own = with_fields(plain, readout="similarity", masks=(p.Causal(),))
    assert (decode(NumpyEngine("float64"), own).changed, decode(NumpyEngine("float64"), own).notices) == (
        frozenset(),
        (),
    )


def test_masking_after_the_softmax_is_moved_before_it_and_said() -> None:
    after = experiment("all", mask_placement="after_softmax")
    decoding = decode(NumpyEngine("float64"), after)
    assert decoding.experiment.layers[0].mask_placement == "before_softmax"
    assert "before the softmax" in str(decoding.notices[0])
    assert decode(NumpyEngine("float64"), experiment("all")).notices == ()


@pytest.mark.parametrize("steps", [0, -1, MAX_STEPS + 1])
def test_illegal_numbers_of_steps(steps: int) -> None:
    with pytest.raises(ValueError, match=rf"^steps must be a whole number from 1 to 100,000; got {steps}\.$"):
        decode(NumpyEngine("float64"), experiment(), steps)


@pytest.mark.parametrize("steps", [1.5, True, "a", 2.0])
def test_a_number_of_steps_is_a_whole_number(steps: Any) -> None:
    with pytest.raises(ValueError, match="^steps must be a whole number from 1 to 100,000; got "):
        decode(NumpyEngine("float64"), experiment(), steps)
    assert len(decode(NumpyEngine("float64"), experiment(), np.int64(2)).steps) == 2  # type: ignore[arg-type]


def test_check_stops_between_steps() -> None:
    calls = []

    def stop_at_the_third() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        decode(NumpyEngine("float64"), experiment(), 7, stop_at_the_third)
    assert len(calls) == 3


# --- counts ----------------------------------------------------------------------------------------


def test_a_hundred_tokens_with_and_without_a_cache() -> None:
    tokens = tuple(str(i) for i in range(100))
    given = Experiment(tokens, p.SeededVectors(100, 4), dtype="float64")
    cached, uncached = decode(NumpyEngine("float64"), given).total(99)
    assert (cached.kv_projections, uncached.kv_projections) == (100, 5050)
    assert (cached.score_pairs, uncached.score_pairs) == (5050, 171_700)


def test_the_counts_of_one_step_by_hand() -> None:
    given = experiment(heads="gqa")
    # The third step; a row is K and V of 2 heads of 4 float32 numbers, 64 bytes. q and output: 2·8·16 FLOPs
    # each, k and v 2·8·8 each, a pair 4·(4·4 + 5); the logits of six tokens 6·(2·8 + 5).
    cached, uncached = StepCosts(given, 4).step(2)
    assert cached == Cost(1, 3, 3 * 64, 1 * 64, 3 * 64, 256 + 256 + 128 + 128 + 3 * 84 + 126)
    assert uncached == Cost(3, 6, 3 * 64, 3 * 64, 0, 3 * 768 + 6 * 84 + 126)
    assert (cached.bytes_moved, uncached.bytes_moved) == (4 * 64, 6 * 64)


def test_the_counts_of_cross_attention_by_hand() -> None:
    given = experiment(heads="gqa", memory=MEMORY)
    # Five memory tokens of 6 features: k and v 2·6·8 FLOPs each.
    held = 5 * 64
    assert StepCosts(given, 4).step(0)[0] == Cost(5, 5, held, held, held, 512 + 5 * 192 + 5 * 84 + 126)
    cached, uncached = StepCosts(given, 4).step(2)
    assert cached == Cost(0, 5, held, 0, held, 512 + 5 * 84 + 126)
    assert uncached == Cost(5, 15, held, held, 0, 3 * 512 + 5 * 192 + 15 * 84 + 126)


def test_identity_projections_cost_nothing() -> None:
    given = one_layer(("a", "b"), p.SeededVectors(2, 4), heads=p.Heads(1, 1, 4))
    assert StepCosts(given, 4).step(0)[0].flops == 4 * 4 + 5


def test_llama_2_7b_holds_512_kib_per_token() -> None:
    layer = one_layer(("a",), p.SeededVectors(1, 4096), heads=p.Heads(32, 32, 128))
    assert 32 * StepCosts(layer, 2).step(0)[0].bytes_held == 512 * 1024


def test_the_kept_arrays_weigh_what_is_counted() -> None:
    decoding = decode(NumpyEngine("float32"), experiment(dtype="float32"))
    assert decoding.keys.nbytes + decoding.values.nbytes == decoding.steps[-1].cached.bytes_held
