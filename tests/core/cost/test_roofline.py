"""The roofline: peaks, bounds and bytes against arithmetic by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attnviz.core.cost.lines import Line, rounded
from attnviz.core.cost.memory import FORMAT_BY_ID
from attnviz.core.cost.roofline import DEVICE_BY_ID, DEVICES, parameters_read, roofline
from attnviz.model.published_models import PUBLISHED, PUBLISHED_BY_ID

HALF = FORMAT_BY_ID["float16"]
LLAMA = PUBLISHED_BY_ID["llama-2-7b"].architecture
H100 = DEVICE_BY_ID["H100"]


def lines(n: int, batch: int = 1) -> list[Line]:
    return list(roofline((LLAMA,), n, batch, HALF, HALF, H100.tflops, H100.bandwidth))


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
    assert step["memory traffic"] > 100 * step["compute"]
    assert "Memory-bound" in lines(4096)[-2].label


def test_a_long_prefill_is_bound_by_compute_and_a_batch_shares_the_weights() -> None:
    prefill = values(4096, 1, 0)
    assert (
        prefill["compute"]
        == prefill["prefill, at least"]
        == -(-prefill["operations"] * 1000 // (989 * 10**3 * 10**3))
    )
    one, many = (values(16, batch, 1) for batch in (1, 64))
    assert many["operations"] == 64 * one["operations"]
    assert many["weights, float16"] - one["weights, float16"] == 63 * 2 * 4096
    assert many["keys and values, float16"] == 64 * one["keys and values, float16"]


def test_the_ridge_of_a_device_is_its_published_balance() -> None:
    assert "the device is 295." in lines(1)[-2].label  # 989 TFLOP/s ÷ 3.35 TB/s
    assert [round(row.tflops * 1000 / row.bandwidth) for row in DEVICES] == [295, 206, 153, 164, 80]


@pytest.mark.parametrize("model", PUBLISHED, ids=lambda model: model.id)
def test_what_a_token_reads_is_at_most_the_model_and_grows_to_it(model) -> None:  # type: ignore[no-untyped-def]
    a = model.architecture
    reads = [parameters_read(a, tokens) for tokens in (1, 8, 10**6)]
    assert reads == sorted(reads)
    whole = sum(line.value for line in roofline((a,), 10**6, 1, HALF, HALF, 1, 1) if "weights" in line.label)
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
    assert card.tflops == round(20 * 512 * 1.777e9 / 1e12) and card.bandwidth == 128 * 14 // 8
    step = list(roofline((LLAMA,), 0, 1, FORMAT_BY_ID["int4"], HALF, card.tflops, card.bandwidth))
    moved = next(line for line in reversed(step) if line.label == "memory traffic")
    weights = (6_738_415_616 - (32_000 - 1) * 4096) * 18 // 32  # a block of Q4_0 has 32 numbers in 18 bytes
    assert abs(moved.value - weights / 224e9 * 1e9) < 1e5  # 16.6 ms a token
