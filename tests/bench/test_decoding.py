"""The bench of decoding: all contenders do the same work, and the tables say what was measured."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from attnviz.bench.decoding import bench
from attnviz.bench.decoding import case as decode_case
from attnviz.bench.decoding import report as decode_report
from attnviz.bench.decoding.transformers_llama import TransformersLlama
from attnviz.bench.timing import paired_ratio
from attnviz.cli import main
from attnviz.compute.execute import execute
from attnviz.model.spec.parts import Heads

CONTENDERS = ("numpy", "torch", "transformers")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that takes no time, whatever model is shipped."""

    def model(n_prompt: int) -> tuple[str, Any]:
        drawn = decode_case.drawn_model(n_prompt, 16, 2, Heads(4, 2, 4), d_hidden=24, n_vocabulary=40)
        return "two layers", drawn

    monkeypatch.setattr(bench, "language_model", model)


def test_the_drawn_model_has_the_size_that_it_says() -> None:
    title, given = decode_case.language_model(5)
    assert title and given.n_queries == 5 and given.dtype == "float32"
    assert given.vocabulary is not None and given.readout == "vocabulary"
    drawn = decode_case.drawn_model(5)
    assert drawn == decode_case.drawn_model(5)
    assert (len(drawn.layers), drawn.d_model, drawn.layers[0].heads) == (4, 128, Heads(4, 2, 32))


def test_transformers_computes_the_model_that_it_was_given() -> None:
    given = decode_case.drawn_model(9, 16, 3, Heads(4, 2, 4), d_hidden=24, n_vocabulary=40)
    trace = execute(given, "numpy")
    assert given.vocabulary is not None
    ids = [given.vocabulary.tokens.index(token) for token in given.tokens]
    logits = trace.site(trace.sites[-1])["logits"]
    theirs = TransformersLlama(given, 16)
    np.testing.assert_allclose(theirs.logits(ids), logits, rtol=0, atol=1e-5 * abs(logits).max())
    np.testing.assert_array_equal(theirs.pass_over(ids)[0, 0].argmax(), logits[-1].argmax())
    written, moments = theirs.write(ids, 4, use_cache=True)
    assert written[0] == int(logits[-1].argmax()) and len(written) == len(moments) == 4


def test_json_holds_every_time_and_all_wrote_the_same(
    small: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench.main(json=True, quick=True) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["format"], report["version"]) == ("attnviz-bench-decode", 1)
    found: dict[str, Any] = report["decode"]
    assert tuple(found["same"]) == CONTENDERS
    for same in found["same"].values():
        assert same["tokens"] and same["difference"] < 1e-4
    speed = found["speed"]
    for name in CONTENDERS:
        for how in ("cache", "no cache"):
            times = speed["seconds"][f"{name}, {how}"]
            assert len(times) == bench.QUICK_ROUNDS[1]
            per_second = speed["tokens_per_second"][f"{name}, {how}"]
            assert per_second == pytest.approx(bench.QUICK_NEW / np.median(times))
    expected = paired_ratio(speed["seconds"]["transformers, cache"], speed["seconds"]["torch, cache"])
    assert speed["ratios"]["torch, cache"] == pytest.approx(expected)
    steps = found["steps"]
    assert steps["contexts"] == list(bench.QUICK_CONTEXTS)
    for name in CONTENDERS:
        for how in ("cache", "no cache"):
            assert len(steps["median"][name][how]) == len(bench.QUICK_CONTEXTS)
            assert min(steps["median"][name][how]) > 0


def test_the_tables_judge_what_is_wanted(small: None, capsys: pytest.CaptureFixture[str]) -> None:
    report = {"machine": bench.machine(), "decode": bench.measure_decoding(quick=True)}
    report["decode"]["speed"]["ratios"]["numpy, cache"] = 0.8
    report["decode"]["speed"]["ratios"]["torch, cache"] = 1.25
    report["decode"]["steps"]["cache_over_none"] = {"numpy": 0.1, "torch": 0.3}
    decode_report.print_decode_report(report)
    said = capsys.readouterr().out
    assert "NumPy: 0.80, short by 20 % (≥ 1)" in said and "Torch: 1.25 PASS (≥ 1)" in said
    assert "at 16 tokens 0.100 PASS (≤ 0.2)" in said and "at 16 tokens 0.300 over by 50 % (≤ 0.2)" in said
    assert said.count("the same tokens") == 3 and "OTHER TOKENS" not in said


def test_a_contender_that_writes_something_else_is_said(
    small: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    true = TransformersLlama.write

    def wrong(self: TransformersLlama, ids: Any, n_new: int, use_cache: bool) -> Any:
        written, moments = true(self, ids, n_new, use_cache)
        return [*written[:-1], written[-1] + 1], moments

    monkeypatch.setattr(TransformersLlama, "write", wrong)
    assert bench.main(quick=True) == 0
    assert "transformers: OTHER TOKENS" in capsys.readouterr().out


def test_without_transformers_the_rest_is_measured_and_it_is_one_sentence(
    small: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = bench.missing.__globals__["importlib"].util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *rest: None if name == "transformers" else found(name, *rest)
    )
    assert bench.main(quick=True) == 0
    said = capsys.readouterr().out
    assert "transformers is not measured: the package transformers is not installed\n" in said
    assert "NumPy, with cache" in said and "PASS (≥" not in said


def test_the_command_measures_one_subject_or_all_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    called = []
    monkeypatch.setattr("attnviz.bench.main", lambda json: called.append(("all", json)) or 0)
    monkeypatch.setattr(
        "attnviz.bench.decoding.bench.main", lambda json: called.append(("decode", json)) or 0
    )
    monkeypatch.setattr("attnviz.bench.training.bench.main", lambda json: called.append(("train", json)) or 0)
    subjects = {"all": [], "decode": ["decode"], "train": ["train"]}
    for given in subjects.values():
        assert main(["bench", *given]) == main(["bench", *given, "--json"]) == 0
    assert called == [(name, json) for name in subjects for json in (False, True)]
    assert main(["bench", "encode"]) == 2
    assert "encode" in capsys.readouterr().err
