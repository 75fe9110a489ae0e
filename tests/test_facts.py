"""Numbers that were worked out elsewhere: each one is what the program shows.

They come from a list of facts about attention that was recomputed in float64 by other people, with the
printed errors of teaching texts corrected. Six digits are given, so half a unit of the sixth is allowed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from experiments import sited
from first_layer import stacked
from numpy.typing import NDArray

from attnviz.core.positions import alibi_slopes
from attnviz.core.tokens import split
from attnviz.engines.decode.cost import StepCosts
from attnviz.engines.decode.run import decode
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.i18n import language
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import (
    ROLES,
    Alibi,
    Causal,
    Dropout,
    ExplicitVectors,
    Heads,
    Memory,
    NoScale,
    Padding,
    Projections,
    Rope,
    ScaleValue,
    Seeded,
    SeededVectors,
    Sinusoidal,
    Tied,
)
from attnviz.model.trace import Trace

Array = NDArray[Any]

SENTENCE = "小沈阳江西演唱会邀请了，"
SIX_DIGITS = {"rtol": 0, "atol": 5.1e-7}


def traced(experiment: Experiment) -> Trace:
    return run(NumpyEngine("float64"), experiment)


def written(rows: Any, **fields: Any) -> Experiment:
    """One head as wide as the vectors, everything the identity, float64."""
    n, d = np.shape(rows)
    vectors = ExplicitVectors(Matrix(rows))
    return stacked(tuple("abcdefgh"[:n]), vectors, **{"heads": Heads(1, 1, d), "dtype": "float64", **fields})


def of_scores(scores: list[float], **fields: Any) -> Array:
    """Weights of one query whose raw scores are these."""
    memory = Memory(tuple("wxyz"[: len(scores)]), ExplicitVectors(Matrix([[s] for s in scores])))
    weights: Array = traced(written([[1.0]], memory=memory, **{"scale": NoScale(), **fields}))["weights"][
        0, 0
    ]
    return weights


# --- dot products, cosines, softmax ----------------------------------------------------------------

WORDS = [[0.2, 0.8, 0.3], [0.3, 0.7, 0.4], [0.1, 0.9, 0.2], [0.8, 0.2, 0.7]]
"""小, 沈, 阳, 邀请."""


def test_dot_products_of_four_words() -> None:
    scores = traced(written(WORDS, scale=NoScale()))["scores"][0]
    gram = [
        [0.77, 0.74, 0.80, 0.53],
        [0.74, 0.74, 0.74, 0.66],
        [0.80, 0.74, 0.86, 0.40],
        [0.53, 0.66, 0.40, 1.17],
    ]
    np.testing.assert_allclose(scores, gram, rtol=0, atol=1e-14)
    assert scores[0].argmax() == 2, "a word is not always most similar to itself"


def test_a_dot_product_is_the_cosine_times_both_lengths() -> None:
    scores = traced(written(WORDS, scale=NoScale()))["scores"][0]
    lengths = np.linalg.norm(WORDS, axis=1)
    cosines = scores[3, :3] / (lengths[3] * lengths[:3])
    np.testing.assert_allclose(cosines, [0.558390, 0.709308, 0.398766], **SIX_DIGITS)


def test_softmax_of_four_scores_and_of_the_scores_over_root_three() -> None:
    scores = [3.5, -2.1, 8.7, 0.3]
    np.testing.assert_allclose(of_scores(scores), [0.005485, 0.000020, 0.994271, 0.000224], **SIX_DIGITS)
    divided = [0.046888, 0.001849, 0.943872, 0.007391]
    np.testing.assert_allclose(of_scores(scores, scale=ScaleValue(3**-0.5)), divided, **SIX_DIGITS)
    np.testing.assert_allclose(of_scores(scores, temperature=3**0.5), divided, **SIX_DIGITS)


@pytest.mark.parametrize(
    ("temperature", "expected"),
    [
        (0.5, [0.831, 0.112, 0.041, 0.015]),
        (1.0, [0.579, 0.213, 0.129, 0.078]),
        (2.0, [0.409, 0.248, 0.193, 0.150]),
    ],
)
def test_temperature_sharpens_and_flattens(temperature: float, expected: list[float]) -> None:
    found = of_scores([2.0, 1.0, 0.5, 0.0], temperature=temperature)
    np.testing.assert_allclose(found, expected, rtol=0, atol=5.1e-4)


@pytest.mark.parametrize("top", [1.0, 10.0, 500.0])
def test_two_equal_maxima_cannot_both_be_near_1(top: float) -> None:
    weights = of_scores([top, top, -300.0, -300.0])
    np.testing.assert_allclose(weights, [0.5, 0.5, 0, 0], atol=1e-100)


@pytest.mark.parametrize(("d", "root"), [(512, 22.627), (128, 11.314)])
def test_root_of_d_is_what_scores_are_divided_by_and_their_deviation(d: int, root: float) -> None:
    n = 300
    memory = Memory(("k",) * n, SeededVectors(n, d, 1))
    one = stacked(("q",) * n, SeededVectors(n, d, 0), memory, heads=Heads(1, 1, d), dtype="float64")
    trace = traced(one)
    np.testing.assert_allclose(trace["scores"] / trace["scaled"], root, atol=5e-4)
    assert trace["scores"].std() == pytest.approx(root, rel=0.03)
    assert trace["scaled"].std() == pytest.approx(1.0, rel=0.03)


# --- attention from end to end ---------------------------------------------------------------------


def toy(**fields: Any) -> Experiment:
    """`numpy.random.seed(0); randn(4, 3)` as Q, K and V."""
    vectors = SeededVectors(4, 3, 0, "mt19937")
    return stacked(tuple("abcd"), vectors, heads=Heads(1, 1, 3), dtype="float64", **fields)


TOY_ROW = [0.439654, 0.332075, 0.091669, 0.136602]
TOY_OUTPUT = [
    [1.662899, 0.801902, 0.294972],
    [2.201838, 1.785287, -0.889624],
    [1.588105, 0.793978, 0.097362],
    [1.163269, 0.366952, 0.857072],
]


def test_toy_attention() -> None:
    trace = traced(toy())
    np.testing.assert_array_equal(trace["tokens_embedded"], np.random.RandomState(0).randn(4, 3))
    np.testing.assert_allclose(trace["weights"][0, 0], TOY_ROW, **SIX_DIGITS)
    np.testing.assert_allclose(trace["attention_output"], TOY_OUTPUT, **SIX_DIGITS)


def test_toy_attention_is_what_the_preset_shows() -> None:
    trace = traced(load_preset("toy-attention").experiment)
    np.testing.assert_allclose(trace["weights"][0, 0], TOY_ROW, **SIX_DIGITS)
    np.testing.assert_allclose(trace["attention_output"], TOY_OUTPUT, **SIX_DIGITS)


def test_toy_attention_unscaled() -> None:
    row = traced(toy(scale=NoScale()))["weights"][0, 0]
    np.testing.assert_allclose(row, [0.551494, 0.339192, 0.036493, 0.072821], **SIX_DIGITS)


def test_toy_attention_causal() -> None:
    trace = traced(toy(masks=(Causal(),)))
    np.testing.assert_allclose(trace["weights"][0, 2], [0.333324, 0.427953, 0.238722, 0], **SIX_DIGITS)
    np.testing.assert_allclose(trace["attention_output"][1], [2.223977, 1.815500, -0.907886], **SIX_DIGITS)


def test_toy_attention_masked_after_the_softmax() -> None:
    weights = traced(toy(masks=(Causal(),), mask_placement="after_softmax"))["weights"][0]
    np.testing.assert_allclose(weights.sum(axis=1), [0.439654, 0.984110, 0.863776, 1], **SIX_DIGITS)


def test_padding_takes_a_column_and_may_leave_a_row_empty() -> None:
    weights = traced(toy(masks=(Padding((1,)),)))["weights"][0]
    assert (weights[:, 1] == 0).all() and (weights[:, [0, 2, 3]] > 0).all()
    everything = (Padding((0, 1, 2, 3)),)
    assert (traced(toy(masks=everything))["weights"] == 0).all()
    assert np.isnan(traced(toy(masks=everything, fully_masked_row="nan"))["weights"]).all()


def test_tied_query_and_key_make_a_symmetric_score_matrix() -> None:
    tied = traced(toy(projections=Projections(Seeded(3), Tied("query"))))["scores"][0]
    free = traced(toy(projections=Projections(Seeded(3), Seeded(4))))["scores"][0]
    np.testing.assert_allclose(tied, tied.T, rtol=1e-14)
    assert np.abs(free - free.T).max() > 0.1


def test_dropout_multiplies_survivors_and_rows_no_longer_sum_to_1() -> None:
    trace = traced(toy(dropout=Dropout(0.25, seed=1)))
    weights, dropped = trace["weights"], trace["dropped"]
    survivors = dropped != 0
    assert 0 < survivors.sum() < survivors.size
    np.testing.assert_allclose(dropped[survivors], weights[survivors] / 0.75, rtol=1e-14)
    assert not np.allclose(dropped.sum(axis=-1), 1)


def test_softmax_of_qk_times_v_has_the_shape_of_v() -> None:
    trace = traced(toy())
    assert trace["weights"].shape == (1, 4, 4)
    assert trace["mixed"].shape == (1, 4, 3)


def test_from_4_to_256_tokens_there_are_4096_times_as_many_pairs() -> None:
    small, large = (traced(stacked(("t",) * n, SeededVectors(n, 3), heads=Heads(1, 1, 3))) for n in (4, 256))
    assert large["weights"].size == 4096 * small["weights"].size


# --- order and positions ---------------------------------------------------------------------------


def test_dog_bites_man_is_man_bites_dog_without_positions() -> None:
    vectors = np.random.default_rng(5).standard_normal((3, 4))
    weights = Projections(Seeded(1), Seeded(2), Seeded(3), Seeded(4))
    outputs = {}
    for position in (None, Rope(), Sinusoidal(), "causal"):
        fields: dict[str, Any] = {"projections": weights, "heads": Heads(2, 2, 2)}
        if position == "causal":
            fields["masks"] = (Causal(),)
        elif position is not None:
            fields["position"] = position
        said, turned_round = (
            traced(written(rows, **fields))["attention_output"] for rows in (vectors, vectors[::-1])
        )
        outputs[str(position)] = np.abs(turned_round[::-1] - said).max()
    assert outputs.pop("None") < 1e-14
    assert min(outputs.values()) > 1e-3


def test_sinusoidal_position_1_of_width_4() -> None:
    trace = traced(written(np.zeros((2, 4)), position=Sinusoidal()))
    np.testing.assert_allclose(trace["x"][1], [0.841471, 0.540302, 0.010000, 0.999950], **SIX_DIGITS)
    assert trace["x"][0].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(("pairing", "score"), [("interleaved", -1.169916), ("half_split", -0.027288)])
@pytest.mark.parametrize("start", [0, 100])
def test_rope_score_of_a_query_at_5_and_a_key_at_2(pairing: Any, score: float, start: int) -> None:
    rows = np.zeros((6, 4))
    rows[5], rows[2] = [1, 0.5, -0.3, 0.8], [0.2, 1, 0.4, -0.6]
    trace = traced(written(rows, position=Rope(pairing=pairing, start=start), scale=NoScale()))
    assert trace["scores"][0, 5, 2] == pytest.approx(score, abs=5.1e-7)
    assert np.linalg.norm(trace["q_rotated"][0, 5]) == pytest.approx(1.407125, abs=5.1e-7)
    assert np.linalg.norm(trace["q"][0, 5]) == pytest.approx(1.407125, abs=5.1e-7)
    unrotated = traced(written(rows, scale=NoScale()))["scores"]
    assert unrotated[0, 5, 2] == pytest.approx(0.1, abs=1e-15)


def test_alibi_slopes_of_eight_heads_are_one_half_to_one_256th() -> None:
    assert [1 / slope for slope in alibi_slopes(8)] == [2, 4, 8, 16, 32, 64, 128, 256]
    one = stacked(tuple("abc"), SeededVectors(3, 8), heads=Heads(8, 8, 1), position=Alibi(), dtype="float64")
    trace = traced(one)
    np.testing.assert_allclose(trace["biased"][0, 2] - trace["scaled"][0, 2], [-1, -0.5, 0], atol=1e-15)
    np.testing.assert_allclose(
        trace["biased"][7, 0] - trace["scaled"][7, 0], [0, -1 / 256, -2 / 256], atol=1e-15
    )


# --- heads and sequences ---------------------------------------------------------------------------


def gpt3(n_heads: int = 96) -> Experiment:
    return stacked(("t",), SeededVectors(1, 12_288), heads=Heads(n_heads, n_heads, 12_288 // n_heads))


def test_attention_parameters_of_gpt3() -> None:
    one = gpt3()
    assert one.layers[0].heads.d_head == 128
    parameters = sum(math.prod(sited(one).projection_shape(role)) for role in ROLES)
    assert parameters == 603_979_776
    assert parameters // 96 == 4 * 12_288 * 128 == 6_291_456
    assert parameters * 96 == 57_982_058_496


def test_the_number_of_heads_does_not_change_the_cost_of_scores() -> None:
    widths = {
        one.layers[0].heads.n_heads * one.layers[0].heads.d_head for one in (gpt3(h) for h in (1, 12, 96))
    }
    assert widths == {12_288}


def test_pairs_of_an_encoder_a_decoder_and_the_attention_between_them() -> None:
    def tokens(n: int) -> tuple[str, ...]:
        return ("t",) * n

    memory = Memory(tokens(6), SeededVectors(6, 4))
    encoder = traced(Experiment(tokens(6), SeededVectors(6, 4)))
    decoder = traced(Experiment(tokens(4), SeededVectors(4, 4)))
    between = traced(stacked(tokens(4), SeededVectors(4, 4), memory))
    assert [trace["weights"].size for trace in (encoder, decoder, between)] == [36, 16, 24]


def test_a_view_and_a_permutation_make_heads() -> None:
    one = stacked(tuple("abc"), SeededVectors(3, 8), heads=Heads(4, 4, 2), dtype="float64")
    trace = traced(one)
    expected = trace["tokens_embedded"].reshape(1, 3, 4, 2).transpose(0, 2, 1, 3)[0]
    np.testing.assert_array_equal(trace["q"], expected)


def test_a_sentence_as_characters_and_as_bytes() -> None:
    assert len(split(SENTENCE, "character")) == 12
    assert len(split(SENTENCE, "byte")) == 36
    with language("zh_CN"):
        trace = traced(load_preset("xiaoshenyang").experiment)
    assert "".join(trace.only.labels("key")) == SENTENCE
    assert trace["weights"].shape[-2:] == (12, 12)
    np.testing.assert_allclose(trace["weights"].sum(axis=-1), 1)
    sums = trace["scores"].sum(axis=-1)
    assert not np.allclose(sums, 1) and trace["scores"].min() < 0, "raw scores are no percentages"


# --- decoding with a cache -------------------------------------------------------------------------


def cache_bytes(layers: int, n_kv_heads: int, d_head: int = 128) -> int:
    """Bytes that one token adds to the caches of all layers in half precision."""
    one = stacked(("t",), SeededVectors(1, 1), heads=Heads(n_kv_heads, n_kv_heads, d_head))
    cached, _ = StepCosts(one, 2).step(0)
    return layers * cached.bytes_held


@pytest.mark.parametrize(("n_kv_heads", "kib"), [(64, 2560), (8, 320), (1, 40)])
def test_cache_of_a_model_of_80_layers(n_kv_heads: int, kib: int) -> None:
    assert cache_bytes(80, n_kv_heads) == kib * 1024


def test_cache_of_llama_2_7b_and_of_gpt3() -> None:
    assert cache_bytes(32, 32) == 512 * 1024
    assert cache_bytes(96, 96) == 4.5 * 1024**2


def test_a_hundred_steps_with_and_without_a_cache() -> None:
    words = tuple(f"w{i % 9}" for i in range(100))
    one = stacked(words, SeededVectors(100, 4), masks=(Causal(),), dtype="float64")
    decoding = decode(NumpyEngine("float64"), one)
    assert len(decoding.steps) == 100
    cached, uncached = decoding.total(99)
    assert (cached.kv_projections, uncached.kv_projections) == (100, 5050)
    assert (cached.score_pairs, uncached.score_pairs) == (5050, 171_700)


def test_a_decoding_step_is_the_row_of_the_full_pass() -> None:
    one = stacked(
        tuple("abcdefg"),
        SeededVectors(7, 6),
        heads=Heads(4, 2, 4),
        projections=Projections(Seeded(1), Seeded(2), Seeded(3), Seeded(4)),
        position=Rope(),
        masks=(Causal(),),
        dtype="float64",
    )
    decoding, full = decode(NumpyEngine("float64"), one), traced(one)
    for row, step in enumerate(decoding.steps):
        np.testing.assert_allclose(step.weights, full["weights"][:, row, : row + 1], rtol=1e-12)
        np.testing.assert_allclose(
            step.attention_output, full["attention_output"][row], rtol=1e-12, atol=1e-15
        )
