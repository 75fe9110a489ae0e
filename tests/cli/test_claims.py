"""`attnviz claims`: the table of textbooks, and the claims of a document with an exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from short_trainings import short_trainings

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.cli.shell import main
from attnviz.study.lessons.table import CLAIMS, shipped_claims

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _short_trainings() -> Iterator[None]:
    with short_trainings():
        yield


COUNT = sum(len(shipped_claims(id_).steps) for id_ in CLAIMS)


def test_the_table_has_a_verdict_for_each_claim(capsys: Capture) -> None:
    assert main(["--language", "en", "claims"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.lstrip()[0] in "✓≈✗" for line in lines) == COUNT
    assert "  ≈ softmax([3.5, −2.1, 8.7, 0.3]) = [0.05, 0.00, 0.94, 0.01]." in lines


def test_the_table_as_json_in_chinese(capsys: Capture) -> None:
    assert main(["--language", "zh_CN", "claims", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == COUNT
    line = next(row for row in rows if row["id"] == "all-heads")
    assert line["verdict"] == "setting" and "603,979,776" in line["says"][0] and "59.5 亿" in line["claim"]


def test_a_document_that_keeps_its_claims_exits_with_zero(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "toy.json"
    attnviz.save(replace(load_preset("toy-attention"), claims=("weights[2].sum() == 1",)), file)
    assert main(["--language", "en", "claims", str(file)]) == 0
    assert capsys.readouterr().out == "✓ weights[2].sum() == 1\n"
    assert main(["--language", "en", "claims", str(file), "--claim", "n > 9", "--claim", "foo"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[1] == "✗ n > 9" and said[2].startswith("? foo  The name 'foo' must be one of")


def test_a_claim_that_is_an_array_is_refused_in_one_line(capsys: Capture) -> None:
    assert main(["--language", "en", "claims", "toy-attention", "--claim", "weights"]) == 1
    said = "The expression must be a condition, such as a < b; got a number or an array."
    assert capsys.readouterr().out == f"? weights  {said}\n"


def test_bad_claims_are_one_sentence(capsys: Capture) -> None:
    assert main(["--language", "en", "claims", "toy-attention", "--claim", "n >"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "claims[0]" in line and "at character 4" in line


def test_a_document_without_claims_says_how_to_add_one(capsys: Capture) -> None:
    assert main(["--language", "en", "claims", "toy-attention"]) == 0
    assert "--claim" in capsys.readouterr().out
