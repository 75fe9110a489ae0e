"""Expressions: their grammar, their values over a run, and the sentences about wrong ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

import numpy as np
import pytest

from attnviz.compute.execute import execute
from attnviz.errors import InputError
from attnviz.model.claims.functions import FUNCTIONS
from attnviz.model.claims.parser import DEEPEST, LONGEST, parse
from attnviz.model.claims.scope import CONSTANTS, SIZES, Scope, holds, value_of
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID


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
        ("stack_gradient(13, true)", "The number of layers must be a whole number from 0 to 12; got 13."),
        ("layer_gradient(3, 4, true)", "The layer number must be a whole number from 1 to 3; got 4."),
        ("weights == weights[0:2]", "must have compatible shapes; got (4, 4) and (2, 4)"),
        ("max(weights[2:2])", "needs at least one; got an empty array"),
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
        ('cache_per_token("gpt-9")', "The model 'gpt-9' must be one of"),
        ("heads.size", "The field 'size' must be one of"),
    ],
)
def test_a_wrong_expression_is_one_sentence(toy: Scope, expression: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        value_of(expression, toy)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_the_shown_head_is_meant_and_others_are_named() -> None:
    scope = scope_of("fluffy-blue-creature", head=2)
    assert value_of("weights[3, 1]", scope) == scope.site["weights"][2, 3, 1]
    assert value_of("weights(0)[3, 1]", scope) == scope.site["weights"][0, 3, 1]
    assert value_of("k[3, 1]", scope) == scope.site["k"][1, 3, 1]


def test_a_condition_is_no_number_and_a_number_no_condition(toy: Scope) -> None:
    with pytest.raises(InputError, match="must be a condition"):
        holds("1 + 1", toy)


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
