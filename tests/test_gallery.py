"""The commands of README and of the gallery do what the pages say."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

import attnviz
from attnviz.cli import main
from attnviz.cli.shell import parser

ROOT = Path(__file__).resolve().parent.parent
GALLERY = ROOT / "docs/gallery"
PLACEHOLDERS = {"DOC": "grouped-query"}
ELSEWHERE = ("bench", "import")
"""Commands that take minutes or a checkpoint; tests of their own run them."""


def commands(page: Path) -> list[list[str]]:
    spec = importlib.util.spec_from_file_location("make_gallery", GALLERY / "make.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: list[list[str]] = module.commands(page)
    return found


IN_GALLERY = commands(GALLERY / "README.md")
IN_README = commands(ROOT / "README.md")


def test_the_gallery_has_twenty_figures_each_with_its_command() -> None:
    page = (GALLERY / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[[^\]]+\]\(([\w-]+\.png)\)", page)
    assert len(shown) == len(set(shown)) == 20
    assert [command[-1] for command in IN_GALLERY] == shown
    assert sum((GALLERY / name).stat().st_size for name in shown) < 1_500_000


@pytest.mark.parametrize("command", IN_GALLERY, ids=shlex.join)
def test_a_command_of_the_gallery_makes_its_picture(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["--language", "en", *command] if "--language" not in command else command) == 0
    made, committed = tmp_path / command[-1], GALLERY / command[-1]
    # Width and height of a PNG: as committed, within a pixel.
    sizes = [
        [int.from_bytes(file.read_bytes()[at : at + 4], "big") for at in (16, 20)]
        for file in (made, committed)
    ]
    assert all(abs(first - second) <= 1 for first, second in zip(*sizes, strict=True)), sizes


@pytest.mark.parametrize("command", IN_README, ids=shlex.join)
def test_a_command_of_the_readme_runs(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [PLACEHOLDERS.get(word, word) for word in command]
    parser().parse_args(command)
    if command[0] in ELSEWHERE:
        return
    if command[0] == "survey":
        pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    Path("TEXTS.txt").write_text("Once upon a time\n", encoding="utf-8")
    assert main(command) == 0


def test_a_committed_picture_opens_its_document() -> None:
    document = attnviz.load(GALLERY / "causal.png")
    assert document.view.stage == "weights" and document.experiment.n_queries == 3
