"""The README is true: its document opens, its script runs, its shortcuts and commands exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")

USES = {
    "models": "attnviz FOLDER",
    "torch": "--engine torch",
    "video": ".mp4",
    "cluster": "attnviz survey",
}
"""A command, or an option of one, that needs each extra of the program."""
OF_TESTS = {"dev", "references"}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_document_opens_and_runs() -> None:
    from attnviz import run
    from attnviz.model.io.files import loads

    (text,) = blocks("json")
    trace = run(loads(text))
    assert trace["weights"].shape == (2, 4, 4)
    assert abs(trace["weights"].sum(axis=2) - 1).max() < 1e-6


def test_the_script_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for script in blocks("python"):
        exec(compile(script, "README.md", "exec"), names)
    assert {file.name for file in tmp_path.glob("*.*")} == {
        "weights.pdf",
        "attentions.pdf",
        "my.json",
        "activations.npz",
    }


def test_every_stage_it_names_exists_and_in_this_order() -> None:
    from attnviz.model.stages import STAGES

    named = re.search(r"in which data flows:\n(.*?)\. A stage", README, flags=re.DOTALL)
    assert named is not None
    assert re.findall(r"`(\w+)`", named[1]) == [stage.id for stage in STAGES]


def test_it_names_each_extra_at_the_first_command_that_needs_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(USES) == set(project["optional-dependencies"]) - OF_TESTS
    late = [
        extra
        for extra, use in USES.items()
        if f"'.[{extra}]'" not in README[: README.index("\n", README.index(use))]
    ]
    assert late == []


def table(head: str) -> list[tuple[str, str]]:
    """The two cells of each row of the table with these headings."""
    rows = README.split(f"| {head} |\n|---|---|\n")[1].split("\n\n")[0].splitlines()
    return [
        (first.strip(), second.strip()) for first, second in (row.strip("| ").split(" | ") for row in rows)
    ]


def test_the_workspaces_are_those_of_the_window() -> None:
    from attnviz.gui.workspaces.table import WORKSPACES

    assert [name.strip("*") for name, _purpose in table("workspace | purpose")] == [
        row.title for row in WORKSPACES
    ]


def test_the_panels_of_explore_stand_where_it_says() -> None:
    from attnviz.gui.panels.table import PANEL_BY_ID
    from attnviz.gui.workspaces.arrangement import Split, stacks
    from attnviz.gui.workspaces.table import WORKSPACE_BY_ID

    columns = WORKSPACE_BY_ID["explore"].arrangement(1280)
    assert isinstance(columns, Split) and columns.direction == "across"
    said = [re.findall(r"\*\*(.+?)\*\*", panels) for _where, panels in table("where | panels")]
    assert said == [
        [PANEL_BY_ID[panel].title for stack in stacks(column) for panel in stack.panels]
        for column in columns.parts
    ]


def test_the_house_has_every_folder_of_the_package() -> None:
    rooms = {f"`attnviz/{path.parent.name}/`" for path in (ROOT / "attnviz").glob("*/__init__.py")}
    assert {folder for folder, _what in table("folder | what it holds")} >= rooms > {"`attnviz/core/`"}


def test_it_names_every_recipe() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipes = re.findall(r"^### (.+)$", page, flags=re.MULTILINE)
    assert ", ".join(name[0].lower() + name[1:] for name in recipes) in README


def test_every_shortcut_it_lists_exists(qapp: object) -> None:
    from attnviz.gui.commands.actions import ACTIONS

    listed = [keys for cell, _does in table("keys | do") for keys in re.split(r", (?=\w)", cell)]
    assert len(listed) > 10
    shortcuts = {shortcut for action in ACTIONS for shortcut in action.shortcuts}
    assert set(listed) - shortcuts == set()


def test_every_command_it_shows_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    from attnviz.cli import main
    from attnviz.cli.table import COMMANDS

    shown = set(re.findall(r"^attnviz ([a-z]+)", "\n".join(blocks("sh")), flags=re.MULTILINE))
    assert {"presets", "run", "render", "decode", "import"} <= shown <= {row.name for row in COMMANDS}
    for command in sorted(shown):
        with pytest.raises(SystemExit) as stopped:
            main([command, "--help"])
        assert stopped.value.code == 0
        assert command in capsys.readouterr().out
