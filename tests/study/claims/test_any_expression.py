"""Any expression has a value within seconds, or is refused with one sentence."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from attnviz.compute.execute import execute
from attnviz.errors import InputError
from attnviz.model.expressions.kinds import kind_of
from attnviz.model.expressions.parser import parse
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGES
from attnviz.study.claims.cells import cell_of
from attnviz.study.claims.functions import FUNCTIONS
from attnviz.study.claims.scope import CONSTANTS, SIZES, Scope, holds, value_of

LONGEST_S = 10.0
"""Far above what a budget allows on one core, and far below what it prevents."""


def scope_of(preset: str) -> Scope:
    document = load_preset(preset)
    return Scope(execute(document.experiment), document.view)


SCOPES = {name: scope_of(name) for name in ("half-each", "decoder-only", "encoder-decoder")}
NAMES = [*CONSTANTS, *SIZES, "n_layers", "visible", "loss", *(row.id for row in STAGES)]
FIELDS = list(Site.__struct_fields__)
NUMBERS = ["0", "1", "2", "3", "0.5", "-1", "64", "256", "10000", "1e9", "1e308", "1e999", "4294967296"]
TEXTS = ['"a"', '""', '"she"', '"one"', '"layers.0.self"', '"llama-2-7b"', '"float16"', '"\U0001f600"']
MEMBERS = [*FIELDS, "kind", "n_heads", "base", "p", "value", "residual", "__class__", "copy", "shape"]


def joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    signs = st.sampled_from(["+", "-", "*", "/", "@", "^", "<", "<=", ">", ">=", "==", "!=", " and ", " or "])
    functions = st.sampled_from([row.id for row in FUNCTIONS] + [row.id for row in STAGES])
    arguments = st.lists(inner, max_size=4).map(", ".join)
    places = st.lists(inner | st.tuples(inner, inner).map(":".join) | st.just(":"), min_size=1, max_size=3)
    return st.one_of(
        st.tuples(inner, signs, inner).map("".join),
        inner.map(lambda one: f"-{one}"),
        inner.map(lambda one: f"not {one}"),
        inner.map(lambda one: f"({one})"),
        st.tuples(functions, arguments).map(lambda pair: f"{pair[0]}({pair[1]})"),
        st.tuples(inner, places.map(", ".join)).map(lambda pair: f"{pair[0]}[{pair[1]}]"),
        st.tuples(inner, st.sampled_from([*MEMBERS, *(row.id for row in FUNCTIONS)])).map(".".join),
    )


ATOMS = st.sampled_from([*NUMBERS, *TEXTS, *NAMES, *FIELDS, "nothing"])
EXPRESSIONS = st.recursive(ATOMS, joined, max_leaves=12)

STAGE_NAMES = [
    "weights",
    "scores",
    "q",
    "k.T",
    "v",
    "mixed",
    "visible",
    "weights[0]",
    "weights[0, 1:]",
    "v[:, 0:1]",
]
OF_NUMBERS = [row.id for row in FUNCTIONS if row.parameters[0].kind == "numbers"]


def of_numbers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    signs = st.sampled_from(["+", "-", "*", "/", "@", "^"])
    functions = st.tuples(st.sampled_from(OF_NUMBERS), st.lists(inner, min_size=1, max_size=3).map(", ".join))
    return st.one_of(
        st.tuples(inner, signs, inner).map(lambda parts: f"({''.join(parts)})"),
        functions.map(lambda pair: f"{pair[0]}({pair[1]})"),
        st.tuples(inner, inner).map(lambda pair: f"{pair[0]}[{pair[1]}]"),
        inner.map(lambda one: f"-{one}"),
    )


NUMERIC = st.recursive(st.sampled_from([*NUMBERS, *SIZES, *STAGE_NAMES]), of_numbers, max_leaves=8)
CONDITIONS = st.tuples(NUMERIC, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), NUMERIC).map("".join)


def said(expression: str, scope: Scope) -> str:
    """The answer to an expression: its value or the sentence of its refusal."""
    found = []
    for ask in (value_of, holds):
        try:
            found.append(str(ask(expression, scope)))
        except InputError as error:
            found.append(str(error))
    cell_of(expression, scope)
    return "\n".join(found)


@given(EXPRESSIONS | NUMERIC | CONDITIONS, st.sampled_from(sorted(SCOPES)))
def test_an_expression_has_a_value_or_a_sentence(expression: str, name: str) -> None:
    began = time.process_time()
    assert said(expression, SCOPES[name].afresh(lambda: None)).count("\n") == 1
    assert time.process_time() - began < LONGEST_S


@given(st.text(max_size=60))
def test_any_text_has_a_value_or_a_sentence(text: str) -> None:
    said(text, SCOPES["half-each"])


@given(EXPRESSIONS | NUMERIC)
def test_the_kind_that_is_checked_is_that_of_the_value(expression: str) -> None:
    scope = SCOPES["decoder-only"].afresh(lambda: None)
    try:
        node = parse(expression)
        kind = node.kind(scope)
        value = node.value(scope)
    except InputError:
        return
    assert kind_of(value) == kind
