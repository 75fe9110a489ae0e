"""The folder that makes the shipped model: it still gives the shipped bytes, and no wheel carries it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from attnviz import resources

FOLDER = resources.path("models", "stories")
PROJECT = Path(__file__).resolve().parents[3]


def test_a_short_run_gives_the_shipped_tokenizer_and_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from make import train

    shipped = json.loads((FOLDER / "training.json").read_text(encoding="utf-8"))
    monkeypatch.setattr(train, "CURVE_DOCUMENTS", 1)
    train.train(train.Recipe(seed=shipped["recipe"]["seed"], minutes=train.ENDLESS, steps=1), tmp_path)
    for name in ("tokenizer.json", "config.json"):
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes(), name
    record = json.loads((tmp_path / "training.json").read_text(encoding="utf-8"))
    assert record["parameters"] == shipped["parameters"]


def test_the_wheel_leaves_out_what_makes_resources() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    left_out = {pattern.strip("/") for pattern in wheel["exclude"]}
    scripts = {path.relative_to(PROJECT) for path in resources.root().rglob("*.py")}
    assert scripts
    for script in scripts:
        assert script.as_posix() in left_out or left_out & set(script.parts[:-1]), script
