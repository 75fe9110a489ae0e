"""Sampling against transformers' logits processors, on the same float64 logits, and against published draws.

Two rules differ on purpose, and are compared where both define a result:

- The nucleus among equal tokens. transformers sorts ascending by `torch.sort`, whose order of equal values
  is not promised (as it happens on a CPU, the higher ids stay); here the lower ids stay. What both define is
  how many tokens of each logit stay.
- A sum of probabilities exactly at a border. Whether ten tenths reach one is up to rounding there; here what
  is within 1e-12 has reached it. Borders nearer than 1e-9 are left out of random cases.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, MaxLengthCriteria
from transformers import generation as hf

from attnviz.core import sampling as core
from attnviz.model.spec.sampling import (
    OPERATION_OF,
    SAMPLING_OPERATIONS,
    MinP,
    Operation,
    RepetitionPenalty,
    Sampling,
    StopConditions,
    Temperature,
    TopK,
    TopP,
    choose,
    shaped,
    stopped,
)

GOLDEN = Path(__file__).parents[2] / "../shared/models/gpt2-small-golden-attention"
NEAR = 1e-9
OUT = -math.inf

APART = st.floats(-20, 20, allow_subnormal=False)
TIED = st.integers(-12, 12).map(lambda number: number / 4)
ROWS = st.lists(st.one_of(TIED, TIED, APART, st.just(OUT)), min_size=1, max_size=16)
ROWS = ROWS.filter(lambda row: any(map(math.isfinite, row)))
UNTIED_ROWS = st.lists(APART, min_size=2, max_size=16, unique=True)

OPERATIONS: dict[str, st.SearchStrategy[Operation]] = {
    "repetition_penalty": st.floats(0.25, 4).map(RepetitionPenalty),
    "temperature": st.floats(0.05, 5).map(Temperature),
    "top_k": st.integers(1, 20).map(TopK),
    "top_p": st.floats(0, 1).map(TopP),
    "min_p": st.floats(0, 1).map(MinP),
}


def processor(operation: Operation) -> Any:
    """transformers' own of the same kind and number."""
    match operation:
        case RepetitionPenalty(penalty=penalty):
            return hf.RepetitionPenaltyLogitsProcessor(penalty)
        case Temperature(value=value):
            return hf.TemperatureLogitsWarper(value)
        case TopK(k=k):
            return hf.TopKLogitsWarper(k)
        case TopP(p=p):
            return hf.TopPLogitsWarper(p)
        case MinP(p=p):
            return hf.MinPLogitsWarper(p)


def theirs(operations: tuple[Operation, ...], row: Any, seen: list[int]) -> Any:
    ids, scores = torch.tensor([seen], dtype=torch.int64), torch.tensor(np.array([row], dtype=np.float64))
    return hf.LogitsProcessorList(map(processor, operations))(ids, scores)[0].numpy()


def is_at_border(operation: Operation, row: Any) -> bool:
    """True if rounding decides which tokens stay: a sum, or quotient, of probabilities nearly equals p."""
    probabilities = torch.tensor(np.asarray(row)).softmax(-1).numpy()
    if isinstance(operation, TopP):
        sums = [math.fsum(sorted(probabilities)[::-1][:n]) for n in range(1, len(probabilities) + 1)]
        return min(abs(one - operation.p) for one in sums) < NEAR or operation.p > 1 - NEAR
    if isinstance(operation, MinP):
        return bool((np.abs(probabilities / probabilities.max() - operation.p) < NEAR).any())
    return False


# --- one at a time ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", OPERATIONS)
@given(data=st.data())
def test_one_operation_leaves_the_logits_that_transformers_leaves(kind: str, data: st.DataObject) -> None:
    row = data.draw(ROWS)
    seen = data.draw(st.lists(st.integers(0, len(row) - 1), min_size=1, max_size=5))
    operation = data.draw(OPERATIONS[kind])
    assume(not is_at_border(operation, row))
    found = OPERATION_OF[type(operation)].apply(operation, np.array(row), seen)
    expected = theirs((operation,), row, seen)
    if kind == "top_p":
        assert Counter(found.tolist()) == Counter(expected.tolist())
        border = found[np.isfinite(found)].min()
        away = np.array(row) != border
        np.testing.assert_array_equal(found[away], expected[away])
    else:
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(core.softmax(expected), torch.tensor(expected).softmax(-1), atol=1e-15)


def test_in_a_nucleus_the_lower_of_equal_ids_stay_whatever_a_sort_does() -> None:
    """The one rule that is not transformers': it keeps as many, which ones is up to its sort."""
    row = [0.5, 1.0, 0.5, 0.5, 0.5, 1.0]
    found, expected = core.top_p(row, 0.7), theirs((TopP(0.7),), row, [0])
    assert np.flatnonzero(np.isfinite(found)).tolist() == [0, 1, 2, 5]
    assert np.isfinite(expected).sum() == 4 and np.isfinite(expected[[1, 5]]).all()


@pytest.mark.parametrize("k", range(1, 8))
def test_ties_at_the_border_of_top_k_stay_together_in_both(k: int) -> None:
    row = [1.0, 3.0, 1.0, OUT, 1.0, 2.0]
    np.testing.assert_array_equal(core.top_k(row, k), theirs((TopK(k),), row, [0]))


def test_greedy_is_what_torch_takes_as_the_largest() -> None:
    """transformers refuses temperature 0 and takes `torch.argmax`, the first of equal ones, instead."""
    with pytest.raises(ValueError, match="strictly positive"):
        hf.TemperatureLogitsWarper(0.0)
    for row in np.random.default_rng(0).integers(0, 4, (50, 6)).astype(np.float64):
        assert choose(Sampling((Temperature(0),)), row, [], 0) == int(torch.tensor(row).argmax())


# --- one after the other ---------------------------------------------------------------------------


@given(data=st.data())
def test_operations_in_any_order_give_the_probabilities_that_transformers_gives(data: st.DataObject) -> None:
    row = data.draw(UNTIED_ROWS)
    seen = data.draw(st.lists(st.integers(0, len(row) - 1), min_size=1, max_size=5))
    kinds = data.draw(st.lists(st.sampled_from(list(OPERATIONS)), unique=True, min_size=1))
    operations = tuple(data.draw(OPERATIONS[kind]) for kind in kinds)
    stages = shaped(Sampling(operations), row, seen)
    for operation, before in zip(operations, stages, strict=False):
        assume(not is_at_border(operation, before.logits))
        finite = before.logits[np.isfinite(before.logits)]
        assume(not isinstance(operation, TopP) or np.unique(finite).size == finite.size)
    for count in range(1, len(operations) + 1):
        expected = theirs(operations[:count], row, seen)
        np.testing.assert_array_equal(stages[count].logits, expected)
        probabilities = torch.tensor(expected).softmax(-1).numpy()
        np.testing.assert_allclose(stages[count].probabilities, probabilities, rtol=1e-13, atol=1e-300)
        removed = np.isneginf(expected) & np.isfinite(stages[count - 1].logits)
        assert stages[count].removed.tolist() == np.flatnonzero(removed).tolist()


def test_the_table_is_in_the_order_in_which_transformers_generates() -> None:
    config = LlamaConfig(
        vocab_size=8, hidden_size=4, intermediate_size=4, num_hidden_layers=1, num_attention_heads=1
    )
    numbers = {"temperature": 0.8, "top_k": 40, "top_p": 0.9, "min_p": 0.05, "repetition_penalty": 1.2}
    generation = GenerationConfig(do_sample=True, **numbers)
    model = LlamaForCausalLM(config)
    built = model._get_logits_processor(generation, 1, torch.zeros((1, 1), dtype=torch.int64))
    assert [type(one) for one in built] == [type(processor(row.fresh)) for row in SAMPLING_OPERATIONS]


# --- the end ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", [[], [3], [3, 0], [3, 4], [3, 4, 5], [3, 4, 0]])
def test_the_end_token_and_the_length_stop_where_transformers_stops(ids: list[int]) -> None:
    prompt, stop = [7, 7], StopConditions(length=3)
    so_far = torch.tensor([[*prompt, *ids]])
    criteria = [MaxLengthCriteria(len(prompt) + stop.length), hf.EosTokenCriteria(0)]
    expected = any(bool(one(so_far, torch.zeros(1, 8))[0]) for one in criteria)
    assert bool(stopped(stop, "", ids, 0)) == expected


# --- published -------------------------------------------------------------------------------------


def published() -> list[int]:
    return [int(file.stem.removeprefix("ex")) for file in sorted(GOLDEN.glob("ex*.json"))]


@pytest.mark.skipif(not published(), reason="the published sampling results are not on this machine")
@pytest.mark.parametrize("index", published() or [0])
def test_gpt_2_small_draws_from_the_published_probabilities(index: int) -> None:
    """Five prompts, all 50257 logits, temperature 0.8 and top-5 as somebody else's program shaped them."""
    record = json.loads((GOLDEN / f"ex{index}.json").read_text(encoding="utf-8"))
    with np.load(GOLDEN / f"ex{index}.npz") as arrays:
        logits = arrays["logits"]
    sampling = Sampling((Temperature(0.8), TopK(5)))
    before, hot, few = shaped(sampling, logits, record["token_ids"])
    left = {row["tokenId"]: row["probability"] for row in record["probabilities"] if row["probability"]}
    assert len(left) == 5 and record["sampled"]["tokenId"] in left
    for row in record["probabilities"]:
        token = row["tokenId"]
        assert before.logits[token] == row["logit"]
        assert hot.logits[token] == pytest.approx(row["scaledLogit"], rel=1e-15)
        assert few.logits[token] == (OUT if row["topKLogit"] is None else pytest.approx(row["topKLogit"]))
        assert few.probabilities[token] == pytest.approx(row["probability"], rel=1e-12, abs=0)
    assert set(np.flatnonzero(few.probabilities).tolist()) == set(left)
    assert few.removed.size == 50257 - 5 and hot.removed.size == 0

    n = 2000
    drawn = Counter(core.draw(few.probabilities, (i + 0.5) / n) for i in range(n))
    for token, share in left.items():
        assert abs(drawn[token] - n * share) <= 1
