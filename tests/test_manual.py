"""The pages of `docs/manual` are true: commands and code run, and lists are those of the program."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from test_docs import script

from attnviz import resources
from attnviz.cli import main

MANUAL = Path(__file__).resolve().parent.parent / "docs/manual"
PAGES = sorted(MANUAL.glob("*.md"))

NEEDS = {"--engine torch": "torch", "attnviz survey": "pyarrow"}
"""The package without which a command cannot run."""
NOT_RUN = ("attnviz bench",)
"""Minutes of measurements, each of which has tests of its own."""
TEMPLATE = "{% for message in messages %}{{ message.content }} {% endfor %}"
INPUTS = {
    "birth.safetensors --": "attnviz train induction-birth --steps 25 -o birth.safetensors",
    "--resume": (
        "attnviz train toy-attention --new-words --sizes n_words=8,longest=5,n_tokens=12 --steps 9 "
        "-o run.safetensors"
    ),
    "survey survey.parquet": "attnviz survey stories-en --texts TEXTS.txt -o survey.parquet",
}
"""A command that reads the file of another one, and that one."""


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


LINES = [
    pytest.param(line, id=f"{page.stem}-{' '.join(shlex.split(line, comments=True)[1:4])}")
    for page in PAGES
    for block in blocks(page, "sh")
    for line in block.splitlines()
]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages name: a trained model, and texts."""
    monkeypatch.chdir(tmp_path)
    Path("FOLDER").mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        shutil.copy(resources.path("models", "stories", name), "FOLDER")
    settings = json.dumps({"chat_template": TEMPLATE})
    Path("FOLDER/tokenizer_config.json").write_text(settings, encoding="utf-8")
    Path("TEXTS.txt").write_text("Tom saw a fox.\nLily had a red ball.\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("line", LINES)
def test_each_command_runs(line: str, desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for use, package in NEEDS.items():
        if use in line and find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    program, *words = shlex.split(line, comments=True)
    assert program == "attnviz"
    if line.startswith(NOT_RUN):
        with pytest.raises(SystemExit) as stopped:
            main([*words, "--help"])
        assert stopped.value.code == 0
        return
    for use, first in INPUTS.items():
        if use in line:
            assert main(shlex.split(first)[1:]) == 0
    assert main(words) == 0, capsys.readouterr().err
    written = [Path(words[at + 1]) for at, word in enumerate(words) if word == "-o"]
    assert all(file.stat().st_size for file in written)
    assert written or capsys.readouterr().out


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.stem
)
def test_the_code_of_a_page_runs(page: Path, desk: Path) -> None:
    before = set(desk.iterdir())
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), names)
    named = set(re.findall(r'"([\w-]+\.(?:pdf|json|npz|safetensors))"', "".join(blocks(page, "python"))))
    assert {file.name for file in set(desk.iterdir()) - before} == named


def test_the_document_opens_and_runs() -> None:
    from attnviz import run
    from attnviz.model.io.files import loads

    (text,) = blocks(MANUAL / "documents.md", "json")
    trace = run(loads(text))
    assert trace["weights"].shape == (2, 4, 4)
    assert abs(trace["weights"].sum(axis=2) - 1).max() < 1e-6


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_lists_are_those_of_the_tables(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == script("list_tables").page(page.name), (
        "run docs/list_tables.py"
    )


def test_the_lists_have_every_stage_in_order_and_every_type_of_model() -> None:
    from attnviz.checkpoints.families.table import FAMILIES
    from attnviz.model.stages import STAGES

    first = r"^\| `(\w+)` \|"
    assert re.findall(first, (MANUAL / "python.md").read_text("utf-8"), re.MULTILINE) == [
        row.id for row in STAGES
    ]
    listed = (MANUAL / "models.md").read_text("utf-8").split("<!-- end of families -->")[0]
    assert {f"`{name}`" for row in FAMILIES for name in row.model_types} <= set(
        re.findall(r"`[^`\n]+`", listed)
    )


EXTRAS = {"models": "attnviz FOLDER", "torch": "--engine torch", "video": ".mp4", "cluster": "attnviz survey"}
"""A command, or an option of one, that needs each extra of the program."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_names_each_extra_before_the_end_of_the_first_line_that_needs_it(page: Path) -> None:
    text = page.read_text("utf-8")
    first = {extra: text.index("\n", text.index(use)) for extra, use in EXTRAS.items() if use in text}
    assert [extra for extra, end in first.items() if f"'.[{extra}]'" not in text[:end]] == []


def test_every_command_has_a_place_in_the_manual() -> None:
    from attnviz.cli.table import COMMANDS

    text = "".join(page.read_text("utf-8") for page in PAGES)
    assert [row.name for row in COMMANDS if row.name != "gui" and f"attnviz {row.name}" not in text] == []


def table(head: str) -> list[tuple[str, str]]:
    """The two cells of each row of the table of the page on the window with these headings."""
    rows = (MANUAL / "window.md").read_text("utf-8").split(f"| {head} |\n|---|---|\n")[1].split("\n\n")[0]
    cells = (row.strip("| ").split(" | ") for row in rows.splitlines())
    return [(first.strip(), second.strip()) for first, second in cells]


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


def test_every_shortcut_it_lists_exists(qapp: object) -> None:
    from attnviz.gui.commands.actions import ACTIONS

    listed = [keys for cell, _does in table("keys | do") for keys in re.split(r", (?=\w)", cell)]
    assert len(listed) > 10
    shortcuts = {shortcut for action in ACTIONS for shortcut in action.shortcuts}
    assert set(listed) - shortcuts == set()
