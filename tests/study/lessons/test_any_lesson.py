"""Any text is a lesson that can be checked, or is refused with one sentence."""

from __future__ import annotations

import json
import time
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from attnviz.checkpoints.presets import load_preset
from attnviz.compute.execute import execute
from attnviz.errors import InputError
from attnviz.model.edit.settings import FITTED
from attnviz.model.fields import FIELDS
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site
from attnviz.study.lessons.checking import problems
from attnviz.study.lessons.reading import KEYS, read_lesson

LONGEST_S = 20.0
"""Far above what the steps of a small lesson take on one core, and far below what a limit prevents."""

cached_preset = cache(load_preset)

WORDS = [
    "",
    "0",
    "-1",
    "2",
    "1e9",
    "99999999999",
    "9" * 5000,
    "nan",
    "she",
    "a = 1",
    "__class__ = 1",
    "weights",
]
EXPRESSIONS = [
    '"a" + 1 == 2',
    "n == 4",
    "weights[0, 0]",
    "-true == 1",
    "recurrent_gradient(9e9, 10, 1)",
    "heads",
]
PATHS = [
    *FITTED,
    *Site.__struct_fields__,
    *Experiment.__struct_fields__,
    *(row.path for row in FIELDS),
    *("__class__", "copy", "heads.__class__", "heads.group_size", "vectors.array", "n_queries", "", "a.b.c"),
    *("n_heads", "heads.n_kv_heads", "masks.window.left", "layers.0", "experiment", "."),
]
VALUES = st.recursive(
    st.sampled_from([None, True, 0, 1, -1, 3, 10**9, 10**30, 0.5, 1e308, "", "a", "softmax", [], {}, ["a"]])
    | st.sampled_from([{"kind": "rope"}, {"kind": "identity"}, [{"kind": "causal"}], [[1.0, 2.0], [3.0]]]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["kind", "n", "a"]), inner),
    max_leaves=4,
)
CHANGES = st.tuples(st.sampled_from(PATHS), VALUES).map(lambda pair: f"{pair[0]} = {json.dumps(pair[1])}")
LINES = st.one_of(
    st.tuples(st.sampled_from(["set", "set", "cure"]), CHANGES).map(": ".join),
    st.tuples(st.sampled_from(sorted(KEYS)), st.sampled_from([*WORDS, *EXPRESSIONS])).map(": ".join),
)
TEXTS = st.sampled_from(
    [*EXPRESSIONS, "[she]", "[a](cell 1, 1)", "[a](cell weights, heads)", "{1 | g}", "{ | g}"]
)
MARKED = st.tuples(st.sampled_from(["? ", "- ", "! ", "> ", "= ", "~ ", "+ ", "1. ", ""]), TEXTS).map(
    lambda pair: pair[0] + (pair[1] if "{" in pair[1] or "[" in pair[1] else f"{{{pair[1]} | g}}")
)


def checked(text: str) -> list[str]:
    """The sentences about a lesson."""
    try:
        lesson = read_lesson(text)
    except InputError as error:
        return [str(error)]
    return [str(problem.message) for problem in problems(lesson, cached_preset, execute)]


def lesson_of(keys: list[str], texts: list[str]) -> str:
    head = "---\nlesson: 1\ntitle: T\npreset: half-each\n---\n\n# a\nstage: weights\n"
    return head + "\n".join(keys) + "\n\n## en: One\n" + "\n\n".join(texts)


def assert_said(text: str) -> None:
    began = time.process_time()
    assert all(sentence and "\n" not in sentence for sentence in checked(text))
    assert time.process_time() - began < LONGEST_S


@given(CHANGES)
def test_any_change_of_a_scene_is_made_or_refused(change: str) -> None:
    assert_said(lesson_of([f"set: {change}"], ["Text."]))


@given(st.lists(LINES, max_size=4), st.lists(MARKED, max_size=4))
def test_any_lesson_is_checked_or_refused(keys: list[str], texts: list[str]) -> None:
    assert_said(lesson_of(keys, texts))


@given(st.text(max_size=200))
def test_any_text_is_a_lesson_or_refused(text: str) -> None:
    assert_said(text)
    assert_said(lesson_of([], [text]))
