"""Any experiment through the public functions, and what becomes of its file when something in it is junk."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from experiments import STACKS, experiments
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from stacks import stacks

import attnviz
from attnviz.model.io.files import dumps, loads
from attnviz.model.sites.sites import site_names
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.view import View

ANY = st.one_of(stacks(), experiments())
NOTHING = {"nothing at all": 1}
JUNK: tuple[Any, ...] = (
    None, True, -1, 0, 0.5, 10**30, -1e300, "", "x", [], [[]], [None], [[1, "x"]], {}, NOTHING,
    {"kind": "nothing"}, {"kind": []}, {"kind": "explicit"}, {"tensor": "x"}, {"kind": "rope", "base": "x"},
)  # fmt: skip


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of everything in JSON data."""
    if path:
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield from places(one, (*path, key))


def written(path: tuple[str | int, ...]) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def with_junk(data: Any, path: tuple[str | int, ...], junk: Any) -> Any:
    changed = json.loads(json.dumps(data))
    owner = changed
    for step in path[:-1]:
        owner = owner[step]
    owner[path[-1]] = junk
    return changed


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(experiment=ANY, head=st.integers(0, 3), suffix=st.sampled_from(["json", "safetensors"]))
def test_what_is_constructed_runs_and_comes_back_equal(
    experiment: Experiment, head: int, suffix: str, tmp_path: Any
) -> None:
    site = site_names(experiment)[-1]
    document = Document(experiment, View(head=head, site=site), "any")
    trace = attnviz.run(document)
    again = attnviz.load(attnviz.save(document, tmp_path / f"any.{suffix}"))
    assert again == document
    other = attnviz.run(again)
    assert other.sites == trace.sites == site_names(experiment)
    for name in trace.sites:
        for stage in trace.site(name).stages:
            np.testing.assert_array_equal(trace.site(name)[stage], other.site(name)[stage])


@given(ANY, st.data())
@settings(max_examples=80)
def test_junk_anywhere_is_refused_in_one_sentence_or_is_legal(
    experiment: Experiment, data: st.DataObject
) -> None:
    whole = json.loads(dumps(experiment))
    path = data.draw(st.sampled_from(list(places(whole))))
    junk = data.draw(st.sampled_from(JUNK))
    judge(with_junk(whole, path, junk))


@given(ANY, st.data())
def test_an_object_of_no_kind_is_refused_by_its_path(experiment: Experiment, data: st.DataObject) -> None:
    whole = json.loads(dumps(experiment))
    path = data.draw(st.sampled_from(list(places(whole))))
    assume(path[0] != "format")
    with pytest.raises(ValueError) as caught:
        loads(json.dumps(with_junk(whole, path, NOTHING)))
    assert written(in_matrix(whole, path)) in str(caught.value)


@given(ANY, st.data())
def test_a_key_too_many_and_a_key_too_few(experiment: Experiment, data: st.DataObject) -> None:
    whole = json.loads(dumps(experiment))
    paths = [path for path in places(whole) if isinstance(path[-1], str)]
    path = data.draw(st.sampled_from(paths))
    says = written((*path[:-1], "surplus")) + " must be one of the keys "
    with pytest.raises(ValueError, match=re.escape(says)):
        loads(json.dumps(with_junk(whole, (*path[:-1], "surplus"), 1)))
    fewer = json.loads(json.dumps(whole))
    owner = fewer
    for step in path[:-1]:
        owner = owner[step]
    del owner[path[-1]]
    judge(fewer)


@example(STACKS["encoder and decoder"])
@given(ANY)
def test_text_that_is_cut_off_is_refused(experiment: Experiment) -> None:
    text = dumps(experiment)
    for length in range(0, len(text) - 2, max(1, len(text) // 12)):
        with pytest.raises(ValueError) as caught:
            loads(text[:length])
        assert "\n" not in str(caught.value)


def in_matrix(whole: Any, path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """The path of the matrix that this is a row or a number of, else the path itself."""
    value = whole
    above: tuple[str | int, ...] = ()
    for step in path:
        if isinstance(value, list) and value and isinstance(value[0], list):
            return above
        value, above = value[step], (*above, step)
    return path


def judge(data: Any) -> None:
    """Legal, and then it comes back equal; or refused in one sentence that says where."""
    try:
        document = loads(json.dumps(data))
    except ValueError as error:
        said = str(error)
        assert "\n" not in said and "Traceback" not in said
        assert len(said) < 1000
        assert "$." in said or "must be an attnviz document" in said, said
    else:
        assert loads(dumps(document)) == document
