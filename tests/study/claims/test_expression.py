"""Expressions: their grammar, their values over a run, and the sentences about wrong ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from attnviz.compute.execute import execute
from attnviz.core.head_scores import HEAD_SCORE_BY_ID, Head, Repeats
from attnviz.errors import InputError
from attnviz.model.expressions.budget import Budget
from attnviz.model.expressions.parser import DEEPEST, LONGEST, parse
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID
from attnviz.study.claims.functions import FUNCTIONS, Whole
from attnviz.study.claims.scope import CONSTANTS, SIZES, Scope, holds, value_of


def scope_of(preset: str, **look: object) -> Scope:
    document = load_preset(preset).looking(**look)
    return Scope(execute(document.experiment), document.view)


@pytest.fixture(scope="module")
def toy() -> Scope:
    return scope_of("toy-attention")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("-2 ^ 2", -4),
        ("2 ^ 3 ^ 2", 512),
        ("10 - 4 - 3", 3),
        ("7 ÷ 2 × 4 − 1", 13),
        (".5e1", 5),
        ("sqrt(512)", 22.627417),
        ("list(3, 4).norm()", 5),
        ("list(1, 2, 3)[1:].sum", 5),
        ("softmax(list(3.5, -2.1, 8.7, 0.3))[2]", 0.994271),
        ("softmax(list(3.5, -2.1, 8.7, 0.3), sqrt(3))[2]", 0.943872),
        ("weights[2].sum()", 1),
        ("weights[0, 1]", 0.332075),
        ('weights["one", "two"]', 0.332075),
        ('weights["one"]["two"]', 0.332075),
        ("weights[:, 1].max()", 0.672308),
        ("max(weights(0))", 0.884497),
        ('weights("layers.0.self", 0)[0, 0]', 0.439654),
        ("argmax(weights[3])", 3),
        ("n * n_keys + d_head", 19),
        ("heads.n_heads", 1),
        ("temperature", 1),
        ("visible.sum()", 16),
        ("entropy(list(0.5, 0.5))", 1),
        ("slope(list(0.5, 0.5))", 0.5),
        ('cache_per_token("llama-2-7b")', 524288),
        ('cache_per_token("deepseek-v3")', 70272),
    ],
)
def test_values(toy: Scope, expression: str, value: float) -> None:
    weights = toy.site.window("weights")
    computed = {"weights[:, 1].max()": weights[:, 1].max(), "max(weights(0))": weights.max()}
    assert value_of(expression, toy) == pytest.approx(computed.get(expression, value), abs=1e-6)


@pytest.mark.parametrize(
    ("condition", "truth"),
    [
        ("weights[2].sum() >= 0.999999", True),
        ("max(scores) < 20 and min(scores) > 0", False),
        ("not weights[0, 0] < 0.1", True),
        ("0 < weights[0, 0] < 1", True),
        ("1 < 2 or max(nothing) < 0", True),
        ("near(weights.sum(1), 1)", True),
        ("near(mixed, weights @ v, 1e-9)", True),
        ("scores.T == scores", True),
    ],
)
def test_conditions(toy: Scope, condition: str, truth: bool) -> None:
    assert holds(condition, toy) is truth


def with_a_value(scope: Scope, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        with suppress(InputError):
            scope.name(name)
            yield name


def test_an_unknown_name_is_refused_with_every_name_that_has_a_value(toy: Scope) -> None:
    with pytest.raises(InputError) as caught:
        toy.name("temperatures")
    names, fields = str(caught.value).split(" must be one of ")[1].split(", or a field of the attention: ")
    said = re.findall(r"'(\w+)'", names), re.findall(r"'(\w+)'", fields)
    assert {"weights", "n_heads", "n_layers", "visible", "loss", "pi"} <= set(said[0])
    assert {"temperature", "dropout", "masks", "heads", "position"} <= set(said[1])
    both = [*said[0], *said[1]]
    candidates = {*both, *STAGE_BY_ID, *Site.__struct_fields__, *SIZES, *CONSTANTS} - {"loss"}
    assert sorted(both) == sorted([*with_a_value(toy, candidates), "loss"])  # `toy` has no read-out
    sentence = str(caught.value)
    assert sentence.endswith(".") and "\n" not in sentence


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("", "must have a number, a name or a bracket at character 1; got the end"),
        ("1 +", "at character 4; got the end"),
        ("1 2", "must have an operator at character 3; got '2'"),
        ("n = 4", "The expression 'n = 4' must have '==' at character 3; got '='."),
        ("n $ 4", "must have a number, a name or an operator at character 3; got '$'"),
        ("weights[9]", "The index must be a whole number from -4 to 3; got 9."),
        ("weights[2:9]", "The index must be a whole number from -4 to 4; got 9."),
        ("weights[0.5]", "The index must be a whole number from -4 to 3; got 0.5."),
        ('weights["five"]', "A token must be one of the text; got 'five'"),
        ("weights[0, 0, 0]", "at most 2 numbers; got 3"),
        ("n[1, 2]", "An index needs an array; got a single number."),
        ("sum(n, 0)", "An axis needs an array; got a single number."),
        ("sum(weights, 2)", "The axis must be a whole number from -2 to 1; got 2."),
        ("weights(1)[0, 0]", "The head must be a whole number from 0 to 0; got 1."),
        (
            "stack_gradient(13, true)",
            "The argument layers of stack_gradient must be a whole number from 0 to 12; got 13.",
        ),
        ("layer_gradient(3, 4, true)", "The layer number must be a whole number from 1 to 3; got 4."),
        ("(weights - weights[0:2])[0, 0]", "must have compatible shapes; got (4, 4) and (2, 4)"),
        ("max(weights[2:2])", "The argument x of max must be at least one number; got an empty array."),
        ("weights", "must be one number; got (4, 4)"),
        ("weihgts", "The name 'weihgts' must be one of"),
        ("frobnicate(1)", "The function 'frobnicate' must be one of"),
        ("max()", "must have 1 to 2 arguments; got 0"),
        ("x @ list(1, 2)", "The stage 'x' must be one of"),
        ("v @ list(1, 2)", "must have compatible shapes"),
        ("norm(list(1)) + logits", "The stage 'logits' must be one of"),
        ("import os", "must have an operator"),
        ("().__class__", "must have a number"),
        ('__import__("os")', "The function '__import__' must be one of"),
        ("1; 2", "a number, a name or an operator at character 2; got ';'"),
        ("(" * (DEEPEST + 1), f"at most {DEEPEST} levels"),
        ("not " * (DEEPEST + 1) + "1", f"at most {DEEPEST} levels"),
        ("1" * (LONGEST + 1), f"at most {LONGEST} characters"),
        ('cache_per_token("gpt-9")', "The argument model of cache_per_token must be one of 'gpt2',"),
        ("heads.size", "The field 'size' must be one of"),
    ],
)
def test_a_wrong_expression_is_one_sentence(toy: Scope, expression: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        value_of(expression, toy)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_the_scores_of_a_head_are_those_of_the_table() -> None:
    scope = scope_of("induction-birth")
    site = scope.trace.site("layers.1.self")
    tokens = site.labels("key")
    numbers = np.array([tokens.index(token) for token in tokens])
    for id_ in ("previous", "induction"):
        head = Head(site["weights"][1], None, Repeats(numbers))
        value = value_of(f'{id_}(weights("layers.1.self", 1))', scope)
        assert value == HEAD_SCORE_BY_ID[id_].of(head) and 0 < value < 1
    for wrong in ("list(1, 2)", "q", "weights @ weights", "2"):
        with pytest.raises(InputError, match="The argument w of induction must be the weights of one head"):
            value_of(f"induction({wrong})", scope)


def test_the_shown_head_is_meant_and_others_are_named() -> None:
    scope = scope_of("fluffy-blue-creature", head=2)
    assert value_of("weights[3, 1]", scope) == scope.site["weights"][2, 3, 1]
    assert value_of("weights(0)[3, 1]", scope) == scope.site["weights"][0, 3, 1]
    assert value_of("k[3, 1]", scope) == scope.site["k"][1, 3, 1]


def test_a_condition_is_no_number_and_a_number_no_condition(toy: Scope) -> None:
    with pytest.raises(InputError, match="must be a condition"):
        holds("1 + 1", toy)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (
            '"a" + 1 == 2',
            "The operator + must have a number or an array on both sides; got a text and a number",
        ),
        ('-"a" == 1', "The operator − must have a number or an array behind it; got a text."),
        ('not "a"', "The operator not must have a condition behind it; got a text."),
        (
            '"a" @ "b" == 1',
            "The operator @ must have a number or an array on both sides; got a text and a text.",
        ),
        (
            '"a" ^ 9 == "b"',
            "The operator ^ must have a number or an array on both sides; got a text and a num",
        ),
        (
            '"a" * 2 == "b"',
            "The operator * must have a number or an array on both sides; got a text and a num",
        ),
        ("-true == 1", "The operator − must have a number or an array behind it; got a condition."),
        ("-(1 < 2) == 1", "The operator − must have a number or an array behind it; got a condition."),
        ("projections > 0", "both sides; got a part with fields and a number or an array."),
        ("heads + 1 == 2", "both sides; got a part with fields and a number or an array."),
        ("block < 1", "both sides; got null and a number or an array."),
        (
            "true == 1",
            "must have two numbers or arrays, two texts or two conditions; got a condition and a num",
        ),
        ("not weights", "The operator not must have a condition behind it; got a number or an array."),
        ("1 and true", "The expression must be a condition, such as a < b; got a number or an array."),
        ("false and n", "The expression must be a condition, such as a < b; got a number or an array."),
        ("sum(heads) > 0", "The field 'sum' must be one of 'n_heads'"),
        ("near(1, heads)", "The argument b of near must be a number or an array; got a part with fields."),
        (
            "stack_gradient(3, 1) > 0",
            "The argument residual of stack_gradient must be a condition; got a number",
        ),
        ("n[true] > 0", "An index must be a whole number or the text of a token; got a condition."),
        ("heads[0] > 0", "An index needs an array; got a part with fields."),
        (
            "weights(true) > 0",
            "The stage 'weights' must have an attention, a head or both in its brackets; got a condition.",
        ),
        ("list(weights) == 1", "The argument x of list must be one number; got (4, 4)."),
        ("near(1, 2, -1)", "The argument tolerance of near must be a number from 0 to inf; got -1."),
    ],
)
def test_kinds_are_checked_before_anything_is_computed(toy: Scope, condition: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        holds(condition, toy)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_null_equals_nothing_but_itself(toy: Scope) -> None:
    assert toy.site.experiment.block is None and toy.site.experiment.cap is None
    assert not holds("cap == 3", toy) and holds("cap != 3", toy) and holds("cap == block", toy)


def test_a_part_that_another_document_has_is_not_missed_where_it_does_not_decide(toy: Scope) -> None:
    assert not holds("1 > 2 and position.base == 10000", toy)
    with pytest.raises(InputError, match="The field 'base' must be"):
        holds("1 < 2 and position.base == 10000", toy)


def test_every_argument_has_bounds_that_its_message_names(toy: Scope) -> None:
    bounded = [(row, p) for row in FUNCTIONS for p in row.parameters if isinstance(p, Whole)]
    assert {row.id for row, _p in bounded} == {"recurrent_gradient", "stack_gradient", "layer_gradient"}
    for row, wrong in bounded:
        for value in (wrong.least - 1, wrong.most + 1, 0.5, np.inf, -np.inf, np.nan):
            others = [1 if isinstance(p, Whole) else True for p in row.parameters]
            with pytest.raises(InputError) as caught:
                row.value(
                    Budget(),
                    [value if p is wrong else o for p, o in zip(row.parameters, others, strict=True)],
                )
            limits = f"must be a whole number from {wrong.least:,} to {wrong.most:,}"
            assert str(caught.value) == f"The argument {wrong.name} of {row.id} {limits}; got {value:.15g}."


@pytest.mark.parametrize(
    "condition",
    [
        "recurrent_gradient(10000, 10, 1) > 0",
        "recurrent_gradient(1000000000, 1000000000, 1) > 0",
        "recurrent_gradient(inf, 1, 1) > 0",
        "recurrent_gradient(64, 257, 1) > 0",
    ],
)
def test_a_function_of_sizes_is_bounded(toy: Scope, condition: str) -> None:
    with pytest.raises(
        InputError, match=r"The argument \w+ of recurrent_gradient must be a whole number from"
    ):
        holds(condition, toy)


def test_the_work_of_an_expression_is_bounded_and_can_be_cancelled(toy: Scope) -> None:
    slow = " + ".join(f"recurrent_gradient(64, 256, {seed})" for seed in range(9))
    small = replace(toy, budget=Budget(2**27))
    with pytest.raises(InputError, match="An expression must take at most 134,217,728 operations; got more"):
        value_of(slow, small)
    with pytest.raises(InputError, match="at most 67,108,864 numbers; got 1,048,576,000,000"):
        Budget().spend(0, (1024, 1_024_000_000))

    class Cancelled(Exception):
        pass

    calls = iter(range(3))

    def check() -> None:
        if next(calls, None) is None:
            raise Cancelled

    with pytest.raises(Cancelled):
        value_of(slow, toy.afresh(check))


def test_an_expression_of_a_scope_is_computed_once(toy: Scope) -> None:
    scope = replace(toy, budget=Budget(2**27))
    assert len({value_of("recurrent_gradient(64, 256, 1)", scope) for _time in range(5)}) == 1


def test_every_function_is_named_once_and_written_as_a_member(toy: Scope) -> None:
    assert len({row.id for row in FUNCTIONS}) == len(FUNCTIONS)
    for row in FUNCTIONS:
        assert parse(f"{row.id}(1)") == parse(f"1 .{row.id}()")


def test_the_path_of_a_recurrent_network_shortens_its_gradient() -> None:
    from attnviz.core.recurrent import path_gradient

    torch = pytest.importorskip("torch")
    random = np.random.default_rng(7)
    weights = torch.tensor(random.standard_normal((6, 6)) / np.sqrt(6))
    inputs = [torch.tensor(random.standard_normal(6)) for _step in range(5)]

    def end(state: object) -> object:
        for given in inputs:
            state = torch.tanh(weights @ state + given)
        return state

    jacobian = torch.autograd.functional.jacobian(end, torch.zeros(6, dtype=torch.float64))
    assert path_gradient(6, 5, 7) == pytest.approx(float(torch.linalg.matrix_norm(jacobian, 2)), rel=1e-12)
    assert path_gradient(32, 0, 0) == 1
