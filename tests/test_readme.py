"""The README is true and short: its script runs, its commands exist, and it leads to the whole manual."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from test_manual import EXTRAS

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")

OF_BUILDERS = {"dev", "references", "package"}
LONGEST = 9_000
"""Bytes of one and a half screens."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_it_stays_short_and_names_every_page_of_the_manual() -> None:
    assert len(README.encode()) <= LONGEST
    pages = {f"docs/manual/{page.name}" for page in (ROOT / "docs/manual").glob("*.md")}
    assert pages <= set(re.findall(r"\]\(([^)#]+)", README))


def test_the_script_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for script in blocks("python"):
        exec(compile(script, "README.md", "exec"), names)
    assert [file.name for file in tmp_path.glob("*.*")] == ["weights.pdf"]


def test_each_extra_is_named_before_a_command_that_needs_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    before = README[: README.index("attnviz FOLDER")]
    assert set(EXTRAS) == set(project["optional-dependencies"]) - OF_BUILDERS
    assert [extra for extra in EXTRAS if f"'.[{extra}]'" not in before] == []


def test_it_names_every_recipe() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipes = re.findall(r"^### (.+)$", page, flags=re.MULTILINE)
    assert ", ".join(name[0].lower() + name[1:] for name in recipes) in README


def test_it_names_the_window_and_commands_that_exist() -> None:
    from attnviz.cli.table import COMMANDS

    shown = re.findall(r"`attnviz ([a-z]+)", README)
    assert {"render", "animate", "page"} <= set(shown) <= {row.name for row in COMMANDS}
