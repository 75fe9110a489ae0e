"""The fragments of the changelog: towncrier finds all of them, and each is a sentence."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_every_fragment_is_one_that_towncrier_gathers() -> None:
    towncrier = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]
    types = {row["directory"] for row in towncrier["type"]}
    folder = ROOT / towncrier["directory"]
    for file in sorted(folder.iterdir()):
        if file.name == "README.md":
            continue
        name, type_, suffix = file.name.split(".")
        assert name.startswith("+") and type_ in types and suffix == "md", file.name
        text = file.read_text(encoding="utf-8").strip()
        assert text[:1].isupper() or text[:1] in "`“", f"{file.name}: {text!r}"
        assert text.endswith(".") and "\n\n" not in text, f"{file.name}: {text!r}"


def test_the_changelog_has_a_place_for_the_next_release() -> None:
    towncrier = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]
    changelog = (ROOT / towncrier["filename"]).read_text(encoding="utf-8")
    assert changelog.count(towncrier["start_string"]) == 1
