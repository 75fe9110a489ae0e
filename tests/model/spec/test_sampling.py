"""Sampling of a token: values, table, the distribution after each operation, the sample and the end."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations
from typing import Any, get_args

import msgspec
import numpy as np
import pytest

from attnviz.core import sampling as core
from attnviz.model.fields import field_at
from attnviz.model.spec import sampling as s
from attnviz.model.spec.sampling import (
    OPERATION_OF,
    SAMPLING_OPERATIONS,
    MinP,
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

OUT = -math.inf
LOGITS = [2.0, 1.0, 0.5, 0.0]
FULL = Sampling((RepetitionPenalty(1.5), Temperature(0.5), TopK(3), TopP(0.85), MinP(0.1)), seed=7)

each_row = pytest.mark.parametrize("row", SAMPLING_OPERATIONS, ids=lambda row: row.id)


def refused(call: Any) -> str:
    with pytest.raises(ValueError) as error:
        call()
    return str(error.value)


# --- the values ------------------------------------------------------------------------------------


def test_a_sampling_comes_back_from_json_and_names_its_kinds() -> None:
    sampling = msgspec.structs.replace(FULL, stop=StopConditions(False, 9, ("\n", "。")))
    text = msgspec.json.encode(sampling)
    assert msgspec.json.decode(text, type=Sampling) == sampling
    kinds = [operation["kind"] for operation in msgspec.json.decode(text)["operations"]]
    assert kinds == ["repetition_penalty", "temperature", "top_k", "top_p", "min_p"]
    assert msgspec.json.decode(b"{}", type=Sampling) == Sampling()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Temperature(-0.5),
            "sampling.temperature.value must be a finite number of at least 0; got -0.5.",
        ),
        (
            lambda: Temperature(math.inf),
            "sampling.temperature.value must be a finite number of at least 0; got inf.",
        ),
        (
            lambda: Temperature("warm"),  # type: ignore[arg-type]
            "sampling.temperature.value must be a number; got 'warm'.",
        ),
        (lambda: TopK(0), "sampling.top_k.k must be a whole number from 1 to 1,000,000; got 0."),
        (
            lambda: TopK(2.5),  # type: ignore[arg-type]
            "sampling.top_k.k must be a whole number from 1 to 1,000,000; got 2.5.",
        ),
        (lambda: TopP(1.01), "sampling.top_p.p must be a number from 0 to 1; got 1.01."),
        (lambda: MinP(math.nan), "sampling.min_p.p must be a number from 0 to 1; got nan."),
        (
            lambda: RepetitionPenalty(0),
            "sampling.repetition_penalty.penalty must be a finite number above 0; got 0.0.",
        ),
        (
            lambda: Sampling((TopK(3), TopP(0.5), TopK(4))),
            "sampling.operations must have each kind of operation once; got 'top_k' twice.",
        ),
        (lambda: Sampling(seed=-1), "sampling.seed must be a whole number from 0 to 4,294,967,295; got -1."),
        (
            lambda: StopConditions(length=0),
            "sampling.stop.length must be a whole number from 1 to 1,000,000; got 0.",
        ),
        (
            lambda: StopConditions(strings=("a", "")),
            "sampling.stop.strings must be a list of texts that are not empty; got ['a', ''].",
        ),
    ],
)
def test_what_is_not_legal_is_refused_in_one_sentence(call: Any, message: str) -> None:
    assert refused(call) == message


# --- the table -------------------------------------------------------------------------------------


def test_every_operation_that_a_sampling_can_hold_has_one_row() -> None:
    assert tuple(row.kind for row in SAMPLING_OPERATIONS) == get_args(s.Operation)
    assert (
        len({row.id for row in SAMPLING_OPERATIONS}) == len({row.title for row in SAMPLING_OPERATIONS}) == 5
    )
    assert OPERATION_OF[TopP].id == "top_p"


@each_row
def test_the_range_of_a_row_is_what_its_record_takes(row: s.SamplingOperation) -> None:
    found = field_at(f"sampling.{row.id}.{row.field}")
    assert found is not None and found.field.usual is not None
    for value in (*found.bounds, *found.field.usual):
        number = int(value) if found.kind is int else value
        assert getattr(row.kind(**{row.field: number}), row.field) == value


@each_row
def test_what_a_form_begins_with_changes_something_and_a_neutral_value_nothing(
    row: s.SamplingOperation,
) -> None:
    logits = np.r_[np.linspace(3, -3, 60), OUT]
    plain = core.softmax(logits)
    fresh = shaped(Sampling((row.fresh,)), logits, [0, 59])[-1]
    assert np.abs(fresh.probabilities - plain).max() > 1e-3
    found = field_at(f"sampling.{row.id}.{row.field}")
    if found is not None and found.field.normal is not None:
        neutral = shaped(Sampling((row.kind(**{row.field: found.field.normal}),)), logits, [0, 59])[-1]
        np.testing.assert_array_equal(neutral.logits, logits)


# --- the distribution, step by step ----------------------------------------------------------------


def test_the_distribution_before_and_after_each_operation() -> None:
    """By hand: id 0 was seen: 2 ÷ 1.5; then all doubled; three left; the first two of them hold .889."""
    stages = shaped(FULL, LOGITS, [0, 0])
    assert [stage.operation for stage in stages] == [None, *FULL.operations]
    first = 2 / 1.5
    expected = [
        LOGITS,
        [first, 1, 0.5, 0],
        [2 * first, 2, 1, 0],
        [2 * first, 2, 1, OUT],
        [2 * first, 2, OUT, OUT],
        [2 * first, 2, OUT, OUT],
    ]
    for stage, logits in zip(stages, expected, strict=True):
        assert stage.logits.tolist() == pytest.approx(logits, rel=1e-15)
        exponentials = [math.exp(logit) for logit in logits]
        shares = [one / math.fsum(exponentials) for one in exponentials]
        assert stage.probabilities.tolist() == pytest.approx(shares, rel=1e-14)
    assert [stage.removed.tolist() for stage in stages] == [[], [], [], [3], [2], []]


def test_without_operations_there_is_the_model_s_own_distribution() -> None:
    (only,) = shaped(Sampling(), [*LOGITS, OUT], [])
    assert only.operation is None and only.removed.size == 0
    expected = [0.579, 0.213, 0.129, 0.078, 0]
    assert only.probabilities.tolist() == pytest.approx(expected, abs=0.0005)


def test_the_order_decides() -> None:
    """Two tokens hold .79; flattened first, they hold .66, and a nucleus of .7 needs a third."""
    hot, nucleus = Temperature(2), TopP(0.7)
    assert shaped(Sampling((nucleus, hot)), LOGITS, [])[-1].removed.size == 0
    assert shaped(Sampling((nucleus, hot)), LOGITS, [])[1].removed.tolist() == [2, 3]
    assert shaped(Sampling((hot, nucleus)), LOGITS, [])[2].removed.tolist() == [3]


@pytest.mark.parametrize("order", list(permutations(range(5))))
def test_in_every_order_each_stage_is_its_operation_of_the_one_before(order: tuple[int, ...]) -> None:
    logits = np.random.default_rng(3).standard_normal(20) * 3
    logits[4] = OUT
    sampling = Sampling(tuple(FULL.operations[index] for index in order))
    stages = shaped(sampling, logits, [1, 2, 3])
    gone = {4}
    for before, after in zip(stages, stages[1:], strict=False):
        (alone,) = shaped(Sampling((after.operation,)), before.logits, [1, 2, 3])[1:]  # type: ignore[arg-type]
        np.testing.assert_array_equal(after.logits, alone.logits)
        assert not gone & set(after.removed.tolist())
        gone |= set(after.removed.tolist())
        assert set(np.flatnonzero(after.probabilities == 0).tolist()) == gone


def test_what_comes_out_is_read_only_and_what_came_in_is_left_alone() -> None:
    logits = np.array(LOGITS, dtype=np.float32)
    for stage in shaped(FULL, logits, [0]):
        for array in (stage.logits, stage.probabilities, stage.removed):
            assert not array.flags.writeable
        assert stage.logits.dtype == stage.probabilities.dtype == np.float64
        assert not np.shares_memory(stage.logits, logits)
    assert logits.tolist() == LOGITS and logits.flags.writeable
    double = np.array(LOGITS)
    shaped(FULL, double, [0])
    assert double.flags.writeable


@pytest.mark.parametrize("sampling", [Sampling(), FULL])
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0.0, math.nan], "logits[1] must be a finite number, or −inf for an excluded token; got nan."),
        ([OUT], "logits must have at least one finite number; got −inf for all 1 tokens."),
        (
            [LOGITS],
            "logits must be one row of numbers, one for each token of the vocabulary; got array(1x4).",
        ),
    ],
)
def test_a_row_that_nothing_can_be_drawn_from_is_refused(sampling: Sampling, row: Any, message: str) -> None:
    assert refused(lambda: shaped(sampling, row, [0])) == message
    assert refused(lambda: choose(sampling, row, [0], 0)) == message


# --- the draw --------------------------------------------------------------------------------------


def test_a_draw_is_by_seed_and_step_alone() -> None:
    """Back and forth gives the same tokens; u is NumPy's, as the documentation says."""
    sampling = Sampling((Temperature(1.5),), seed=11)
    forth = [choose(sampling, LOGITS, [], step) for step in range(50)]
    assert [choose(sampling, LOGITS, [], step) for step in reversed(range(50))] == forth[::-1]
    probabilities = shaped(sampling, LOGITS, [])[-1].probabilities
    for step, token in enumerate(forth):
        u = np.random.default_rng([11, step]).random()
        assert probabilities[:token].sum() <= u < probabilities[: token + 1].sum()
    other = [choose(msgspec.structs.replace(sampling, seed=12), LOGITS, [], step) for step in range(50)]
    assert other != forth and len(set(forth)) == 4


def test_draws_come_as_often_as_their_probabilities_say() -> None:
    """Four standard errors of 4000 draws, for the temperatures whose distribution is known."""
    n = 4000
    for value, expected in [(0.5, [0.831, 0.112, 0.041, 0.015]), (2, [0.409, 0.248, 0.193, 0.150])]:
        sampling = Sampling((Temperature(value),))
        counts = Counter(choose(sampling, LOGITS, [], step) for step in range(n))
        for token, share in enumerate(expected):
            assert abs(counts[token] / n - share) < 4 * math.sqrt(share * (1 - share) / n)


def test_greedy_draws_the_same_whatever_the_seed() -> None:
    for seed in range(20):
        assert choose(Sampling((Temperature(0),), seed), [0.5, 2.0, 2.0, 1.0], [], seed) == 1


def test_a_penalty_moves_a_greedy_draw_off_what_was_seen() -> None:
    sampling = Sampling((RepetitionPenalty(1.5), Temperature(0)))
    assert [choose(sampling, [2.0, 1.9, 0.1], seen, 0) for seen in ([], [0], [0, 1])] == [0, 1, 0]


def test_a_step_before_the_first_is_refused() -> None:
    message = refused(lambda: choose(FULL, LOGITS, [], -1))
    assert message == "step must be a whole number of at least 0; got -1."


# --- the end ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stop", "text", "ids", "end_id", "reason"),
    [
        (StopConditions(), "", [], 0, ""),
        (StopConditions(), "ab", [5, 6], 0, ""),
        (StopConditions(), "ab", [5, 0], 0, "the end token was generated"),
        (StopConditions(), "ab", [5, 0], None, ""),
        (StopConditions(end_token=False), "ab", [5, 0], 0, ""),
        (StopConditions(length=2), "ab", [5, 6], 0, "the limit of 2 new tokens was reached"),
        (StopConditions(length=3), "ab", [5, 6], 0, ""),
        (StopConditions(length=2), "ab", [5, 0], 0, "the end token was generated"),
        (StopConditions(strings=("zz", "b")), "abc", [5], 0, "the text contains the stop string “b”"),
        (StopConditions(strings=("cd", "b")), "abcd", [5], 0, "the text contains the stop string “b”"),
        (StopConditions(strings=("abc", "bc")), "abc", [5], 0, "the text contains the stop string “abc”"),
        (StopConditions(strings=("\n\n",)), "a\n\nb", [5], 0, "the text contains the stop string “␊␊”"),
        (StopConditions(strings=("。",), length=1), "好。", [5], 0, "the text contains the stop string “。”"),
        (StopConditions(strings=("B",)), "abc", [5], 0, ""),
    ],
)
def test_why_writing_ends(
    stop: StopConditions, text: str, ids: list[int], end_id: int | None, reason: str
) -> None:
    assert str(stopped(stop, text, ids, end_id) or "") == reason
    assert bool(stopped(stop, text + "…", [*ids, 9], end_id)) or not reason, "stays stopped"
    numbers = np.array(ids, dtype=np.int64)
    assert str(stopped(stop, text, numbers, end_id) or "") == reason  # type: ignore[arg-type]
