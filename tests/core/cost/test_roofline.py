"""The roofline: peaks, bounds and bytes against arithmetic by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attnviz.core.cost.lines import Line, rounded
from attnviz.core.cost.memory import FORMAT_BY_ID
from attnviz.core.cost.published_models import PUBLISHED, PUBLISHED_BY_ID
from attnviz.core.cost.roofline import DEVICE_BY_ID, DEVICES, Peaks, parameters_read, roofline

HALF = FORMAT_BY_ID["float16"]
LLAMA = PUBLISHED_BY_ID["llama-2-7b"].architecture
H100 = DEVICE_BY_ID["H100"]


def lines(n: int, batch: int = 1) -> list[Line]:
    return list(roofline((LLAMA,), n, batch, HALF, HALF, H100.peaks(HALF)))


def values(n: int, batch: int, part: int) -> dict[str, int]:
    """The values of the prefill (0) or of the step (1), by label."""
    found = [line for line in lines(n, batch) if line.kind in ("part", "total")]
    return {line.label: line.value for line in found[6 * part : 6 * part + 6]}


def test_a_step_of_llama_reads_its_weights_and_its_cache() -> None:
    step = values(4096, 1, 1)
    weights = 2 * (6_738_415_616 - (32_000 - 1) * 4096)  # float16; one row of the embedding
    cache = 2 * 32 * 4096 * 4096 * 2  # keys and values, layers, features, tokens, bytes
    assert (step["weights, float16"], step["keys and values, float16"]) == (weights, cache)
    assert (
        step["memory traffic"]
        == step["decoding step, at least"]
        == -(-(weights + cache) * 10**9 // (3_350 * 10**9))
    )
    assert step["memory traffic"] > 100 * step["compute, float16"]
    assert "Memory-bound" in lines(4096)[-2].label


def test_a_long_prefill_is_bound_by_compute_and_a_batch_shares_the_weights() -> None:
    prefill = values(4096, 1, 0)
    assert (
        prefill["compute, float16"]
        == prefill["prefill, at least"]
        == -(-prefill["operations"] * 1000 // (989 * 10**3 * 10**3))
    )
    one, many = (values(16, batch, 1) for batch in (1, 64))
    assert many["operations"] == 64 * one["operations"]
    assert many["weights, float16"] - one["weights, float16"] == 63 * 2 * 4096
    assert many["keys and values, float16"] == 64 * one["keys and values, float16"]


def test_the_ridge_of_a_device_is_its_published_balance() -> None:
    assert "the device is 295." in lines(1)[-2].label  # 989 TFLOP/s ÷ 3.35 TB/s
    assert [round(row.half * 1000 / row.bandwidth) for row in DEVICES] == [295, 206, 153, 164, 81]


@pytest.mark.parametrize("model", PUBLISHED, ids=lambda model: model.id)
def test_what_a_token_reads_is_at_most_the_model_and_grows_to_it(model) -> None:  # type: ignore[no-untyped-def]
    a = model.architecture
    reads = [parameters_read(a, tokens) for tokens in (1, 8, 10**6)]
    assert reads == sorted(reads)
    whole = sum(
        line.value for line in roofline((a,), 10**6, 1, HALF, HALF, Peaks(1, 1)) if "weights" in line.label
    )
    assert reads[-1] * 2 <= whole <= 2 * reads[-1] + 2 * reads[0]


def test_a_token_of_deepseek_reads_the_experts_that_it_is_sent_to() -> None:
    a = PUBLISHED_BY_ID["deepseek-v3"].architecture
    assert a.experts is not None
    one_expert = 3 * a.d_model * a.experts.d_expert
    assert parameters_read(a, 10**6) - parameters_read(replace(a, tied=False), 1) == (
        a.expert_layers * (256 - 8) * one_expert + (a.vocabulary - 1) * a.d_model
    )


@pytest.mark.parametrize(
    ("nanoseconds", "said"), [(999, ""), (15_554, "15.55 µs"), (4_663_975, "4.66 ms"), (2 * 10**9, "2.00 s")]
)
def test_times_are_rounded_to_their_unit(nanoseconds: int, said: str) -> None:
    assert rounded(nanoseconds, "ns") == said


def test_the_small_card_has_the_peaks_of_its_parts() -> None:
    card = DEVICE_BY_ID["RTX 3050"]
    each = {"half": 512, "float32": 256, "tf32": 256}
    for name, flops in each.items():
        assert getattr(card, name) == round(20 * flops * 1.777e9 / 1e12, 1)
    assert card.float64 == round(20 * 4 * 1.777e9 / 1e12, 2) and card.bandwidth == 128 * 14 // 8
    step = list(roofline((LLAMA,), 0, 1, FORMAT_BY_ID["int4"], HALF, card.peaks(FORMAT_BY_ID["int4"])))
    moved = next(line for line in reversed(step) if line.label == "memory traffic")
    weights = (6_738_415_616 - (32_000 - 1) * 4096) * 18 // 32  # a block of Q4_0 has 32 numbers in 18 bytes
    assert abs(moved.value - weights / 224e9 * 1e9) < 1e5  # 16.6 ms a token


SHEETS = {
    "H100": {"float64": 67, "float32": 67, "float16": 989, "bfloat16": 989, "float8": 1979, "int8": 989},
    "H200": {"float64": 67, "float32": 67, "float16": 989, "bfloat16": 989, "float8": 1979, "int4": 989},
    "A100": {"float64": 19.5, "float32": 19.5, "float16": 312, "bfloat16": 312, "float8": 312, "int8": 312},
    "RTX 4090": {"float32": 82.6, "float16": 165.2, "bfloat16": 165.2, "float8": 330.3, "int4": 165.2},
    "RTX 3050": {"float32": 9.1, "float16": 18.2, "bfloat16": 18.2, "float8": 18.2},
}
"""Dense TFLOP/s by the format of the weights, from the data sheets; int8 and int4 become float16."""


@pytest.mark.parametrize("id_", SHEETS)
def test_each_format_has_its_own_published_peak(id_: str) -> None:
    for format_, tflops in SHEETS[id_].items():
        weights = FORMAT_BY_ID[format_]
        peaks = DEVICE_BY_ID[id_].peaks(weights)
        assert peaks.tflops == tflops
        found = roofline((LLAMA,), 128, 1, weights, HALF, peaks)
        compute = next(line for line in found if line.label.startswith("compute"))
        operations = next(line.value for line in found if line.label == "operations")
        assert compute.label == f"compute, {peaks.format}"
        assert compute.value == -(-operations * 10**9 // round(tflops * 10**12))
        assert f"÷ {tflops:,}·10¹²" in compute.digits


def test_tf32_is_said_of_float32_alone() -> None:
    for format_ in FORMAT_BY_ID.values():
        found = roofline((LLAMA,), 128, 1, format_, HALF, H100.peaks(format_))
        said = [line.label for line in found if "TF32" in line.label]
        assert said == (
            ["float32 as it is; rounded to TF32, products would have a peak of 494.7·10¹² FLOP/s."]
            if format_.id == "float32"
            else []
        )
