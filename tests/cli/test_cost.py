"""`attnviz cost`: the bill of the panel in the shell, against numbers computed here."""

from __future__ import annotations

import json
from typing import Any

import pytest

from attnviz.checkpoints.presets import load_preset
from attnviz.cli import main
from attnviz.cli.commands.cost import COUNTED
from attnviz.core.cost.published_models import PUBLISHED
from attnviz.engines.decode.cost import StepCosts
from attnviz.explain.bills import QUANTITIES

Capture = pytest.CaptureFixture[str]
WEIGHTS = 70_553_706_496
"""Parameters of Llama 3 70B."""
TOKEN = 80 * 2 * 8 * 128 * 2
"""Bytes of one of its tokens in 16 bits."""


def printed(capsys: Capture, *arguments: str) -> str:
    assert main(["cost", *arguments]) == 0
    return capsys.readouterr().out


def plain(capsys: Capture, *arguments: str) -> dict[str, object]:
    found = json.loads(printed(capsys, *arguments, "--json"))
    assert isinstance(found, dict)
    return found


def test_tokens_that_fit_beside_four_bit_weights(capsys: Capture) -> None:
    """A group of 32 numbers of 4 bits has a scale of two bytes: 18 bytes."""
    held = WEIGHTS // 32 * 18
    out = plain(capsys, "llama-3-70b", "--weights", "int4", "--kv", "bfloat16")
    assert (out["weights_bytes"], out["cache_bytes"]) == (held, 8192 * TOKEN)
    assert out["longest_context"] == (80 * 10**9 - held) // TOKEN == 123_027
    assert out["free_bytes"] == 80 * 10**9 - held - 8192 * TOKEN and out["largest_batch"] == 15
    text = printed(capsys, "Llama-3-70B", "--weights", "int4")
    assert "123,027 tokens or batch 15 would fit." in text and "Source: config.json" in text


def test_options_change_what_they_name(capsys: Capture) -> None:
    out = plain(capsys, "llama-3-70b", "--context", "100", "--batch", "3", "--kv", "float32")
    assert out["cache_bytes"] == 100 * 3 * TOKEN * 2 and out["weights_bytes"] == 2 * WEIGHTS
    out = plain(capsys, "llama-3-70b", "--window", "64", "--memory", "192")
    assert out["cache_bytes"] == 64 * TOKEN and out["longest_context"] is None
    out = plain(capsys, "mistral-7b", "--window", "0", "--context", "32768")
    assert out["cache_bytes"] == 32 * 32_768 * 4096
    assert "\n24 GB\n" in printed(capsys, "llama-3-8b", "--quantity", "fits", "--memory", "24")


def test_a_step_of_a_document_is_that_of_the_decoding_without_norms_and_activations(capsys: Capture) -> None:
    out = plain(capsys, "stories-en", "--quantity", "step", "--context", "25")
    lines: Any = out["lines"]
    (total,) = [line["value"] for line in lines if line["kind"] == "total"]
    experiment = load_preset("stories-en").experiment
    with_cache, _without = StepCosts(experiment, 4).step(24)
    assert 0 < with_cache.flops - total < 0.02 * total
    # 4 layers of h 4, g 2, d_head 32, d_model 128, d_ff 448, and 1,606 logits.
    products = 4 * (2 * 128 * 128 * 2 + 2 * 2 * 128 * 64 + 2 * 3 * 128 * 448) + 2 * 128 * 1606
    assert total == products + 4 * 4 * 25 * (2 * 32 + 5 + 2 * 32)
    notes = [line["label"] for line in lines if line["kind"] == "note"]
    assert "Decoding counts norms, activations, residuals and biases, too." in notes


@pytest.mark.parametrize("quantity", COUNTED)
def test_every_quantity_is_that_of_the_panel(capsys: Capture, quantity: str) -> None:
    assert quantity in {row.id for row in QUANTITIES}
    assert len(printed(capsys, "gemma-2-9b", "--quantity", quantity).splitlines()) > 5


def test_without_a_model_the_published_ones_are_listed(capsys: Capture) -> None:
    lines = printed(capsys).splitlines()
    assert [line.split()[0] for line in lines[1:]] == [row.id for row in PUBLISHED]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nope",), "must be a file, a trained model or a preset"),
        (("gpt2", "--batch", "0"), "--batch must be a whole number of at least 1; got 0."),
        (("gpt2", "--weights", "int3"), "int3"),
        (("gpt2", "--device", "H200"), "--device needs --quantity bound"),
    ],
)
def test_wrong_input_is_one_line(capsys: Capture, arguments: tuple[str, ...], said: str) -> None:
    assert main(["cost", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
