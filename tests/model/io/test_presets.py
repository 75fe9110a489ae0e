"""Every preset opens, fits its view, and shows the numbers that were computed for it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from first_layer import with_fields
from numpy.testing import assert_allclose

from attnviz import i18n, resources
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.i18n import language
from attnviz.model.io.files import DocumentError, dumps, load
from attnviz.model.io.presets import PRESETS, load_preset, preset_ids
from attnviz.model.masks import visible_pairs
from attnviz.model.sites.sites import at, site_names
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Alibi, Causal, NoPosition, Rope, ScaleValue, SqrtDHead
from attnviz.model.trace import Trace

REQUIRED = (
    "toy-attention",
    "word-similarity",
    "fluffy-blue-creature",
    "xiaoshenyang",
    "dog-bites-man",
    "cross-attention",
    "grouped-query",
    "rope-pair",
    "causal-decode",
    "encoder-only",
    "decoder-only",
    "encoder-decoder",
)


def traced(preset_id: str, **changes: object) -> Trace:
    experiment = with_fields(load_preset(preset_id).experiment, **changes)
    return run(NumpyEngine("float64"), experiment)


# --- all of them -----------------------------------------------------------------------------------


def test_every_required_preset_is_there_and_every_file_has_a_row() -> None:
    assert set(REQUIRED) <= set(preset_ids())
    files = {Path(file).stem for file in resources.path("presets").iterdir() if file.suffix == ".json"}
    assert files == set(preset_ids())
    assert len(set(preset_ids())) == len(PRESETS)


@pytest.mark.parametrize("preset", PRESETS, ids=preset_ids())
def test_a_preset_file_is_titled_like_its_row_and_written_as_the_program_writes_it(preset) -> None:
    file = resources.path("presets", f"{preset.id}.json")
    document = load(file)
    assert document.title == preset.title
    assert file.read_text(encoding="utf-8") == dumps(document)
    assert preset.description.endswith((".", "?"))


@pytest.mark.parametrize("preset_id", preset_ids())
def test_the_view_of_a_preset_points_at_cells_that_exist(preset_id: str) -> None:
    document = load_preset(preset_id)
    view, trace = document.view, run(NumpyEngine("float64"), document.experiment)
    assert view.site in ("", *trace.sites)
    site = trace.shown(view.site)
    assert view.stage in site.stages
    assert view.head < site.experiment.heads.n_heads
    assert view.query < site.experiment.n_queries and view.step < site.experiment.n_queries
    if view.locked is not None:
        heads, *cells = (1, *site.shape(view.locked.stage))[-3:]
        assert view.locked.head < heads
        assert view.locked.row < cells[0] and view.locked.column < cells[1]


def test_a_title_is_a_message_that_follows_the_language() -> None:
    title = load_preset("dog-bites-man").title
    try:
        i18n.set_language("zh_CN")
        assert i18n._(title) == "狗咬人"
        assert load_preset("dog-bites-man").title == title
    finally:
        i18n.set_language("en")


def test_an_unknown_preset_is_refused_with_the_ids_there_are() -> None:
    with pytest.raises(
        DocumentError,
        match=r"^preset must be one of .*; got 'nope'\.$",
    ):
        load_preset("nope")


# --- numbers that somebody else computed -----------------------------------------------------------


def test_toy_attention_has_the_numbers_of_the_text() -> None:
    document = load_preset("toy-attention")
    assert document.experiment.dtype == "float64"
    trace = traced("toy-attention")
    assert_allclose(trace["weights"][0, 0], [0.439654, 0.332075, 0.091669, 0.136602], atol=5e-7)
    expected = [
        [1.662899, 0.801902, 0.294972],
        [2.201838, 1.785287, -0.889624],
        [1.588105, 0.793978, 0.097362],
        [1.163269, 0.366952, 0.857072],
    ]
    assert_allclose(trace["attention_output"], expected, atol=5e-7)


def test_toy_attention_without_the_scale_and_with_a_causal_mask() -> None:
    from attnviz.model.spec.parts import NoScale

    unscaled = traced("toy-attention", scale=NoScale())["weights"][0, 0]
    assert_allclose(unscaled, [0.551494, 0.339192, 0.036493, 0.072821], atol=5e-7)
    causal = traced("toy-attention", masks=(Causal(),))
    assert_allclose(causal["weights"][0, 2], [0.333324, 0.427953, 0.238722, 0], atol=1e-6)
    assert_allclose(causal["attention_output"][1], [2.223977, 1.815500, -0.907886], atol=5e-7)


def test_word_similarity_is_the_gram_matrix_of_the_text() -> None:
    gram = [
        [0.77, 0.74, 0.80, 0.53],
        [0.74, 0.74, 0.74, 0.66],
        [0.80, 0.74, 0.86, 0.40],
        [0.53, 0.66, 0.40, 1.17],
    ]
    assert load_preset("word-similarity").experiment.tokens == ("little", "friend", "tiny", "invite")
    scores = traced("word-similarity")["scores"][0]
    assert_allclose(scores, gram, atol=1e-12)
    assert scores[0].argmax() != 0, "the diagonal is not always the largest"


def test_softmax_scores_are_those_typed_and_the_printed_ones_need_a_divisor() -> None:
    trace = traced("softmax-scores")
    assert_allclose(trace["scores"][0, 0], [3.5, -2.1, 8.7, 0.3])
    assert_allclose(trace["weights"][0, 0], [0.005485, 0.000020, 0.994271, 0.000224], atol=5e-7)
    divided = traced("softmax-scores", temperature=3**0.5)["weights"][0, 0]
    assert_allclose(divided, [0.046888, 0.001849, 0.943872, 0.007391], atol=5e-7)
    scaled = traced("softmax-scores", scale=ScaleValue(3**-0.5))["weights"]
    assert_allclose(scaled[0, 0], divided)


def test_two_equal_maxima_give_one_half_each() -> None:
    weights = traced("half-each")["weights"][0, 3]
    assert weights[1] == weights[2]
    assert 0.48 < weights[1] < 0.5
    assert load_preset("half-each").experiment.tokens == ("a", "fluffy", "blue", "creature")


def test_each_adjective_has_a_head_of_the_noun() -> None:
    document = load_preset("fluffy-blue-creature")
    assert (
        document.experiment.layers[0].heads.n_heads == 4
        and document.experiment.layers[0].heads.n_kv_heads == 2
    )
    of_creature = traced("fluffy-blue-creature")["weights"][:, 3]
    assert of_creature[0].argmax() == 1 and of_creature[0, 1] > 0.8
    assert of_creature[1].argmax() == 2 and of_creature[1, 2] > 0.7


WORDS = {"word-similarity": ("小", "沈", "阳", "邀请"), "xiaoshenyang": tuple("小沈阳江西演唱会邀请了，")}


def test_words_whose_meaning_is_the_point_are_those_of_the_language_and_all_else_is_equal() -> None:
    assert {preset.id for preset in PRESETS if preset.words} == set(WORDS)
    for id_, words in WORDS.items():
        english = load_preset(id_)
        with language("zh_CN"):
            chinese = load_preset(id_)
        assert "".join(english.experiment.tokens).isascii() and chinese.experiment.tokens == words
        assert msgspec.structs.replace(chinese, experiment=english.experiment) == english
        tokens = english.experiment.tokens
        assert msgspec.structs.replace(chinese.experiment, tokens=tokens) == english.experiment


def test_xiaoshenyang_has_twelve_tokens() -> None:
    document = load_preset("xiaoshenyang")
    assert " ".join(document.experiment.tokens) == "Little Shen from the far north was also invited to sing ,"
    assert len(document.experiment.tokens) == 12
    trace = traced("xiaoshenyang")
    assert trace["scores"].min() < 0, "raw scores are no percentages"
    assert_allclose(trace["weights"].sum(axis=-1), 1)


def test_rope_pair_depends_on_the_distance_only() -> None:
    trace = traced("rope-pair")
    assert_allclose(trace["scores"][0, 5, 2], -1.169916, atol=5e-7)
    assert_allclose(traced("rope-pair", position=Rope(start=100))["scores"][0, 5, 2], -1.169916, atol=5e-7)
    half_split = traced("rope-pair", position=Rope(pairing="half_split"))
    assert_allclose(half_split["scores"][0, 5, 2], -0.027288, atol=5e-7)
    assert_allclose(traced("rope-pair", position=NoPosition())["scores"][0, 5, 2], 0.1, atol=1e-12)
    assert_allclose(np.linalg.norm(trace["q_rotated"][0, 5]), 1.407125, atol=5e-7)


def test_sinusoidal_shows_the_position_alone() -> None:
    assert_allclose(traced("sinusoidal")["x"][1], [0.841471, 0.540302, 0.010000, 0.999950], atol=5e-7)


def test_cross_attention_is_a_rectangle_that_pairs_the_words() -> None:
    experiment = load_preset("cross-attention").experiment
    weights = traced("cross-attention")["weights"][0]
    assert weights.size == 24 and weights.shape == (6, 4)
    assert experiment.memory is not None
    pairs = {experiment.tokens[q]: experiment.memory.tokens[weights[q].argmax()] for q in (1, 2, 3, 5)}
    assert pairs == {"cat": "猫", "sat": "坐在", "on": "上", "mat": "垫子"}


def test_masked_after_the_softmax_the_rows_sum_to_what_is_left() -> None:
    sums = traced("mask-after-softmax")["weights"][0].sum(axis=-1)
    assert_allclose(sums, [0.439654, 0.984110, 0.863776, 1], atol=5e-7)


def test_alibi_window_has_the_published_slopes_and_no_key_past_the_window() -> None:
    experiment = load_preset("alibi-window").experiment
    assert isinstance(experiment.layers[0].position, Alibi) and experiment.layers[0].heads.n_heads == 8
    trace = traced("alibi-window")
    bias = trace.window("biased", 0) - trace.window("scaled", 0)
    assert_allclose(bias[9, 7], -2 * 0.5)
    assert_allclose(trace.window("biased", 7)[9, 7] - trace.window("scaled", 7)[9, 7], -2 / 256)
    weights = trace["weights"]
    assert (weights[:, 10, :4] == 0).all() and (weights[:, 10, 4:11] > 0).all()


def test_dog_bites_man_is_equivariant() -> None:
    document = load_preset("dog-bites-man")
    order = [2, 1, 0]
    vectors = document.experiment.vectors
    permuted = msgspec.structs.replace(vectors, values=vectors.values.array[order])
    plain = traced("dog-bites-man")["attention_output"]
    assert_allclose(traced("dog-bites-man", vectors=permuted)["attention_output"], plain[order], atol=1e-12)
    causal = traced("dog-bites-man", masks=(Causal(),))["attention_output"]
    moved = traced("dog-bites-man", masks=(Causal(),), vectors=permuted)["attention_output"]
    assert not np.allclose(moved, causal[order]), "a causal mask alone leaks the order"


def test_tied_projections_make_symmetric_scores() -> None:
    scores = traced("tied-query-key")["scores"]
    assert_allclose(scores, scores.transpose(0, 2, 1), atol=1e-12)


def test_one_latent_makes_the_keys_and_values_of_all_heads() -> None:
    trace = traced("multi-head-latent")
    d_c, d_rope = trace["latent"].shape[-1], trace["rope_key"].shape[-1]
    assert (d_c, d_rope) == (16, 4)
    assert trace["k"].shape == (8, 17, 12) and trace["v"].shape == (8, 17, 8)
    # The 128 numbers of a token's keys and values, RoPE apart, span no more than the latent's 16.
    made = np.concatenate((*trace["k"][:, :, :8], *trace["v"]), axis=-1)
    assert made.shape == (17, 128) and np.linalg.matrix_rank(made) == d_c
    assert (trace["k"][:, :, 8:] == trace["rope_key"]).all()


def test_padding_at_the_start_leaves_rows_without_keys() -> None:
    trace = traced("fully-masked-row")
    assert trace.only.fully_masked().tolist() == [True, True, False, False, False, False]
    assert (trace["weights"][:, :2] == 0).all()
    assert np.isnan(traced("fully-masked-row", fully_masked_row="nan")["weights"][:, :2]).all()


def test_a_prefix_is_seen_in_both_directions_and_the_answer_is_causal() -> None:
    weights = traced("prefix-lm")["weights"]
    assert (weights[:, :6, :6] > 0).all() and (weights[:, :6, 6:] == 0).all()
    assert (weights[:, 6:] > 0).tolist() == [np.tri(10, dtype=bool)[6:].tolist()] * 4
    assert visible_pairs(load_preset("prefix-lm").attention) == 70 == 10 * 11 // 2 + 6 * 5 // 2


def test_sparse_attention_is_a_window_and_one_global_token() -> None:
    weights = traced("sparse-attention")["weights"]
    distance = np.abs(np.arange(16)[:, None] - np.arange(16))
    seen = distance <= 3
    seen[0] = seen[:, 0] = True
    assert (weights > 0).tolist() == [seen.tolist()] * 4
    pairs = 16 * 7 - 2 * 6 + 2 * 12  # windows, less their two cut-off corners, and the cross less its own
    assert visible_pairs(load_preset("sparse-attention").attention) == pairs == 124
    assert "124 of 256" in next(preset for preset in PRESETS if preset.id == "sparse-attention").description


def test_dropout_keeps_the_survivors_at_one_over_one_minus_p() -> None:
    trace = traced("dropout")
    weights, dropped = trace["weights"], trace["dropped"]
    kept = dropped > 0
    assert 0 < (~kept).sum() < kept.sum()
    assert_allclose(dropped[kept], weights[kept] / 0.75)
    assert not np.allclose(dropped.sum(axis=-1), 1)


def test_without_the_scale_512_features_saturate() -> None:
    assert np.median(traced("no-scale-512")["weights"].max(axis=-1)) > 0.98
    assert np.median(traced("no-scale-512", scale=SqrtDHead())["weights"].max(axis=-1)) < 0.6


def test_causal_decode_predicts_most_of_its_next_words() -> None:
    experiment = load_preset("causal-decode").experiment
    assert experiment.readout == "similarity" and experiment.dtype == "float64"
    trace = traced("causal-decode")
    words = trace.only.labels("vocabulary")
    said = [words[row.argmax()] for row in trace["probabilities"][:-1]]
    assert sum(a == b for a, b in zip(said, experiment.tokens[1:], strict=True)) == 7


def test_the_long_sentence_has_128_tokens_and_eight_heads() -> None:
    experiment = load_preset("long-sentence").experiment
    assert experiment.n_queries == 128 and experiment.layers[0].heads.n_heads == 8


def pairs(experiment: Experiment) -> dict[str, tuple[int, int]]:
    """(pairs, those that no mask hides) of every attention."""
    sites = {name: at(experiment, name) for name in site_names(experiment)}
    return {name: (one.n_queries * one.n_keys, visible_pairs(one)) for name, one in sites.items()}


def said(trace: Trace, name: str) -> list[str]:
    """The most probable token at every place."""
    site = trace.site(name)
    return [site.labels("vocabulary")[row.argmax()] for row in site["probabilities"]]


def test_an_encoder_and_a_decoder_have_the_three_attentions_of_the_text() -> None:
    experiment = load_preset("encoder-decoder").experiment
    assert pairs(experiment) == {
        "encoder.0.self": (36, 36),
        "decoder.0.self": (16, 10),
        "decoder.0.cross": (24, 24),
    }
    trace = traced("encoder-decoder")
    assert said(trace, "decoder.0.cross") == ["猫", "坐在", "垫子", "上"]
    assert experiment.tokens == ("<s>", "猫", "坐在", "垫子")
    memory, cross = experiment.memory, trace.site("decoder.0.cross")["weights"][0]
    assert memory is not None
    assert [memory.tokens[row.argmax()] for row in cross] == ["cat", "sat", "mat", "on"]
    assert (cross.max(axis=1) > 0.7).all()


def test_an_encoder_looks_both_ways_and_never_at_padding() -> None:
    document = load_preset("encoder-only")
    assert pairs(document.experiment) == {"layers.0.self": (49, 42), "layers.1.self": (49, 42)}
    assert document.experiment.tokens[document.view.query] == "[MASK]"
    trace = traced("encoder-only")
    for name in trace.sites:
        weights = trace.site(name)["weights"]
        assert (weights[:, :, 6] == 0).all() and (weights[:, :, :6] > 0).all()
    of_mask = trace.site("layers.1.self")["weights"][:, 3]
    assert [document.experiment.tokens[row.argmax()] for row in of_mask] == ["cat", "milk"]
    words = said(trace, "layers.1.self")
    assert words[:6] == ["[CLS]", "the", "cat", "drinks", "milk", "[SEP]"]


def test_a_decoder_sees_the_past_and_tells_one_the_from_the_other() -> None:
    document = load_preset("decoder-only")
    assert pairs(document.experiment) == {"layers.0.self": (36, 21), "layers.1.self": (36, 21)}
    trace = traced("decoder-only")
    assert said(trace, "layers.1.self")[:5] == ["cat", "sat", "on", "the", "mat"]
    for name in trace.sites:
        assert (np.triu(trace.site(name)["weights"], 1) == 0).all()


def test_presets_are_documents() -> None:
    assert all(isinstance(load_preset(preset_id), Document) for preset_id in preset_ids())


def test_a_temperature_by_position_keeps_the_last_row_sharp() -> None:
    """Of m + 1 keys one has the score 3, or 3 (1 + ln(1 + ⌊(m + 1) ÷ 4⌋) ÷ 2), and the others 0."""
    m = np.arange(16)
    for changes, score in (
        ({}, 3 * (1 + 0.5 * np.log(1 + (m + 1) // 4))),
        ({"position_temperature": None}, 3),
    ):
        expected = np.exp(score) / (np.exp(score) + m)
        assert_allclose(traced("position-temperature", **changes)["weights"][0, :, 0], expected, atol=1e-12)
    assert [round(float(np.exp(s) / (np.exp(s) + 15)), 2) for s in (3 * (1 + 0.5 * np.log(5)), 3)] == [
        0.94,
        0.57,
    ]
    assert "0.94" in load_preset("position-temperature").caption


def test_a_gate_of_each_head_multiplies_its_output() -> None:
    trace = traced("output-gate")
    gates = 1 / (1 + np.exp(-trace["gate"]))
    assert gates.shape == (2, 6, 1) and gates[1, 1, 0] == pytest.approx(0.05, abs=1e-3)
    assert_allclose(trace["gated"], trace["mixed"] * gates, atol=1e-12)
