"""Three small real models: what others published of them, against what this program makes of their weights.

Their folder is no part of the project; where it is absent the tests are skipped. Everything published is
float32, computed by programs that round at every step, so differences of some 1e-6 are theirs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import ENGINE_IDS
from first_layer import stacked
from numpy.typing import NDArray

import attnviz
from attnviz.checkpoints import import_checkpoint
from attnviz.checkpoints.texts import can_encode
from attnviz.engines.engine import Engine
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.engines.torch_engine import TorchEngine
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Causal, ExplicitVectors, Heads, Memory, ScaleValue
from attnviz.model.trace import Trace

MODELS = Path(__file__).parents[3] / "shared" / "models"
STORIES, SORTER, GOLDEN = (
    MODELS / name for name in ("stories260k", "gpt-nano-sort", "gpt2-small-golden-attention")
)

ENGINES = pytest.mark.parametrize(
    "engine", [NumpyEngine("float64"), TorchEngine("float64", "cpu")], ids=["numpy", "torch"]
)

pytestmark = pytest.mark.skipif(not MODELS.is_dir(), reason="the small real models are not there")


def largest(found: NDArray[Any], wanted: NDArray[Any]) -> float:
    assert found.shape == wanted.shape
    return float(abs(found - wanted).max())


# --- stories260k: a Llama --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stories() -> Any:
    return np.load(STORIES / "reference.npz")


def stories_run(engine: Engine, ids: tuple[int, ...]) -> Trace:
    return run(engine, import_checkpoint(STORIES, ids=ids, dtype="float64").experiment)


@ENGINES
def test_stories_attention_hidden_states_and_logits(engine: Engine, stories: Any) -> None:
    trace = stories_run(engine, tuple(stories["ids"].tolist()))
    sites = [trace.site(name) for name in trace.sites]
    assert len(sites) == 5
    assert largest(np.stack([site["weights"] for site in sites]), stories["attentions"]) < 5e-6
    assert largest(sites[-1]["logits"][-1], stories["last_logits"]) < 2e-5
    came_in = [site["layer_input" if index else "tokens_embedded"] for index, site in enumerate(sites)]
    means = np.stack([state.mean(axis=-1) for state in (*came_in, sites[-1]["output"])])
    assert largest(means, stories["hidden_mean"]) < 1e-5


def test_stories_greedy_text_by_full_passes(stories: Any) -> None:
    ids, greedy = stories["ids"].tolist(), stories["greedy"].tolist()
    assert greedy[: len(ids)] == ids
    for _ in range(5):
        trace = stories_run(NumpyEngine("float64"), tuple(ids))
        ids.append(int(trace.site("layers.4.self")["logits"][-1].argmax()))
    assert ids == greedy[: len(ids)]


@pytest.mark.parametrize("engine", ENGINE_IDS)
def test_stories_greedy_text_with_a_cache(engine: str, stories: Any) -> None:
    ids, greedy = stories["ids"].tolist(), stories["greedy"].tolist()
    document = import_checkpoint(STORIES, ids=ids, dtype="float64")
    assert document.experiment.vocabulary is not None
    texts = document.experiment.vocabulary.tokens
    decoding = attnviz.decode(document, len(greedy) - 1, engine, "cpu")
    assert len(greedy) > 30 and not decoding.notices
    fed = [step.token for step in decoding.steps]
    assert [*fed, decoding.steps[-1].next_token] == [texts[one] for one in greedy]
    written = "".join(texts[one] for one in greedy).removeprefix("<s>").replace("▁", " ").strip()
    assert str(stories["greedy_text"]).removeprefix("<s>").strip() == written


@pytest.mark.skipif(not can_encode(), reason="the package tokenizers is not installed")
def test_stories_text_becomes_the_published_ids(stories: Any) -> None:
    document = import_checkpoint(STORIES, text=str(stories["prompt"]))
    by_ids = import_checkpoint(STORIES, ids=stories["ids"].tolist())
    assert document.experiment == by_ids.experiment
    assert document.title == "stories260k"
    assert document.experiment.tokens[:3] == ("<s>", "▁Once", "▁upon")


# --- gpt-nano-sort: a GPT-2 ------------------------------------------------------------------------

IN_FIRST_BLOCK = {
    "tok_emb": "tokens_embedded",
    "x": "x",
    "ln1": "norm_1",
    "q": "q",
    "k": "k",
    "v": "v",
    "att": "masked",
    "attSm": "weights",
    "y": "concatenated",
    "yProj": "attention_output",
    "attnResid": "residual_1",
    "ln2": "norm_2",
    "fc": "ffn_up",
    "gelu": "ffn_hidden",
    "mlp": "ffn_output",
    "mlpResid": "residual_2",
}
"""The stages of the author's own names, all of the first block; `att` is scaled and masked."""


@ENGINES
@pytest.mark.parametrize("row", range(3))
def test_the_sorter_stage_by_stage(engine: Engine, row: int) -> None:
    partials = np.load(SORTER / "upstream_partials.npz")
    ids = partials["idx"][row].astype(int).tolist()
    document = import_checkpoint(SORTER, ids=ids, dtype="float64")
    trace = run(engine, document.experiment)
    first, last = trace.site("layers.0.self"), trace.site("layers.2.self")
    with np.errstate(invalid="ignore"):
        for name, stage in IN_FIRST_BLOCK.items():
            found, wanted = first[stage], partials[name][row]
            assert found.shape == wanted.shape, name
            np.testing.assert_array_equal(np.isfinite(found), np.isfinite(wanted), err_msg=name)
            np.testing.assert_allclose(found, wanted, rtol=0, atol=5e-6, err_msg=name)
    for index in range(3):
        out = trace.site(f"layers.{index}.self")["residual_2"]
        assert largest(out, partials[f"block{index}"][row]) < 1e-5
    assert largest(last["output"], partials["ln_f"][row]) < 1e-5
    assert largest(last["logits"], partials["lm_head"][row]) < 1e-5
    assert largest(last["probabilities"], partials["probs"][row]) < 1e-6


def test_the_sorter_sorts() -> None:
    letters = [2, 0, 1, 1, 0, 2]
    ids = list(letters)
    for _ in range(6):
        trace = run(NumpyEngine("float64"), import_checkpoint(SORTER, ids=ids, dtype="float64").experiment)
        ids.append(int(trace.site("layers.2.self")["logits"][-1].argmax()))
    assert ids[6:] == sorted(letters)


# --- GPT-2 small: published scores -----------------------------------------------------------------


def scores_as_they_are(scores: NDArray[np.float32]) -> Experiment:
    """An attention whose raw scores are given numbers, (head, query, key).

    The memory's tokens are unit vectors, which are all heads' keys; head h of a query's vector holds its
    scores.
    """
    n_heads, n_queries, n_keys = scores.shape
    queries = scores.transpose(1, 0, 2).reshape(n_queries, n_heads * n_keys).astype(np.float64)
    units = ExplicitVectors(Matrix(np.eye(n_keys)))
    return stacked(
        tuple(map(str, range(n_queries))),
        ExplicitVectors(Matrix(queries)),
        Memory(tuple(map(str, range(n_keys))), units),
        heads=Heads(n_heads, 1, n_keys),
        scale=ScaleValue(64**-0.5),
        masks=(Causal(),),
        dtype="float64",
    )


@ENGINES
@pytest.mark.parametrize("example", range(5))
def test_published_scores_through_the_pipeline(engine: Engine, example: int) -> None:
    published = np.load(GOLDEN / f"ex{example}.npz")
    assert published["attn"].shape[:2] == (12, 12)
    for layer in range(12):
        trace = run(engine, scores_as_they_are(published["attn"][layer]))
        np.testing.assert_array_equal(trace["scores"], published["attn"][layer].astype(np.float64))
        np.testing.assert_allclose(trace["scaled"], published["attn_scaled"][layer], rtol=1e-7)
        np.testing.assert_allclose(trace["masked"], published["attn_masked"][layer], rtol=1e-7)
        np.testing.assert_allclose(trace["weights"], published["attn_softmax"][layer], rtol=0, atol=2e-7)
        np.testing.assert_allclose(trace["mixed"], published["attn_dropout"][layer], rtol=0, atol=2e-7)
