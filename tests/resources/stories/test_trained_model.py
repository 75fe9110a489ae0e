"""The shipped model: its files fit each other, and its card is true.

The outside reference is `LlamaForCausalLM` of `transformers`, built from the shipped configuration and
weights: it knows nothing of this project's decoder.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from make import corpus
from make.card import CLAIMS, best
from make.tokenizer import Tokenizer
from make.tokenizer import load as load_tokenizer
from safetensors.numpy import load_file

from attnviz import resources

FOLDER = resources.path("models", "stories")
MEGABYTE = 10**6


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return load_tokenizer(FOLDER / "tokenizer.json")


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return read("config.json")


@pytest.fixture(scope="module")
def measures() -> dict[str, Any]:
    return read("measures.json")


@pytest.fixture(scope="module")
def reference(config: dict[str, Any]) -> Any:
    """`transformers`' own Llama in float32, with every shipped tensor in its place."""
    torch = pytest.importorskip("torch")
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    settings = {key: value for key, value in config.items() if key not in ("torch_dtype", "architectures")}
    model = llama.LlamaForCausalLM(llama.LlamaConfig(**settings, attn_implementation="eager")).float().eval()
    tensors = {
        name: torch.from_numpy(array.astype(np.float32))
        for name, array in load_file(FOLDER / "model.safetensors").items()
    }
    absent, unknown = model.load_state_dict(tensors, strict=False)
    assert (absent, unknown) == (["lm_head.weight"], [])
    model.tie_weights()
    return model


def read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def test_everything_together_is_no_more_than_four_megabytes() -> None:
    assert sum(file.stat().st_size for file in FOLDER.iterdir() if file.is_file()) <= 4 * MEGABYTE


def test_the_tensors_are_those_that_the_configuration_asks_for(config: dict[str, Any]) -> None:
    d, ffn, width = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    q, kv = config["num_attention_heads"] * width, config["num_key_value_heads"] * width
    expected = {"model.embed_tokens.weight": (config["vocab_size"], d), "model.norm.weight": (d,)}
    for layer in range(config["num_hidden_layers"]):
        shapes = {
            "self_attn.q_proj": (q, d),
            "self_attn.k_proj": (kv, d),
            "self_attn.v_proj": (kv, d),
            "self_attn.o_proj": (d, q),
            "mlp.gate_proj": (ffn, d),
            "mlp.up_proj": (ffn, d),
            "mlp.down_proj": (d, ffn),
            "input_layernorm": (d,),
            "post_attention_layernorm": (d,),
        }
        expected |= {f"model.layers.{layer}.{name}.weight": shape for name, shape in shapes.items()}
    tensors = load_file(FOLDER / "model.safetensors")
    assert {name: array.shape for name, array in tensors.items()} == expected
    assert {array.dtype for array in tensors.values()} == {np.dtype(np.float16)}
    assert all(np.isfinite(array).all() for array in tensors.values())


def test_it_has_grouped_heads_and_layers_enough_for_induction(config: dict[str, Any]) -> None:
    assert config["num_attention_heads"] == 2 * config["num_key_value_heads"]
    assert config["num_hidden_layers"] >= 2


def test_the_tokenizer_is_that_of_the_weights(tokenizer: Tokenizer, config: dict[str, Any]) -> None:
    assert len(tokenizer) == config["vocab_size"]
    assert (tokenizer.begin, tokenizer.end) == (config["bos_token_id"], config["eos_token_id"])


def test_the_record_says_how_many_parameters_there_are() -> None:
    tensors = load_file(FOLDER / "model.safetensors")
    assert read("training.json")["parameters"] == sum(array.size for array in tensors.values())


def test_the_samples_are_text_of_the_tokenizer(tokenizer: Tokenizer, measures: dict[str, Any]) -> None:
    for found in measures["continuations"]:
        text = tokenizer.decode(found["ids"])
        assert text and "⟨" not in text
        assert (tokenizer.end in found["ids"][:-1]) is False
        assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("language", corpus.LANGUAGES, ids=lambda language: language.id)
def test_the_reference_has_the_loss_that_the_card_states(
    reference: Any, tokenizer: Tokenizer, config: dict[str, Any], measures: dict[str, Any], language: Any
) -> None:
    import torch

    stated = measures["loss"][language.id]
    total, tokens = 0.0, 0
    with torch.no_grad():
        for sequence in corpus.test_documents(tokenizer, language, 150, config["max_position_embeddings"]):
            ids = torch.tensor([sequence])
            total += float(reference(ids, labels=ids).loss) * (len(sequence) - 1)
            tokens += len(sequence) - 1
    assert tokens == stated["tokens"]
    assert total / tokens == pytest.approx(stated["nats_per_token"], rel=0.01)


def test_the_reference_writes_what_the_card_shows(
    reference: Any, tokenizer: Tokenizer, measures: dict[str, Any]
) -> None:
    import torch

    likeliest = [found for found in measures["continuations"] if found["temperature"] == 0]
    assert {found["language"] for found in likeliest} == {"en", "zh"}
    for found in likeliest:
        prompt = [tokenizer.begin, *tokenizer.encode(found["prompt"])]
        with torch.no_grad():
            logits = reference(torch.tensor([[*prompt, *found["ids"]]])).logits[0]
        assert logits[len(prompt) - 1 : -1].argmax(-1).tolist() == found["ids"]


def test_the_reference_attends_as_the_measured_heads_do(
    reference: Any, tokenizer: Tokenizer, measures: dict[str, Any]
) -> None:
    """The previous-token score of every head, from the reference's own attention weights."""
    import torch

    total, rows = 0, 0
    with torch.no_grad():
        for language in corpus.LANGUAGES:
            for sequence in corpus.test_documents(tokenizer, language, 60, 256):
                weights = reference(torch.tensor([sequence]), output_attentions=True).attentions
                maps = torch.cat([layer[0] for layer in weights])
                total = total + torch.diagonal(maps, -1, 1, 2)[:, 1:].sum(-1)
                rows += len(sequence) - 2
    stated = [head["previous_token"] for head in measures["heads"] if head["layer"] is not None]
    np.testing.assert_allclose((total / rows).numpy(), stated, atol=1e-4)


def test_the_card_names_only_heads_that_do_the_job(measures: dict[str, Any]) -> None:
    card = (FOLDER / "MODEL_CARD.md").read_text(encoding="utf-8")
    for claim in CLAIMS:
        head, score = best(measures, claim)
        who = f"layer {head['layer']}, head {head['head']}" if score >= claim.least else "no head"
        assert f"| {claim.title} | {who} | {score:.3f} |" in card
