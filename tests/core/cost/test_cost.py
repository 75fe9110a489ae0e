"""Counts of parameters, operations and bytes, against numbers that other people published or worked out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import parts
from attnviz.core.cost.architecture import Architecture, Latent, band_pairs, pairs
from attnviz.core.cost.flops import decode_step, prefill
from attnviz.core.cost.lines import Line, parameter_count, parameters, rounded, total
from attnviz.core.cost.memory import (
    FORMAT_BY_ID,
    FORMATS,
    GB,
    Format,
    bytes_per_token,
    cache,
    cache_bytes,
    fits,
    layouts,
    longest_context,
    stage_bytes,
    stage_shapes,
    weight_bytes,
)
from attnviz.core.cost.published_models import PUBLISHED, PUBLISHED_BY_ID
from attnviz.core.masks import causal, window
from attnviz.model.operands.latent import cached_numbers, expanded_numbers
from attnviz.model.stages import STAGES

FLOAT16 = FORMAT_BY_ID["float16"]
KIB, MIB = 1024, 1024**2


def model(id_: str) -> Architecture:
    return PUBLISHED_BY_ID[id_].architecture


# --- pairs -----------------------------------------------------------------------------------------


def test_causal_pairs_with_and_without_a_window() -> None:
    assert band_pairs(100_000, 99_999, 0) == 5_000_050_000
    assert band_pairs(100_000, 511, 0) == 51_069_184
    assert round(5_000_050_000 / 51_069_184, 1) == 97.9


def test_double_the_tokens_four_times_the_pairs() -> None:
    encoder = Architecture(layers=1, d_model=8, n_heads=1, n_kv_heads=1, d_head=8, ahead=None)
    assert pairs(encoder, 256, windowed=False) == 4096 * pairs(encoder, 4, windowed=False)
    assert pairs(encoder, 8, windowed=False) == 4 * pairs(encoder, 4, windowed=False)


def test_pairs_of_six_queries_and_four_memory_keys() -> None:
    cross = Architecture(layers=1, d_model=8, n_heads=1, n_kv_heads=1, d_head=8, n_memory=4, d_memory=8)
    assert pairs(cross, 6, windowed=False) == 24


@given(st.integers(1, 40), st.integers(0, 45), st.integers(0, 45))
def test_pairs_in_closed_form_are_the_cells_that_the_masks_allow(n: int, left: int, right: int) -> None:
    at = np.arange(n)
    assert band_pairs(n, left, right) == n * n - int(window(at, at, left, right).sum())
    assert band_pairs(n, n - 1, 0) == n * n - int(causal(at, at).sum())


# --- parameters ------------------------------------------------------------------------------------


def test_the_attention_of_gpt3() -> None:
    gpt3 = replace(model("gpt3"), biases=False)
    lines = {line.label: line for line in parameters(gpt3)}
    assert 4 * 12_288 * 128 * 96 == lines["attention, one layer"].value == 603_979_776
    assert lines["attention, all layers"].value == 57_982_058_496
    assert lines["attention, all layers"].digits == "96 × 603,979,776"
    assert lines["W_Q"].symbols == "d_model · h · d_head"
    assert lines["W_Q"].digits == "12,288 × 96 × 128"


def test_a_token_of_deepseek_v3_goes_through_37_billion() -> None:
    # Counted elsewhere without the 14,848 biases of the routers.
    assert "37,552,297,472 of them" in [line.label for line in parameters(model("deepseek-v3"))][-1]
    assert 37_552_297_472 - 58 * 256 == 37_552_282_624
    assert not any("of them" in line.label for line in parameters(model("gpt2")))


@pytest.mark.parametrize("id_", PUBLISHED_BY_ID)
def test_every_line_is_the_product_of_the_digits_it_shows(id_: str) -> None:
    bills = (
        parameters(model(id_)),
        prefill(model(id_), 5000, 3),
        decode_step(model(id_), 5000, 3),
        cache(model(id_), 5000, FORMAT_BY_ID["int8"], 2),
    )
    for bill in bills:
        shown = [line for line in bill if line.digits and all(c in "0123456789,×+ " for c in line.digits)]
        assert len(shown) >= 4
        for line in shown:
            assert eval(line.digits.replace(",", "").replace("×", "*")) == line.value, line


def test_identities_are_free_and_tied_matrices_have_no_parameters() -> None:
    a = Architecture(layers=1, d_model=8, n_heads=2, n_kv_heads=1, d_head=4)
    assert parameter_count(a) == 8 * 8 + 8 * 4 + 8 * 4 + 8 * 8
    assert parameter_count(replace(a, identities=("query", "value"))) == 8 * 4 + 8 * 8
    assert parameter_count(replace(a, unlearned=("key",))) == parameter_count(a) - 32
    tied, free = replace(a, unlearned=("key",)), replace(a, identities=("key",))
    assert total(prefill(tied, 10)) == total(prefill(a, 10))
    assert total(prefill(free, 10)) == total(prefill(a, 10)) - 2 * 10 * 8 * 4


# --- operations ------------------------------------------------------------------------------------


def without_softmax(lines: tuple[Line, ...]) -> int:
    return total(lines) - sum(line.value for line in lines if line.label.startswith("softmax"))


def test_the_prefill_of_deepseek_v3_as_another_counter_has_it() -> None:
    """Matrix products of an 8,192-token pass, K and V expanded, causal cells only, logits everywhere."""
    bill = prefill(model("deepseek-v3"), 8192)
    assert without_softmax(bill) == 767_753_388_556_288
    assert without_softmax(bill) - 2 * 8191 * 7168 * 129_280 == 752_572_532_523_008
    everything = replace(model("deepseek-v3"), ahead=None)
    assert without_softmax(prefill(everything, 8192)) == 935_408_443_588_608
    assert any(f"{total(prefill(everything, 8192)):,}" in line.label for line in bill)


def test_a_dense_model_takes_two_operations_a_parameter_and_token_besides_the_scores() -> None:
    a = model("llama-2-7b")
    matrices = (
        parameter_count(a) - 32_000 * 4096 - 65 * 4096
    )  # the embedding is looked up, norms are not products
    scores = 32 * 32 * (4 * 128 + 5)
    assert total(prefill(a, 100)) == 2 * 100 * matrices + scores * 100 * 101 // 2
    assert total(decode_step(a, 100)) == 2 * matrices + scores * 100


@pytest.mark.parametrize("id_", [m.id for m in PUBLISHED if m.architecture.latent is None])
@given(n=st.integers(1, 9000))
def test_steps_add_up_to_the_prefill(id_: str, n: int) -> None:
    """The n-th step is what a pass over n tokens has more than one over n − 1."""
    more = total(prefill(model(id_), n)) - total(prefill(model(id_), n - 1))
    assert total(decode_step(model(id_), n)) == more


def test_a_batch_is_so_many_sequences() -> None:
    assert total(prefill(model("gemma-2-9b"), 777, 5)) == 5 * total(prefill(model("gemma-2-9b"), 777))
    assert total(decode_step(model("gemma-2-9b"), 777, 5)) == 5 * total(decode_step(model("gemma-2-9b"), 777))


# --- the cache -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("g", "kib"), [(64, 2560), (8, 320), (1, 40)])
def test_bytes_per_token_of_llama_2_70b_with_64_8_and_1_kv_heads(g: int, kib: int) -> None:
    assert bytes_per_token(replace(model("llama-2-70b"), n_kv_heads=g), FLOAT16) == kib * KIB


def test_bytes_per_token_of_llama_2_7b_and_gpt3() -> None:
    assert bytes_per_token(model("llama-2-7b"), FLOAT16) == 512 * KIB
    assert bytes_per_token(model("gpt3"), FLOAT16) == 45 * MIB // 10


def test_mla_caches_the_latent_and_one_rotated_key() -> None:
    a = model("deepseek-v3")
    assert bytes_per_token(a, FLOAT16) == 576 * 61 * 2 == 70_272


def test_window_layers_keep_w_tokens_at_most() -> None:
    mistral, gemma = model("mistral-7b"), model("gemma-2-9b")
    assert cache_bytes(mistral, 4096, FLOAT16) == cache_bytes(mistral, 32_768, FLOAT16) == 512 * MIB
    each = 2 * 8 * 256 * 2
    assert cache_bytes(gemma, 8192, FLOAT16) == 21 * 8192 * each + 21 * 4096 * each
    assert cache_bytes(gemma, 1000, FLOAT16) == 42 * 1000 * each


def test_blocks_of_quantised_numbers_are_those_of_ggml() -> None:
    assert FORMAT_BY_ID["int8"].stored(32) == 34
    assert FORMAT_BY_ID["int4"].stored(32) == 18
    assert FORMAT_BY_ID["int4"].stored(33) == 17 + 4, "a started group has a scale, a started byte is a byte"
    assert bytes_per_token(model("llama-2-7b"), FORMAT_BY_ID["int8"]) == 32 * 64 * 4 * 34
    assert bytes_per_token(model("llama-2-7b"), FORMAT_BY_ID["int4"]) == 32 * 64 * 4 * 18
    wide = replace(FORMAT_BY_ID["int4"], group=64)
    assert bytes_per_token(model("deepseek-v3"), wide) == 61 * (256 + 8 * 2 + 32 + 1 * 2)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda f: f.id)
@pytest.mark.parametrize("id_", PUBLISHED_BY_ID)
def test_the_lines_of_a_cache_end_in_its_bytes(id_: str, format_: Format) -> None:
    assert total(cache(model(id_), 5001, format_, 3)) == cache_bytes(model(id_), 5001, format_, 3)
    one_layer = [line for line in cache(model(id_), 1, format_) if line.label == "one token, one layer"][-1]
    assert one_layer.value * model(id_).layers == bytes_per_token(model(id_), format_)


def test_the_same_model_with_other_heads() -> None:
    sizes = {label: bytes_per_token(a, FLOAT16) for _id, label, a in layouts(model("llama-2-70b"))}
    assert sizes["MHA, 64 KV heads"] == 2560 * KIB
    assert sizes["GQA, 8 KV heads"] == 320 * KIB
    assert sizes["MQA, 1 KV head"] == 40 * KIB
    assert sizes["MLA, 512 + 64 numbers"] == 80 * 576 * 2
    assert [label for _id, label, _a in layouts(model("deepseek-v3"))][3] == "MLA, 512 + 64 numbers"


@pytest.mark.parametrize("id_", [id_ for id_ in PUBLISHED_BY_ID if model(id_).latent is not None])
def test_the_saving_of_a_latent_is_one_number_in_the_bill_and_in_the_mechanism(id_: str) -> None:
    a = model(id_)
    assert a.latent is not None
    found = {name: (label, bytes_per_token(other, FLOAT16)) for name, label, other in layouts(a)}
    d_key, d_value = a.latent.d_nope + a.latent.d_rope, a.latent.d_v
    assert a.latent.d_nope == d_value, "experiments have one width for the content of keys and for values"
    latent = parts.Latent(a.latent.d_c, None, a.latent.d_rope)
    shown = parts.Layer(heads=parts.Heads(a.n_heads, a.n_heads, d_value), latent=latent)
    ratio = Fraction(expanded_numbers(shown), cached_numbers(shown))
    assert Fraction(found["MHA"][1], found["MLA"][1]) == ratio
    assert found["MHA"][0] == f"MHA, {a.n_heads} heads of {d_key} + {d_value} numbers"
    assert found["MLA"][1] == bytes_per_token(a, FLOAT16)


def test_other_heads_keep_the_windows() -> None:
    """Gemma 2 9B: 8 KV heads of 256 numbers, a window of 4,096 tokens in 21 of 42 layers."""
    sizes = {name: cache_bytes(a, 8192, FLOAT16) for name, _label, a in layouts(model("gemma-2-9b"))}
    each, kept = 2 * 256 * 2, 21 * (8192 + 4096)
    assert sizes["GQA"] == cache_bytes(model("gemma-2-9b"), 8192, FLOAT16) == 8 * each * kept
    assert (sizes["MHA"], sizes["MQA"]) == (16 * each * kept, each * kept)
    assert sizes["window"] == 8 * each * 42 * 4096
    assert sizes["full"] == 8 * each * 42 * 8192
    digits = {line.label: line.digits for line in cache(model("gemma-2-9b"), 8192, FLOAT16)}
    token = 8 * each * 42
    assert digits["GQA, 8 KV heads"] == f"{token:,} B per token inside every window, 1.00 times this"
    assert digits["no window"] == f"{token:,} B per token, 1.33 times this"
    assert "full" not in {name for name, _label, _a in layouts(model("llama-3-8b"))}


def test_mha_of_deepseek_v3_caches_71_times_as_much() -> None:
    sizes = {name: bytes_per_token(a, FLOAT16) for name, _label, a in layouts(model("deepseek-v3"))}
    assert sizes["MHA"] == 61 * 2 * 128 * (192 + 128) and round(sizes["MHA"] / sizes["MLA"], 1) == 71.1
    assert sizes["MQA"] * 128 == sizes["MHA"]
    shares = [line.digits for line in cache(model("deepseek-v3"), 1, FLOAT16)]
    assert any("71.11 times this" in digits for digits in shares)


# --- what fits -------------------------------------------------------------------------------------


def test_what_fits_beside_llama_3_8b_in_24_gb() -> None:
    a = model("llama-3-8b")
    room = 24 * GB - weight_bytes(a, FLOAT16)
    assert room == 24_000_000_000 - 16_060_522_496
    assert longest_context(a, room, FLOAT16) == 7_939_477_504 // 131_072 == 60_573
    lines = {line.label: line for line in fits(a, 8192, 1, FLOAT16, FLOAT16, 24)}
    assert lines["longest context, batch 1"].value == 60_573
    assert lines["longest context, batch 1"].digits == "7,939,477,504 ÷ 131,072"
    assert lines["largest batch, 8,192 tokens"].value == 7


def test_weights_that_do_not_fit_leave_nothing() -> None:
    lines = fits(model("llama-2-70b"), 4096, 1, FLOAT16, FLOAT16, 80)
    assert any(line.label == "The weights alone do not fit." for line in lines)
    assert longest_context(model("llama-2-70b"), -1, FLOAT16) == 0


def test_a_window_in_every_layer_lets_any_context_fit() -> None:
    a = model("mistral-7b")
    assert longest_context(a, 512 * MIB, FLOAT16) is None
    assert longest_context(a, 512 * MIB - 1, FLOAT16) == 4095


@given(
    st.integers(0, 6),
    st.integers(1, 50),
    st.integers(0, 3_000_000),
    st.integers(1, 4),
    st.sampled_from(FORMATS),
    st.booleans(),
)
def test_one_more_token_would_not_fit(
    windowed: int, w: int, room: int, batch: int, kv: Format, mla: bool
) -> None:
    latent = Latent(d_c=24, d_rope=6, d_nope=8, d_v=8) if mla else None
    a = Architecture(
        layers=6,
        d_model=32,
        n_heads=4,
        n_kv_heads=2,
        d_head=8,
        window=w,
        windowed_layers=windowed,
        latent=latent,
    )
    n = longest_context(a, room, kv, batch)
    if n is None:
        assert windowed == 6 and cache_bytes(a, 10**9, kv, batch) <= room
        return
    assert cache_bytes(a, n, kv, batch) <= room < cache_bytes(a, n + 1, kv, batch)
    shown = [line for line in fits(a, 7, batch, kv, kv, 8) if line.label.startswith("longest context")]
    left = 8 * GB - weight_bytes(a, kv)
    expected = longest_context(a, left, kv, batch)
    assert [line.value for line in shown] == ([] if expected is None else [expected])


@given(st.integers(19, 80), st.integers(1, 8192))
def test_one_more_sequence_would_not_fit(memory: int, n: int) -> None:
    a = model("gemma-2-9b")
    room = memory * GB - weight_bytes(a, FLOAT16)
    (b,) = [line.value for line in fits(a, n, 1, FLOAT16, FLOAT16, memory) if "largest batch" in line.label]
    assert cache_bytes(a, n, FLOAT16, b) <= room < cache_bytes(a, n, FLOAT16, b + 1)


# --- stages ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("id_", PUBLISHED_BY_ID)
def test_stages_carry_the_ids_and_axes_of_the_table_in_its_order(id_: str) -> None:
    axes = {stage.id: stage.axes for stage in STAGES}
    named = stage_shapes(model(id_), 16)
    known = [stage for stage, _ in named]
    assert known == [stage.id for stage in STAGES if stage.id in known]
    for stage, shape in named:
        assert len(shape) == len(axes[stage]), stage


def test_bytes_of_the_scores_of_gpt2() -> None:
    lines = {line.label: line for line in stage_bytes(stage_shapes(model("gpt2"), 1024), FLOAT16, 4)}
    assert lines["scores"].value == 4 * 12 * 1024 * 1024 * 2
    assert lines["scores"].digits == "4 × 12 × 1,024 × 1,024 × 16 ÷ 8"
    assert lines["all stages"].value == sum(
        line.value for name, line in lines.items() if name != "all stages"
    )


# --- writing numbers -------------------------------------------------------------------------------


def test_gb_is_ten_to_the_nine_and_gib_two_to_the_thirty() -> None:
    assert rounded(13_476_831_232, "B") == "13.48 GB = 12.55 GiB"
    assert rounded(124_439_808, "") == "124.44 M"
    assert rounded(999_995, "FLOP") == "1.00 MFLOP", "rounding up to the next prefix"
    assert rounded(999, "B") == ""
    assert rounded(-2_000_000_000, "B") == "−2.00 GB = −1.86 GiB"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_kv_heads": 5}, "n_kv_heads must be a divisor of n_heads (12); got 5."),
        ({"layers": 0}, "layers must be a whole number of at least 1; got 0."),
        ({"windowed_layers": 3}, "window must be a whole number of at least 1; got 0."),
        ({"windowed_layers": 13, "window": 4}, "windowed_layers must be at most 12 (layers); got 13."),
        ({"d_ff": -1}, "d_ff must be a whole number of at least 0; got -1."),
    ],
)
def test_what_cannot_be_is_refused_with_the_field_and_what_is_legal(
    change: dict[str, int], message: str
) -> None:
    with pytest.raises(ValueError) as caught:
        replace(model("gpt2"), **change)  # type: ignore[arg-type]
    assert str(caught.value) == message
