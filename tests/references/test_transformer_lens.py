"""Scores, ablation, patching, lens and contributions against TransformerLens on the same weights, in float32.

The extra `references` brings it; without it these tests are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformer_lens", reason="the extra references brings TransformerLens")

from checkpoints.reference_models import random_model  # noqa: E402
from tokenizers import Tokenizer, models  # noqa: E402
from transformer_lens import head_detector  # noqa: E402
from transformer_lens.model_bridge import TransformerBridge  # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast  # noqa: E402

from attnviz import analysis  # noqa: E402
from attnviz.checkpoints import import_checkpoint  # noqa: E402
from attnviz.compute.execute import execute  # noqa: E402
from attnviz.model.edit.edits import set_tokens  # noqa: E402
from attnviz.model.sites.sites import place_of, with_records  # noqa: E402
from attnviz.model.spec.edit import Edit  # noqa: E402
from attnviz.model.spec.experiment import Experiment  # noqa: E402
from attnviz.study.target import Target  # noqa: E402

CLOSE = 1e-4
TEXT, OTHER = (5, 2, 7, 0, 7, 11, 5, 2, 1, 7), (5, 2, 7, 3, 7, 11, 5, 4, 1, 8)
WORDS = {f"w{index}": index for index in range(13)}
HEADS, LAYERS = 4, 3

MODELS: dict[str, tuple[Any, Any]] = {
    "gpt2": (
        GPT2LMHeadModel,
        GPT2Config(vocab_size=13, n_embd=24, n_layer=LAYERS, n_head=HEADS, n_positions=32),
    ),
    "llama": (
        LlamaForCausalLM,
        LlamaConfig(
            vocab_size=13,
            hidden_size=24,
            intermediate_size=40,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_key_value_heads=2,
        ),
    ),
}


@dataclass(frozen=True, eq=False)
class Pair:
    """One model in both programs."""

    bridge: Any
    experiment: Experiment

    @property
    def sites(self) -> tuple[str, ...]:
        return tuple(f"layers.{layer}.self" for layer in range(LAYERS))

    def token(self, id_: int) -> str:
        assert self.experiment.vocabulary is not None
        return self.experiment.vocabulary.tokens[id_]

    def target(self) -> Target:
        return Target(self.token(3), self.token(9), position=-2)

    def difference(self, hooks: list[tuple[str, Callable[..., Any]]] = [], ids: Any = TEXT) -> float:  # noqa: B006
        with torch.no_grad():
            logits = self.bridge.run_with_hooks(torch.tensor([ids]), fwd_hooks=hooks)[0]
        return float(logits[-2, 3] - logits[-2, 9])

    def cache(self, ids: Any = TEXT) -> Any:
        with torch.no_grad():
            return self.bridge.run_with_cache(torch.tensor([ids]))[1]


@pytest.fixture(scope="module", params=list(MODELS))
def pair(request: Any, tmp_path_factory: Any) -> Iterator[Pair]:
    made, config = MODELS[request.param]
    folder: Path = tmp_path_factory.mktemp(request.param)
    model = random_model(made, config).float()
    model.save_pretrained(folder)
    words = Tokenizer(models.WordLevel(WORDS, unk_token="w0"))
    experiment = import_checkpoint(folder, ids=TEXT, dtype="float32").experiment
    PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="w0", bos_token="w0", eos_token="w1"
    ).save_pretrained(folder)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    bridge = TransformerBridge.boot_transformers(
        str(folder), hf_model=model, tokenizer=tokenizer, device="cpu"
    )
    yield Pair(bridge, experiment)


def test_the_pass(pair: Pair) -> None:
    trace, cache = execute(pair.experiment), pair.cache()
    for layer, site in enumerate(pair.sites):
        np.testing.assert_allclose(trace.site(site)["weights"], cache["pattern", layer][0], atol=CLOSE)
    with torch.no_grad():
        logits = pair.bridge(torch.tensor([TEXT]))[0].numpy()
    np.testing.assert_allclose(trace.site(pair.sites[-1])["logits"], logits, atol=CLOSE)


@pytest.mark.parametrize(
    ("score", "pattern"),
    [
        ("previous", "previous_token_head"),
        ("same", "duplicate_token_head"),
        ("induction", "induction_head"),
    ],
)
def test_the_head_detector(pair: Pair, score: str, pattern: str) -> None:
    """It divides by all queries, these scores by those that have such a key: the sums are equal."""
    cells = getattr(head_detector, f"get_{pattern}_detection_pattern")(torch.tensor([TEXT])).numpy()
    queries = int(cells.any(axis=1).sum())
    with torch.no_grad():
        _logits, cache = pair.bridge.run_with_cache(torch.tensor([TEXT]), remove_batch_dim=True)
    found = analysis.head_scores(execute(pair.experiment))[score]
    for layer, site in enumerate(pair.sites):
        wanted = [
            head_detector.compute_head_attention_similarity_score(
                cache["pattern", layer, "attn"][head],
                torch.as_tensor(cells),
                exclude_bos=False,
                exclude_current_token=False,
                error_measure="mul",
            )
            for head in range(HEADS)
        ]
        np.testing.assert_allclose(found[site] * queries / len(TEXT), wanted, atol=CLOSE)


def test_every_head_set_to_zero(pair: Pair) -> None:
    found = analysis.ablate(pair.experiment, pair.target())
    base = pair.difference()
    assert found.base == pytest.approx(base, abs=CLOSE)
    for layer, site in enumerate(pair.sites):
        for head in range(HEADS):

            def off(z: Any, hook: Any, head: int = head) -> Any:
                z = z.clone().reshape(*z.shape[:2], HEADS, -1)
                z[:, :, head] = 0
                return z

            change = pair.difference([(f"blocks.{layer}.attn.hook_z", off)]) - base
            assert found.values[site][head] == pytest.approx(change, abs=CLOSE), (site, head)


def test_a_number_by_hand_is_a_hook(pair: Pair) -> None:
    place = place_of(pair.experiment, pair.sites[1])
    edits = (Edit("mixed", 4, 0.8, "set", 2, 1), Edit("attention_output", 6, 2.5, "scale"))
    moved = with_records(pair.experiment, {place: {"edits": edits}}, {})

    def set_cell(z: Any, hook: Any) -> Any:
        z = z.clone().reshape(*z.shape[:2], HEADS, -1)
        z[0, 4, 2, 1] = 0.8
        return z

    def scale_row(x: Any, hook: Any) -> Any:
        x = x.clone()
        x[0, 6] *= 2.5
        return x

    hooks = [("blocks.1.attn.hook_z", set_cell), ("blocks.1.hook_attn_out", scale_row)]
    with torch.no_grad():
        logits = pair.bridge.run_with_hooks(torch.tensor([TEXT]), fwd_hooks=hooks)[0].numpy()
        plain = pair.bridge(torch.tensor([TEXT]))[0].numpy()
    for engine in ("numpy", "torch"):
        found = execute(moved, engine).site(pair.sites[-1])["logits"]
        np.testing.assert_allclose(found, logits, atol=CLOSE)
    assert np.abs(logits - plain).max() > 0.01


def test_the_layers_input_of_another_text(pair: Pair) -> None:
    corrupted = set_tokens(pair.experiment, tuple(pair.token(id_) for id_ in OTHER))
    found = analysis.patch(pair.experiment, corrupted, pair.target())
    clean, of_corrupted = pair.cache(), pair.difference(ids=OTHER)
    assert found.clean == pytest.approx(pair.difference(), abs=CLOSE)
    assert found.corrupted == pytest.approx(of_corrupted, abs=CLOSE)
    for layer, site in list(enumerate(pair.sites))[1:]:
        for position in range(len(TEXT)):

            def put(x: Any, hook: Any, layer: int = layer, position: int = position) -> Any:
                x = x.clone()
                x[:, position] = clean["resid_pre", layer][:, position]
                return x

            moved = pair.difference([(f"blocks.{layer}.hook_resid_pre", put)], OTHER)
            change = found.values[site][position] * (found.clean - found.corrupted)
            assert change == pytest.approx(moved - of_corrupted, abs=CLOSE), (site, position)


def test_the_logit_lens(pair: Pair) -> None:
    found, cache = analysis.logit_lens(pair.experiment, pair.target()), pair.cache()
    for layer in range(LAYERS):
        with torch.no_grad():
            logits = pair.bridge.unembed(pair.bridge.ln_final(cache["resid_post", layer]))[0].numpy()
        np.testing.assert_allclose(found.logits[layer], logits[:, 3], atol=CLOSE)


def test_direct_contributions(pair: Pair) -> None:
    """Each head's mixture times its rows of W_O, through the last norm with its scale held."""
    found, cache = analysis.contributions(pair.experiment, pair.target()), pair.cache()
    answer = pair.bridge.unembed
    weight = answer.W_U.detach()
    direction = weight[:, 3] - weight[:, 9]
    last, norm = cache["resid_post", LAYERS - 1][0, -2], pair.bridge.ln_final
    gain = norm.weight.detach()
    is_centred = hasattr(pair.bridge.original_model, "transformer")
    eps = 1e-5 if is_centred else 1e-6
    spread = (last - last.mean() if is_centred else last).pow(2).mean().add(eps).sqrt()
    for layer, site in enumerate(pair.sites):
        w_o = pair.bridge.blocks[layer].attn.W_O.detach()
        z = cache["z", layer][0, -2].reshape(HEADS, -1)
        for head in range(HEADS):
            added = z[head] @ w_o[head]
            added = added - added.mean() if is_centred else added
            wanted = float((added / spread * gain) @ direction)
            assert found.heads[site][head] == pytest.approx(wanted, abs=CLOSE), (site, head)
